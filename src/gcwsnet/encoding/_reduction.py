"""The factor by which a count-sketch makes vectors shorter."""

from __future__ import annotations

from gcwsnet._validation import check_integer

MOST_POSITIONS = 2**52


def reduction_factor(reduction: int | str | None, bits: int | None) -> int:
    """Return m, the factor by which a sketch makes vectors shorter, for a `reduction` as `CountSketch` takes it.

    Examples
    --------
    >>> reduction_factor(16, bits=8), reduction_factor(None, bits=8)
    (16, 1)
    >>> reduction_factor("8bit", bits=12), reduction_factor("8bit", bits=4)
    (16, 1)
    """
    if reduction is None:
        return 1
    if not isinstance(reduction, str):
        return check_integer("reduction", reduction, 1, MOST_POSITIONS)
    if reduction != "8bit":
        raise ValueError(f"reduction must be an integer, '8bit' or None, got reduction={reduction!r}")
    if bits is None:
        raise ValueError("reduction='8bit' is 2**8 bins for each hash and needs the bits of codes, got bits=None")
    return 1 << max(bits - 8, 0)
