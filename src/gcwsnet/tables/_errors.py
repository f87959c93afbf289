"""Errors in data: the exception that names the place, the rules for all rows, and the handling of invalid rows."""

from __future__ import annotations

import logging
import os
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet._atomic import written_beside
from gcwsnet.tables._batch import Batch

logger = logging.getLogger("gcwsnet.files")

MISSING_HINT = 'give missing="zero" or another rule, or drop the row'
MISSING_MESSAGE = f"a value must not be missing; {MISSING_HINT}"

PARQUET_COMPRESSION = "zstd"
"""Of the files that are written. Snappy, the default of pyarrow, ends the process where it has no memory."""

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


class NoRowsError(DataError):
    """The error of files without rows. Among several files, one without rows is fine."""


class InvalidRows:
    """The rows of a batch that break a rule, each with its column and the first rule that it breaks.

    Parameters
    ----------
    path : str or None
        The file that the rows come from.
    locate : function of a row
        It returns the line of a row, counted from 1, and its text.

    Attributes
    ----------
    reasons : dict of int to tuple
        The column and the error message of each invalid row.
    categories : list of tuple
        For each column of categories its name, its distinct texts, the index of each row among them, and a mask of the
        rows whose category is unknown, which is no error.
    placeholders : list of tuple
        The column and the text of each value that stands for a missing number, such as "?".
    """

    def __init__(self, path: str | None, locate: Callable[[int], tuple[int, bytes]]) -> None:
        self.path, self._locate = path, locate
        self.reasons: dict[int, tuple[ColumnReference, str]] = {}
        self.categories: list[tuple[ColumnReference, list[str], Any, Any]] = []
        self.placeholders: list[tuple[ColumnReference, str]] = []

    @classmethod
    def numbered(cls, path: str | None = None, first: int = 0) -> InvalidRows:
        """Return it for rows that have no text: row number `first`, from 0, is the first of the batch."""
        return cls(path, lambda row: (first + row + 1, f"row {first + row + 1}".encode()))

    def add(self, rows: Iterable[int], column: ColumnReference, message: str | Callable[[int], str]) -> None:
        """Add rows with their error message, or with a function from a row to its message."""
        for row in map(int, rows):
            if row not in self.reasons:
                self.reasons[row] = (column, message if isinstance(message, str) else message(row))

    def error(self, row: int) -> tuple[DataError, bytes]:
        """Return the error of an invalid row, and the text of the row."""
        line, text = self._locate(row)
        column, message = self.reasons[row]
        return DataError(message, path=self.path, line=line, column=column), text

    def valid_mask(self, n_rows: int) -> NDArray[np.bool_]:
        """Return a boolean mask of the rows that are valid."""
        valid = np.ones(n_rows, dtype=bool)
        valid[list(self.reasons)] = False
        return valid


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
        self.reasons: list[str] = []
        self._n_rows, self._skipped_rows = 0, array("q")
        self._counts: dict[ColumnReference, tuple[int, int, str]] = {}  # of values, of unknown ones, and one of these
        self._placeholders: Counter[tuple[ColumnReference, str]] = Counter()
        self._rejects = None if rejects is None else Path(rejects)
        self._file: BinaryIO | None = None

    @property
    def skipped_rows(self) -> NDArray[np.int64]:
        """The numbers of the skipped rows among all rows so far, counted from 0."""
        return np.sort(np.array(self._skipped_rows, dtype=np.int64))

    @property
    def unknown_categories(self) -> int:
        """The number of values so far that are not among the categories of the schema, which is no error."""
        return sum(n_unknown for _, n_unknown, _ in self._counts.values())

    def valid_rows(self, batch: Batch, invalid: InvalidRows) -> Iterator[Batch]:
        """Yield the valid rows of a batch. An invalid one is skipped, or its error is raised after the rows before."""
        for row in sorted(invalid.reasons):
            if self.on_error == "stop":
                yield batch.rows(0, row)
            self.handle(*invalid.error(row), row)
        valid = invalid.valid_mask(batch.n_rows)
        counted = valid if batch.weight is None else valid & (batch.weight != 0)
        for column, texts, indices, unknown in invalid.categories:
            self.count_categories(column, texts, indices[counted], unknown[counted])
        self._placeholders.update(invalid.placeholders)
        self.advance(batch.n_rows)
        yield batch.take(valid) if invalid.reasons else batch

    def handle(self, error: DataError, text: bytes, row: int = 0) -> None:
        """Raise the error, or count it and save the text of the row, which is number `row` since the last `advance`."""
        if self.on_error == "stop":
            raise error
        self.skipped += 1
        self._skipped_rows.append(self._n_rows + row)
        if len(self.reasons) < 10:
            self.reasons.append(str(error))
        if self._file is not None:
            self._file.write(text.rstrip(b"\r\n") + b"\n")

    def advance(self, n_rows: int) -> None:
        """Take note that these rows, valid or not, have been gone over."""
        self._n_rows += n_rows

    def count_categories(self, column: ColumnReference, texts: list[str], indices: Any, unknown: Any) -> None:
        """Count values of a column that are not missing, given by the indices of their texts, and the unknown ones."""
        n_values, n_unknown, example = self._counts.get(column, (0, 0, ""))
        if n_unknown == 0 and unknown.any():
            example = texts[indices[unknown][0]]
        n_values += int(np.count_nonzero(indices >= 0))
        self._counts[column] = n_values, n_unknown + int(np.count_nonzero(unknown)), example

    def warn_of_unknown_categories(self, stacklevel: int = 3) -> None:
        """Warn of columns with a tenth or more unknown categories, as where they are written in another way."""
        for column, (n_values, n_unknown, example) in self._counts.items():
            if n_unknown and n_unknown >= 0.1 * n_values:
                warnings.warn(
                    f"{n_unknown} of {n_values} values of the column {column!r} are none of its categories in "
                    f"training, such as {quote(example)}, and count as missing; write them as in training, or train "
                    "again",
                    UserWarning,
                    stacklevel=stacklevel,
                )

    def note_placeholders(self, path: str | None) -> None:
        """Note how many values were taken for missing numbers."""
        for (column, text), count in self._placeholders.items():
            said = f"1 value {text!r} of the column {column!r} counts as missing"
            if count > 1:
                said = f"{count:,} values {text!r} of the column {column!r} count as missing"
            logger.info("%s: %s", path or "the rows", said)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save the text of skipped rows in the meantime; the file of rejects is in its place if all rows were read."""
        if self._rejects is None:
            yield
            return
        with written_beside(self._rejects) as self._file:
            yield
        self._file = None


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
    X, y, weight = batch
    numbers = (X.data if sparse.issparse(X) else X).reshape(-1)
    not_finite = np.flatnonzero(~np.isfinite(numbers))
    if len(not_finite):
        wrong = not_finite if missing == "error" else not_finite[np.isinf(numbers[not_finite])]
        rows, columns = entry_places(X, wrong)
        for first in np.unique(rows, return_index=True)[1]:
            value, column = numbers[wrong[first]], column_reference(int(columns[first]))
            rule = f"a number must be finite in {numbers.dtype}, got {value}; correct it, or drop the row"
            invalid.add([rows[first]], column, MISSING_MESSAGE if np.isnan(value) else rule)
        if missing == "zero":
            X = X.copy()
            numbers = X.data if sparse.issparse(X) else X
            numbers[np.isnan(numbers)] = 0
    if y is not None and y.dtype.kind == "f":
        rows = np.flatnonzero(~np.isfinite(y))
        invalid.add(rows, None, lambda row: f"a label must be a finite number, got {y[row]}")
    if y is not None and known_labels is not None:
        listed = ", ".join(map(str, list(known_labels)[:10])) + (", ..." if len(known_labels) > 10 else "")
        rule = f"a label must be one of the known labels ({listed}), got "
        unknown = np.flatnonzero(~np.isin(y, np.asarray(known_labels)))
        invalid.add(unknown, None, lambda row: f"{rule}{quote(str(y[row]))}; drop the row")
    if weight is not None:
        rows = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
        invalid.add(rows, None, lambda row: f"a weight must be a finite number of at least 0, got {weight[row]}")
    return Batch(X, y, weight)


def entry_places(X: Any, places: Any) -> tuple[Any, Any]:
    """Return the rows and the columns of numbers of a matrix, by their places row by row, or among those of a CSR."""
    if sparse.issparse(X):
        return np.searchsorted(X.indptr, places, side="right") - 1, X.indices[places]
    return np.divmod(places, X.shape[1])


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
    return repr(text if len(text) <= 60 else f"{text[:60]}...")


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


def require_pyarrow(needed_by: str, module: str = "pyarrow") -> Any:
    """Import pyarrow, or a module of it, and raise an error that says how to install it where it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"{needed_by} needs pyarrow, which is not installed; pip install 'gcwsnet[data]'") from error
