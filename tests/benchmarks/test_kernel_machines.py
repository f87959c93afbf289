"""The benchmarks of the kernel machines: which runs are compared, what counts as better, and ridge on codes."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from benchmarks import intervals
from benchmarks.__main__ import main
from benchmarks.accuracy.runs import Run, append_run
from benchmarks.accuracy.split import SuiteDataset, split_rows
from benchmarks.kernel_choices import ridge_on_codes
from benchmarks.kernel_machines import LEARNERS


def run(dataset: str, learner: str, seed: int, accuracy: float, log_loss: float, rows: int = 3000) -> Run:
    return Run(
        "learners", dataset, learner, seed, rows, 5, {"accuracy": accuracy, "log_loss": log_loss, "ece": 0.1}, 1.0
    )


def some_runs() -> list[Run]:
    """Four learners on two tables; a seed that one lacks, a learner that is not compared, a table that is too large."""
    runs = [run("churn", name, seed, 90.0 - i, 0.3) for i, name in enumerate(LEARNERS) for seed in (0, 1)][:-1]
    runs += [run("dna", name, 0, 90.0 + i, 0.3 - 0.1 * i) for i, name in enumerate(LEARNERS)]
    runs += [run("krkopt", name, 0, 90.0, 0.3, rows=18_000) for name in LEARNERS]
    return [*runs, run("churn", "XGBoost", 0, 99.0, 0.1), run("splice", "PGMM", 0, 90.0, 0.3)]


@pytest.mark.slow
def test_kernel_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("lightgbm")
    for one in some_runs():
        append_run(tmp_path, one)
    main(["kernel-machines", "--sizes", "60", "--repetitions", "1", "--results", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "| 60 | 2 |" in printed
    assert "| churn | PMLB | 3,000 | 5 | **90.0** | 89.0 | 88.0 | 87.0 |" in printed
    assert "krkopt" not in printed


def test_ridge_on_codes_is_the_closed_form() -> None:
    rng = np.random.default_rng(0)
    F = sparse.csr_array(rng.integers(0, 2, (40, 15)).astype(np.float32))
    Y = rng.normal(size=(40, 3)).astype(np.float32)
    expected = np.linalg.solve((F.T @ F).toarray() + 0.5 * np.eye(15), F.T @ Y)
    np.testing.assert_allclose(ridge_on_codes(F, Y, 0.5), expected, atol=5e-3)


def test_intervals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = np.random.default_rng(0).normal(size=(150, 2))
    split = split_rows(rows, rows[:, 0], "regression")
    found = [SuiteDataset("sums", "tables", "here", lambda _: split, "regression")]
    monkeypatch.setattr(intervals, "select", lambda _: found)
    monkeypatch.setattr(intervals, "LEARNERS", {"PGMM": intervals._kernel, "GCWSNet": intervals._net})
    main(["intervals"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| sums"))
    _, train, *numbers = (cell.strip() for cell in line.strip("|").split("|"))
    assert train == "100"
    assert all(70 <= float(one) <= 100 for one in numbers[:2])
    assert all(0 < float(one) < 2 for one in numbers[2:])
