"""The folders in which the files of datasets are looked for."""

from pathlib import Path

import pytest

from reproduction.datasets._catalog import DatasetInfo, FileSet, PublishedFile, Sizes
from reproduction.datasets._files import find_files

INFO = DatasetInfo(
    sizes=Sizes(1, 1, 1),
    labels=(0,),
    split="published",
    descr="",
    file_sets=(FileSet(("a.npz",)), FileSet(("b.tra", "b.tes")), FileSet(("c.zip",))),
    published=(PublishedFile("c.zip", ("https://example.org/c.zip",)),),
)


@pytest.fixture
def folders(cache: Path, tmp_path: Path) -> dict[str, Path]:
    made = {"home": tmp_path / "home", "data": tmp_path / "data", "cache": cache}
    for folder in made.values():
        folder.mkdir(exist_ok=True)
        (folder / "a.npz").touch()
    return made


def find(data_home: object = None) -> Path:
    """The first file of the file set that is found."""
    return find_files(INFO, name="a", data_home=data_home, download=False)[1][0]  # type: ignore[arg-type]


def test_the_order_of_folders_goes_before_the_order_of_file_sets(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(folders["data"]))
    (folders["data"] / "a.npz").unlink()
    (folders["data"] / "c.zip").touch()
    assert find() == folders["data"] / "c.zip"


def test_the_data_folder_comes_before_the_cache(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert find() == folders["cache"] / "a.npz"
    monkeypatch.setenv("GCWSNET_DATA", str(folders["data"]))
    assert find() == folders["data"] / "a.npz"
    (folders["data"] / "a.npz").unlink()
    assert find() == folders["cache"] / "a.npz"


def test_data_home_is_the_only_folder_that_is_searched(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(folders["data"]))
    for home in (folders["home"], str(folders["home"])):
        assert find(home) == folders["home"] / "a.npz"
    (folders["home"] / "a.npz").unlink()
    with pytest.raises(FileNotFoundError) as error:
        find(folders["home"])
    assert str(error.value) == (
        f"the dataset 'a' was not found: neither a.npz nor c.zip is in {folders['home']} (data_home); it was not "
        "downloaded because of download=False; put c.zip from https://example.org/c.zip there"
    )
