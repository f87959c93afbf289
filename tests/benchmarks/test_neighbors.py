"""The benchmark of near neighbours: it runs on little data, and its recall counts what it says."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import SUBJECTS, main
from benchmarks.neighbors.cases import Case

for package in SUBJECTS["neighbors"].needs:
    pytest.importorskip(package)


def test_neighbors(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import neighbors  # noqa: PLC0415
    from benchmarks.neighbors import cases  # noqa: PLC0415

    monkeypatch.setenv("GCWSNET_DATA", str(tmp_path))
    monkeypatch.setenv("GCWSNET_CACHE", str(tmp_path))
    monkeypatch.setattr(cases, "PACKAGES", ("numpy",))
    monkeypatch.setattr(neighbors, "SCANNED_BYTES", 1 << 16)
    main(["neighbors", "--queries", "5", "--scale", "0.1"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == (2 + 25) + 2 * (2 + 12) + (2 + 6)  # nearest rows, two thresholds, equal recall
    default = next(line for line in lines if "the default" in line)
    assert float(default.split(" | ")[2]) > 0.9


def test_recall_and_precision_count_against_the_exact_kernel() -> None:
    K = np.linspace(0, 1, 21)[np.newaxis]  # row i has the kernel i / 20
    case = Case("name", "about", np.zeros((21, 1)), np.zeros((1, 1)), K)
    assert case.recall([np.arange(11, 21)]) == 1.0
    assert case.recall([np.arange(6, 16)]) == 0.5
    assert case.recall([np.arange(0, 21)]) == 1.0
    assert case.recall_and_precision([np.arange(9, 19)], 0.5) == (9 / 11, 9 / 10)
