"""The logarithm in float32 and the exponential in float64 by a fixed sequence of operations.

They give the same bits on every machine: NumPy rounds after each operation, and so does the native core, which has the
same logarithm in C++.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

F = np.float32
LN2 = F(0.6931471805599453)
SQRT_HALF = 0x3F3504F3  # bits of the float just below sqrt(1/2)
SQRT_HALF_OF_DOUBLE = 0x3FE6A09E60000000  # the same number as a double

LN2_DOUBLE = 0.6931471805599453
LOG2_E = 1.4426950408889634
MIN_EXPONENT = -100.0
INVERSE_FACTORIALS = [1.0 / math.factorial(n) for n in range(13, -1, -1)]  # of 13!, 12!, ..., 1!, 0!

# ln(1 + f) = f - f^2/2 + f^3 Q(f): the minimax polynomial Q, highest power first.
Q = [
    F(c)
    for c in (
        -0.07634494453668594,
        0.1276157647371292,
        -0.13160182535648346,
        0.14201758801937103,
        -0.16623356938362122,
        0.20001226663589478,
        -0.2500081956386566,
        0.3333333134651184,
    )
]


def _log1p_polynomial(f: NDArray[np.float32]) -> NDArray[np.float32]:
    q = np.full_like(f, Q[0])
    for coefficient in Q[1:]:
        q = q * f + coefficient
    f2 = f * f
    return f + (q * f * f2 - f2 * F(0.5))


def _split(x: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return e and m with x = 2**e * m and m in [sqrt(1/2), sqrt(2)), for positive normal x."""
    i = x.view(np.int32)
    e = (i - np.int32(SQRT_HALF)) >> np.int32(23)
    return e, (i - (e << np.int32(23))).view(F)


def log(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the natural logarithm of positive normal float32 numbers, with a relative error under 2**-23."""
    e, m = _split(x)
    return e.astype(F) * LN2 + _log1p_polynomial(m - F(1))


def minus_log1m(w: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return -ln(1 - w) for w in (0, 1], as accurate where w is small; w = 1 counts as 1 - 2**-25."""
    e, m = _split(np.maximum(F(1) - w, F(2**-25)))
    f = np.where(e == 0, -w, m - F(1))
    return -(e.astype(F) * LN2 + _log1p_polynomial(f))


def log_of_data(x: NDArray[np.floating]) -> NDArray[np.float32]:
    """Return ln|x| of finite float32 or float64 data, rounded to float32; minus infinity where x is zero.

    A number that both types hold gives the same logarithm from both.
    """
    size = np.abs(x)
    if size.dtype == F:
        i = size.view(np.int32)
        subnormal = i < 1 << 23  # its bits, read as a whole number, are its multiple of 2^-149
        e, m = _split(np.where(subnormal, i.astype(F), size))
        e = e - np.where(subnormal, 149, 0).astype(np.int32)
        f = m - F(1)
    else:
        j = size.view(np.int64)
        subnormal = j < 1 << 52
        j = np.where(subnormal, j.astype(np.float64).view(np.int64), j)
        exponent = (j - SQRT_HALF_OF_DOUBLE) >> 52
        e = (exponent - np.where(subnormal, 1074, 0)).astype(np.int32)
        f = ((j - (exponent << 52)).view(np.float64) - 1.0).astype(F)
    result: NDArray[np.float32] = np.where(size == 0, F(-np.inf), e.astype(F) * LN2 + _log1p_polynomial(f))
    return result


def exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e to the power x for x up to 100, with a relative error under 2**-45; 0 where x is below -100.

    x = k ln 2 + f with a whole number k, and the power series of e to the f.
    """
    inside = np.maximum(x, MIN_EXPONENT)
    k = np.floor(inside * LOG2_E + 0.5)
    f = inside - k * LN2_DOUBLE
    series = np.full_like(f, INVERSE_FACTORIALS[0])
    for coefficient in INVERSE_FACTORIALS[1:]:
        series = series * f + coefficient
    result: NDArray[np.float64] = np.where(x < MIN_EXPONENT, 0.0, np.ldexp(series, k.astype(np.int32)))
    return result
