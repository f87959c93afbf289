"""Nets that only predict: the rows of their tables that training has changed, in four bits a weight or in float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._keys import ENSEMBLE, keys
from gcwsnet._validation import check_choice
from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import Targets
from gcwsnet.tables._bins import BIN_BITS

Arrays = dict[str, NDArray[Any]]

WEIGHTS = ("int4", "float32")
TABLE, ROWS, SCALES, BIAS = "layers.0.weight", "layers.0.rows", "layers.0.scales", "layers.0.bias"
"""The table of the first layer, which of its rows there are, the scales of their weights, and the biases."""
ROWS_AT_ONCE = 1 << 16


class PackedNet:
    """A net that only predicts, or an ensemble of them.

    Of a table it has the rows that training has changed: the others have never been looked up, and are zero. Their
    weights are numbers from -7 to 7 times a scale, one for each row, or for as many adjacent rows as have sixteen
    weights together. Outputs are computed from that, without unpacking the table, and are the same bits on any
    machine.

    Parameters
    ----------
    settings : TrainingSettings
    targets : Targets
    n_hashes, code_bits, seed, n_bins
        As of `Net`.
    arrays : dict of arrays
        Those of `packed_arrays`, by their names; of an ensemble with the number of the net in front of them.
    """

    def __init__(
        self,
        settings: TrainingSettings,
        targets: Targets,
        *,
        n_hashes: int,
        code_bits: int,
        seed: int,
        n_bins: int = 0,
        arrays: Arrays,
    ) -> None:
        self.settings, self.targets, self.arrays = settings, targets, arrays
        self.n_hashes, self.code_bits, self.seed, self.n_bins = n_hashes, code_bits, seed, n_bins
        self.reduction = int(reduction_factor(1 if settings.reduction is None else settings.reduction, code_bits))
        members = self.members()
        self._core = _core.PackedNet(
            members[: settings.members()],
            n_hashes=n_hashes,
            bits=code_bits,
            hidden=settings.layers(),
            n_outputs=targets.n_outputs,
            reduction=self.reduction,
            seeds=self.seeds(),
        )
        self.additive: PackedNet | None = None
        if n_bins:
            linear = replace(settings, hidden=(), ensemble=1, reduction=None, additive=0.0)
            made = {"n_hashes": n_bins, "code_bits": BIN_BITS, "seed": seed}
            self.additive = PackedNet(linear, targets, **made, arrays=members[-1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_core", "additive", "reduction")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def description(self) -> dict[str, int]:
        """Return what the net was made with beside settings, targets and arrays."""
        made = {"n_hashes": self.n_hashes, "code_bits": self.code_bits, "seed": self.seed}
        return made | {"n_bins": self.n_bins} if self.n_bins else made

    def seeds(self) -> list[int]:
        """Return the seed of each net."""
        return member_seeds(self.seed, self.settings.members())

    def members(self) -> list[Arrays]:
        """Return the arrays of each net, and of the additive model behind them."""
        n = self.settings.members() + (self.n_bins > 0)
        return [self.arrays] if n == 1 else [starting_with(f"{number}.", self.arrays) for number in range(n)]

    def outputs(self, codes: NDArray[Any], *, n_jobs: int) -> NDArray[np.float32]:
        """Return the outputs for codes."""
        if self.additive is None:
            return self._core.outputs(np.ascontiguousarray(codes), n_jobs)
        codes, bins = np.split(codes, [-self.n_bins], axis=1)
        nets = self._core.outputs(np.ascontiguousarray(codes), n_jobs)
        return mixed(nets, self.additive.outputs(bins, n_jobs=n_jobs), self.settings.share())

    @property
    def packed(self) -> PackedNet:
        """The net itself, see `Net.packed`."""
        return self

    @property
    def kind(self) -> str:
        """The type of the table's weights, one of `WEIGHTS`."""
        return "float32" if self.members()[0][TABLE].dtype == np.float32 else "int4"

    def pack(self, weights: str | None = None, *, n_jobs: int = 1) -> PackedNet:  # noqa: ARG002
        """Return the net with weights of another type."""
        if weights in (None, self.kind):
            return self
        check_choice("weights", weights, WEIGHTS)
        if weights == "float32":
            raise ValueError(
                "weights='float32' needs all bits of the weights, and the model has four of each; give it to save or "
                "compress of the model that was fitted"
            )
        n = self.settings.members()
        members = self.members()
        members = [own | four_bits(own[TABLE]) for own in members[:n]] + members[n:]
        return PackedNet(self.settings, self.targets, **self.description(), arrays=joined(members))

    def weights(self) -> Arrays:
        """Return all weights in float32, by their names in `gcwsnet.nn.GCWSNet`."""
        n_rows = -(-(self.n_hashes << self.code_bits) // self.reduction)
        members = []
        for own in self.members()[: self.settings.members()]:
            held = np.unpackbits(own[ROWS], count=n_rows, bitorder="little").astype(bool)
            rows = own[TABLE] if SCALES not in own else floats_of(own, int(held.sum()), len(own[BIAS]))
            table = np.zeros((n_rows, rows.shape[1]), dtype=np.float32)
            table[held] = rows
            members.append({TABLE: table} | {name: own[name] for name in own if name not in (TABLE, ROWS, SCALES)})
        return joined(members if self.additive is None else [*members, self.additive.weights()])

    def is_finite(self) -> bool:
        """Return True: what is packed has been checked."""
        return True


def mixed(nets: NDArray[np.float32], additive: NDArray[np.float32], share: float) -> NDArray[np.float32]:
    """Return the outputs of nets and of an additive model, which has that share, as one."""
    return (nets.astype(np.float64) * (1.0 - share) + additive.astype(np.float64) * share).astype(np.float32)


def packed_arrays(weights: Arrays, changed: NDArray[np.bool_], kind: str) -> Arrays:
    """Return the arrays of a packed net: all but the table as they are, and of that the rows that have changed."""
    made = {name: value.copy() for name, value in weights.items() if name != TABLE}
    made[ROWS] = np.packbits(changed, bitorder="little")
    rows = np.flatnonzero(changed)
    if kind == "float32":
        return made | {TABLE: weights[TABLE][rows]}
    return made | four_bits(weights[TABLE], rows)


def four_bits(table: NDArray[np.float32], rows: NDArray[np.intp] | None = None) -> Arrays:
    """Return rows of a table in four bits a weight, and their scales as the upper halves of floats.

    A scale is a seventh of the largest weight, rounded up.

    Examples
    --------
    >>> table = np.array([[0.5, -1.0, 0.0] * 6, [0.0] * 18], dtype=np.float32)
    >>> made = four_bits(table)
    >>> made["layers.0.weight"].shape, made["layers.0.scales"].shape
    ((18,), (2,))
    >>> floats_of(made, 2, 18)[0, :3].round(2)
    array([ 0.43, -1.  ,  0.  ], dtype=float32)
    """
    rows = np.arange(len(table)) if rows is None else rows
    n, width = len(rows), table.shape[1]
    together = rows_of_a_scale(width)
    nibbles = np.zeros((n * width + 1) // 2 * 2, dtype=np.uint8)
    scales = np.zeros(-(-n // together), dtype=np.uint16)
    for first in range(0, n, ROWS_AT_ONCE):
        own = rows[first : first + ROWS_AT_ONCE]
        groups = np.zeros((-(-len(own) // together), together * width), dtype=np.float32)
        groups.reshape(-1)[: len(own) * width] = table[own].reshape(-1)
        sevenths = np.abs(groups).max(axis=1, initial=0) / np.float32(7)
        halves = (sevenths.view(np.uint32) + np.uint32(0xFFFF)) >> np.uint32(16)
        scale = _as_floats(halves)[:, np.newaxis]
        numbers = np.rint(np.divide(groups, scale, out=np.zeros_like(groups), where=scale > 0)).astype(np.int8)
        scales[first // together :][: len(halves)] = halves
        nibbles[first * width :][: len(own) * width] = numbers.reshape(-1)[: len(own) * width].view(np.uint8) & 15
    return {TABLE: nibbles[::2] | nibbles[1::2] << 4, SCALES: scales}


def floats_of(own: Arrays, n: int, width: int) -> NDArray[np.float32]:
    """Return n rows of four bits a weight as float32."""
    nibbles, scales = own[TABLE], _as_floats(own[SCALES].astype(np.uint32))
    pairs = np.stack([nibbles & 15, nibbles >> 4], axis=1).reshape(-1).astype(np.int8)
    numbers = pairs[: n * width].reshape(n, width)
    numbers = np.where(numbers > 7, numbers - 16, numbers).astype(np.float32)
    return numbers * np.repeat(scales, rows_of_a_scale(width))[:n, np.newaxis]


def rows_of_a_scale(width: int) -> int:
    """Return how many adjacent rows have one scale: a power of two, so that they have at least sixteen weights."""
    return 1 << (-(-16 // width) - 1).bit_length()


def _as_floats(halves: NDArray[np.uint32]) -> NDArray[np.float32]:
    return (halves << np.uint32(16)).view(np.float32)


def member_seeds(seed: int, n: int) -> list[int]:
    """Return the seeds of n nets; the first one is the seed of a single net."""
    if n == 1:
        return [seed]
    low, high = keys(seed, ENSEMBLE, np.arange(n))
    drawn = low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)
    return [seed, *drawn[1:].tolist()]


def joined(members: list[Arrays]) -> Arrays:
    """Return the arrays of all nets; the number of the net stands before the names where there are several."""
    if len(members) == 1:
        return dict(members[0])
    return {f"{number}.{name}": value for number, own in enumerate(members) for name, value in own.items()}


def starting_with(prefix: str, arrays: Arrays) -> Arrays:
    """Return the arrays whose names start with a prefix, without it."""
    return {name.removeprefix(prefix): value for name, value in arrays.items() if name.startswith(prefix)}
