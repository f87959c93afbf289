"""Generalized consistent weighted sampling, and learning from it in one pass over the data.

The public names load when they are first used: ``import gcwsnet`` itself is quick and imports neither torch nor
scikit-learn. `gcwsnet.nn` needs torch, and says how to install it where it is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gcwsnet import data, datasets, neighbors, nn, theory
    from gcwsnet.encoding import CountSketch, estimate_similarity
    from gcwsnet.estimators import GCWSNetClassifier, GCWSNetRegressor, load
    from gcwsnet.fourier import RandomFourierFeatures
    from gcwsnet.hashing import HASH_VERSION, GCWSHasher
    from gcwsnet.kernels import gmm_kernel, gmm_transform, pgmm_kernel

__version__ = "0.1.0"

__all__ = [
    "HASH_VERSION",
    "CountSketch",
    "GCWSHasher",
    "GCWSNetClassifier",
    "GCWSNetRegressor",
    "RandomFourierFeatures",
    "__version__",
    "data",
    "datasets",
    "estimate_similarity",
    "gmm_kernel",
    "gmm_transform",
    "load",
    "neighbors",
    "nn",
    "pgmm_kernel",
    "theory",
]

_MODULES = ("data", "datasets", "neighbors", "nn", "theory")
_HOME = {
    "HASH_VERSION": "hashing",
    "CountSketch": "encoding",
    "GCWSHasher": "hashing",
    "GCWSNetClassifier": "estimators",
    "GCWSNetRegressor": "estimators",
    "RandomFourierFeatures": "fourier",
    "estimate_similarity": "encoding",
    "gmm_kernel": "kernels",
    "gmm_transform": "kernels",
    "load": "estimators",
    "pgmm_kernel": "kernels",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
