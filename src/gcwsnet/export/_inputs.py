"""The inputs of a graph: one matrix for arrays, one input for each column of a table."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gcwsnet.coding import Coder
from gcwsnet.data import Schema
from gcwsnet.data._dates import MICROSECONDS_OF_A_DAY
from gcwsnet.data._schema import Column
from gcwsnet.export._graph import Graph, Value

MATRIX = "X"
NOT_A_TIME = np.iinfo(np.int64).min
TIMES = {
    "date": "microseconds since 1970-01-01 in UTC, as of datetime64[us]; NaT is missing",
    "duration": "microseconds, as of timedelta64[us]; NaT is missing",
}


def is_table(coder: Coder) -> bool:
    """Return whether rows of a coder are those of a table with columns of its own kinds."""
    return coder.schema is not None and bool(coder.schema.columns)


def input_names(coder: Coder) -> list[str]:
    """Return the names of the inputs that rows of a coder have."""
    schema = coder.schema
    return [MATRIX] if schema is None or not is_table(coder) else [column.key for column in schema.columns]


def add_inputs(graph: Graph, coder: Coder, dtype: np.dtype) -> Value:
    """Return the rows that the inputs make up, with NaN for missing numbers.

    Parameters
    ----------
    graph : Graph
    coder : Coder
    dtype : float32 or float64
        Of the rows of arrays; those of a table are float64.
    """
    schema = coder.schema
    if schema is None or not is_table(coder):
        return graph.input(MATRIX, dtype, coder.n_features, "rows of numbers; NaN is a missing one")
    _check_columns(schema)
    return graph.joined([KINDS[column.kind](graph, column) for column in schema.columns])


def _check_columns(schema: Schema) -> None:
    """Raise a ValueError that names the first column that no standard operator can encode."""
    for column in schema.columns:
        if column.kind == "hashed":
            raise ValueError(
                f"the column {column.key!r} has more than 100 categories, which are hashed, and no ONNX operator "
                "hashes text; merge rare categories so that at most 100 are left, or leave the column out"
            )
        if column.kind not in KINDS:
            raise ValueError(
                f"the column {column.key!r} holds sparse rows, for which ONNX has no type of input; fit on vectors of "
                "numbers, or leave the column out"
            )


def _numbers(graph: Graph, column: Column) -> Value:
    what = "0 and 1" if column.kind == "boolean" else "numbers"
    return graph.input(column.key, np.float64, column.width, f"{what}; NaN is a missing one")


def _times(graph: Graph, column: Column) -> Value:
    """Return days; see `gcwsnet.data._dates.to_days`."""
    given = graph.input(column.key, np.int64, 1, TIMES[column.kind])
    days = given.cast(np.float64) / float(MICROSECONDS_OF_A_DAY)
    return graph.constant(np.nan, np.float64).where(given.equals(NOT_A_TIME), days)


def _places(graph: Graph, column: Column) -> Value:
    """Return the place of a text among the categories of a column, -1 for any other text."""
    text = graph.input(column.key, np.object_, 1, "texts of categories; any other text, such as '', is a missing one")
    return graph.add(
        "LabelEncoder",
        text,
        dtype=np.int64,
        domain="ai.onnx.ml",
        keys_strings=list(column.categories),
        values_int64s=list(range(len(column.categories))),
        default_int64=-1,
    )


def _ranks(graph: Graph, column: Column) -> Value:
    place = _places(graph, column)
    return graph.constant(np.nan, np.float64).where(place < 0, place.cast(np.float64))


def _one_hot(graph: Graph, column: Column) -> Value:
    return _places(graph, column).equals(np.arange(column.width)).cast(np.float64)


KINDS: dict[str, Callable[[Graph, Column], Value]] = {
    "number": _numbers,
    "boolean": _numbers,
    "vector": _numbers,
    "date": _times,
    "duration": _times,
    "ordered": _ranks,
    "onehot": _one_hot,
}
