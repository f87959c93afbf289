"""Codes of samples: one-hot vectors, count-sketch and similarity estimates."""

from typing import TYPE_CHECKING

from gcwsnet._lazy import load_when_used

if TYPE_CHECKING:
    from gcwsnet.encoding._codes import Codes, Origin, one_hot
    from gcwsnet.encoding._count_sketch import CountSketch, bins_and_signs
    from gcwsnet.encoding._reduction import reduction_factor
    from gcwsnet.encoding._similarity import estimate_similarity

__all__ = ["Codes", "CountSketch", "Origin", "bins_and_signs", "estimate_similarity", "one_hot", "reduction_factor"]
__getattr__ = load_when_used(
    __name__,
    {
        **dict.fromkeys(("Codes", "Origin", "one_hot"), "_codes"),
        **dict.fromkeys(("CountSketch", "bins_and_signs"), "_count_sketch"),
        "estimate_similarity": "_similarity",
        "reduction_factor": "_reduction",
    },
)
