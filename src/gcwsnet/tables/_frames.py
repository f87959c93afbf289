"""Frames in memory: the schema of a frame of pandas, polars or Arrow, and its rows as X."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gcwsnet.tables._columns import ArrowColumn, PandasColumn, TableColumn
from gcwsnet.tables._encode import Learner, encode
from gcwsnet.tables._errors import ErrorHandler, InvalidRows, require_pyarrow
from gcwsnet.tables._schema import (
    ColumnNames,
    ColumnSelection,
    FileColumn,
    ReadOptions,
    Schema,
    infer_schema,
    select_columns,
)


class Frame(NamedTuple):
    """A frame: the frame itself, the names of its columns as texts, whether they are texts there, and the columns."""

    source: Any
    names: list[str]
    named: bool
    columns: Sequence[TableColumn]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0


def is_frame(X: Any) -> bool:
    """Return whether X is a frame of pandas, polars or Arrow, or another one that pyarrow can take over.

    A frame of pandas whose columns are all sparse is a sparse matrix here, and no frame.
    """
    if isinstance(X, np.ndarray | list | tuple):
        return False
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, pandas.DataFrame):
        return not (len(X.dtypes) and all(isinstance(dtype, pandas.SparseDtype) for dtype in X.dtypes))
    if type(X).__name__ == "LazyFrame":
        raise TypeError("X must be a frame in memory, got a LazyFrame; give X.collect()")
    return hasattr(X, "__arrow_c_stream__") and (hasattr(X, "columns") or hasattr(X, "column_names"))


def open_frame(X: Any) -> Frame:
    """Return the columns of a frame by their names, which must differ."""
    names, columns = _table_columns(X)
    if not names or not len(columns[0]):
        raise ValueError(f"X must have at least one row and one column, got a frame of shape {np.shape(X)}")
    for number, name in enumerate(names):
        if not isinstance(name, str | int | np.integer) or isinstance(name, bool):
            several = "; a frame with several levels of names needs X.columns = X.columns.map('_'.join)"
            raise TypeError(
                f"the names of columns must be texts or whole numbers, got {name!r} for column number {number}; rename "
                f"it{several if isinstance(name, tuple) else ''}"
            )
    texts = [str(name) for name in names]
    twice = [name for name, count in Counter(texts).items() if count > 1]
    if twice:
        raise ValueError(f"column names must differ, got {twice[0]!r} more than once; rename or drop one of them")
    return Frame(X, texts, all(isinstance(name, str) for name in names), columns)


def _table_columns(frame: Any) -> tuple[list[Any], Sequence[TableColumn]]:
    """Return the names and the columns of a frame of pandas, polars or pyarrow, or of one that speaks to pyarrow."""
    if type(frame).__module__.split(".")[0] == "pandas":
        return list(frame.columns), [_pandas_column(series) for _, series in frame.items()]
    pyarrow = require_pyarrow(f"a frame of the type {type(frame).__name__}")
    try:
        table = frame.to_arrow() if hasattr(frame, "to_arrow") else pyarrow.table(frame)
    except pyarrow.ArrowException as error:  # 128-bit integers of polars, for example
        types = ", ".join(map(str, getattr(frame, "dtypes", ())))
        raise TypeError(
            f"the columns of a frame must have types that Arrow has, got {types:.200} ({error}); cast them"
        ) from error
    if isinstance(table, pyarrow.RecordBatch):
        table = pyarrow.Table.from_batches([table])
    table = table.unify_dictionaries().combine_chunks()
    arrays = [
        column.chunk(0) if column.num_chunks else pyarrow.array([], column.type) for column in table.itercolumns()
    ]
    return table.column_names, [ArrowColumn(array) for array in arrays]


def _pandas_column(series: Any) -> TableColumn:
    """Return a column of a frame of pandas; one that pandas keeps in pyarrow is a column of pyarrow."""
    if type(series.dtype).__name__ != "ArrowDtype":
        return PandasColumn(series)
    pyarrow = require_pyarrow("a column of pandas that is kept in Arrow")
    array = pyarrow.array(series)
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    return ArrowColumn(array)


def learn_schema(frame: Frame, missing: str) -> Schema:
    """Return the schema of a frame, with a rule for missing values: "error" or "nan"."""
    file_columns = [FileColumn.describe(name, column) for name, column in zip(frame.names, frame.columns, strict=True)]
    inferred = infer_schema(file_columns, ReadOptions(missing=missing), None)
    learner = Learner(inferred)
    learner.update_columns(dict(enumerate(frame.columns)), _select(frame, inferred), np.ones(frame.n_rows, dtype=bool))
    return learner.schema()


def encode_frame(frame: Frame, schema: Schema) -> Any:
    """Return the rows of a frame as X, with NaN for missing numbers.

    Columns are found by their names, in any order, and by their places where the schema has no names. A column that is
    missing or that the schema does not have is an error.
    """
    invalid, errors = InvalidRows.numbered(), ErrorHandler("stop")
    batch = encode(dict(enumerate(frame.columns)), _select(frame, schema), schema, invalid, "float64")
    if invalid.reasons:
        row = min(invalid.reasons)
        column, message = invalid.reasons[row]
        raise ValueError(f"X[{row}, {column!r}]: {message}")
    for categories in invalid.categories:
        errors.count_categories(*categories)
    errors.warn_of_unknown_categories()
    return batch.X


def _select(frame: Frame, schema: Schema) -> ColumnSelection:
    """Find the columns of a schema in a frame, which must have no others."""
    if any(name is None for name in schema.input_names):
        unnamed = replace(schema, label=None, weight=None, label_number=None, weight_number=None)
        return select_columns(unnamed, ColumnNames([None] * len(frame.names), None), None, required=(False, False))
    expected = [str(name) for name in schema.input_names]
    places = {name: place for place, name in enumerate(frame.names)}
    missing = [name for name in expected if name not in places]
    additional = sorted(set(places) - set(expected), key=places.__getitem__)
    if missing or additional:
        raise ValueError(
            f"X must have the columns that the model was fitted on, in any order; {_listed('missing', missing)}"
            f"{' and ' if missing and additional else ''}{_listed('additional', additional)}"
            "; rename, add or drop columns"
        )
    return ColumnSelection([places[name] for name in expected])


def _listed(what: str, names: list[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'} {what}"
