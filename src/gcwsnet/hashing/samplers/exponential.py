"""The exponential function in float64 by a fixed sequence of operations: the same bits on every machine."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

LOG2_E = 1.4426950408889634
LN2 = 0.6931471805599453
INVERSE_FACTORIALS = [1.0 / math.factorial(n) for n in range(13, -1, -1)]  # of 13!, 12!, ..., 1!, 0!
LEAST = -100.0


def exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """e to the power x for x up to 100, relative error under 2**-45; 0 where x is below -100.

    x = k ln 2 + f with a whole number k, and the power series of e to the f.

    Examples
    --------
    >>> exp(np.array([-np.inf, -1.0, 0.0, 8.0])).round(10).tolist()
    [0.0, 0.3678794412, 1.0, 2980.9579870417]
    """
    inside = np.maximum(x, LEAST)
    k = np.floor(inside * LOG2_E + 0.5)
    f = inside - k * LN2
    series = np.full_like(f, INVERSE_FACTORIALS[0])
    for coefficient in INVERSE_FACTORIALS[1:]:
        series = series * f + coefficient
    result: NDArray[np.float64] = np.where(x < LEAST, 0.0, np.ldexp(series, k.astype(np.int32)))
    return result
