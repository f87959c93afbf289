"""Checks of matrices, parameters and memory, whose errors name the rule, the value, the place and the way out."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Iterator, Sequence
from datetime import date, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse

Matrix = Any
"""A dense float array, or a CSR matrix or array whose indices are sorted and unique."""

MAX_COLUMNS = 2**31
BATCH_BYTES = 1 << 26
MAX_WEIGHT = 1e15
MAX_EXACT = 2**53
INEXACT = "integers beyond 2**53 must be numbers that float64 holds"
INEXACT_WAY_OUT = "subtract an offset, make it a category, or write it as a float if rounding is fine"
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
LARGEST = {dtype: float(np.finfo(dtype).max) for dtype in FLOATS}


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """Return `value` as an int, if it is a whole number from `least` to `most`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {name}={value!r}")
    number = int(value)
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {most}, got {name}={number}")
    return number


def check_number(name: str, value: object, least: float, most: float) -> float:
    """Return `value` as a float, if it is a number from `least` to `most`."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {name}={value!r}")
    try:
        number = float(value)
    except OverflowError:  # an integer that no float can be
        number = math.inf
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least:g} to {most:g}, got {name}={value}")
    return number


def check_weights(weight: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """Return the weights of rows, if they are numbers that a loss can be multiplied by without overflow.

    They must be finite and not negative, and the largest must be from 1e-15 to 1e15 unless all are 0: gradients are
    squared in float32.
    """
    bad = np.flatnonzero(~((weight >= 0) & (weight <= MAX_WEIGHT)))
    if len(bad):
        row = int(bad[0])
        raise ValueError(
            f"{what} must be from 0 to {MAX_WEIGHT:g}, that of row {row} is {float(weight[row]):g}; divide all "
            "weights by a number"
        )
    largest = float(weight.max(initial=0.0))
    if 0 < largest < 1 / MAX_WEIGHT:
        raise ValueError(
            f"the largest {what} must be at least {1 / MAX_WEIGHT:g}, got {largest:g}; multiply all by a number"
        )
    return weight


def check_power(p: object) -> float:
    """Return p as a float, if it is a power that the kernels and the hashers take."""
    return check_number("p", p, 1e-6, 1e6)


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value`, if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {name}={value!r}")
    return value


def draw_seed(random_state: Any) -> int:
    """Return the seed for a `random_state`: an int from 0 to 2**64 - 1 is the seed itself, else one is drawn."""
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return check_integer("random_state", random_state, 0, 2**64 - 1)
    from sklearn.utils import check_random_state  # noqa: PLC0415 - it takes long to import

    return int(check_random_state(random_state).randint(2**32, dtype=np.uint64))


def check_matrix(
    X: Any, *, estimator: Any = None, reset: bool = True, name: str = "X", max_columns: int = MAX_COLUMNS
) -> Matrix:
    """Return X as a dense array of real numbers or as canonical CSR, not yet known to be finite.

    Nothing is copied without need: integers stay integers and a memory map stays one. With an estimator,
    its number of columns and their names are set (`reset`) or compared.
    """
    if not reset and _plainly_fits(X, estimator):
        return X
    # Of what `validate_data` does, this leaves out the tags.
    from sklearn.utils.validation import _check_feature_names, _check_n_features, check_array  # noqa: PLC0415 - slow

    given = X
    check_unmasked(name, X)
    if isinstance(X, np.ndarray | list | tuple):
        _check_objects(X, name)
    else:
        _check_columns(X, name)
    if estimator is not None:
        _check_feature_names(estimator, X, reset=reset)
    try:
        X = check_array(
            X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, input_name=name, estimator=estimator
        )
    except ValueError as error:
        place = _first_text(given)
        if place is None:
            raise
        raise ValueError(
            f"{name} must hold numbers, {name}[{place[0]}, {place[1]!r}] is {place[2]!r:.60}; convert the column, or "
            "encode it, for example with a OneHotEncoder (GCWSNetClassifier and GCWSNetRegressor take text in a frame)"
        ) from error
    if estimator is not None:
        _check_n_features(estimator, X, reset=reset)
    if X.dtype.kind not in "buif":
        raise TypeError(f"{name} must hold real numbers, got the type {X.dtype}; encode or convert it first")
    if X.shape[1] > max_columns:
        most = f"2**{max_columns.bit_length() - 1}"
        raise ValueError(f"{name} must have at most {most} columns, got {X.shape[1]}; feature-hash it to fewer")
    if X.dtype.kind in "iu":
        _check_exact(X if isinstance(X, np.ndarray) else X.data, name)
    if isinstance(X, np.ndarray):
        return X
    X = as_floats(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _plainly_fits(X: Any, estimator: Any) -> bool:
    """Return whether X is a float array or canonical CSR of the fitted width, which scikit-learn need not check."""
    return (
        (type(X) is np.ndarray or (sparse.issparse(X) and X.format == "csr" and X.has_canonical_format))
        and X.ndim == 2
        and X.dtype in FLOATS
        and X.shape[0] > 0
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
    )


def check_unmasked(name: str, values: Any) -> None:
    """Raise a ValueError if values are an array of `numpy.ma` with masked entries, which others would take as given."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise ValueError(
            f"{name} has masked entries; fill them first, for example with {name}.filled(0), or drop these rows; the "
            f"first is in row {row}"
        )


