"""The hashing benchmark, on so few rows that it is quick: what it finds, and what it says."""

from pathlib import Path

import pytest

from benchmarks.hashing import peers, speed
from benchmarks.hashing.cases import Case, binary_rows, dataset, uniform_rows
from benchmarks.hashing.report import HashingReport, Rates
from benchmarks.hashing.speed import measure
from gcwsnet import _core

TINY = [
    Case("dense", "dense rows", lambda: uniform_rows(40, 30), n_hashes=16),
    Case("sets", "0/1 rows", lambda: binary_rows(40, 5, 100), n_hashes=16),
    Case("not-there", "rows of a file", lambda: dataset("mnist", 10)),
]


@pytest.fixture(autouse=True)
def few_and_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only peers that are always there, fewer columns until ready, two cores, and no files."""
    monkeypatch.setattr(peers, "PEERS", [one for one in peers.PEERS if one.package in ("numpy", "sklearn")])
    monkeypatch.setattr(speed, "READY_COLUMNS", 50)
    monkeypatch.setattr(speed, "n_cores", lambda: 2)
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    dataset.cache_clear()


def test_a_run_finds_rates_for_all_rows_at_hand(tmp_path: Path) -> None:
    said: list[str] = []
    report = measure(TINY, repetitions=1, say=said.append)
    assert [rates.name for rates in report.rates] == ["dense", "sets"]
    ours = {"gcwsnet", "full scan", "two threads", *_core.instruction_sets()[1:]}
    for rates in report.rates:
        assert set(rates.rows_per_second) == ours | {"NumPy", "RBFSampler"}
        assert all(rate > 0 for rate in rates.rows_per_second.values())
    assert report.seconds_until_ready > 0
    (notice,) = report.left_out
    assert notice.startswith("rows of a file: the dataset 'mnist' ")
    assert str(tmp_path) in notice
    assert said[-1] == f"left out: {notice}"
    assert said[0] == "[1/3] dense rows, p=1"


def report_of(rates: list[Rates], left_out: list[str]) -> HashingReport:
    return HashingReport(1.5, 5, rates, {}, "some columns", 0.25, left_out)


def test_the_markdown_says_who_is_faster_and_what_is_left_out() -> None:
    rates = {"gcwsnet": 3000.0, "full scan": 4000.0, "NumPy": 1500.0, "rensa": 6000.0, "two threads": 5400.0}
    text = report_of([Rates("sets", "sets", 1, 256, 10, 10, rates)], ["torch eager: not there"]).as_markdown()
    assert "| rows | p | gcwsnet | full scan | NumPy | rensa |" in text
    assert "| sets | 1 | 3,000 | 4,000 (0.8) | 1,500 (2.0) | 6,000 (0.5) |" in text
    assert "- sets, p = 1: rensa 2.0 times as many." in text
    assert "| sets | 1 | 1.80 |" in text
    assert "take 0.25 s." in text
    assert "The load of the machine was up to 1.5" in text
    assert text.endswith("Left out:\n\n- torch eager: not there")
