"""The parameters of an index, checked and frozen when the first rows are added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gcwsnet._validation import check_choice, check_integer, check_number, check_power, draw_seed
from gcwsnet.encoding import Origin
from gcwsnet.hashing import HASH_VERSION, GCWSHasher
from gcwsnet.hashing._fitted import FittedHasher
from gcwsnet.hashing._settings import MOST_HASHES, HasherSettings
from gcwsnet.neighbors._bands import Bands, choose_bands
from gcwsnet.neighbors._packing import PackedCodes

METHODS = ("auto", "scan", "bands")
ROWS_TO_SCAN = 1 << 14
"""With ``method="auto"``, bands are used for more rows than this."""


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
    def checked(cls, parameters: Mapping[str, Any]) -> IndexSettings:
        """Return the settings that the parameters of an index mean.

        Raises
        ------
        TypeError, ValueError
            If a parameter is out of its range, or has no effect together with the others.
        """
        threshold, keep_rows = parameters["threshold"], parameters["keep_rows"]
        for name in ("keep_rows", "sets"):
            if not isinstance(parameters[name], bool | np.bool_):
                raise TypeError(f"{name} must be True or False, got {name}={parameters[name]!r}")
        if parameters["sets"] and check_power(parameters["p"]) != 1:
            raise ValueError(f"p has no effect with sets=True, got p={parameters['p']:g}; leave it out")
        if keep_rows and parameters["fetch_rows"] is not None:
            raise ValueError("fetch_rows has no effect with keep_rows=True; give keep_rows=False")
        settings = cls(
            n_hashes=check_integer("n_hashes", parameters["n_hashes"], 1, MOST_HASHES),
            p=check_power(parameters["p"]),
            bits=check_integer("bits", parameters["bits"], 1, 32),
            threshold=None if threshold is None else check_number("threshold", threshold, 0.0, 1.0),
            recall=check_number("recall", parameters["recall"], 0.5, 0.9999),
            keep_rows=bool(keep_rows),
            seed=draw_seed(parameters["random_state"]),
            sets=bool(parameters["sets"]),
        )
        settings.uses_bands(parameters["method"], 0, None)
        return settings

    def uses_bands(self, method: str, n_rows: int, t: float | None) -> bool:
        """Return whether rows with a similarity from t on, or the k nearest ones with None, are found by buckets."""
        check_choice("method", method, METHODS)
        if method == "bands" and self.bands is None:
            raise ValueError("method='bands' needs a threshold, got threshold=None")
        if self.bands is None or method == "scan" or (method == "auto" and (t is None or n_rows <= ROWS_TO_SCAN)):
            return False
        below = t is not None and self.threshold is not None and t < self.threshold
        if method == "bands" and below:
            raise ValueError(
                f"the bands were chosen for similarities from threshold={self.threshold:g} on, got {t:g}; use "
                "method='scan' or 'auto', or build the index with a lower threshold"
            )
        return not below

    @cached_property
    def bands(self) -> Bands | None:
        """The bands, if there is a threshold."""
        if self.threshold is None:
            return None
        return choose_bands(self.n_hashes, self.bits, self.threshold, self.recall)

    @cached_property
    def packing(self) -> PackedCodes:
        """How the codes of a row are held."""
        return PackedCodes.of_bits(self.n_hashes, self.bits)

    @property
    def _sampler(self) -> str:
        return "minwise" if self.sets else "gcws"

    def hasher(self, n_features: int) -> FittedHasher:
        """Return the hasher of rows with a number of columns: that of GCWSHasher with its defaults."""
        hasher = GCWSHasher(self.n_hashes, p=self.p, bits=self.bits, method=self._sampler)
        return FittedHasher(HasherSettings.checked(hasher.get_params(deep=False)), self.seed, n_features)

    def origin(self) -> Origin:
        """Return what decides the codes of a row."""
        return Origin(self._sampler, HASH_VERSION, self.seed, self.p, self.bits, "all", "mixed")
