"""The names of `scipy.sparse`, which is imported when it is first needed: it takes as long to import as NumPy."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import numpy as np


def issparse(X: Any) -> bool:
    """Return whether X is a sparse matrix or a sparse array of SciPy."""
    if type(X) is np.ndarray or "scipy.sparse" not in sys.modules:  # nobody has a sparse matrix without that module
        return False
    return bool(sys.modules["scipy.sparse"].issparse(X))


def __getattr__(name: str) -> Any:
    return getattr(import_module("scipy.sparse"), name)
