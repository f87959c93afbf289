"""The settings of an index: its hasher, its bands of codes with their law, and how codes are packed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._validation import check_choice, check_integer, check_number, check_power, draw_seed
from gcwsnet.hashing._hasher import MAX_HASHES, Hasher, Origin
from gcwsnet.hashing.parameters import HASH_VERSION
from gcwsnet.theory import collision_probability

LOSS_OF_ESTIMATES = 0.1
"""Of the neighbours that may be missed, the share left to estimates that are too low to be compared exactly."""


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
    found = 1.0 - (1.0 - LOSS_OF_ESTIMATES) * (1.0 - recall)
    chosen = None
    for width in range(1, n_hashes + 1):
        n_bands = 1 if P == 1 else max(1, math.ceil(math.log1p(-found) / math.log1p(-(P**width))))
        if n_bands * width > n_hashes or (n_bands > 64 and chosen is not None):
            break
        chosen = Bands(n_bands, width)
    if chosen is None:
        most = float(band_recall(threshold, bits=bits, n_bands=n_hashes, width=1))
        raise ValueError(
            f"with n_hashes={n_hashes} at most {most:.3f} of the pairs with the similarity threshold={threshold:g} "
            f"are found by bands, less than recall={recall:g}; take more hashes, a higher threshold or threshold=None"
        )
    return chosen


class PackedCodes(NamedTuple):
    """How the codes of a row are held: k of them, in 1, 2, 4, 8, 16 or 32 bits each."""

    n_hashes: int
    held_bits: int

    @property
    def n_columns(self) -> int:
        """The numbers that hold a row."""
        return -(-self.n_hashes * self.held_bits // (8 * self.dtype.itemsize))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Their type."""
        return np.dtype(f"u{max(1, self.held_bits // 8)}")

    def pack(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return codes of the shape (n, n_hashes) as they are held.

        The first code of a byte has its lowest bits, and what is left of the last byte of a row is 0.

        Examples
        --------
        >>> PackedCodes(n_hashes=3, held_bits=4).pack(np.array([[1, 2, 15]], dtype=np.uint8))
        array([[33, 15]], dtype=uint8)
        """
        if self.held_bits >= 8:
            return np.ascontiguousarray(codes, self.dtype)
        packed = np.zeros((len(codes), self.n_columns), np.uint8)
        in_a_byte = 8 // self.held_bits
        for place in range(in_a_byte):
            part = codes[:, place::in_a_byte].astype(np.uint8)
            packed[:, : part.shape[1]] |= part << np.uint8(place * self.held_bits)
        return packed


@dataclass(frozen=True)
class IndexSettings:
    """The parameters of an index that decide what it holds, as they were when the first rows were added."""

    n_hashes: int
    p: float
    bits: int
    threshold: float | None
    recall: float
    keep_rows: bool
    seed: int
    sets: bool = False

    @classmethod
    def checked(
        cls,
        *,
        n_hashes: Any,
        p: Any,
        bits: Any,
        threshold: Any,
        recall: Any,
        keep_rows: Any,
        random_state: Any,
        sets: Any,
        method: Any = "auto",
        **_: Any,
    ) -> IndexSettings:
        """Return the settings that parameters of an index mean; what is out of range or has no effect is an error."""
        for name, value in (("keep_rows", keep_rows), ("sets", sets)):
            if not isinstance(value, bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {name}={value!r}")
        settings = cls(
            n_hashes=check_integer("n_hashes", n_hashes, 1, MAX_HASHES),
            p=check_power(p),
            bits=check_integer("bits", bits, 1, 32),
            threshold=None if threshold is None else check_number("threshold", threshold, 0.0, 1.0),
            recall=check_number("recall", recall, 0.5, 0.9999),
            keep_rows=bool(keep_rows),
            seed=draw_seed(random_state),
            sets=bool(sets),
        )
        if settings.sets and settings.p != 1:
            raise ValueError(f"p has no effect with sets=True, got p={p:g}; leave it out")
        settings.bands_for(method, 0, None)
        return settings

    def bands_for(self, method: str, n_rows: int, t: float | None) -> Bands | None:
        """Return the bands that find rows with a similarity from t on, or the k nearest ones with None.

        None is a scan, which ``method="auto"`` takes for up to 16,384 rows.
        """
        check_choice("method", method, ("auto", "scan", "bands"))
        if method == "bands" and self.threshold is None:
            raise ValueError("method='bands' needs a threshold, got threshold=None")
        below = t is not None and self.threshold is not None and t < self.threshold
        if method == "bands" and below:
            raise ValueError(
                f"the bands were chosen for similarities from threshold={self.threshold:g} on, got {t:g}; use "
                "method='scan' or 'auto', or build the index with a lower threshold"
            )
        bands = self.bands
        scans = method == "scan" or (method == "auto" and (t is None or below or n_rows <= 1 << 14))
        return None if scans else bands

    @cached_property
    def bands(self) -> Bands | None:
        """The bands, if there is a threshold."""
        if self.threshold is None:
            return None
        return choose_bands(self.n_hashes, self.bits, self.threshold, self.recall)

    @cached_property
    def packing(self) -> PackedCodes:
        """How the codes of a row are held."""
        return PackedCodes(self.n_hashes, next(held for held in (1, 2, 4, 8, 16, 32) if held >= self.bits))

    @property
    def _sampler(self) -> str:
        return "minwise" if self.sets else "gcws"

    def hasher(self, n_features: int) -> Hasher:
        """Return the hasher of rows with a number of columns."""
        return Hasher(
            self.n_hashes, seed=self.seed, n_features=n_features, p=self.p, bits=self.bits, method=self._sampler
        )

    def origin(self) -> Origin:
        """Return what decides the codes of a row."""
        return Origin(self._sampler, HASH_VERSION, self.seed, self.p, self.bits, "all", "mixed")
