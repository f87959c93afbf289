"""What is learned from the columns of tables, and their encoding as columns of X.

What is learned from the rows of some files can be merged with what is learned from those of others. So files may be
read by different processes, and the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet import _sparse as sparse
from gcwsnet._validation import INEXACT, INEXACT_WAY_OUT
from gcwsnet.tables._batch import Batch, mark_canonical
from gcwsnet.tables._columns import (
    DATE_ORDERS,
    PARSERS,
    ArrowColumn,
    Factor,
    TableColumn,
    are_values,
    canonical_text,
    days_of,
    find_categories,
    form_of_text,
    labels_of_texts,
    parse_day_first,
    words_of,
)
from gcwsnet.tables._errors import MISSING_MESSAGE, ColumnReference, DataError, InvalidRows, quote, require_pyarrow
from gcwsnet.tables._schema import HASH_COLUMNS, NUMBERS, Column, ColumnSelection, Schema

FNV_BASIS, FNV_PRIME = 0xCBF29CE484222325, 0x100000001B3

PLURALS = {"category": "categories", "ordered": "ordered categories", "vector": "lists"}
PLURALS |= {kind: f"{kind}s" for kind in ("number", "boolean", "date", "duration")}

CATEGORIES_HINT = "if these are categories, name the column in categorical, or give it a type of categories"

Entries = tuple[Any, Any, Any]
"""Rows, columns and values of entries that are not zero."""


MAX_LABELS = 10_000

MAX_ONE_HOT = 100
"""A column with more categories is hashed."""


def encode(
    columns: Mapping[int, TableColumn], selection: ColumnSelection, schema: Schema, invalid: InvalidRows, dtype: str
) -> Batch:
    """Return the rows of a table as a batch, with NaN for missing numbers.

    Rows that break another rule are added to `invalid`, and so are unknown categories, which are no error.

    Parameters
    ----------
    columns : dict of int to TableColumn
        The columns of the table by their numbers.
    selection : ColumnSelection
        Which of them are features, label and weight.
    schema : Schema
    invalid : InvalidRows
    dtype : str
    """
    shape = (len(columns[selection.features[0]]), schema.n_features)
    parts = _encode_columns(columns, selection, schema, invalid)
    with np.errstate(over="ignore"):  # check_batch finds infinite numbers
        X = (_join_sparse if schema.is_sparse else _join_dense)(parts, shape, dtype)
    y = None if selection.label is None else to_labels(columns[selection.label], schema, invalid)
    return Batch(X, y, None if selection.weight is None else columns[selection.weight].numbers())


def to_labels(column: TableColumn, schema: Schema, invalid: InvalidRows) -> Any:
    """Return labels as numbers of their own type, or as strings; rows without a label are invalid."""
    pyarrow = require_pyarrow("tables")
    assert isinstance(column, ArrowColumn)  # noqa: S101 - only files have labels among their columns
    array, kind = column.array, column.kind
    reference: ColumnReference = schema.label + 1 if isinstance(schema.label, int) else schema.label
    if kind not in ("number", "boolean"):
        try:
            array = array.cast("string")
        except pyarrow.ArrowException:
            message = f"a label must be a number, a boolean or text, got the type {array.type}; convert the column"
            invalid.add(range(len(array)), reference, message)
            return np.zeros(len(array))
    if array.null_count:
        nulls = np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))
        invalid.add(nulls, reference, "a label must not be missing; drop the row")
        array = array.fill_null({"number": 0, "boolean": False}.get(kind, ""))
    if kind == "boolean":
        array = array.cast("int8")
    if pyarrow.types.is_decimal(array.type):
        return _decimal_labels(array, reference, invalid)
    if kind in ("number", "boolean"):
        return array.to_numpy(zero_copy_only=False)
    return np.asarray(array.to_pylist(), dtype=str)


def _decimal_labels(array: Any, reference: ColumnReference, invalid: InvalidRows) -> Any:
    if array.type.scale > 0:
        return ArrowColumn(array).numbers()
    values = array.to_pylist()
    try:
        return labels_of_texts([format(value, "f") for value in values])
    except ValueError:
        rule = "labels that are integers must be within int64 or text, got "
        beyond = [row for row, value in enumerate(values) if abs(value) >= 2**63]
        invalid.add(beyond, reference, lambda row: f"{rule}{values[row]}; convert the column")
        return ArrowColumn(array).numbers()


def hash_to_columns(column: str, texts: Sequence[str], n_columns: int) -> NDArray[np.int64]:
    """Return the columns, from 0 to `n_columns` - 1, that the texts of one column of a table are hashed to.

    The bytes of ``column=text`` in UTF-8 go through FNV-1a (64 bits) and the finalizer of splitmix64. The upper 32 bits
    of that, times `n_columns`, over 2**32 is the column.

    Parameters
    ----------
    column : str
        The name, or the number from 0 where there is no name.
    texts : list of str
    n_columns : int
        At most 2**31.

    Examples
    --------
    >>> hash_to_columns("city", ["Rome", "Oslo"], 1000).tolist()
    [800, 413]
    """
    state = FNV_BASIS
    for byte in f"{column}=".encode():
        state = (state ^ byte) * FNV_PRIME % 2**64
    return ((text_keys(texts, state) >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)


def text_keys(texts: Sequence[str], state: int = FNV_BASIS) -> NDArray[np.uint64]:
    """Return the keys of texts: FNV-1a (64 bits) of their UTF-8 from a state on, and the finalizer of splitmix64."""
    encoded = [text.encode("utf-8", errors="surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    keys = np.empty(len(encoded), np.uint64)
    _core.text_keys(b"".join(encoded), ends, state, keys)
    return keys


def _encode_columns(
    columns: Mapping[int, TableColumn], selection: ColumnSelection, schema: Schema, invalid: InvalidRows
) -> Iterator[tuple[int, NDArray[np.float64] | Entries]]:
    """Yield for each column of a table its first column of X, and what it becomes: a block of columns, or entries."""
    first = 0
    for column, number in zip(schema.columns, selection.features, strict=True):
        source = columns[number]
        if column.kind in NUMBERS:
            yield first, _encode_numbers(column, source, schema, invalid)[:, np.newaxis]
        elif column.kind == "vector":
            yield first, _encode_vectors(column, source, invalid)
        else:
            start = schema.n_features - schema.hash_columns if column.kind == "hashed" else first
            yield start, _encode_categories(column, source, schema, invalid)
        first += column.width


def _join_dense(parts: Iterator[tuple[int, Any]], shape: tuple[int, int], dtype: str) -> Any:
    X = np.zeros(shape, dtype)
    for first, part in parts:
        if isinstance(part, tuple):
            rows, columns, values = part
            X[rows, first + columns] = values
        else:
            X[:, first : first + part.shape[1]] = part
    return X


def _join_sparse(parts: Iterator[tuple[int, Any]], shape: tuple[int, int], dtype: str) -> Any:
    entries: list[Entries] = []
    for first, part in parts:
        if isinstance(part, tuple):
            rows, columns, values = part
        else:
            rows, columns = np.nonzero(part)
            values = part[rows, columns]
        entries.append((rows, first + columns, values))
    rows, columns, values = (np.concatenate(each) for each in zip(*entries, strict=True))
    index = np.int32 if shape[1] <= np.iinfo(np.int32).max else np.int64
    X = sparse.coo_array((values.astype(dtype), (rows.astype(index), columns.astype(index))), shape=shape).tocsr()
    X.sum_duplicates()
    return mark_canonical(X)


def _encode_numbers(column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the column of X that a column of numbers, booleans, dates, durations or ordered categories becomes."""
    if column.kind == "ordered":
        return _encode_ranks(column, source, schema, invalid)
    is_time = column.kind in ("date", "duration")
    if is_time and source.kind == column.kind:
        return source.days()
    if not is_time and source.kind in ("number", "boolean"):
        _refuse_inexact(column, source, invalid)
        return source.numbers()
    if source.kind == "number" and np.isnan(numbers := source.numbers()).all():
        return numbers  # a column without values has no other type
    if source.kind not in ("text", "category", "ordered"):
        got = PLURALS.get(source.kind, source.kind)
        message = f"the column must hold {PLURALS[column.kind]}, as in training, got {got}; convert it, or train again"
        invalid.add(range(len(source)), column.reference, message)
        return np.zeros(len(source))
    return _parse_texts(column, factor_of_column(column, source), invalid)


