"""Neural nets, kernel machines and near neighbours by generalized consistent weighted sampling (GCWS).

The public names load when they are first used: ``import gcwsnet`` itself is quick and imports neither torch nor
scikit-learn. `gcwsnet.nn` needs torch and `gcwsnet.distributed` dask, and say how to install it where it is missing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gcwsnet import distributed as distributed
    from gcwsnet import files, neighbors, theory
    from gcwsnet import nn as nn
    from gcwsnet.estimators._gcwsnet import GCWSNetClassifier, GCWSNetRegressor
    from gcwsnet.estimators._load import load
    from gcwsnet.estimators._pgmm import PGMMClassifier, PGMMRegressor
    from gcwsnet.estimators._predictor import Predictor
    from gcwsnet.export import export_onnx
    from gcwsnet.fourier import RandomFourierFeatures
    from gcwsnet.hashing._count_sketch import CountSketch
    from gcwsnet.hashing._gcws import GCWSHasher
    from gcwsnet.hashing._similarity import estimate_similarity
    from gcwsnet.hashing.parameters import HASH_VERSION
    from gcwsnet.kernels import gmm_kernel, gmm_transform, pgmm_kernel

__version__ = "0.1.0"

# Without `distributed` and `nn`, which need dask and torch: `from gcwsnet import *` works where these are missing.
__all__ = [
    "HASH_VERSION",
    "CountSketch",
    "GCWSHasher",
    "GCWSNetClassifier",
    "GCWSNetRegressor",
    "PGMMClassifier",
    "PGMMRegressor",
    "Predictor",
    "RandomFourierFeatures",
    "__version__",
    "estimate_similarity",
    "export_onnx",
    "files",
    "gmm_kernel",
    "gmm_transform",
    "load",
    "neighbors",
    "pgmm_kernel",
    "theory",
]

_MODULES = {
    "HASH_VERSION": "hashing.parameters",
    "CountSketch": "hashing._count_sketch",
    "GCWSHasher": "hashing._gcws",
    "GCWSNetClassifier": "estimators._gcwsnet",
    "GCWSNetRegressor": "estimators._gcwsnet",
    "PGMMClassifier": "estimators._pgmm",
    "PGMMRegressor": "estimators._pgmm",
    "Predictor": "estimators._predictor",
    "RandomFourierFeatures": "fourier",
    "estimate_similarity": "hashing._similarity",
    "export_onnx": "export",
    "gmm_kernel": "kernels",
    "gmm_transform": "kernels",
    "load": "estimators._load",
    "pgmm_kernel": "kernels",
}
_PACKAGES = {"distributed", "files", "neighbors", "nn", "theory"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"gcwsnet.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'gcwsnet' has no attribute {name!r}")
    value = getattr(import_module(f"gcwsnet.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