def _check_columns(X: Any, name: str) -> None:
    """Raise an error for columns of a frame of pandas, polars or Arrow that would become other numbers.

    These are dates, times and durations, and integers that float64 does not hold.
    """
    names = getattr(X, "column_names", getattr(X, "columns", None))
    dtypes = getattr(X, "dtypes", getattr(getattr(X, "schema", None), "types", None))
    if names is None or dtypes is None:
        return
    arrow = hasattr(X, "column_names")
    for number, (column, dtype) in enumerate(zip(names, dtypes, strict=True)):
        text = str(dtype).lower()
        objects = X.iloc[:, number] if text == "object" and hasattr(X, "iloc") else ()
        if text.startswith(("date", "time", "duration", "period")) or any(
            isinstance(value, date | time | timedelta) for value in objects
        ):
            raise TypeError(
                f"{name} must hold real numbers, got dates or times in the column {column!r}; convert it, for example "
                "to days (GCWSNetClassifier and GCWSNetRegressor take dates in a frame)"
            )
        if text == "object" or ("int" in text and text.endswith(("64", "128"))):
            values = X.iloc[:, number] if hasattr(X, "iloc") else X.column(number) if arrow else X.to_series(number)
            if isinstance(dtype, np.dtype) and not len(inexact_integers(values.to_numpy())) and text != "object":
                continue
            for row, value in enumerate(values.to_pylist() if arrow else values.to_list()):
                _check_exact_object(value, f"{name}[{row}, {column!r}]")


def _first_text(X: Any) -> tuple[int, Any, str] | None:
    """Return the row, the column and the text of the first text in an array or a frame, None if there is none."""
    names = getattr(X, "column_names", getattr(X, "columns", None))
    table = np.asarray(X) if names is not None or isinstance(X, np.ndarray | list | tuple) else np.empty(0)
    if table.ndim != 2 or table.dtype.kind not in "OUST":
        return None
    for row, column in np.ndindex(table.shape):
        value = table[row, column]
        if isinstance(value, str | bytes) and not _is_number(value):
            return row, column if names is None else list(names)[column], str(value)
    return None


