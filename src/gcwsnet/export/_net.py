"""A net as a graph: from codes to outputs, bit for bit those of the native core."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet.encoding import reduction_factor
from gcwsnet.encoding._count_sketch import bins_and_signs
from gcwsnet.export._graph import Graph, Value
from gcwsnet.training import Net
from gcwsnet.training._ensemble import EnsembleNet

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
