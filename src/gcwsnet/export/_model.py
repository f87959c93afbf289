"""The inputs of a graph: one matrix for arrays, one input for each column of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import SALTS, keys
from gcwsnet._validation import LARGEST
from gcwsnet.export._graph import Graph, Value, bits_of_whole_numbers, log_of_data, scramble, shifted
from gcwsnet.hashing._count_sketch import bins_and_signs, reduction_factor
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.elementary import F
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import NAN_BITS
from gcwsnet.net._net import EnsembleNet, Net
from gcwsnet.tables._coder import Coder
from gcwsnet.tables._columns import MICROSECONDS_OF_A_DAY
from gcwsnet.tables._preprocessing import Preprocessing, TablePreprocessing
from gcwsnet.tables._scaling import (
    CONSTANT,
    NUMERIC,
    ColumnScaling,
    LevelScaling,
    LocalScaling,
    QuantileScaling,
    TermScaling,
    WiderScaling,
    normal_places,
)
from gcwsnet.tables._schema import Column, Schema

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
    """Return days; see `gcwsnet.files._dates.to_days`."""
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
    source = scaling.source if isinstance(scaling, WiderScaling) else np.arange(preprocessing.n_features)
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
    if isinstance(scaling, LevelScaling):
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


def _codes(graph: Graph, rows: Rows, scaling: LevelScaling) -> Value:
    """Return standardised columns and those of the values of codes; see `LevelScaling.transform`."""
    standardised = _scaled(graph, rows, scaling.standardised)
    if not len(scaling.values):
        return standardised
    numbers = rows.numbers.cast(np.float64).take(np.repeat(scaling.columns, scaling.counts))
    there = numbers.equals(graph.constant(scaling.values))
    return graph.joined([standardised, there.cast(rows.numbers.dtype)])


EVALUATIONS_AT_ONCE = 1 << 18

"""Numbers of a block of rows, features and hashes, which stay in the cache of a processor."""

NO_FEATURE = 0xFFFFFFFF


def add_codes(graph: Graph, rows: Value, hasher: Hasher, features: NDArray[np.int64]) -> Value:
    """Return the codes of rows, as int64 of shape (n, k).

    Parameters
    ----------
    graph : Graph
    rows : Value of shape (n, D)
        Float32 or float64 numbers, without NaN.
    hasher : Hasher
        Of the method "gcws".
    features : array of int64
        The columns of `gmm_transform` that may be other than zero, ascending.
    """
    L = log_of_data(rows.cast(np.float64)) * F(hasher.p)
    nothing = graph.constant(-np.inf, np.float32)
    positive, negative = (nothing.where(~there, L) for there in (rows > 0.0, rows < 0.0))
    both = graph.joined([positive.with_axis(2), negative.with_axis(2)], axis=2).reshaped(0, 2 * hasher.n_features)
    L = both if len(features) == 2 * hasher.n_features else both.take(features)
    empty = L.reduced("ReduceMax", 1).equals(-np.inf)
    i, t = _samples(graph, L, hasher, features)
    i = graph.constant(NO_FEATURE, np.int64).where(empty, i)
    t = graph.constant(0.0, np.float32).where(empty, t)
    return _encoded(graph, i, t, empty, hasher)


def _samples(graph: Graph, L: Value, hasher: Hasher, features: NDArray[np.int64]) -> tuple[Value, ...]:
    """Return (i*, t*) for p times the logarithms of features: Algorithm 1, with hashes along the second axis.

    A feature that is not there has L = -inf, so t = -inf and a = inf: it never wins.
    """
    k = hasher.n_hashes
    q = parameters(hasher.seed, features, np.arange(k))
    r, log_c, beta = (graph.constant(np.ascontiguousarray(table.T)) for table in q)
    inverse_r, offset = F(1) / r, log_c - r * (F(1) - beta)

    def samples(L: Value) -> tuple[Value, Value]:
        t = graph.add("Floor", L.with_axis(1) * inverse_r + beta)
        a = offset - r * t
        winner = graph.add("ArgMin", a, dtype=np.int64, axis=2, keepdims=1)  # on a tie the lowest feature
        t_star = graph.add("GatherElements", t, winner, axis=2)
        return graph.constant(features).take(winner.without_axis(2), axis=0), t_star.without_axis(2)

    block = max(1, EVALUATIONS_AT_ONCE // (len(features) * k))
    return graph.in_blocks(L, len(features), block, samples)


def _encoded(graph: Graph, i: Value, t: Value, empty: Value, hasher: Hasher) -> Value:
    """Return the codes of samples, see `gcwsnet.hashing.reference.encode`; rows that are empty have i = 2**32 - 1."""
    if hasher.encoding == "mixed":
        salt_low, salt_high = (salts.astype(np.int64) for salts in keys(hasher.seed, SALTS, np.arange(hasher.n_hashes)))
        code = scramble(i ^ salt_low) ^ salt_high
        if hasher.t_bits == "all":
            code = code ^ graph.constant(int(NAN_BITS), np.int64).where(empty, bits_of_whole_numbers(t))
        code = shifted(scramble(code), 32 - hasher.bits)
    else:
        column_first = shifted(i, 1) + (i & 1) * hasher.n_features
        code = i.where(empty, column_first) & ((1 << hasher.bits) - 1)
    if not hasher.appended_bits:
        return code
    return code * (1 << hasher.appended_bits) + (t.cast(np.int64) & ((1 << hasher.appended_bits) - 1))


LANES = 16

"""The partial sums of an inner product, see ``src/cpp/layer/dense_rows.hpp``."""

NUMBERS_AT_ONCE = 1 << 19


def members_of(net: Net) -> list[Net]:
    """Return the nets of an ensemble, or the one net."""
    return net.members if isinstance(net, EnsembleNet) else [net]


def add_outputs(graph: Graph, codes: Value, net: Net) -> Value:
    """Return the outputs of a net, or the means of an ensemble's, as float32 of shape (n, n_outputs).

    Parameters
    ----------
    graph : Graph
    codes : Value of shape (n, hashes of all members)
        As int64.
    net : Net
    """
    k = net.n_hashes
    found = [_add_net(graph, codes.columns(j * k, (j + 1) * k), member) for j, member in enumerate(members_of(net))]
    if len(found) == 1:
        return found[0]
    total = found[0].cast(np.float64)
    for one in found[1:]:
        total = total + one.cast(np.float64)
    return (total / float(len(found))).cast(np.float32)


class _Dense(NamedTuple):
    """A dense layer: weights of shape (outputs, packs, 16), biases, and the number of inputs."""

    weight: Value
    bias: Value
    n_inputs: int

    def outputs(self, x: Value) -> Value:
        """Return biases plus inner products, summed in the order of the native core: sixteen sums, then halves."""
        graph = x.graph
        if self.n_inputs % LANES:
            x = graph.add("Pad", x, graph.constant([0, 0, 0, -self.n_inputs % LANES], np.int64))
        lanes = (x.reshaped(0, 1, -1, LANES) * self.weight).sum_in_order(2)
        for half in (8, 4, 2, 1):
            lanes = lanes.take(np.arange(half), axis=2) + lanes.take(np.arange(half, 2 * half), axis=2)
        return lanes.without_axis(2) + self.bias


def _add_net(graph: Graph, codes: Value, net: Net) -> Value:
    """Return the outputs of one net: sums of rows of the table, then ReLU and dense layers in turn."""
    weights = list(net.predicting_weights().values())
    table, bias = (graph.constant(array) for array in weights[:2])
    layers = [_dense(graph, *pair) for pair in zip(weights[2::2], weights[3::2], strict=True)]
    picks = _picks(graph, codes, net)
    is_sketched = picks.dtype == np.int32

    def outputs(picks: Value) -> tuple[Value]:
        rows = graph.add("Abs", picks) - 1 if is_sketched else picks
        summands = table.take(rows, axis=0)
        if is_sketched:
            summands = summands * graph.add("Sign", picks).cast(np.float32).with_axis(2)
        n_rows, one = graph.number_of_rows(picks), graph.constant([1], np.int64)
        first = graph.add("Expand", bias, graph.joined([n_rows, one, one], axis=0))
        out = graph.joined([first, summands]).sum_in_order(1)
        for layer in layers:
            out = layer.outputs(graph.add("Relu", out))
        return (out,)

    largest = max(net.n_hashes * weights[1].size, *(weight.size for weight in weights[2:]), 1)
    return graph.in_blocks(picks, net.n_hashes, max(1, NUMBERS_AT_ONCE // largest), outputs)[0]


def _dense(graph: Graph, weight: NDArray[Any], bias: NDArray[Any]) -> _Dense:
    n_outputs, n_inputs = weight.shape
    filled = np.pad(weight, ((0, 0), (0, -n_inputs % LANES)))
    return _Dense(graph.constant(filled.reshape(n_outputs, -1, LANES)), graph.constant(bias), n_inputs)


def _picks(graph: Graph, codes: Value, net: Net) -> Value:
    """Return the rows of the table that codes pick, as int64; with a count-sketch plus or minus row + 1, as int32."""
    positions = codes + (np.arange(net.n_hashes, dtype=np.int64) << net.code_bits)
    factor = reduction_factor(1 if net.settings.reduction is None else net.settings.reduction, net.code_bits)
    if factor == 1:
        return positions
    n_positions = net.n_hashes << net.code_bits
    bins, signs = bins_and_signs(net.seed, np.arange(n_positions), -(-n_positions // factor))
    return graph.constant(((bins.astype(np.int64) + 1) * signs).astype(np.int32)).take(positions, axis=0)
