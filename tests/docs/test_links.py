"""Pages of the documentation are found: each is listed, links lead somewhere, and the API reference has every name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"gallery/index"}  # made by `make docs` from examples/gallery
PAGES = sorted(path for path in DOCS.rglob("*") if path.suffix in (".md", ".rst") and "_templates" not in path.parts)
PAGES = [path for path in PAGES if path.relative_to(DOCS).parts[0] != "gallery" and "generated" not in path.parts]
MARKDOWN = [*(path for path in PAGES if path.suffix == ".md"), *ROOT.glob("*.md")]
MODULES = [
    "gcwsnet",
    *(f"gcwsnet.{name}" for name in ("distributed", "files", "neighbors", "nn", "river", "theory")),
]


def listed() -> list[str]:
    """Return what the front page lists, in its order."""
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    lists = re.findall(r"^```\{toctree\}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [line for block in lists for line in block.splitlines() if line and not line.startswith(":")]


def prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(path: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub and MyST make them."""
    titles = re.findall(r"^#+ +(.*?) *$", prose(path), flags=re.MULTILINE)
    shown = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title) for title in titles]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in shown}


def test_the_front_page_lists_every_page_once() -> None:
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES if path.parent.name != "results"} - {"index"}
    assert sorted(listed()) == sorted(pages | GENERATED)


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if target.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        folder = path.parent == ROOT and file.is_dir()  # the site has no page for a folder, a repository has
        assert file.is_file() or folder, f"{path.name} links to {target}, which is not there"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{path.name} links to {target}, a heading that is not there"


def reference() -> dict[str, set[str]]:
    """Return the names in the API reference, by the modules they belong to."""
    names: dict[str, set[str]] = {}
    for line in (DOCS / "api" / "index.rst").read_text(encoding="utf-8").splitlines():
        if found := re.fullmatch(r"\.\. currentmodule:: (.*)", line):
            here = names.setdefault(found[1], set())
        elif found := re.fullmatch(r"   (\w+)|``gcwsnet\.(\w+)``", line):
            here.add(found[1] or found[2])
    return names


@pytest.mark.parametrize("module", MODULES)
def test_the_api_reference_has_every_public_name(module: str) -> None:
    public = set(pytest.importorskip(module, exc_type=ImportError).__all__)
    assert reference()[module] == public - {name for name in public if f"{module}.{name}" in MODULES}
