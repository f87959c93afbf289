"""Hashing and training on a Dask cluster, with results that do not depend on the number of workers."""

try:
    import distributed as _distributed  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name not in ("dask", "distributed"):
        raise
    raise ImportError(
        "gcwsnet.distributed needs dask, which is not installed; pip install 'gcwsnet[distributed]'"
    ) from _error

from gcwsnet.distributed._estimators import DaskGCWSNetClassifier, DaskGCWSNetRegressor
from gcwsnet.distributed._files import hash_files

__all__ = ["DaskGCWSNetClassifier", "DaskGCWSNetRegressor", "hash_files"]
