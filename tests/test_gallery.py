"""Every example of the gallery runs without a warning and draws a picture, and has the form that the site wants."""

import ast
import runpy
from pathlib import Path

import pytest

GALLERY = Path(__file__).parent.parent / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("plot_*.py"))


def packages(source: str) -> set[str]:
    """The packages that a program imports."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_explains_its_parts(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    lines = (ast.get_docstring(ast.parse(source)) or "").splitlines()
    assert set(lines[1]) == {"="}
    assert len(lines[1]) == len(lines[0])
    assert "\n# %%\n# " in source


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in sorted(packages(path.read_text(encoding="utf-8"))):
        pytest.importorskip(package)
    pyplot = pytest.importorskip("matplotlib.pyplot")
    drawn: list[int] = []

    def show() -> None:
        drawn.extend(pyplot.get_fignums())
        pyplot.close("all")

    monkeypatch.setattr(pyplot, "show", show)
    pyplot.switch_backend("Agg")
    runpy.run_path(str(path), run_name="__main__")
    assert drawn
