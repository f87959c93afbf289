"""The catalog agrees with the paper, with reproduction/DATASETS.md, with the docstring of `load`, and with itself."""

import hashlib
from pathlib import Path

import pytest

from reproduction.datasets._catalog import DATASETS

PAGE = (Path(__file__).parents[3] / "reproduction" / "DATASETS.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| `")]


def rows_of(name: str) -> list[list[str]]:
    """Rows of the tables that are about a dataset; of noise sets only the first may stand for all."""
    first = "m-noise1" if name.startswith("m-noise") else name
    return [row for row in ROWS if f"`{first}`" in row[0]]


def test_the_page_has_the_sizes_and_splits_of_the_catalog() -> None:
    for name, info in DATASETS.items():
        sizes = [f"{number:,}" for number in vars(info.sizes).values()]
        (row,) = [row for row in rows_of(name) if len(row) == 7]
        assert row[1:4] == sizes
        assert row[4] == ("see below" if name == "pamap101" else str(len(info.labels)))
        assert row[5] == info.split


def test_the_page_has_the_urls_and_checksums_of_the_catalog() -> None:
    for name, info in DATASETS.items():
        (row,) = [row for row in rows_of(name) if len(row) == 4]
        assert info.published[0].urls[0] in row[1]
        function = (info.published[0].checksum or "none").split(":")[0]
        assert row[3] == {"sha256": "SHA-256", "sha1": "SHA-1", "none": "none"}[function]


PAPER = {
    "semg": (1800, 1800, 2500, 6),
    "dailysports": (4560, 4560, 5625, 19),
    "m-noise1": (10_000, 4_000, 784, 10),
    "m-image": (12_000, 50_000, 784, 10),
    "covtype": (290_506, 290_506, 54, 7),
    "pamap101": (188_209, 188_208, 51, 19),  # the paper says 20 classes, and PAMAP2 has 19 numbers of activities
}


@pytest.mark.parametrize("name", PAPER)
def test_sizes_are_those_of_table_1_of_the_paper(name: str) -> None:
    info = DATASETS[name]
    assert (*vars(info.sizes).values(), len(info.labels)) == PAPER[name]


def test_every_published_file_can_be_read_and_has_a_well_formed_checksum() -> None:
    for info in DATASETS.values():
        files = tuple(published.file for published in info.published)
        assert files in [file_set.files for file_set in info.file_sets]
        for published in info.published:
            assert all(url.startswith("https://") for url in published.urls)
            function, _, value = (published.checksum or f"sha256:{'0' * 64}").partition(":")
            assert len(value) == 2 * hashlib.new(function).digest_size
            assert set(value) <= set("0123456789abcdef")
