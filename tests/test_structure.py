"""The shape of the package: what imports what, what is public, and that the native module's types are true."""

import ast
import inspect
import os
import subprocess
import sys
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path

import pytest

import gcwsnet

PACKAGE = Path(gcwsnet.__file__).parent

# Imports only point to the left.
FLOW = [
    ("theory",),
    ("kernels",),
    ("hashing", "fourier"),
    ("nn",),
    ("tables",),
    ("net",),
    ("search",),
    ("estimators",),
    ("files",),
    ("neighbors", "river"),
    ("distributed",),
    ("export",),
    ("cli",),
    ("__main__",),
]
BELOW_ALL = {"_atomic", "_core", "_keys", "_locks", "_paths", "_sparse", "_threads", "_validation"}
REPRODUCTION = Path(__file__).parent.parent / "reproduction"
REPRODUCTION_PRIVATE = {"gcwsnet._atomic", "gcwsnet._core", "gcwsnet._validation", "gcwsnet.hashing._count_sketch"}


def part_of(module: str) -> str:
    """The folder or root module that a module `gcwsnet.x.y` belongs to: x."""
    names = module.split(".")
    return names[1] if len(names) > 1 else ""


def rank(part: str) -> int:
    for i, parts in enumerate(FLOW):
        if part in parts:
            return i
    raise AssertionError(f"{part!r} has no place in the flow of the design: give it one here")


def modules(path: Path) -> set[str]:
    """Modules that a file imports; of names from a top-level package, ``package.name``."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            module = node.module or ""
            found |= {module} if "." in module else {f"{module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def imports(path: Path) -> set[str]:
    """Parts of the package that a file imports."""
    return {part_of(module) for module in modules(path) if module.split(".")[0] == "gcwsnet"} - {""}


SOURCES = [path for path in sorted(PACKAGE.rglob("*.py")) if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_point_to_the_left(path: Path) -> None:
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    for part in imports(path):
        if part == here or part in BELOW_ALL:
            continue
        assert here not in BELOW_ALL, f"{here} is below everything and imports {part}"
        assert rank(part) < rank(here), f"{here} imports {part}, which stands to its right"


def run_python(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process that finds the modules of a folder first."""
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_importing_the_package_loads_nothing_heavy(tmp_path: Path) -> None:
    """Neither torch, though a module of that name is there to be found, nor scikit-learn, SciPy, NumPy or frames."""
    (tmp_path / "torch.py").write_text("raise RuntimeError('torch was imported')")
    program = (
        "import sys, gcwsnet; dir(gcwsnet)\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'numpy', 'pandas', 'matplotlib', 'joblib', 'pyarrow'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "from gcwsnet import CountSketch, GCWSHasher, RandomFourierFeatures, pgmm_kernel, theory\n"
        "from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier, load\n"
        "GCWSHasher(8).fit_transform([[1.0, 2.0]]), pgmm_kernel([[1.0]])\n"
        "assert not {'torch', 'matplotlib', 'typer'} & set(sys.modules)  # scikit-learn imports pandas if it is there\n"
    )
    result = run_python(program, tmp_path)
    assert result.returncode == 0, result.stderr


def test_nets_load_when_they_are_first_used(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    result = run_python("import gcwsnet; print(gcwsnet.nn.HashedLinear(2, 3, 4))", tmp_path)
    assert result.stdout == "HashedLinear(n_hashes=2, bits=3, out_features=4)\n", result.stderr


@pytest.mark.parametrize("program", ["import gcwsnet; gcwsnet.nn", "from gcwsnet import nn", "import gcwsnet.nn"])
def test_nets_without_torch_say_what_to_install(program: str, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    result = run_python(program, tmp_path)
    expected = "ImportError: gcwsnet.nn needs torch, which is not installed; pip install 'gcwsnet[torch]'"
    assert result.stderr.splitlines()[-1] == expected


@pytest.mark.parametrize(
    ("name", "positional"),
    [
        ("GCWSHasher", ["n_hashes"]),
        ("CountSketch", ["reduction"]),
        ("RandomFourierFeatures", ["n_components"]),
        ("GCWSNetClassifier", ["n_hashes"]),
        ("GCWSNetRegressor", ["n_hashes"]),
        ("PGMMClassifier", []),
        ("PGMMRegressor", []),
        ("nn.HashedLinear", ["n_hashes", "bits", "out_features"]),
        ("nn.GCWSNet", ["n_hashes", "bits", "n_outputs"]),
        ("nn.GCWSLayer", ["in_features", "out_features", "n_hashes"]),
    ],
)
def test_constructors_take_their_sizes_by_position_and_all_else_by_keyword(name: str, positional: list[str]) -> None:
    if name.startswith("nn."):
        pytest.importorskip("torch")
    parameters = inspect.signature(attrgetter(name)(gcwsnet)).parameters.values()
    assert [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY] == positional


def test_public_names_are_there() -> None:
    for name in gcwsnet.__all__:
        assert getattr(gcwsnet, name) is not None
    for name, package in (("nn", "torch"), ("distributed", "distributed")):
        if find_spec(package):
            assert getattr(gcwsnet, name) is not None
    assert dir(gcwsnet) == sorted([*gcwsnet.__all__, "distributed", "nn"])
    with pytest.raises(AttributeError, match="has no attribute 'GCWSHash'"):
        getattr(gcwsnet, "GCWSHash")  # noqa: B009


def test_the_package_imports_nothing_that_is_not_in_the_wheel() -> None:
    beside = {"benchmarks", "examples", "reproduction", "tests"}
    assert [path for path in SOURCES if beside & {module.split(".")[0] for module in modules(path)}] == []


def test_the_reproduction_imports_public_names_but_for_a_few() -> None:
    found = set[str]().union(*map(modules, REPRODUCTION.rglob("*.py")))
    assert {one for one in found if one.startswith("gcwsnet.") and "._" in one} == REPRODUCTION_PRIVATE


def test_the_types_of_the_native_module_are_those_of_the_binary(tmp_path: Path) -> None:
    made = tmp_path / "_core.pyi"
    command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-m", "gcwsnet._core", "-o", str(made)]
    subprocess.run(command, check=True)
    kept = Path(__file__).parent.parent / "src" / "gcwsnet" / "_core.pyi"
    assert made.read_text() == kept.read_text(), f"make it again: {' '.join(command[:-1])} {kept.name}"
