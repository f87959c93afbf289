"""The coder: from rows of real numbers to codes, with everything that was learned for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._memory import require_memory
from gcwsnet._threads import n_threads
from gcwsnet._validation import BATCH_BYTES, Matrix, as_floats, check_choice, check_finite, check_power, without_nan
from gcwsnet.coding._preprocessing import (
    KINDS,
    Preprocessing,
    learn_preprocessing,
    preprocessing_from_state,
    preprocessing_state,
)
from gcwsnet.coding._selection import Candidate, Score, select
from gcwsnet.hashing._fitted import FittedHasher
from gcwsnet.hashing._settings import DEFAULT_TABLE_MEMORY, HasherSettings

if TYPE_CHECKING:
    from gcwsnet.hashing import GCWSHasher

MISSING = ("error", "zero", "mean")
ROWS_AT_ONCE = 8192

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class CoderSettings:
    """What a user asks of a coder; see `GCWSNetClassifier` for each setting."""

    n_hashes: int = 256
    bits: int = 8
    t_bits: int | Literal["all"] = "all"
    p: float | str = "auto"
    scale: str | None = "auto"
    encoding: str = "mixed"
    missing: str = "error"

    def check(self) -> None:
        """Raise an error for a setting that the hasher does not check itself."""
        if self.p != "auto":
            check_power(self.p)
        if self.scale is not None:
            check_choice("scale", self.scale, ("auto", *KINDS))
        check_choice("missing", self.missing, MISSING)

    def check_finite(self, X: Matrix, columns: Any = None) -> None:
        """Raise an error that names the first entry that is infinite, or missing where that is an error."""
        check_finite(
            X,
            nan_is_fine=self.missing != "error",
            columns=columns,
            way_out_of_nan=", or give missing='zero' or missing='mean'",
        )


@dataclass(frozen=True, eq=False)
class Coder:
    """A fitted map from rows to codes: missing values, preprocessing, hashing.

    Attributes
    ----------
    settings : CoderSettings
        What was asked for.
    seed : int
        The seed of the hashes.
    n_features : int
        The number of columns of a row.
    preprocessing : Preprocessing or None
        The preprocessing in use; None leaves rows as they are.
    p : float
        The power in use.
    selection : tuple of Candidate
        The candidates that p and the preprocessing were selected from; empty where nothing was selected.
    code_bits : int
        The bits of a code.
    hasher : GCWSHasher
        The hasher that these make up.
    """

    settings: CoderSettings
    seed: int
    n_features: int
    preprocessing: Preprocessing | None
    p: float
    selection: tuple[Candidate, ...] = ()
    _hasher: FittedHasher = field(init=False, repr=False)

    def __post_init__(self) -> None:
        settings = HasherSettings.checked(self._hasher_parameters)
        object.__setattr__(self, "_hasher", FittedHasher(settings, self.seed, self.n_features))

    @property
    def _hasher_parameters(self) -> dict[str, Any]:
        return {
            "n_hashes": self.settings.n_hashes,
            "p": self.p,
            "bits": self.settings.bits,
            "t_bits": self.settings.t_bits,
            "encoding": self.settings.encoding,
            "output": "codes",
            "method": "gcws",
            "missing": "error" if self.settings.missing == "error" else "zero",
            "table_memory": DEFAULT_TABLE_MEMORY,
        }

    @property
    def code_bits(self) -> int:
        """The bits of a code."""
        return self._hasher.settings.code_bits

    @cached_property
    def hasher(self) -> GCWSHasher:
        """The hasher of preprocessed rows, as a transformer of scikit-learn."""
        from gcwsnet.hashing import GCWSHasher  # noqa: PLC0415 - scikit-learn takes long to import

        hasher = GCWSHasher(**self._hasher_parameters, random_state=self.seed)
        return hasher.fit(sparse.csr_matrix((1, self.n_features), dtype=np.float32))

    @property
    def scale(self) -> str | None:
        """The name of the preprocessing in use."""
        return None if self.preprocessing is None else self.preprocessing.scale

    def codes(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the codes of checked rows.

        Parameters
        ----------
        X : array or canonical CSR of shape (n, n_features)
        n_jobs : int, optional
            Threads; the codes are the same for any number of them.

        Returns
        -------
        codes : unsigned integers of shape (n, n_hashes)
        """
        n, k = X.shape[0], self.settings.n_hashes
        dtype, threads, step = self._hasher.code_dtype, n_threads(n_jobs), rows_at_once(X)
        require_memory(n * k * dtype.itemsize, f"the codes of {n} rows with {k} hashes each", "give fewer rows at once")
        if 0 < n <= step:
            return self._hasher.codes(self.preprocess(X), threads)
        codes = np.empty((n, k), dtype=dtype)
        for first in range(0, n, step):
            codes[first : first + step] = self._hasher.codes(self.preprocess(X[first : first + step]), threads)
        return codes

    def preprocess(self, X: Matrix) -> Matrix:
        """Return rows as they are hashed."""
        if self.settings.missing == "zero":
            X = without_nan(as_floats(X))
        return X if self.preprocessing is None else self.preprocessing.transform(X)

    def state(self, *, timings: bool = True) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold.

        Without timings, the seconds of the selection are 0, so that equal coders have equal states.
        """
        selection = self.selection if timings else [replace(candidate, seconds=0.0) for candidate in self.selection]
        description = {
            "settings": asdict(self.settings),
            "seed": self.seed,
            "n_features": self.n_features,
            "scale": self.scale,
            "p": self.p,
            "selection": [asdict(candidate) for candidate in selection],
        }
        return preprocessing_state(self.preprocessing), description

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any]) -> Coder:
        """Return the coder whose state this is."""
        return cls(
            settings=CoderSettings(**description["settings"]),
            seed=description["seed"],
            n_features=description["n_features"],
            preprocessing=preprocessing_from_state(description["scale"], description["n_features"], arrays),
            p=description["p"],
            selection=tuple(Candidate(**candidate) for candidate in description["selection"]),
        )


def fit_coder(X: Matrix, settings: CoderSettings, seed: int, score: Score | None = None) -> Coder:
    """Return the coder that suits rows.

    Parameters
    ----------
    X : array or canonical CSR of shape (n, D)
        Rows that have been checked for finite values.
    settings : CoderSettings
    seed : int
    score : callable, optional
        How good candidates are, see `gcwsnet.coding._selection.select`. Without it "auto" means "numeric" and p = 1.
    """
    if settings.missing == "zero":
        X = without_nan(as_floats(X))
    scale, p, candidates = select(X, settings, seed, score)
    preprocessing = None if scale is None else learn_preprocessing(X, scale)
    return Coder(settings, seed, X.shape[1], preprocessing, p, tuple(candidates))


def rows_at_once(X: Matrix) -> int:
    """Return how many rows are preprocessed and hashed together."""
    if sparse.issparse(X):
        return ROWS_AT_ONCE
    return max(1, min(ROWS_AT_ONCE, BATCH_BYTES // (8 * max(1, X.shape[1]))))
