"""The demo runs, with few rows: it compares, explains, draws, and its model predicts from the command."""

import runpy
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_compares_and_leaves_a_picture_and_a_model(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for package in ("matplotlib", "rich", "seglearn"):
        pytest.importorskip(package)
    runpy.run_path(str(DEMO))["main"](step=100, folder=tmp_path)
    printed = capfd.readouterr().out
    for words in ("GCWSNet, k = 256", "scikit-learn's net", "scaling: ", "$ gcwsnet predict", "before it was learned"):
        assert words in printed
    assert {path.name for path in tmp_path.iterdir()} == {"demo.png", "watch.safetensors", "rows.npy"}
    predicted = printed.partition("rows.npy")[2].split()
    assert len({"PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW"} & set(predicted)) >= 1