def _is_number(text: str | bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def inexact_integers(numbers: Any) -> NDArray[np.int64]:
    """Return the places of the integers of an array, in C order, that float64 does not hold."""
    if numbers.dtype.kind not in "iu" or numbers.dtype.itemsize < 8 or not numbers.size:
        return np.empty(0, np.int64)
    if int(numbers.min()) >= -MAX_EXACT and int(numbers.max()) <= MAX_EXACT:
        return np.empty(0, np.int64)
    flat, found = numbers.reshape(-1), []
    for first in range(0, len(flat), step := BATCH_BYTES // 8):
        some = flat[first : first + step]
        floats = some.astype(np.float64)
        below = floats < 2.0 ** (63 if some.dtype.kind == "i" else 64)  # beyond that they cannot be compared
        same = below & (np.where(below, floats, 0).astype(some.dtype) == some)
        found.append(first + np.flatnonzero(~same))
    return np.concatenate(found)


def _check_exact(numbers: Any, name: str) -> None:
    """Raise a ValueError for an integer that float64 does not hold: two such integers may become one number."""
    places = inexact_integers(numbers)
    if len(places):
        value = int(numbers.reshape(-1)[places[0]])
        row, column = divmod(int(places[0]), numbers.shape[-1])
        where = f"{name}[{row}, {column}] is" if numbers.ndim == 2 else f"{name} has"
        raise ValueError(f"{INEXACT}, {where} {value}; {INEXACT_WAY_OUT}")


def _check_objects(X: Any, name: str) -> None:
    """Raise the same for an array of objects, or for lists that become one: scikit-learn would round them."""
    try:
        objects = np.asarray(X)  # which does not copy an array
    except ValueError:  # rows of several lengths, of which scikit-learn says more
        return
    if objects.dtype == object and objects.ndim == 2:
        for row, column in np.ndindex(objects.shape):
            _check_exact_object(objects[row, column], f"{name}[{row}, {column}]")


def _check_exact_object(value: Any, where: str) -> None:
    if not isinstance(value, numbers.Integral):
        return
    number = int(value)
    try:
        is_exact = float(number) == number
    except OverflowError:
        is_exact = False
    if not is_exact:
        shown = number if number.bit_length() < 200 else f"a number of {number.bit_length()} bits"
        raise ValueError(f"{INEXACT}, {where} is {shown}; {INEXACT_WAY_OUT}")


def rounded(numbers: NDArray[np.float64], dtype: np.dtype) -> NDArray[np.floating]:
    """Return numbers of another type; those beyond its range become its largest. `numbers` may be overwritten."""
    most = LARGEST[dtype]
    np.minimum(numbers, most, out=numbers)
    np.maximum(numbers, -most, out=numbers)
    return numbers.astype(dtype, copy=False)


def as_floats(X: Matrix) -> Matrix:
    """Return X as native float32 if that holds every value of its type, else as float64; not copied without need."""
    if X.dtype in FLOATS:
        return X
    small_integer = X.dtype.kind in "bui" and X.dtype.itemsize <= 2
    float32 = small_integer or (X.dtype.kind == "f" and X.dtype.itemsize <= 4)
    with np.errstate(over="ignore"):  # a long double beyond float64 becomes infinite, and is then refused
        return X.astype(np.float32 if float32 else np.float64, copy=False)


def without_nan(X: Matrix) -> Matrix:
    """Return X with zeros in place of NaN."""
    is_nan = np.isnan(X if isinstance(X, np.ndarray) else X.data)
    if not is_nan.any():
        return X
    X = X.copy()
    (X if isinstance(X, np.ndarray) else X.data)[is_nan] = 0
    return X


def row_batches(X: Matrix) -> Iterator[tuple[int, Matrix]]:
    """Yield pieces of X as floats with their first row: the whole if it needs no copy, else batches of some 64 MB.

    The numbers of a dense row are adjacent in memory.
    """
    if not isinstance(X, np.ndarray) or (
        X.dtype in FLOATS
        and (X.strides[1] == X.itemsize or X.shape[1] == 1)
        and X.flags.aligned
        and X.strides[0] % X.itemsize == 0
    ):
        yield 0, X
        return
    step = max(1, BATCH_BYTES // (8 * X.shape[1]))
    for first in range(0, X.shape[0], step):
        yield first, np.require(as_floats(X[first : first + step]), requirements=["C_CONTIGUOUS", "ALIGNED"])


def all_finite(numbers: NDArray[np.floating]) -> bool:
    """Return whether no number is infinite or NaN; for few numbers quicker than the method `all`."""
    return bool(np.logical_and.reduce(np.isfinite(numbers), axis=None))


def check_finite(
    X: Matrix,
    *,
    name: str = "X",
    nan_is_fine: bool = False,
    columns: Any = None,
    table_columns: Any = None,
    way_out_of_nan: str = "",
) -> None:
    """Raise a ValueError that names the first entry of X that is infinite, or NaN unless that is fine.

    `columns` are the names of the columns, and `table_columns` the columns of a table that they come from.
    """
    found = _first_not_finite(X, nan_is_fine)
    if found is None:
        return
    row, column, value = found
    what = "NaN" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    called = "" if columns is None else f" (column {columns[column]!r})"
    place = column if table_columns is None else repr(table_columns[column])
    way_out = "impute it or drop the row" + (way_out_of_nan if what == "NaN" else "")
    raise ValueError(f"every entry must be finite, not NaN or inf; {name}[{row}, {place}]{called} is {what}; {way_out}")


def _first_not_finite(X: Matrix, nan_is_fine: bool) -> tuple[int, int, float] | None:
    """Return the row, the column and the value of the first entry that is not finite, None if there is none."""
    if X.dtype.kind != "f":
        return None
    is_dense = isinstance(X, np.ndarray)
    step = max(1, BATCH_BYTES // (8 * X.shape[1]) if is_dense else X.shape[0])
    for first in range(0, X.shape[0], step):
        numbers = as_floats(X[first : first + step]) if is_dense else X.data
        finite = np.isfinite(numbers)
        if np.logical_and.reduce(finite, axis=None):  # for few numbers quicker than the method `all`
            continue
        bad = np.flatnonzero(np.isinf(numbers) if nan_is_fine else ~finite)
        if len(bad) and is_dense:
            row, column = divmod(int(bad[0]), X.shape[1])
            return first + row, column, float(numbers[row, column])
        if len(bad):
            row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
            return row, int(X.indices[bad[0]]), float(numbers[bad[0]])
    return None


def available_bytes() -> int | None:
    """Return the bytes of memory that a process can still get; None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        kib = sum(int(fields.get(name, "0").split()[0]) for name in ("MemAvailable", "SwapFree"))
        return kib * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def readable(n_bytes: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:,.1f} PiB"


def require_columns(n_columns: int, bytes_of_one: int, what: str) -> None:
    """Raise a MemoryError if something that is kept for each column of sparse rows does not fit into memory."""
    require_memory(
        n_columns * bytes_of_one,
        f"{what} with {n_columns} columns",
        "use scale=None and relevance=0, which keep nothing for each column, or hash the columns to fewer",
    )


def require_names(n_columns: int) -> None:
    """Raise a MemoryError if names for this many columns, one by one, do not fit into memory."""
    require_memory(
        72 * n_columns,  # a short text of Python, and the pointer to it
        f"the names of {n_columns} columns",
        "columns without names of their own are known by their numbers",
    )


def require_memory(n_bytes: int, what: str, way_out: str) -> None:
    """Raise a MemoryError, before anything is allocated, if `n_bytes` are more than are available."""
    if n_bytes <= 1 << 24:
        return  # not worth a check
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} would take {readable(n_bytes)} of memory and {readable(available)} are available; {way_out}"
        )
