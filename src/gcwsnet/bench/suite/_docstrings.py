"""Text that everybody has who has the packages: the docstrings of their functions and classes."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import warnings
from collections.abc import Iterator
from types import ModuleType

PACKAGES = ("numpy", "scipy", "sklearn", "torch", "matplotlib")
NAMES = re.compile(r"numpy|scipy|sklearn|scikit|torch|tensor|matplotlib|\bnp\b|\bplt\b")
"""What would give the package away."""
LEAST_CHARACTERS = 100


def load_docstrings() -> tuple[list[str], list[str]]:
    """Docstrings in lower case, without the packages' names, and the package of each."""
    texts: list[str] = []
    labels: list[str] = []
    for package in PACKAGES:
        found = dict.fromkeys(text for module in _modules(package) for text in _docstrings(module, package))
        texts += [NAMES.sub(" ", text.lower()) for text in found]
        labels += [package] * len(found)
    return texts, labels


def _modules(package: str) -> Iterator[ModuleType]:
    """The package and its public modules, but not theirs."""
    root = importlib.import_module(package)
    yield root
    for found in pkgutil.iter_modules(root.__path__):
        if found.name.startswith("_") or found.name in {"tests", "conftest", "testing"}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield importlib.import_module(f"{package}.{found.name}")
            except ImportError:  # it needs what is not installed
                continue


def _docstrings(module: ModuleType, package: str) -> Iterator[str]:
    for name, value in list(vars(module).items()):
        if name.startswith("_") or not str(getattr(value, "__module__", package)).startswith(package):
            continue
        members = list(vars(value).values()) if inspect.isclass(value) else []
        for one in (value, *members):
            text = getattr(one, "__doc__", None)
            if isinstance(text, str) and len(text) >= LEAST_CHARACTERS:
                yield text
