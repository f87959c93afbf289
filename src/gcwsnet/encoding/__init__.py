"""Codes of samples: one-hot vectors and similarity estimates."""

from gcwsnet.encoding._onehot import one_hot
from gcwsnet.encoding._similarity import estimate_similarity

__all__ = ["estimate_similarity", "one_hot"]
