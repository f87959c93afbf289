"""GCWS as a graph: from preprocessed rows to codes, bit for bit those of the hasher."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gcwsnet._keys import SALTS, keys
from gcwsnet.encoding.reference import NAN_BITS
from gcwsnet.export._arithmetic import bits_of_whole_numbers, log_of_data, scramble, shifted
from gcwsnet.export._graph import Graph, Value
from gcwsnet.hashing._fitted import FittedHasher
from gcwsnet.hashing.elementary import F
from gcwsnet.hashing.parameters import parameters

EVALUATIONS_AT_ONCE = 1 << 18
"""Numbers of a block of rows, features and hashes, which stay in the cache of a processor."""
NO_FEATURE = 0xFFFFFFFF


def add_codes(graph: Graph, rows: Value, hasher: FittedHasher, features: NDArray[np.int64]) -> Value:
    """Return the codes of rows, as int64 of shape (n, k).

    Parameters
    ----------
    graph : Graph
    rows : Value of shape (n, D)
        Float32 or float64 numbers, without NaN.
    hasher : FittedHasher
        Of the method "gcws".
    features : array of int64
        The columns of `gmm_transform` that may be other than zero, ascending.
    """
    settings = hasher.settings
    L = log_of_data(rows.cast(np.float64)) * F(settings.p)
    nothing = graph.constant(-np.inf, np.float32)
    positive, negative = (nothing.where(~there, L) for there in (rows > 0.0, rows < 0.0))
    both = graph.joined([positive.with_axis(2), negative.with_axis(2)], axis=2).reshaped(0, 2 * hasher.n_features)
    L = both if len(features) == 2 * hasher.n_features else both.take(features)
    empty = L.reduced("ReduceMax", 1).equals(-np.inf)
    i, t = _samples(graph, L, hasher, features)
    i = graph.constant(NO_FEATURE, np.int64).where(empty, i)
    t = graph.constant(0.0, np.float32).where(empty, t)
    return _encoded(graph, i, t, empty, hasher)


def _samples(graph: Graph, L: Value, hasher: FittedHasher, features: NDArray[np.int64]) -> tuple[Value, ...]:
    """Return (i*, t*) for p times the logarithms of features: Algorithm 1, with hashes along the second axis.

    A feature that is not there has L = -inf, so t = -inf and a = inf: it never wins.
    """
    k = hasher.settings.n_hashes
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


def _encoded(graph: Graph, i: Value, t: Value, empty: Value, hasher: FittedHasher) -> Value:
    """Return the codes of samples, see `gcwsnet.encoding.reference.encode`; rows that are empty have i = 2**32 - 1."""
    settings = hasher.settings
    if settings.encoding == "mixed":
        salt_low, salt_high = (
            salts.astype(np.int64) for salts in keys(hasher.seed, SALTS, np.arange(settings.n_hashes))
        )
        code = scramble(i ^ salt_low) ^ salt_high
        if settings.t_bits == "all":
            code = code ^ graph.constant(int(NAN_BITS), np.int64).where(empty, bits_of_whole_numbers(t))
        code = shifted(scramble(code), 32 - settings.bits)
    else:
        column_first = shifted(i, 1) + (i & 1) * hasher.n_features
        code = i.where(empty, column_first) & ((1 << settings.bits) - 1)
    if not settings.appended_bits:
        return code
    return code * (1 << settings.appended_bits) + (t.cast(np.int64) & ((1 << settings.appended_bits) - 1))
