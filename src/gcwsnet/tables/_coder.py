"""The coder: from rows of real numbers to codes, with the preprocessing that was learned for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._threads import n_threads
from gcwsnet._validation import (
    BATCH_BYTES,
    Matrix,
    as_floats,
    check_choice,
    check_finite,
    check_integer,
    check_number,
    check_power,
    require_memory,
    without_nan,
)
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.tables._bins import Bins
from gcwsnet.tables._preprocessing import AnyPreprocessing, preprocessing_from_state
from gcwsnet.tables._scaling import KINDS
from gcwsnet.tables._schema import Schema

if TYPE_CHECKING:
    from gcwsnet.hashing._gcws import GCWSHasher


SEARCHES = ("off", "fast", "thorough")


MISSING_WHEN_READ = {"auto": "nan", "error": None, "zero": "zero", "mean": "nan"}
"""The rule of `gcwsnet.files.read` for missing values, where it is not its default, by that of a coder."""

ROWS_AT_ONCE = 8192

FEW_ROWS = 10_000
HASHES_AND_BITS_FOR_FEW_ROWS, HASHES_AND_BITS_FOR_MANY_ROWS, HASHES_AND_BITS = (128, 4), (256, 6), (256, 8)

BINS = "bins."

Arrays = dict[str, NDArray[Any]]


@dataclass(kw_only=True, eq=False, repr=False)
class HashingParameters:
    """The parameters of preprocessing and hashing, with their defaults; `GCWSNetClassifier` describes them."""

    n_hashes: int | Literal["auto"] = field(default="auto", kw_only=False)
    bits: int | Literal["auto"] = "auto"
    t_bits: int | Literal["all"] = "all"
    p: float | Literal["auto"] = "auto"
    scale: str | None = "auto"
    relevance: float | Literal["auto"] = "auto"
    encoding: str = "mixed"
    missing: str = "auto"
    search: str = "fast"


@dataclass(kw_only=True)
class CoderSettings(HashingParameters):
    """What was asked of a coder when it was fitted; `n_hashes` and `bits` are numbers then."""

    n_hashes: int = field(default=256, kw_only=False)
    bits: int | Literal["auto"] = 8

    def for_rows(self, n_rows: float | None) -> CoderSettings:
        """Return the settings with the hashes and the bits that suit nets that learn from `n_rows` rows.

        Where rows are few, small tables are as accurate as large ones, and learned in less time. A stream has
        infinitely many rows. None is for codes that no net is known for.
        """
        given: HashingParameters = self
        n_hashes, bits = HASHES_AND_BITS
        if n_rows is not None and self.encoding == "mixed":
            n_hashes, bits = HASHES_AND_BITS_FOR_FEW_ROWS if n_rows <= FEW_ROWS else HASHES_AND_BITS_FOR_MANY_ROWS
        return replace(
            self,
            n_hashes=n_hashes if given.n_hashes == "auto" else given.n_hashes,
            bits=bits if given.bits == "auto" else given.bits,
        )

    def check(self) -> None:
        """Raise an error for a setting that makes no sense; the hasher checks the others."""
        if self.bits != "auto":
            check_integer("bits", self.bits, 1, 32)
        if self.p != "auto":
            check_power(self.p)
        if self.scale is not None:
            check_choice("scale", self.scale, ("auto", *KINDS))
        if self.relevance != "auto":
            check_number("relevance", self.relevance, 0.0, 10.0)
        check_choice("missing", self.missing, list(MISSING_WHEN_READ))
        check_choice("search", self.search, SEARCHES)

    def check_finite(self, X: Matrix, columns: Any = None, *, table_columns: Any = None) -> None:
        """Raise an error that names the first entry that is infinite, or missing where that is an error."""
        check_finite(
            X,
            nan_is_fine=self.missing != "error",
            columns=columns,
            table_columns=table_columns,
            way_out_of_nan=", or give missing='auto', 'zero' or 'mean'",
        )


@dataclass(frozen=True, eq=False)
class Coder:
    """A fitted map from rows to codes: columns of tables, missing values, preprocessing, hashing.

    Attributes
    ----------
    settings : CoderSettings
        What was asked for.
    seed : int
        The seed of the hashes.
    n_features : int
        The number of columns of a row.
    preprocessing : Preprocessing or TablePreprocessing
        The preprocessing in use.
    p : float
        The power in use.
    n_codes : int
        The codes of a row: `n_hashes` for each net of an ensemble.
    schema : Schema or None
        How the columns of a table become the columns of a row; None for arrays.
    bins : Bins or None
        The bins of the columns, which are further codes of a row, for an additive model.
    code_bits : int
        The bits of a code.
    hasher : GCWSHasher
        The hasher that these make up.
    """

    settings: CoderSettings
    seed: int
    n_features: int
    preprocessing: AnyPreprocessing
    p: float
    n_codes: int
    schema: Schema | None = None
    bins: Bins | None = None

    @cached_property
    def _hasher(self) -> Hasher:
        """The hasher of preprocessed rows, which a kernel machine does not need."""
        return Hasher(**self._hasher_parameters, seed=self.seed, n_features=self.preprocessing.n_columns)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, from which all else follows."""
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}

    @property
    def _hasher_parameters(self) -> dict[str, Any]:
        return {
            "n_hashes": self.n_codes,
            "p": self.p,
            "bits": self.settings.bits,
            "t_bits": self.settings.t_bits,
            "encoding": self.settings.encoding,
            "missing": "error" if self.settings.missing == "error" else "zero",
        }

    @property
    def code_bits(self) -> int:
        """The bits of a code."""
        return self._hasher.code_bits

    @property
    def hasher(self) -> GCWSHasher:
        """The hasher of preprocessed rows, as a transformer of scikit-learn."""
        from gcwsnet.hashing._gcws import GCWSHasher  # noqa: PLC0415 - scikit-learn takes long to import

        hasher = GCWSHasher(**self._hasher_parameters, random_state=self.seed)
        return hasher.fit(sparse.csr_matrix((1, self.preprocessing.n_columns), dtype=np.float32))

    @property
    def n_inputs(self) -> int:
        """The number of columns of a table, or of a row that is no row of a table."""
        names = [] if self.schema is None else self.schema.input_names
        return len(names) or self.n_features

    @property
    def scale(self) -> str | None:
        """The name of the preprocessing in use."""
        return self.preprocessing.recipe.scale

    @property
    def n_bins(self) -> int:
        """The columns that have bins, whose codes come last."""
        return 0 if self.bins is None else len(self.bins.counts)

    def is_alike(self, other: Coder) -> bool:
        """Return whether the coders differ in statistics of columns alone."""
        one, two = self.preprocessing, other.preprocessing
        return (self.p, one.recipe, one.n_columns) == (other.p, two.recipe, two.n_columns)

    def codes(self, X: Matrix, *, n_jobs: int | None = None) -> NDArray[Any]:
        """Return the codes of checked rows.

        Parameters
        ----------
        X : array or canonical CSR of shape (n, n_features)
        n_jobs : int, optional
            Threads; the codes are the same for any number of them.

        Returns
        -------
        codes : unsigned integers of shape (n, n_codes + n_bins)
            Those of a single dense row cannot be written to.
        """
        if X.shape[0] == 1 and isinstance(X, np.ndarray):
            return self._codes_of_one(X)
        n, k = X.shape[0], self.n_codes + self.n_bins
        dtype, threads, step = self._hasher.code_dtype, n_threads(n_jobs), rows_at_once(X)
        require_memory(n * k * dtype.itemsize, f"the codes of {n} rows with {k} hashes each", "give fewer rows at once")
        if 0 < n <= step:
            return self._codes_of_some(X, threads)
        codes = np.empty((n, k), dtype=dtype)
        for first in range(0, n, step):
            codes[first : first + step] = self._codes_of_some(X[first : first + step], threads)
        return codes

    def _codes_of_one(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the codes of a dense row, which are kept: a row of a stream is predicted, and then learned from."""
        key = X.dtype, X.tobytes()
        last = vars(self).get("_last")
        if last is None or last[0] != key:
            codes = self._codes_of_some(X, 1)
            codes.flags.writeable = False
            last = vars(self)["_last"] = key, codes
        return last[1]

    def _codes_of_some(self, X: Matrix, threads: int) -> NDArray[Any]:
        codes = self._hasher.codes(self.preprocess(X), threads)
        if self.bins is None:
            return codes
        if self.settings.missing == "zero":
            X = without_nan(as_floats(X))
        return np.hstack([codes, self.bins.codes(X).astype(codes.dtype)])

    def preprocess(self, X: Matrix) -> Matrix:
        """Return rows as they are hashed."""
        if self.settings.missing == "zero":
            X = without_nan(as_floats(X))
        return self.preprocessing.transform(X)

    def state(self) -> tuple[Arrays, dict[str, Any]]:
        """Return all of it as arrays and as what JSON can hold."""
        arrays, preprocessing = self.preprocessing.state()
        if self.bins is not None:
            arrays |= {f"{BINS}{name}": value for name, value in vars(self.bins).items()}
        return arrays, {
            "settings": asdict(self.settings),
            "seed": self.seed,
            "n_features": self.n_features,
            "p": self.p,
            "ensemble": self.n_codes // self.settings.n_hashes,
            "schema": None if self.schema is None else self.schema.to_json(),
            "preprocessing": preprocessing,
        }

    @classmethod
    def from_state(cls, arrays: Arrays, description: dict[str, Any]) -> Coder:
        """Return the coder whose state this is."""
        preprocessing = preprocessing_from_state(arrays, description["preprocessing"])
        settings = CoderSettings(**description["settings"])
        settings.check()
        return cls(
            settings=settings,
            seed=description["seed"],
            n_features=description["n_features"],
            preprocessing=preprocessing,
            p=description["p"],
            n_codes=description["ensemble"] * settings.n_hashes,
            schema=None if description["schema"] is None else Schema.from_json(description["schema"]),
            bins=Bins(arrays[f"{BINS}ends"], arrays[f"{BINS}counts"]) if f"{BINS}counts" in arrays else None,
        )


def rows_at_once(X: Matrix) -> int:
    """Return how many rows are preprocessed and hashed together."""
    if sparse.issparse(X):
        return ROWS_AT_ONCE
    return max(1, min(ROWS_AT_ONCE, BATCH_BYTES // (8 * max(1, X.shape[1]))))
