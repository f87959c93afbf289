"""Errors in data: the exception that names the place, the rules for all rows, and the handling of invalid rows."""

from __future__ import annotations

import os
import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._atomic import written_beside
from gcwsnet.tables._batch import Batch

MAX_REASONS = 10

MAX_QUOTED = 60

UNKNOWN_SHARE = 0.1

"""The share of unknown categories among the values of a column that users are warned of."""

MISSING_HINT = 'give missing="zero" or another rule, or drop the row'

MISSING_MESSAGE = f"a value must not be missing; {MISSING_HINT}"

ColumnReference = int | str | None

"""What an error calls a column: its name, its number, or None where the error is about the whole row."""


class DataError(ValueError):
    """An error in the data, with its place: ``FILE:LINE:COLUMN: rule, got value; way out``.

    Attributes
    ----------
    path : str or None
        The file. "-" is standard input.
    line : int or None
        Counted from 1: the line of a text file, the row of another file.
    column : int, str or None
        The byte of the line in a LIBSVM file, counted from 1. In other files the name of the column, or its number
        where it has no name: counted from 1 in CSV files, and from 0 in arrays.

    Examples
    --------
    >>> error = DataError("a label must be a number, got 'x'", path="a.svm", line=3, column=1)
    >>> str(error), error.line
    ("a.svm:3:1: a label must be a number, got 'x'", 3)
    """

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, column: ColumnReference = None
    ) -> None:
        place = ":".join(str(part) for part in (path, line, column) if part is not None)
        if path is None and line is None and column is not None:
            place = f"column {column!r}"
        super().__init__(f"{place}: {message}" if place else message)
        self.path, self.line, self.column = path, line, column


class UnknownCategories(NamedTuple):
    """How many values of a column were not missing, how many of them were unknown categories, and one of these."""

    n_values: int
    n_unknown: int
    example: str | None


class ErrorHandler:
    """A handler of invalid rows: it raises the first error, or counts the errors and saves the rows.

    Parameters
    ----------
    on_error : {"stop", "skip"}
    rejects : path or None
        The file that skipped rows are written to. A file that exists is replaced when all rows have been read.

    Attributes
    ----------
    skipped : int
        The number of rows skipped so far.
    reasons : list of str
        The messages of the first errors.
    """

    def __init__(self, on_error: str, rejects: str | os.PathLike[str] | None = None) -> None:
        self.on_error = on_error
        self.skipped = 0
        self._categories: dict[ColumnReference, UnknownCategories] = {}
        self.reasons: list[str] = []
        self._n_rows, self._skipped_rows = 0, array("q")
        self._rejects = None if rejects is None else Path(rejects)
        self._file: BinaryIO | None = None

    @property
    def skipped_rows(self) -> NDArray[np.int64]:
        """The numbers of the skipped rows among all rows so far, counted from 0."""
        return np.sort(np.array(self._skipped_rows, dtype=np.int64))

    @property
    def unknown_categories(self) -> int:
        """The number of values so far that are not among the categories of the schema, which is no error."""
        return sum(column.n_unknown for column in self._categories.values())

    def count_categories(self, column: ColumnReference, texts: list[str], codes: Any, unknown: Any) -> None:
        """Count values of a column that are not missing, given by the codes of their texts, and the unknown ones."""
        before = self._categories.get(column, UnknownCategories(0, 0, None))
        example = texts[codes[unknown][0]] if before.example is None and unknown.any() else before.example
        n_values, n_unknown = int(np.count_nonzero(codes >= 0)), int(np.count_nonzero(unknown))
        self._categories[column] = UnknownCategories(before.n_values + n_values, before.n_unknown + n_unknown, example)

    def warn_of_unknown_categories(self, stacklevel: int = 3) -> None:
        """Warn of columns in which many values are unknown categories, as where they are written in another way."""
        for column, found in self._categories.items():
            if found.n_unknown and found.n_unknown >= UNKNOWN_SHARE * found.n_values:
                warnings.warn(
                    f"{found.n_unknown} of {found.n_values} values of the column {column!r} are none of its categories "
                    f"in training, such as {quote(found.example or '')}, and count as missing; write them as in "
                    "training, or train again",
                    UserWarning,
                    stacklevel=stacklevel,
                )

    def advance(self, n_rows: int) -> None:
        """Take note that these rows, valid or not, have been gone over."""
        self._n_rows += n_rows

    def handle(self, error: DataError, text: bytes, row: int) -> None:
        """Raise the error, or count it and save the text of the row, which is number `row` since the last `advance`."""
        if self.on_error == "stop":
            raise error
        self.skipped += 1
        self._skipped_rows.append(self._n_rows + row)
        if len(self.reasons) < MAX_REASONS:
            self.reasons.append(str(error))
        if self._file is not None:
            self._file.write(text.rstrip(b"\r\n") + b"\n")

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save the text of skipped rows in the meantime; the file of rejects is in its place if all rows were read."""
        if self._rejects is None:
            yield
            return
        with written_beside(self._rejects) as self._file:
            yield
        self._file = None


def row_positions(valid: NDArray[np.int64], skipped: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers among all rows of rows that are given by their numbers among the valid ones, all from 0.

    Examples
    --------
    >>> row_positions(np.arange(4), np.array([0, 3, 4]))
    array([1, 2, 5, 6])
    """
    return valid + np.searchsorted(skipped - np.arange(len(skipped)), valid, side="right")


