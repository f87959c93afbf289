"""The folders in which the files of datasets are looked for."""

from pathlib import Path

import pytest

from reproduction.datasets._catalog import DatasetInfo, FileSet, PublishedFile, Sizes
from reproduction.datasets._files import cache_folder, find_files

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


def test_the_first_file_set_that_is_complete_is_used(cache: Path) -> None:
    for file, number in (("b.tra", None), ("c.zip", 2), ("b.tes", 1), ("a.npz", 0)):
        (cache / file).touch()
        if number is None:
            continue
        found, paths = find_files(INFO, name="a", data_home=None, download=False)
        assert found is INFO.file_sets[number]
        assert paths == tuple(cache / name for name in found.files)


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


def test_all_folders_that_were_searched_are_named(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError) as error:
        find()
    assert str(error.value) == (
        f"the dataset 'a' was not found: neither a.npz nor c.zip is in {tmp_path / 'none'} (GCWSNET_DATA, which does "
        f"not exist) or in {cache} (the cache folder); it was not downloaded because of download=False; put c.zip from "
        "https://example.org/c.zip into one of these folders"
    )


def test_a_folder_of_the_same_name_is_not_the_file(cache: Path) -> None:
    (cache / "a.npz").mkdir()
    with pytest.raises(
        FileNotFoundError,
        match=r"neither a\.npz nor c\.zip is in .* there, or set GCWSNET_DATA to the folder that has it$",
    ):
        find()


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "a.npz").touch()
    assert find("~") == tmp_path / "a.npz"
    monkeypatch.setenv("GCWSNET_DATA", "~")
    assert find() == tmp_path / "a.npz"


def test_environment_variables_name_the_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("GCWSNET_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"
    for none in ("", None):
        if none is None:
            monkeypatch.delenv("GCWSNET_CACHE")
        else:
            monkeypatch.setenv("GCWSNET_CACHE", none)
        assert cache_folder() == tmp_path / "xdg" / "gcwsnet"
    for none in ("", "relative"):  # the XDG specification has a relative path ignored
        monkeypatch.setenv("XDG_CACHE_HOME", none)
        assert cache_folder() == tmp_path / ".cache" / "gcwsnet"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == tmp_path / ".cache" / "gcwsnet"


def test_data_home_is_a_path() -> None:
    with pytest.raises(TypeError, match="data_home must be a path or None, got data_home=3"):
        find(3)


def test_download_is_true_or_false() -> None:
    with pytest.raises(TypeError, match="download must be True or False, got download='no'"):
        find_files(INFO, name="a", data_home=None, download="no")  # type: ignore[arg-type]
