"""pyarrow, imported when it is needed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed_pyarrow(needed_by: str, module: str = "pyarrow") -> Any:
    """The module, or an error that says what needs it and how it is installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"reading {needed_by} needs pyarrow: pip install 'gcwsnet[data]'") from error
