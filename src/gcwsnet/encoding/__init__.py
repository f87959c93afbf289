"""Codes of samples: one-hot vectors, count-sketch and similarity estimates."""

from gcwsnet.encoding._codes import Codes, Origin, one_hot
from gcwsnet.encoding._count_sketch import CountSketch, bins_and_signs, reduction_factor
from gcwsnet.encoding._similarity import estimate_similarity

__all__ = ["Codes", "CountSketch", "Origin", "bins_and_signs", "estimate_similarity", "one_hot", "reduction_factor"]
