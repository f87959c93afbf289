"""Public names of a package that load when they are first used, so that nothing is imported that nobody uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_when_used(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose public names come from modules of it.

    Parameters
    ----------
    package : str
        The name of the package.
    home : dict
        The module of each public name, within the package; a name whose module is itself is that module.
    """

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{home[name]}")
        value = module if home[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
