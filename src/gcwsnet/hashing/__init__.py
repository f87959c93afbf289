"""Generalized consistent weighted sampling: the hasher, and its reference in NumPy."""

from gcwsnet.hashing._gcws import GCWSHasher
from gcwsnet.hashing.parameters import HASH_VERSION

__all__ = ["HASH_VERSION", "GCWSHasher"]
