"""The hashing benchmark, on so few rows that it is quick: what it finds, and what it says."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.hashing import peers, speed
from benchmarks.hashing.cases import CASES, Case, binary_rows, dataset, uniform_rows
from benchmarks.hashing.report import STYLES, HashingReport, Rates, check_picture, draw
from benchmarks.hashing.speed import measure
from gcwsnet import _core
from reproduction.datasets import load
from tests.conftest import using_instruction_set

TINY = [
    Case("dense", "dense rows", lambda: uniform_rows(40, 30), n_hashes=16),
    Case("sets", "0/1 rows", lambda: binary_rows(40, 5, 100), n_hashes=16),
    Case("not-there", "rows of a file", lambda: dataset("mnist", 10)),
]
GROWTH = {
    "D": [Case("", f"D={D}", lambda D=D: uniform_rows(20, D), n_hashes=8) for D in (4, 16)],  # type: ignore[misc]
    "k": [Case("", f"k={k}", lambda: uniform_rows(20, 5), n_hashes=k) for k in (4, 8)],
}


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


def test_the_json_has_rates_and_ratios_and_where_they_are_from() -> None:
    report = json.loads(json.dumps(measure(TINY[:1], repetitions=1, growth=GROWTH).as_json()))
    assert report["versions"]["gcwsnet"]
    assert _core.instruction_set() in report["machine"]
    assert report["repetitions"] == 1
    (line,) = report["rates"]
    assert (line["n_rows"], line["n_columns"], line["n_hashes"], line["p"]) == (40, 30, 16, 1)
    rate = line["rows_per_second"]
    assert line["times_as_many"]["NumPy"] == rate["gcwsnet"] / rate["NumPy"]
    assert line["times_as_many_as_gcwsnet"]["two threads"] == rate["two threads"] / rate["gcwsnet"]
    assert [one["n_columns"] for one in report["growth"]["D"]] == [4, 16]
    assert [one["n_hashes"] for one in report["growth"]["k"]] == [4, 8]


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


def test_the_markdown_says_where_nobody_is_faster() -> None:
    text = report_of([Rates("a", "a", 1, 256, 10, 10, {"gcwsnet": 2.0, "NumPy": 1.0})], []).as_markdown()
    assert "- Nowhere in this run." in text
    assert "Left out" not in text


def test_a_peer_that_fails_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no compiler\nlong story")

    monkeypatch.setattr(peers, "PEERS", [peers.Peer("compiled", "numpy", 1e6, broken)])
    report = measure(TINY[:1], repetitions=1)
    assert report.left_out == ["compiled for dense rows: no compiler"]


def test_one_core_has_no_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "n_cores", lambda: 1)
    report = measure(TINY[:1], repetitions=1)
    assert "two threads" not in report.rates[0].rows_per_second
    assert report.left_out == ["two threads: there is one core"]


def test_a_run_leaves_the_instruction_set_as_it_was() -> None:
    with using_instruction_set("baseline"):
        report = measure(TINY[:1], repetitions=1)
        assert _core.instruction_set() == "baseline"
    assert not {"avx2", "baseline"} & set(report.rates[0].rows_per_second)


def test_the_growth_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report = measure([], repetitions=1, growth=GROWTH)
    check_picture(tmp_path / "picture.png")
    draw(report, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in tmp_path.iterdir()] == ["picture.png"]


def test_every_peer_for_dense_rows_has_a_style_of_its_own() -> None:
    names = {"gcwsnet", "full scan", "NumPy", "torch eager", "torch compiled", "datasketch", "RBFSampler"}
    assert set(STYLES) == names
    markers = [style[-1] for style, _ in STYLES.values()]
    assert len(set(markers)) == len(markers) - 1  # the full scan has a hollow circle


@pytest.mark.parametrize(
    ("name", "rule"),
    [("picture.doc", "must be one of .*png.*got"), ("no-folder/picture.png", "folder .* must exist")],
)
def test_a_picture_that_cannot_be_drawn_is_an_error_at_once(name: str, rule: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match=rule):
        check_picture(tmp_path / name)


def test_cases_are_found_by_their_names() -> None:
    assert all(case.name == name for name, case in CASES.items())


def test_real_rows_are_the_first_of_a_dataset() -> None:
    assert np.array_equal(dataset("digits", 5), load("digits").X_train[:5])


def test_rows_of_a_damaged_file_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "mnist.npz").write_bytes(b"not an npz file")
    (notice,) = measure(TINY[2:], repetitions=1).left_out
    assert notice.startswith(f"rows of a file: {tmp_path / 'mnist.npz'} must be an npz file")


def test_every_dataset_that_is_hashed_has_a_name_that_load_knows() -> None:
    for case in CASES.values():
        with suppress(FileNotFoundError):
            assert case.rows().shape[0] > 0
