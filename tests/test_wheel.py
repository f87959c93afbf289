"""What is installed is whole: versions from one place, the types, the command, and no file that belongs elsewhere."""

import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import gcwsnet

ROOT = Path(__file__).parents[1]


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = ROOT / "CITATION.cff"
    if not citation.exists():
        pytest.skip("the tests run without the repository around them")
    found = re.search(r"^version: (\S+)$", citation.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == gcwsnet.__version__


def test_types_are_installed_with_the_package() -> None:
    folder = Path(gcwsnet.__file__).parent
    assert (folder / "py.typed").exists()
    assert (folder / "_core.pyi").exists()


def test_only_the_package_is_installed() -> None:
    files = distribution("gcwsnet").files or []
    assert not [path for path in files if path.parts[0] in ("benchmarks", "reproduction", "tests", "docs")]


def test_the_command_is_installed() -> None:
    beside = shutil.which("gcwsnet", path=str(Path(sys.executable).parent))
    assert beside is not None
    said = subprocess.run([beside, "--version"], check=True, capture_output=True, text=True)
    assert gcwsnet.__version__ in said.stdout