def _refuse_inexact(column: Column, source: TableColumn, invalid: InvalidRows) -> None:
    rows = source.inexact_rows()
    invalid.add(rows, column.reference, lambda row: f"{INEXACT}, got {rows[row]!s:.60}; {INEXACT_WAY_OUT}")


def _parse_texts(column: Column, factor: Factor, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return numbers, booleans, dates or durations that are texts; a text that is none makes its rows invalid."""
    parse, what = PARSERS[column.kind]
    if column.date_order:
        parse = DATE_ORDERS[column.date_order]
        what = "a date such as 31/12/2024" if parse is parse_day_first else "a date such as 12/31/2024"
    found = [parse(text) for text in factor.texts]
    is_unknown = np.array([one is None for one in found], dtype=bool)
    if column.kind in ("date", "duration"):
        parsed = days_of(np.array([one or 0 for one in found], dtype=np.int64), "us", is_unknown)
    else:
        parsed = np.array(found, dtype=np.float64)
    message = f"a value must be {what}, as the others of this column are, got "
    invalid.add(
        np.flatnonzero(np.append(is_unknown, False)[factor.indices]),
        column.reference,
        lambda row: f"{message}{quote(factor.texts[factor.indices[row]])}; {CATEGORIES_HINT}",
    )
    return np.append(parsed, np.nan)[factor.indices]


def _encode_ranks(column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the ranks of ordered categories, with NaN for missing and for unknown ones."""
    indices, texts = factor_of_column(column, source)
    if not column.categories:  # they are still to be learned
        return np.where(indices < 0, np.nan, 0.0)
    ranks = np.append(find_categories(texts, column.categories), -1)[indices]
    unknown = (ranks < 0) & (indices >= 0)
    invalid.categories.append((column.reference, texts, indices, unknown))
    if schema.missing == "error":
        message = "an ordered category must be one of those of training where missing values are errors, got "
        invalid.add(
            np.flatnonzero(unknown),
            column.reference,
            lambda row: f"{message}{quote(texts[indices[row]])}; drop the row",
        )
    return np.where(ranks < 0, np.nan, ranks)


def factor_of_column(column: Column, source: TableColumn) -> Factor:
    """Return the indices and the texts of a column of categories, or raise a DataError that names the column."""
    try:
        return source.factor()
    except TypeError as error:
        raise DataError(str(error), column=column.reference) from error


def _encode_vectors(column: Column, source: TableColumn, invalid: InvalidRows) -> NDArray[np.float64]:
    """Return the columns of X that a column of vectors becomes."""
    _refuse_inexact(column, source, invalid)
    lengths, values = source.lists()
    wrong = lengths != column.width
    rule = f"a vector must have {column.width} numbers, got "
    invalid.add(
        np.flatnonzero(wrong),
        column.reference,
        lambda row: f"{rule}{lengths[row] or 'none: it is missing or empty'}; drop the row",
    )
    block = np.zeros((len(source), column.width))
    block[~wrong] = values[np.repeat(~wrong, lengths)].reshape(-1, column.width)
    return block


def _encode_categories(column: Column, source: TableColumn, schema: Schema, invalid: InvalidRows) -> Entries:
    """Return a one for each row whose category is known, in the column of its category or of its hash."""
    indices, texts = factor_of_column(column, source)
    if schema.missing == "error":
        invalid.add(np.flatnonzero(indices < 0), column.reference, MISSING_MESSAGE)
    if column.words:
        return _encode_words(column, indices, texts, schema)
    if column.kind == "hashed":
        hashed = [canonical_text(text) for text in texts] if column.by_value else texts
        places = hash_to_columns(column.key, hashed, schema.hash_columns)
    else:
        places = find_categories(texts, column.categories)
    found = np.append(places, -1)[indices]
    if column.kind == "onehot" and column.categories:
        invalid.categories.append((column.reference, texts, indices, (found < 0) & (indices >= 0)))
    rows = np.flatnonzero(found >= 0)
    return rows, found[rows], np.ones(len(rows))


def _encode_words(column: Column, indices: NDArray[np.int64], texts: list[str], schema: Schema) -> Entries:
    """Return a one for each word of each row, in the column of its hash."""
    words = [words_of(text) for text in texts]
    distinct = sorted(set().union(*words))
    place_of = dict(zip(distinct, hash_to_columns(column.key, distinct, schema.hash_columns).tolist(), strict=True))
    places = [np.unique([place_of[word] for word in one]).astype(np.int64) for one in words]
    rows = np.flatnonzero(indices >= 0)
    found = [places[index] for index in indices[rows].tolist()]
    joined = np.concatenate([np.empty(0, np.int64), *found])
    return np.repeat(rows, [len(one) for one in found]), joined, np.ones(len(joined))


@dataclass(frozen=True)
class Survey:
    """What is known about rows after reading all of them once: their number, width and labels.

    Attributes
    ----------
    n_rows : int
        The number of rows, without the skipped ones.
    n_features : int
        D, the number of columns of X.
    label_type : {"integers", "numbers", "strings"} or None
        "integers" are whole numbers of any dtype. None if there are no labels.
    labels : tuple or None
        The distinct labels in ascending order. None if there are more than 10,000, or no labels.
    index_base : 0, 1 or None
        The index of the first column in LIBSVM files.
    skipped : int
        The number of rows that were skipped with ``on_error="skip"``.
    n_weighted : int
        The number of rows whose weight is not 0. Of the others nothing is learned but their labels.
    """

    n_rows: int
    n_features: int
    label_type: str | None
    labels: tuple[Any, ...] | None
    index_base: int | None
    skipped: int
    n_weighted: int


def infer_label_type(y: NDArray[Any]) -> str:
    """Return "integers", "numbers" or "strings" by the values of the labels."""
    if y.dtype.kind in "bui":
        return "integers"
    if y.dtype.kind == "f":
        return "integers" if bool(np.all(y == np.floor(y))) else "numbers"
    return "strings"


class DistinctLabels:
    """The distinct labels of some rows, up to `MAX_LABELS` of them, and their types."""

    def __init__(self) -> None:
        self._values: set[Any] | None = set()
        self._types: set[str] = set()

    def update(self, y: NDArray[Any] | None) -> None:
        """Add labels, if there are any."""
        if y is not None and len(y):
            self._types.add(infer_label_type(y))
            self._add(set(np.unique(y).tolist()))

    def merge(self, other: DistinctLabels) -> None:
        """Add the labels of other rows."""
        self._types |= other._types
        self._add(other._values)

    def _add(self, values: set[Any] | None) -> None:
        if self._values is not None and values is not None:
            values = self._values | values
        self._values = None if self._values is None or values is None or len(values) > MAX_LABELS else values

    @property
    def label_type(self) -> str | None:
        """The most general type of the labels."""
        return next((name for name in ("strings", "numbers", "integers") if name in self._types), None)

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The distinct labels in ascending order, None if there are too many or none."""
        if not self._values:
            return None
        return tuple(sorted(map(int, self._values) if self.label_type == "integers" else self._values))


class Learner:
    """A learner of what only rows tell: how many they are, their labels, and what is open in a schema.

    Parameters
    ----------
    start : Schema
        The schema that the rows are read with, see `infer_schema`.
    path : str or None
        The file that errors name.
    text_labels : bool
        Whether labels are given as the texts of a file. They are numbers if all of them can be parsed as numbers.
    """

    def __init__(self, start: Schema, path: str | None = None, *, text_labels: bool = False) -> None:
        self.start, self._path = start, path
        self.n_rows = self.n_weighted = self.skipped = 0
        self.min_index: int | None = None  # of the columns of CSR rows
        self.max_index = -1
        self._have_y_and_weight: set[tuple[bool, bool]] = set()
        self._labels = DistinctLabels()
        self._parsed_labels = DistinctLabels() if text_labels else None  # None if some label is no number
        self._text_labels = text_labels
        kinds = {number: column.kind for number, column in enumerate(start.columns)}
        self._categories: dict[int, set[str]] = {number: set() for number, kind in kinds.items() if kind == "onehot"}
        self._forms: dict[int, set[str]] = {number: set() for number in self._categories}
        self._orders: dict[int, tuple[str, ...]] = {}

    def update(self, batch: Batch) -> None:
        """Count the valid rows of a batch, and learn from their labels."""
        X, y, weight = batch
        self.n_rows += batch.n_rows
        self.n_weighted += batch.n_rows if weight is None else int(np.count_nonzero(weight))
        self._have_y_and_weight.add((y is not None, weight is not None))
        if sparse.issparse(X) and X.nnz:
            self._add_indices(int(X.indices.min()), int(X.indices.max()))
        self._labels.update(y)
        if y is not None and self._parsed_labels is not None:
            try:
                self._parsed_labels.update(labels_of_texts(y))  # type: ignore[arg-type]
            except ValueError:
                self._parsed_labels = None

    def update_columns(self, columns: Mapping[int, TableColumn], selection: ColumnSelection, valid: Any) -> None:
        """Learn categories from the rows of a table that the boolean mask `valid` chooses."""
        for number, column in enumerate(self.start.columns):
            source = columns[selection.features[number]]
            if column.kind == "onehot":
                indices, texts = factor_of_column(column, source)
                occurring = np.unique(indices[valid])
                present = [texts[index] for index in occurring[occurring >= 0]]
                if "text" not in self._forms[number]:
                    self._forms[number].update(map(form_of_text, present))
                if len(self._categories[number]) <= MAX_ONE_HOT:
                    self._categories[number].update(present)
            elif column.kind == "ordered":
                self._check_order(number, tuple(factor_of_column(column, source).texts))

    def merge(self, other: Learner, path: str) -> None:
        """Add what was learned from the rows of the file `path`, which come after these; an error changes nothing."""
        if self._have_y_and_weight != other._have_y_and_weight:
            raise DataError(
                "files that are read together must all have label and weight, or none, and this one differs from those "
                "before it",
                path=path,
            )
        for number, order in other._orders.items():
            other._check_order(number, self._orders.get(number, order))
        self._orders |= other._orders
        self.n_rows += other.n_rows
        self.n_weighted += other.n_weighted
        self.skipped += other.skipped
        if other.min_index is not None:
            self._add_indices(other.min_index, other.max_index)
        self._labels.merge(other._labels)
        if self._parsed_labels is None or other._parsed_labels is None:
            self._parsed_labels = None
        else:
            self._parsed_labels.merge(other._parsed_labels)
        for number, categories in other._categories.items():
            self._forms[number] |= other._forms[number]
            if len(self._categories[number]) <= MAX_ONE_HOT:
                self._categories[number] |= categories

    def schema(self) -> Schema:
        """Return the schema with categories and the type of text labels."""
        if not self.start.columns:
            return self.start
        columns = []
        for number, column in enumerate(self.start.columns):
            if number in self._categories:
                categories = tuple(sorted(self._categories[number]))
                if len(categories) > MAX_ONE_HOT:
                    columns.append(replace(column, kind="hashed", width=0, by_value=are_values(self._forms[number])))
                else:
                    columns.append(replace(column, categories=categories, width=len(categories)))
            elif column.kind == "ordered":
                columns.append(replace(column, categories=self._orders.get(number, ())))
            else:
                columns.append(column)
        hashed = any(column.kind == "hashed" for column in columns)
        schema = replace(self.start, hash_columns=(self.start.hash_columns or HASH_COLUMNS) if hashed else 0)
        schema = schema.with_columns(tuple(columns))
        if schema.n_features == 0:
            raise DataError("there must be at least one value in all columns, got none", path=self._path)
        if self._text_labels:
            schema = replace(schema, label_type="strings" if self._parsed_labels is None else "numbers")
        return schema

    def survey(self, schema: Schema) -> Survey:
        """Return the survey of the rows, with the schema that was learned."""
        labels = self._parsed_labels or self._labels
        return Survey(
            n_rows=self.n_rows,
            n_features=schema.n_features,
            label_type=labels.label_type,
            labels=labels.labels,
            index_base=schema.index_base,
            skipped=self.skipped,
            n_weighted=self.n_weighted,
        )

    def _add_indices(self, smallest: int, largest: int) -> None:
        self.min_index = smallest if self.min_index is None else min(self.min_index, smallest)
        self.max_index = max(self.max_index, largest)

    def _check_order(self, number: int, order: tuple[str, ...]) -> None:
        if self._orders.setdefault(number, order) != order:
            raise DataError(
                "ordered categories must have the same order everywhere, got "
                f"{', '.join(self._orders[number])} and {', '.join(order)}; make them one type, or text",
                path=self._path,
                column=self.start.columns[number].reference,
            )
