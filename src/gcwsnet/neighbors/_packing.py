"""Codes as an index holds them: those of up to 4 bits share bytes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

HELD_BITS = (1, 2, 4, 8, 16, 32)
Codes = NDArray[np.unsignedinteger]


class PackedCodes(NamedTuple):
    """How the codes of a row are held.

    Attributes
    ----------
    n_hashes : int
        The codes of a row.
    held_bits : int
        The bits that a code takes: 1, 2, 4, 8, 16 or 32.
    """

    n_hashes: int
    held_bits: int

    @classmethod
    def of_bits(cls, n_hashes: int, bits: int) -> PackedCodes:
        """Return how codes of b bits are held.

        Examples
        --------
        >>> PackedCodes.of_bits(256, bits=3)
        PackedCodes(n_hashes=256, held_bits=4)
        """
        return cls(n_hashes, next(held for held in HELD_BITS if held >= bits))

    @property
    def n_columns(self) -> int:
        """The numbers that hold a row."""
        return -(-self.n_hashes // self._shared)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Their type."""
        return np.dtype(f"u{max(1, self.held_bits // 8)}")

    @property
    def _shared(self) -> int:
        return max(1, 8 // self.held_bits)

    def pack(self, codes: Codes) -> Codes:
        """Return codes of the shape (n, n_hashes) as they are held.

        The first code of a byte has its lowest bits, and what is left of the last byte of a row is 0.

        Examples
        --------
        >>> PackedCodes.of_bits(3, bits=4).pack(np.array([[1, 2, 15]], dtype=np.uint8))
        array([[33, 15]], dtype=uint8)
        """
        if self._shared == 1:
            return np.ascontiguousarray(codes, self.dtype)
        packed = np.zeros((len(codes), self.n_columns), np.uint8)
        for place in range(self._shared):
            part = codes[:, place :: self._shared].astype(np.uint8)
            packed[:, : part.shape[1]] |= part << np.uint8(place * self.held_bits)
        return packed
