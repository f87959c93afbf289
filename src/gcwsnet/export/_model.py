"""The graph of a fitted model, in the order of a prediction: inputs, preprocessing, hashing, net, outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gcwsnet._keys import SALTS, keys
from gcwsnet._validation import LARGEST
from gcwsnet.export._graph import Graph, Value, bits_of_whole_numbers, log_of_data, scramble, shifted
from gcwsnet.hashing._count_sketch import bins_and_signs
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.elementary import F
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import NAN_BITS
from gcwsnet.net._packed import BIAS, ROWS, SCALES, TABLE, PackedNet, rows_of_a_scale
from gcwsnet.net._targets import LabelIndicators, Labels, Numbers, Targets
from gcwsnet.tables._bins import MISSING_BIN
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
from gcwsnet.tables._schema import Column

MATRIX = "X"

TIMES = {
    "date": "microseconds since 1970-01-01 in UTC, as of datetime64[us]; NaT is missing",
    "duration": "microseconds, as of timedelta64[us]; NaT is missing",
}

EVALUATIONS_OF_A_BLOCK = 1 << 18
"""Numbers of a block of rows, features and hashes, which stay in the cache of a processor."""

NUMBERS_OF_A_BLOCK = 1 << 19

LANES = 16
"""The partial sums of an inner product, see ``src/cpp/net/dense_rows.simd.hpp``."""


def columns_of(coder: Coder) -> list[Column]:
    """Return the columns of a table; none for rows of arrays."""
    return [] if coder.schema is None else list(coder.schema.columns)


def add_inputs(graph: Graph, coder: Coder, dtype: np.dtype) -> Value:
    """Return the rows that the inputs make up, with NaN for missing numbers.

    Rows of arrays are one input of a type, float32 or float64; a table has an input for each column, and is float64.
    """
    columns = columns_of(coder)
    if not columns:
        return graph.input(MATRIX, dtype, coder.n_features, "rows of numbers; NaN is a missing one")
    return graph.joined([_column(graph, column) for column in columns])


def _column(graph: Graph, column: Column) -> Value:
    """Return the numbers of a column of a table, of shape (n, width)."""
    missing = graph.constant(np.nan, np.float64)
    if column.kind in ("number", "boolean", "vector"):
        numbers = "0 and 1" if column.kind == "boolean" else "numbers"
        return graph.input(column.key, np.float64, column.width, f"{numbers}; NaN is a missing one")
    if column.kind in TIMES:
        given = graph.input(column.key, np.int64, 1, TIMES[column.kind])
        days = given.cast(np.float64) / float(MICROSECONDS_OF_A_DAY)
        return missing.where(given.equals(np.iinfo(np.int64).min), days)
    if column.kind in ("ordered", "onehot"):
        description = "texts of categories; any other text, such as '', is a missing one"
        place = graph.add(
            "LabelEncoder",
            graph.input(column.key, np.object_, 1, description),
            dtype=np.int64,
            domain="ai.onnx.ml",
            keys_strings=list(column.categories),
            values_int64s=list(range(len(column.categories))),
            default_int64=-1,
        )
        if column.kind == "onehot":
            return place.equals(np.arange(column.width)).cast(np.float64)
        return missing.where(place < 0, place.cast(np.float64))
    raise ValueError(
        f"the column {column.key!r} has {'words' if column.words else 'more than 100 categories'}, which are "
        "hashed, and no ONNX operator hashes text; merge categories so that at most 100 are left, or leave the "
        "column out"
    )


class Rows(NamedTuple):
    """Rows of a graph: numbers without NaN, and where they are missing, both of shape (n, columns)."""

    numbers: Value
    missing: Value

    def columns(self, places: NDArray[np.int64]) -> Rows:
        """Return some columns."""
        return Rows(self.numbers.take(places), self.missing.take(places))


def add_preprocessing(graph: Graph, x: Value, coder: Coder) -> tuple[Value, NDArray[np.int64]]:
    """Return rows as they are hashed, see `Coder.preprocess`, and the columns of their GMM transform that may be used.

    Hat functions, values of codes and marks of missing numbers are never negative.
    """
    missing = graph.add("IsNaN", x, dtype=bool)
    numbers = graph.constant(0, x.dtype).where(missing, x)
    rows = Rows(numbers, missing & False if coder.settings.missing == "zero" else missing)
    preprocessing = coder.preprocessing
    if isinstance(preprocessing, TablePreprocessing):
        numeric = preprocessing.numeric
        parts = [
            _preprocessed(graph, rows.columns(np.flatnonzero(which)), part)
            for which, part in ((numeric, preprocessing.of_numbers), (~numeric, preprocessing.of_others))
            if which.any()
        ]
    else:
        parts = [_preprocessed(graph, rows, preprocessing)]
    never_negative = np.concatenate([never for _, never in parts])
    features = np.flatnonzero(np.stack([np.ones_like(never_negative), ~never_negative], axis=1))
    return graph.joined([part for part, _ in parts]), features


def _preprocessed(graph: Graph, rows: Rows, preprocessing: Preprocessing) -> tuple[Value, NDArray[np.bool_]]:
    """Return `Preprocessing.transform` of rows, with 0 for missing numbers, and the columns that are never negative."""
    scaling, weight, incomplete = preprocessing.scaling, preprocessing.weight, preprocessing.incomplete
    dtype = rows.numbers.dtype
    out = _scaled(graph, rows, scaling)
    source = scaling.source if isinstance(scaling, WiderScaling) else np.arange(preprocessing.n_features)
    never_negative = np.arange(len(source)) >= preprocessing.n_features  # hat functions and values of codes
    if weight is not None:
        out = _rounded(out.cast(np.float64) * weight[source], dtype)
        never_negative &= weight[source] >= 0
    missing = rows.missing if len(source) == preprocessing.n_features else rows.missing.take(source)
    out = graph.constant(0, dtype).where(missing, out)
    if not len(incomplete):
        return out, never_negative
    marks, of_marks = rows.missing.take(incomplete).cast(dtype), np.ones(len(incomplete), dtype=bool)
    if weight is not None:
        marks, of_marks = _rounded(marks.cast(np.float64) * weight[incomplete], dtype), weight[incomplete] >= 0
    return graph.joined([out, marks]), np.concatenate([never_negative, of_marks])


def _scaled(graph: Graph, rows: Rows, scaling: object) -> Value:
    x, dtype = rows.numbers, rows.numbers.dtype
    if scaling is None:
        return x
    if isinstance(scaling, ColumnScaling):
        return _rounded((x.cast(np.float64) - scaling.shift) / scaling.divisor, dtype)
    if isinstance(scaling, TermScaling):
        return _rounded(_terms(graph, x.cast(np.float64), scaling), dtype)
    if isinstance(scaling, QuantileScaling):
        return _quantiles(graph, x, scaling)
    if isinstance(scaling, LocalScaling):
        return _local(graph, rows, scaling)
    if isinstance(scaling, LevelScaling):
        return _codes(graph, rows, scaling)
    raise NotImplementedError(
        f"a scaling of the type {type(scaling).__name__} cannot be exported; fit with scale='numeric'"
    )


def _rounded(numbers: Value, dtype: np.dtype) -> Value:
    """Return numbers of another type; those beyond its range become its largest."""
    largest = LARGEST[dtype]
    return numbers.clip(-largest, largest).cast(dtype)


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
    powers = 2.0 ** np.array([512, 256, 128, 64, 32, 16, 8, 4, 2, 1])
    largest = graph.add("Abs", x).reduced("ReduceMax", 1)
    down, left = graph.constant(0.5, np.float64).where(largest >= 1.0, one), largest
    for power in powers:
        factor = graph.constant(1 / power, np.float64).where(left >= power, one)
        down, left = down * factor, left * factor
    ups, left = [one, one], largest
    for place, power in enumerate((powers[0], *powers)):
        factor = graph.constant(power, np.float64).where(left < 1 / power, one)
        ups[place > 0], left = ups[place > 0] * factor, left * factor
    return x * down * ups[0] * ups[1]  # one of them is not 1; two of them for what one cannot bring up


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
    left, x_left, x_right = _around(graph, x, places, places.shape[1] - 1)
    y_left = graph.constant(values).take(left, axis=0)
    y_right = graph.constant(np.append(values[1:], values[-1])).take(left, axis=0)
    slope = (y_right - y_left) / (x_right - x_left)
    found = slope * (x - x_left) + y_left
    from_right = slope * (x - x_right) + y_right
    found = from_right.where(graph.add("IsNaN", found, dtype=bool), found)
    found = y_left.where(x.equals(x_left), found)
    found = graph.constant(values[0]).where(x < places[:, 0], found)
    return graph.constant(values[-1]).where(x >= places[:, -1], found)


def _around(graph: Graph, x: Value, places: NDArray[np.float64], last: ArrayLike) -> tuple[Value, Value, Value]:
    """Return which place of its column is to the left of x, a number below `last`, and that place and the next one."""
    n_columns, n_places = places.shape
    reached = (x.with_axis(2) >= places).cast(np.int64).reduced("ReduceSum", 2, keepdims=False)
    left = (reached - 1).clip(0, np.maximum(np.asarray(last) - 1, 0))
    at = left + np.arange(n_columns) * n_places
    following = np.append(places.reshape(-1)[1:], places[-1, -1])
    return left, graph.constant(places.reshape(-1)).take(at, axis=0), graph.constant(following).take(at, axis=0)


def _local(graph: Graph, rows: Rows, scaling: LocalScaling) -> Value:
    """Return standardised columns and hat functions; see `LocalScaling.transform`."""
    standardised = _scaled(graph, rows, scaling.standardised)
    numeric, knots = np.flatnonzero(scaling.kind == NUMERIC), scaling.knots
    if not len(numeric):
        return standardised
    n_columns, n_knots = knots.shape
    some = rows.columns(numeric)
    x = some.numbers.cast(np.float64).clip(knots[:, 0], knots[:, -1])
    left, x_left, x_right = _around(graph, x, knots, np.array([np.searchsorted(one, one[-1]) for one in knots]))
    share = (x - x_left) / (x_right - x_left)
    bounded = graph.add("Abs", share) <= LARGEST[np.dtype(np.float64)]  # neither infinite nor NaN
    share = share.where(bounded, 0.0).with_axis(2)
    is_left, is_right = (place.with_axis(2).equals(np.arange(n_knots)) for place in (left, left + 1))
    hats = (1.0 - share).where(is_left, share.where(is_right, 0.0))
    hats = graph.constant(0.0, np.float64).where(some.missing.with_axis(2), hats).reshaped(0, n_columns * n_knots)
    return graph.joined([standardised, hats.cast(rows.numbers.dtype)])


def _codes(graph: Graph, rows: Rows, scaling: LevelScaling) -> Value:
    """Return standardised columns and those of the values of codes; see `LevelScaling.transform`."""
    standardised = _scaled(graph, rows, scaling.standardised)
    if not len(scaling.values):
        return standardised
    numbers = rows.numbers.cast(np.float64).take(np.repeat(scaling.columns, scaling.counts))
    there = numbers.equals(graph.constant(scaling.values))
    return graph.joined([standardised, there.cast(rows.numbers.dtype)])


def add_codes(graph: Graph, rows: Value, hasher: Hasher, features: NDArray[np.int64]) -> Value:
    """Return the codes of rows of numbers without NaN, as int64 of shape (n, k).

    `features` are the columns of `gmm_transform` that may be other than zero, ascending.
    """
    L = log_of_data(rows.cast(np.float64)) * F(hasher.p)
    nothing = graph.constant(-np.inf, np.float32)
    positive, negative = (nothing.where(~there, L) for there in (rows > 0.0, rows < 0.0))
    both = graph.joined([positive.with_axis(2), negative.with_axis(2)], axis=2).reshaped(0, 2 * hasher.n_features)
    L = both if len(features) == 2 * hasher.n_features else both.take(features)
    empty = L.reduced("ReduceMax", 1).equals(-np.inf)
    i, t = _samples(graph, L, hasher, features)
    i = graph.constant(0xFFFFFFFF, np.int64).where(empty, i)
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

    block = max(1, EVALUATIONS_OF_A_BLOCK // (len(features) * k))
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


def add_bins(graph: Graph, x: Value, coder: Coder) -> Value:
    """Return the numbers of the bins of rows, see `Bins.codes`."""
    assert coder.bins is not None  # noqa: S101
    of_columns = coder.bins.of_columns
    ends = np.full((len(of_columns), max(1, *map(len, of_columns))), np.inf)
    for column, own in enumerate(of_columns):
        ends[column, : len(own)] = own
    missing = graph.add("IsNaN", x, dtype=bool)
    numbers = graph.constant(0.0, np.float64).where(missing, x.cast(np.float64))
    bins = (numbers.with_axis(2) > ends).cast(np.int64).reduced("ReduceSum", 2, keepdims=False)
    return bins if coder.settings.missing == "zero" else graph.constant(MISSING_BIN, np.int64).where(missing, bins)


def add_net(graph: Graph, codes: Value, net: PackedNet) -> Value:
    """Return the outputs of a net, or the means of an ensemble's, as float32 of shape (n, n_outputs).

    The codes are int64 of shape (n, hashes of all members), and those of bins follow if there is an additive model.
    """
    if net.additive is not None:
        n_codes = net.settings.members() * net.n_hashes
        nets = _nets(graph, codes.take(np.arange(n_codes)), net).cast(np.float64)
        additive = _nets(graph, codes.take(n_codes + np.arange(net.n_bins)), net.additive).cast(np.float64)
        share = net.settings.share()
        return (nets * (1.0 - share) + additive * share).cast(np.float32)
    return _nets(graph, codes, net)


def _nets(graph: Graph, codes: Value, net: PackedNet) -> Value:
    k, found = net.n_hashes, []
    for number, (own, seed) in enumerate(zip(net.members(), net.seeds(), strict=net.additive is None)):
        codes_of_one = codes if net.settings.members() == 1 else codes.take(np.arange(number * k, (number + 1) * k))
        found.append(_member(graph, codes_of_one, net, own, seed))
    if len(found) == 1:
        return found[0]
    total = found[0].cast(np.float64)
    for one in found[1:]:
        total = total + one.cast(np.float64)
    return (total / float(len(found))).cast(np.float32)


def _member(graph: Graph, codes: Value, net: PackedNet, own: dict[str, NDArray[Any]], seed: int) -> Value:
    """Return the outputs of one net: sums of rows of the table, then ReLU and dense layers in turn."""
    numbers = range(2, 2 * len(net.settings.layers()) + 1, 2)
    layers = [(own[f"layers.{number}.weight"], own[f"layers.{number}.bias"]) for number in numbers]
    bias = graph.constant(own[BIAS])
    places, is_sketched = _places(net, own, seed)
    positions = codes + (np.arange(net.n_hashes, dtype=np.int64) << net.code_bits)
    picks = graph.constant(places).take(positions, axis=0).cast(np.int64)
    rows_of = _rows(graph, own)

    def outputs(picks: Value) -> tuple[Value]:
        summands = rows_of(graph.add("Abs", picks) - 1 if is_sketched else picks)
        if is_sketched:
            summands = summands * graph.add("Sign", picks).cast(np.float32).with_axis(2)
        n_rows, one = graph.number_of_rows(picks), graph.constant([1], np.int64)
        first = graph.add("Expand", bias, graph.joined([n_rows, one, one], axis=0))
        out = graph.joined([first, summands]).sum_in_order(1)
        for layer in layers:
            out = _dense(graph, graph.add("Relu", out), *layer)
        return (out,)

    largest = max(net.n_hashes * own[BIAS].size, *(weight.size for weight, _ in layers), 1)
    return graph.in_blocks(picks, net.n_hashes, max(1, NUMBERS_OF_A_BLOCK // largest), outputs)[0]


def _places(net: PackedNet, own: dict[str, NDArray[Any]], seed: int) -> tuple[NDArray[Any], bool]:
    """Return which of the rows that are held each code looks up, the number behind them if that is not held.

    With a count-sketch it is plus or minus one more.
    """
    n_positions = net.n_hashes << net.code_bits
    n_rows = -(-n_positions // net.reduction)
    held = np.unpackbits(own[ROWS], count=n_rows, bitorder="little").astype(np.int64)
    places = np.where(held, np.cumsum(held) - 1, held.sum())
    if net.reduction == 1:
        return places.astype(np.uint16 if held.sum() < 2**16 else np.int32), False
    bins, signs = bins_and_signs(seed, np.arange(n_positions), n_rows)
    return ((places[bins.astype(np.int64)] + 1) * signs).astype(np.int32), True


def _rows(graph: Graph, own: dict[str, NDArray[Any]]) -> Callable[[Value], Value]:
    """Return a function from the places of rows to the rows, which are zero behind those that are held.

    A byte has two weights of four bits, plus 8: one of the first half of a row and one of the second.
    """
    width = len(own[BIAS])
    if SCALES not in own:
        table = graph.constant(np.vstack([own[TABLE], np.zeros((1, width), dtype=np.float32)]))
        return lambda places: table.take(places, axis=0)
    n_scaled = rows_of_a_scale(width)
    scale = np.repeat((own[SCALES].astype(np.uint32) << np.uint32(16)).view(np.float32), n_scaled)
    pairs = np.stack([own[TABLE] & 15, own[TABLE] >> 4], axis=1).reshape(-1) ^ 8
    n, half = int(np.unpackbits(own[ROWS]).sum()), (width + 1) // 2
    halves = np.full((n + 1, 2 * half), 8, dtype=np.uint8)
    halves[:n, :width] = pairs[: n * width].reshape(n, width)
    packed = graph.constant(halves[:, :half] | halves[:, half:] << 4)
    scales = graph.constant(np.append(scale[:n], np.float32(0)))

    def rows(places: Value) -> Value:
        bytes_ = packed.take(places, axis=0).cast(np.float32)
        upper = graph.add("Floor", bytes_ * np.float32(1 / 16))
        both = graph.joined([bytes_ - upper * np.float32(16), upper], axis=2) - np.float32(8)
        some = both if width == 2 * half else both.take(np.arange(width), axis=2)
        return some * scales.take(places, axis=0).with_axis(2)

    return rows


def _dense(graph: Graph, x: Value, weight: NDArray[Any], bias: NDArray[Any]) -> Value:
    """Return biases plus inner products, summed in the order of the native core: sixteen sums, then halves."""
    n_outputs, n_inputs = weight.shape
    missing = -n_inputs % LANES
    if missing:
        x = graph.add("Pad", x, graph.constant([0, 0, 0, missing], np.int64))
    filled = np.pad(weight, ((0, 0), (0, missing))).reshape(n_outputs, -1, LANES)
    lanes = (x.reshaped(0, 1, -1, LANES) * filled).sum_in_order(2)
    for half in (8, 4, 2, 1):
        lanes = lanes.take(np.arange(half), axis=2) + lanes.take(np.arange(half, 2 * half), axis=2)
    return lanes.without_axis(2) + bias


def add_predictions(graph: Graph, outputs: Value, targets: Targets) -> None:
    """Make the predictions outputs of the graph: labels and probabilities, or numbers."""
    refused = "NaN for a row with an infinite number, and for one with a missing number where that is an error"
    if isinstance(targets, Numbers):
        value = outputs.cast(np.float64) * targets.deviation + targets.mean
        value = value.without_axis(1) if targets.one_column else value
        graph.output("value", value, None if targets.one_column else targets.n_outputs, refused)
        return
    if not isinstance(targets, Labels):
        raise NotImplementedError(f"targets of the type {type(targets).__name__} cannot be exported")
    scaled = outputs if targets.temperature == 1 else outputs / np.float32(targets.temperature)
    if isinstance(targets, LabelIndicators):
        graph.output("label", (outputs > 0.0).cast(np.int64), targets.n_outputs, "1 for the labels that a row has")
        probabilities = graph.add("Sigmoid", scaled.cast(np.float64))
    else:
        types = {"U": np.object_, "O": np.object_, "i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
        classes = graph.constant(targets.classes.astype(types[targets.classes.dtype.kind]))
        best = graph.add("ArgMax", outputs, dtype=np.int64, axis=1, keepdims=0)
        graph.output("label", classes.take(best, axis=0), None, "the most probable class")
        probabilities = graph.add("Softmax", scaled.cast(np.float64), axis=1)
    graph.output("probabilities", probabilities, targets.n_outputs, refused)
