"""Neural nets on codes in torch: the hashed first layer, its optimizer, the paper's net, and `boost`."""

try:
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    raise ImportError("gcwsnet.nn needs torch, which is not installed; pip install 'gcwsnet[torch]'") from _error

from gcwsnet.nn._boost import boost
from gcwsnet.nn._gcws_layer import GCWSLayer
from gcwsnet.nn._hashed_linear import GCWSNet, HashedLinear
from gcwsnet.nn._lazy_adam import LazyAdam

__all__ = ["GCWSLayer", "GCWSNet", "HashedLinear", "LazyAdam", "boost"]
