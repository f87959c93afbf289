"""The logarithm, the bits of floats and the scrambling of the hash, in operators that every runtime computes alike.

They are `gcwsnet.hashing.elementary` and `gcwsnet.encoding.reference` again, without looking at the bits of a float: a
float is split into exponent and mantissa by scaling with powers of two, which is exact.
"""

from __future__ import annotations

import numpy as np

from gcwsnet.export._graph import Value
from gcwsnet.hashing.elementary import LN2, SQRT_HALF_OF_DOUBLE, F, Q

LOWEST = float(np.array(SQRT_HALF_OF_DOUBLE, dtype=np.int64).view(np.float64))
LEAST_EXPONENT, MOST_EXPONENT = -1023, 1024
LOG2_E = 1.4426950408889634
SUBNORMAL, SCALE = 2.0**-1000, 100
FACTORS = 0x7FEB352D, 0x846CA68B


def split(x: Value, lowest: float) -> tuple[Value, Value]:
    """Return e and m with x = 2**e m and m from `lowest` to below twice that, as float64, for positive float64 numbers.

    The logarithm of a runtime may be wrong in its last bits, so e is first a guess that may be wrong by one.
    """
    graph = x.graph
    tiny = x < SUBNORMAL
    x = (x * 2.0**SCALE).where(tiny, x)
    guess = graph.add("Floor", graph.add("Log", x) * LOG2_E)
    exponents = np.arange(LEAST_EXPONENT, MOST_EXPONENT + 1)
    half = exponents // 2  # 2**-e itself may be too large for a float
    place = (guess - float(LEAST_EXPONENT)).cast(np.int64)
    for part in (half, exponents - half):
        x = x * graph.constant(np.ldexp(1.0, -part)).take(place, axis=0)
    e = guess
    for wrong, factor, more in ((x < lowest, 2.0, -1.0), (x >= 2 * lowest, 0.5, 1.0)):
        x = (x * factor).where(wrong, x)
        e = (e + more).where(wrong, e)
    return (e - float(SCALE)).where(tiny, e), x


def log_of_data(x: Value) -> Value:
    """Return ln|x| of float64 data as float32; minus infinity where x is zero."""
    graph = x.graph
    size = graph.add("Abs", x)
    zero = size.equals(0.0)
    e, m = split(graph.constant(1.0, np.float64).where(zero, size), LOWEST)
    f = (m - 1.0).cast(np.float32)
    q = graph.constant(Q[0])
    for coefficient in Q[1:]:
        q = q * f + coefficient
    f2 = f * f
    logarithm = e.cast(np.float32) * LN2 + (f + (q * f * f2 - f2 * F(0.5)))
    return graph.constant(-np.inf, np.float32).where(zero, logarithm)


def bits_of_whole_numbers(t: Value) -> Value:
    """Return the bits of float32 numbers that are whole, below 2**63 in size, as int64; zero has no sign."""
    wide = t.cast(np.float64)
    size = t.graph.add("Abs", wide)
    zero = size.equals(0.0)
    e, m = split(t.graph.constant(1.0, np.float64).where(zero, size), 1.0)
    bits = (e + m + 126.0) * 2.0**23
    bits = (bits + 2.0**31).where(wide < 0.0, bits)
    return t.graph.constant(0, np.int64).where(zero, bits.cast(np.int64))


def scramble(h: Value) -> Value:
    """Return 32 bits scrambled one to one, as int64 from 0 to 2**32 - 1."""
    first, second = FACTORS
    x = h ^ shifted(h, 16)
    x = _times(x, first)
    x = x ^ shifted(x, 15)
    x = _times(x, second)
    return x ^ shifted(x, 16)


def shifted(x: Value, n: int) -> Value:
    """Return x >> n for int64 numbers that are not negative."""
    if n == 0:
        return x
    words = x.cast(np.uint64)
    return x.graph.add("BitShift", words, x.graph.constant(n, np.uint64), direction="RIGHT").cast(np.int64)


def _times(x: Value, factor: int) -> Value:
    """Return x times a factor, both below 2**32, modulo 2**32; no product in between has more than 63 bits."""
    low, high = factor & 0xFFFF, factor >> 16
    return (x * low + ((x * high) & 0xFFFF) * 0x10000) & 0xFFFFFFFF
