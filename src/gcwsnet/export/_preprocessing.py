"""The preprocessing of rows as a graph, in the precision and in the order of operations of `gcwsnet.coding`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import LARGEST
from gcwsnet.coding import Coder
from gcwsnet.coding._codes import CodeScaling
from gcwsnet.coding._local import LocalScaling
from gcwsnet.coding._preprocessing import WIDER, Preprocessing, TablePreprocessing
from gcwsnet.coding._quantiles import QuantileScaling, normal_places
from gcwsnet.coding._scaling import CONSTANT, NUMERIC, ColumnScaling
from gcwsnet.coding._terms import TermScaling
from gcwsnet.export._graph import Graph, Value


class Rows(NamedTuple):
    """Rows of a graph.

    Attributes
    ----------
    numbers : Value of shape (n, columns)
        Without NaN.
    missing : Value of shape (n, columns)
        Where a number is missing; the number is 0 there, or of no meaning.
    """

    numbers: Value
    missing: Value

    def columns(self, places: NDArray[np.int64]) -> Rows:
        """Return some columns."""
        return Rows(self.numbers.take(places), self.missing.take(places))


class Hashed(NamedTuple):
    """Rows as they are hashed, with the columns that are never negative."""

    numbers: Value
    never_negative: NDArray[np.bool_]

    def features(self) -> NDArray[np.int64]:
        """Return the columns of `gmm_transform` that may be other than zero."""
        there = np.stack([np.ones_like(self.never_negative), ~self.never_negative], axis=1)
        return np.flatnonzero(there)


def add_preprocessing(graph: Graph, x: Value, coder: Coder) -> Hashed:
    """Return rows as they are hashed; see `Coder.preprocess`."""
    missing = graph.add("IsNaN", x, dtype=bool)
    rows = Rows(graph.constant(0, x.dtype).where(missing, x), missing)
    if coder.settings.missing == "zero":
        rows = Rows(rows.numbers, missing & False)
    preprocessing = coder.preprocessing
    if isinstance(preprocessing, Preprocessing):
        return _preprocessed(graph, rows, preprocessing)
    parts = [
        _preprocessed(graph, rows.columns(np.flatnonzero(which)), part)
        for which, part in _parts_of_table(preprocessing)
        if which.any()
    ]
    return Hashed(graph.joined([one.numbers for one in parts]), np.concatenate([one.never_negative for one in parts]))


def _parts_of_table(preprocessing: TablePreprocessing) -> list[tuple[NDArray[np.bool_], Preprocessing]]:
    numeric = preprocessing.numeric
    return [(numeric, preprocessing.of_numbers), (~numeric, preprocessing.of_others)]


def _preprocessed(graph: Graph, rows: Rows, preprocessing: Preprocessing) -> Hashed:
    """Return what `Preprocessing.transform` returns, with zeros where a number is missing."""
    scaling, weight, incomplete = preprocessing.scaling, preprocessing.weight, preprocessing.incomplete
    dtype = rows.numbers.dtype
    out = _scaled(graph, rows, scaling)
    source = scaling.source if isinstance(scaling, WIDER) else np.arange(preprocessing.n_features)
    never_negative = np.arange(len(source)) >= preprocessing.n_features  # hat functions and values of codes
    if weight is not None:
        out = _rounded(graph, out.cast(np.float64) * weight[source], dtype)
        never_negative &= weight[source] >= 0
    missing = rows.missing if len(source) == preprocessing.n_features else rows.missing.take(source)
    out = graph.constant(0, dtype).where(missing, out)
    if not len(incomplete):
        return Hashed(out, never_negative)
    marks = rows.missing.take(incomplete).cast(dtype)
    if weight is not None:
        marks = _rounded(graph, marks.cast(np.float64) * weight[incomplete], dtype)
    of_marks = np.ones(len(incomplete), dtype=bool) if weight is None else weight[incomplete] >= 0
    return Hashed(graph.joined([out, marks]), np.concatenate([never_negative, of_marks]))


def _scaled(graph: Graph, rows: Rows, scaling: object) -> Value:
    x, dtype = rows.numbers, rows.numbers.dtype
    if scaling is None:
        return x
    if isinstance(scaling, ColumnScaling):
        return _rounded(graph, (x.cast(np.float64) - scaling.shift) / scaling.divisor, dtype)
    if isinstance(scaling, TermScaling):
        return _rounded(graph, _terms(graph, x.cast(np.float64), scaling), dtype)
    if isinstance(scaling, QuantileScaling):
        return _quantiles(graph, x, scaling)
    if isinstance(scaling, LocalScaling):
        return _local(graph, rows, scaling)
    if isinstance(scaling, CodeScaling):
        return _codes(graph, rows, scaling)
    raise NotImplementedError(
        f"a scaling of the type {type(scaling).__name__} cannot be exported; fit with scale='numeric'"
    )


def _rounded(graph: Graph, numbers: Value, dtype: np.dtype) -> Value:
    """Return numbers of another type; those beyond its range become its largest."""
    most = LARGEST[dtype]
    least = graph.add("Min", numbers, graph.constant(most, np.float64))
    return graph.add("Max", least, graph.constant(-most, np.float64)).cast(dtype)


def _terms(graph: Graph, x: Value, scaling: TermScaling) -> Value:
    """Return columns times their weights, and rows divided by their lengths; see `TermScaling.transform`."""
    if scaling.scale == "idf":
        return x * scaling.weight
    weighted = _near_one(graph, x) * scaling.weight
    one = graph.constant(1.0, np.float64)
    largest = graph.add("Abs", weighted).reduced("ReduceMax", 1)
    largest = one.where(largest.equals(0.0), largest)
    share = weighted / largest
    length = largest * graph.add("Sqrt", (share * share).sum_in_order(1).with_axis(1))
    return weighted / length.where(length > 0.0, one)


def _near_one(graph: Graph, x: Value) -> Value:
    """Return rows times powers of two that bring their largest numbers to between 0.5 and 1, as `numpy.ldexp` does."""
    one = graph.constant(1.0, np.float64)
    largest = graph.add("Abs", x).reduced("ReduceMax", 1)
    is_large = largest >= 1.0
    down, left = graph.constant(0.5, np.float64).where(is_large, one), largest
    for bits in POWERS_OF_TWO:
        above = left >= 2.0**bits
        factor = graph.constant(2.0**-bits, np.float64).where(above, one)
        down, left = down * factor, left * factor
    ups, left = [one, one], largest
    for place, bits in enumerate((POWERS_OF_TWO[0], *POWERS_OF_TWO)):
        below = left < 2.0**-bits
        factor = graph.constant(2.0**bits, np.float64).where(below, one)
        ups[place > 0], left = ups[place > 0] * factor, left * factor
    return x * down * ups[0] * ups[1]  # one of them is not 1; two of them for what one cannot bring up


POWERS_OF_TWO = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)


def _quantiles(graph: Graph, x: Value, scaling: QuantileScaling) -> Value:
    """Return numeric columns made normal; see `QuantileScaling.transform`."""
    dtype = x.dtype
    x = graph.constant(0, dtype).where(graph.constant(scaling.kind == CONSTANT), x)
    numeric = np.flatnonzero(scaling.kind == NUMERIC)
    if not len(numeric):
        return x
    normal = normal_places(scaling.quantiles.shape[1])
    numbers = x.take(numeric).cast(np.float64)
    upper = _interpolated(graph, numbers, scaling.quantiles, normal)
    lower = _interpolated(graph, numbers * -1.0, -scaling.quantiles[:, ::-1], -normal[::-1]) * -1.0
    made = ((upper + lower) / 2.0).cast(dtype)
    order = np.arange(len(scaling.kind))
    order[numeric] = len(order) + np.arange(len(numeric))
    return graph.joined([x, made]).take(order)


def _interpolated(graph: Graph, x: Value, places: NDArray[np.float64], values: NDArray[np.float64]) -> Value:
    """Return `numpy.interp` of each column of x: piecewise linear from its places, ascending, to values."""
    n_columns, n_places = places.shape
    last = n_places - 1
    reached = (x.with_axis(2) >= places).cast(np.int64).reduced("ReduceSum", 2, keepdims=False)
    left = graph.add("Max", reached - 1, graph.constant(0, np.int64))
    left = graph.add("Min", left, graph.constant(max(last - 1, 0), np.int64))
    row = graph.constant(np.arange(n_columns) * n_places)
    flat = graph.constant(places.reshape(-1))
    at, right = left + row, graph.add("Min", left + 1, graph.constant(last, np.int64))
    x_left, x_right = flat.take(at, axis=0), flat.take(right + row, axis=0)
    y_left, y_right = (graph.constant(values).take(side, axis=0) for side in (left, right))
    slope = (y_right - y_left) / (x_right - x_left)
    found = slope * (x - x_left) + y_left
    from_right = slope * (x - x_right) + y_right
    found = from_right.where(graph.add("IsNaN", found, dtype=bool), found)
    found = y_left.where(x.equals(x_left), found)
    found = graph.constant(values[0]).where(x < places[:, 0], found)
    return graph.constant(values[-1]).where(x >= places[:, -1], found)


def _local(graph: Graph, rows: Rows, scaling: LocalScaling) -> Value:
    """Return standardised columns and hat functions; see `LocalScaling.transform`."""
    standardised = _scaled(graph, rows, scaling.standardised)
    numeric, knots = np.flatnonzero(scaling.kind == NUMERIC), scaling.knots
    if not len(numeric):
        return standardised
    n_columns, n_knots = knots.shape
    some = rows.columns(numeric)
    x = some.numbers.cast(np.float64)
    x = graph.add("Max", graph.add("Min", x, graph.constant(knots[:, -1])), graph.constant(knots[:, 0]))
    last = np.array([np.searchsorted(one, one[-1]) for one in knots])
    reached = (x.with_axis(2) >= knots).cast(np.int64).reduced("ReduceSum", 2, keepdims=False)
    left = graph.add("Max", reached - 1, graph.constant(0, np.int64))
    left = graph.add("Min", left, graph.constant(np.maximum(last - 1, 0)))
    flat, at = graph.constant(knots.reshape(-1)), left + graph.constant(np.arange(n_columns) * n_knots)
    x_left, x_right = flat.take(at, axis=0), flat.take(at + 1, axis=0)
    share = (x - x_left) / (x_right - x_left)
    bounded = graph.add("Abs", share) <= LARGEST[np.dtype(np.float64)]  # neither infinite nor NaN
    share = share.where(bounded, 0.0).with_axis(2)
    place = graph.constant(np.arange(n_knots))
    nothing = graph.constant(0.0, np.float64)
    hats = (1.0 - share).where(left.with_axis(2).equals(place), share.where((left + 1).with_axis(2).equals(place), 0.0))
    hats = nothing.where(some.missing.with_axis(2), hats).reshaped(0, n_columns * n_knots)
    return graph.joined([standardised, hats.cast(rows.numbers.dtype)])


def _codes(graph: Graph, rows: Rows, scaling: CodeScaling) -> Value:
    """Return standardised columns and those of the values of codes; see `CodeScaling.transform`."""
    standardised = _scaled(graph, rows, scaling.standardised)
    if not len(scaling.values):
        return standardised
    numbers = rows.numbers.cast(np.float64).take(np.repeat(scaling.columns, scaling.counts))
    there = numbers.equals(graph.constant(scaling.values))
    return graph.joined([standardised, there.cast(rows.numbers.dtype)])
