"""Bands of codes: which rows share a bucket, how often, and how many bands of which width to take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gcwsnet.theory import collision_probability

LOSS_OF_ESTIMATES = 0.1
"""Of the neighbours that may be missed, the share left to estimates that are too low to be compared exactly."""
MOST_BANDS = 64  # as long as this leaves a choice: each takes 8 bytes of a row


class Bands(NamedTuple):
    """The number of bands, and the codes of each; band j of a row is its codes from j * width on."""

    n_bands: int
    width: int


def band_recall(J: ArrayLike, *, bits: int, n_bands: int, width: int) -> Any:
    """Return the probability that two rows share a bucket in at least one band: 1 - (1 - P**r)**B.

    P is the probability that a code of the two rows agrees, J + (1 - J) / 2**b (Theorem 2), r the width of a band and B
    the number of bands. Codes are independent, so that all r codes of a band agree with probability P**r, and no band
    agrees with probability (1 - P**r)**B.

    Parameters
    ----------
    J : float or array
        The pGMM similarity of the two rows, from 0 to 1.
    bits : int
        b, the bits of a code.
    n_bands, width : int
        B and r.

    Returns
    -------
    recall : float or float64 array

    Examples
    --------
    >>> from gcwsnet.neighbors import band_recall
    >>> band_recall([0.4, 0.6, 0.8, 1.0], bits=8, n_bands=22, width=9).round(3)
    array([0.006, 0.204, 0.959, 1.   ])
    """
    P = np.asarray(collision_probability(J, bits))
    recall = 1.0 - (1.0 - P**width) ** n_bands
    return float(recall) if recall.ndim == 0 else recall


def choose_bands(n_hashes: int, bits: int, threshold: float, recall: float) -> Bands:
    """Return the bands that find pairs with the similarity `threshold` with probability `recall`, or more similar ones.

    Nine tenths of the pairs that may be missed are left to the bands, and a tenth to the estimates that decide which
    pairs of a bucket are compared exactly.

    The wider a band, the fewer other rows share its buckets, and the more bands are needed. So the bands are as wide as
    the codes allow without more than 64 bands; where even the narrowest ones need more, they have one code each.

    Examples
    --------
    >>> choose_bands(256, bits=8, threshold=0.8, recall=0.95)
    Bands(n_bands=22, width=9)
    """
    P = float(collision_probability(threshold, bits))
    chosen = None
    for width in range(1, n_hashes + 1):
        n_bands = _bands_needed(P**width, 1.0 - (1.0 - LOSS_OF_ESTIMATES) * (1.0 - recall))
        if n_bands * width > n_hashes or (n_bands > MOST_BANDS and chosen is not None):
            break
        chosen = Bands(n_bands, width)
    if chosen is None:
        found = float(band_recall(threshold, bits=bits, n_bands=n_hashes, width=1))
        raise ValueError(
            f"with n_hashes={n_hashes} at most {found:.3f} of the pairs with the similarity threshold={threshold:g} "
            f"are found by bands, less than recall={recall:g}; take more hashes, a higher threshold or threshold=None"
        )
    return chosen


def _bands_needed(agree: float, recall: float) -> int:
    if agree >= 1.0:
        return 1
    return max(1, math.ceil(math.log1p(-recall) / math.log1p(-agree)))
