"""Generalized consistent weighted sampling: the hasher, and its reference in NumPy."""

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet.hashing._gcws import GCWSHasher
    from gcwsnet.hashing.parameters import HASH_VERSION

__all__ = ["HASH_VERSION", "GCWSHasher"]
__getattr__ = load_when_used(__name__, {"GCWSHasher": "_gcws", "HASH_VERSION": "parameters"})
