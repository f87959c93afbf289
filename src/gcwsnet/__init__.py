"""Generalized consistent weighted sampling, and learning from it in one pass over the data.

The public names load when they are first used: ``import gcwsnet`` itself is quick and imports neither torch nor
scikit-learn. `gcwsnet.nn` needs torch and `gcwsnet.distributed` dask, and say how to install it where it is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet import data, distributed, neighbors, nn, theory
    from gcwsnet.encoding import CountSketch, estimate_similarity
    from gcwsnet.estimators import (
        GCWSNetClassifier,
        GCWSNetRegressor,
        PGMMClassifier,
        PGMMRegressor,
        Predictor,
        load,
    )
    from gcwsnet.export import export_onnx
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
    "PGMMClassifier",
    "PGMMRegressor",
    "Predictor",
    "RandomFourierFeatures",
    "__version__",
    "data",
    "distributed",
    "estimate_similarity",
    "export_onnx",
    "gmm_kernel",
    "gmm_transform",
    "load",
    "neighbors",
    "nn",
    "pgmm_kernel",
    "theory",
]

_HOME = {
    "HASH_VERSION": "hashing",
    "CountSketch": "encoding",
    "GCWSHasher": "hashing",
    "GCWSNetClassifier": "estimators",
    "GCWSNetRegressor": "estimators",
    "PGMMClassifier": "estimators",
    "PGMMRegressor": "estimators",
    "Predictor": "estimators",
    "RandomFourierFeatures": "fourier",
    "data": "data",
    "distributed": "distributed",
    "estimate_similarity": "encoding",
    "export_onnx": "export",
    "gmm_kernel": "kernels",
    "gmm_transform": "kernels",
    "load": "estimators",
    "neighbors": "neighbors",
    "nn": "nn",
    "pgmm_kernel": "kernels",
    "theory": "theory",
}
__getattr__ = load_when_used(__name__, _HOME)


def __dir__() -> list[str]:
    return sorted(__all__)
