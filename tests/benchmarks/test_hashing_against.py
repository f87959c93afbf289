"""The comparison of the hasher with one of its own commits; here both are this package, so that nothing is built."""

import json
from pathlib import Path

import pytest

from benchmarks.hashing import old_core
from benchmarks.hashing.cases import Case, binary_rows, dataset, uniform_rows
from benchmarks.hashing.old_core import compare

COMMIT = "0123456789abcdef"
TINY = [
    Case("dense", "dense rows", lambda: uniform_rows(40, 30), n_hashes=16),
    Case("sets", "0/1 rows", lambda: binary_rows(40, 5, 100), p=2, n_hashes=16),
    Case("not-there", "rows of a file", lambda: dataset("mnist", 10)),
]


@pytest.fixture(autouse=True)
def nothing_is_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(old_core, "git", lambda *_: COMMIT)
    monkeypatch.setattr(old_core, "built", lambda *_: None)
    monkeypatch.delenv("GCWSNET_DATA", raising=False)
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    dataset.cache_clear()


def test_both_hash_the_same_rows_in_turn() -> None:
    said: list[str] = []
    report = compare("main", TINY, repetitions=3, say=said.append)
    assert [(one.name, one.p) for one in report.rows] == [("dense", 1), ("sets", 2)]
    assert all(one.old > 0 and one.new > 0 and one.ratio > 0 for one in report.rows)
    assert said[0].startswith("dense rows, p=1: ")
    (notice,) = report.left_out
    assert notice.startswith("rows of a file: the dataset 'mnist' ")
    assert json.loads(json.dumps(report.as_json()))["commit"] == COMMIT
    text = report.as_markdown()
    assert "medians of 3 calls in turn with commit 012345678; the codes are equal:" in text
    assert "| rows | p | 012345678 | now | times as many |" in text
    assert text.endswith(f"Left out:\n\n- {notice}")


def test_other_codes_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    digests = iter(["one", "another"])
    monkeypatch.setattr(old_core.HashingProcess, "ask", lambda *_: next(digests))
    with pytest.raises(RuntimeError, match=f"dense rows, p=1: the codes are not those of commit {COMMIT}"):
        compare("main", TINY, repetitions=1, say=lambda _: None)