def quote(value: bytes | str) -> str:
    """Return a value of a file as errors show it: in quotes, shortened, and on one line."""
    text = value.decode("utf-8", errors="backslashreplace") if isinstance(value, bytes) else value
    return repr(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}...")


@contextmanager
def damage_as_data_error(path: str, exceptions: tuple[type[Exception], ...], rule: str) -> Iterator[None]:
    """Raise a DataError in place of the exceptions that a library raises for a truncated or damaged file."""
    try:
        yield
    except DataError:
        raise
    except exceptions as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(f"{rule} ({reason}); get an intact copy", path=path) from error


PARQUET_COMPRESSION = "zstd"

"""Of the files that are written. Snappy, the default of pyarrow, ends the process where it has no memory."""


def require_pyarrow(needed_by: str, module: str = "pyarrow") -> Any:
    """Import pyarrow, or a module of it, and raise an error that says how to install it where it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{needed_by} needs pyarrow, which is not installed; pip install 'gcwsnet[data]'") from error


class RowOrigin(NamedTuple):
    """The place in a file that the rows of a batch come from.

    Attributes
    ----------
    path : str or None
    line, text : function of a row
    positions : sequence of int, optional
        The numbers of the rows among all that were gone over, where some of these were skipped before.
    n_rows : int, optional
        The number of rows that were gone over in that case.
    """

    path: str | None
    line: Callable[[int], int]
    text: Callable[[int], bytes]
    positions: Sequence[int] | None = None
    n_rows: int | None = None

    @classmethod
    def numbered(cls, path: str | None, first: int) -> RowOrigin:
        """Return the origin of rows of a file that is not text, where row number `first` is the first of the batch."""
        return cls(path, lambda row: first + row + 1, lambda row: f"row {first + row + 1}".encode())


class InvalidRows:
    """The rows of a batch that break a rule, each with its column and the first rule that it breaks."""

    def __init__(self) -> None:
        self._reasons: dict[int, tuple[ColumnReference, str]] = {}
        self._categories: list[tuple[ColumnReference, list[str], Any, Any]] = []

    def add(self, rows: Iterable[int], column: ColumnReference, message: Callable[[int], str]) -> None:
        """Add rows; `message` maps a row to its error message."""
        for row in rows:
            if int(row) not in self._reasons:
                self._reasons[int(row)] = (column, message(int(row)))

    def add_categories(self, column: ColumnReference, texts: list[str], codes: Any, unknown: Any) -> None:
        """Take note of the texts of a column by their codes, and of a mask of those that are unknown categories."""
        self._categories.append((column, texts, codes, unknown))

    def count_categories(self, errors: ErrorHandler, weight: Any = None) -> None:
        """Hand the categories of the valid rows that have a weight above 0 to the error handler."""
        for column, texts, codes, unknown in self._categories:
            counted = self.valid_mask(len(codes))
            if weight is not None:
                counted &= weight != 0
            errors.count_categories(column, texts, codes[counted], unknown[counted])

    def first(self) -> tuple[int, ColumnReference, str] | None:
        """Return the first invalid row, its column and the rule that it breaks, or None."""
        if not self._reasons:
            return None
        row = min(self._reasons)
        return row, *self._reasons[row]

    def valid_mask(self, n_rows: int) -> Any:
        """Return a boolean mask of the rows that are valid."""
        valid = np.ones(n_rows, dtype=bool)
        valid[list(self._reasons)] = False
        return valid

    def drop_from(self, batch: Batch, origin: RowOrigin, errors: ErrorHandler) -> Batch:
        """Hand the invalid rows to the error handler, first row first, and return the batch without them."""
        for row, (column, message) in sorted(self._reasons.items()):
            error = DataError(message, path=origin.path, line=origin.line(row), column=column)
            errors.handle(error, origin.text(row), row if origin.positions is None else origin.positions[row])
        self.count_categories(errors, batch.weight)
        errors.advance(batch.n_rows if origin.n_rows is None else origin.n_rows)
        return batch.take(self.valid_mask(batch.n_rows)) if self._reasons else batch


def check_batch(
    batch: Batch,
    invalid: InvalidRows,
    *,
    missing: str,
    known_labels: Sequence[Any] | None,
    column_reference: Callable[[int], ColumnReference] = lambda column: column,
) -> Batch:
    """Check the rules that hold for every format, and apply the rule for missing values.

    Numbers and labels must be finite, labels must be among the known ones, and weights must not be negative. Rows that
    break a rule are added to `invalid`. The batch is returned with NaN replaced if `missing` is "zero".
    """
    batch = _check_numbers(batch, invalid, missing, column_reference)
    if batch.y is not None:
        _check_labels(batch.y, invalid, known_labels)
    if batch.weight is not None:
        weight = batch.weight
        negative = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
        invalid.add(negative, None, lambda row: f"a weight must be a finite number of at least 0, got {weight[row]}")
    return batch


def _check_numbers(
    batch: Batch, invalid: InvalidRows, missing: str, column_reference: Callable[[int], ColumnReference]
) -> Batch:
    is_sparse = sparse.issparse(batch.X)
    values = (batch.X.data if is_sparse else batch.X).reshape(-1)
    entries = np.flatnonzero(~np.isfinite(values))
    if len(entries) == 0:
        return batch
    wrong = entries if missing == "error" else entries[np.isinf(values[entries])]
    if is_sparse:
        rows, columns = np.searchsorted(batch.X.indptr, wrong, side="right") - 1, batch.X.indices[wrong]
    else:
        rows, columns = np.divmod(wrong, batch.X.shape[1])
    for row, column, value in zip(rows.tolist(), columns.tolist(), values[wrong].tolist(), strict=True):
        infinite = f"a number must be finite in {values.dtype}, got {value}; correct it, or drop the row"
        message = MISSING_MESSAGE if np.isnan(value) else infinite
        invalid.add([row], column_reference(column), lambda _, message=message: message)  # type: ignore[misc]
    if missing != "zero":
        return batch
    X = batch.X.copy()
    numbers = X.data if is_sparse else X
    numbers[np.isnan(numbers)] = 0
    return batch._replace(X=X)


def _check_labels(y: Any, invalid: InvalidRows, known_labels: Sequence[Any] | None) -> None:
    if y.dtype.kind == "f":
        not_finite = np.flatnonzero(~np.isfinite(y))
        invalid.add(not_finite, None, lambda row: f"a label must be a finite number, got {y[row]}")
    if known_labels is not None:
        listed = ", ".join(map(str, list(known_labels)[:10])) + (", ..." if len(known_labels) > 10 else "")
        unknown = np.flatnonzero(~np.isin(y, np.asarray(known_labels)))
        invalid.add(
            unknown,
            None,
            lambda row: f"a label must be one of the known labels ({listed}), got {quote(str(y[row]))}; drop the row",
        )
