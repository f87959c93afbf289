"""docs/datasets.md says what the code does."""

import re
from pathlib import Path

from sklearn.datasets import _covtype

from gcwsnet.datasets._catalog import DATASETS
from gcwsnet.datasets._load import NAMES
from gcwsnet.datasets._published import COVTYPE

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


def rows_of(name: str) -> list[list[str]]:
    """Rows of the tables that are about a dataset; of noise sets only the first may stand for all."""
    first = "m-noise1" if name.startswith("m-noise") else name
    return [row for row in ROWS if f"`{first}`" in row[0]]


def test_sizes_are_those_of_the_catalog() -> None:
    for name, known in DATASETS.items():
        sizes = [f"{number:,}" for number in vars(known.sizes).values()]
        (row,) = [row for row in rows_of(name) if len(row) == 7]
        assert row[1:4] == sizes
        assert row[4] == ("see below" if name == "pamap101" else str(len(known.labels)))


def test_every_name_has_a_citation_and_a_size() -> None:
    for name in NAMES:
        assert sorted(len(row) for row in rows_of(name)) == ([2, 7] if name == "digits" else [2, 2, 4, 7])


def test_files_are_named_in_the_order_in_which_they_are_looked_for() -> None:
    for name in [name for name in DATASETS if not re.fullmatch(r"m-noise[2-6]", name)]:
        (_, files) = next(row for row in rows_of(name) if len(row) == 2)
        told = [file for file in re.findall(r"`([^`]+)`", files) if file not in ("mnist", ".gz")]
        wanted = [file for form in DATASETS[name].forms for file in form.files]
        if name == "semg1":
            assert told == wanted[:1]
        elif name == "mnist":
            assert told == [wanted[0], *wanted[5:]]
        else:
            assert told == wanted


def test_urls_and_checksums_are_those_that_are_used() -> None:
    for name, known in DATASETS.items():
        (row,) = [row for row in rows_of(name) if len(row) == 4]
        assert known.published[0].urls[0] in row[1]
        function = (known.published[0].checksum or "none").split(":")[0]
        assert row[3] == {"sha256": "SHA-256", "sha1": "SHA-1", "none": "none"}[function]


def test_the_checksum_of_covtype_is_that_of_scikit_learn() -> None:
    assert f"sha256:{_covtype.ARCHIVE.checksum}" == COVTYPE.checksum
    assert COVTYPE.urls == (_covtype.ARCHIVE.url,)
