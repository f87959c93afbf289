"""The table of a hashed layer: which row each code picks, and with which sign, and the memory of the rows."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from torch.utils.weak import WeakTensorKeyDictionary

from gcwsnet import _core
from gcwsnet._keys import GOLDEN, SKETCH, stream_state

CODE_TYPES = (torch.uint8, torch.uint16, torch.uint32, torch.int32, torch.int64)


class RowOfCode(NamedTuple):
    """The map from codes to rows: code c of hash j picks row 2**bits j + c.

    With `sketched` it picks the bin of that position in a count-sketch, with its sign.
    """

    n_hashes: int
    bits: int
    n_rows: int
    sketched: bool
    seed: int

    def native(self) -> _core.CodeToRow:
        """Return the same map for the native core."""
        return _core.CodeToRow(self.n_hashes, self.bits, self.n_rows, self.sketched, self.seed)

    def rows_and_signs(self, codes: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return rows of int64 and signs of 1 and -1 (None without a sketch), n x k, on the device of the codes.

        A code out of range is a ValueError. This is `bins_and_signs` in torch, whose int64 wraps around as uint64 does.
        """
        codes = codes.to(torch.int64)
        self._check(codes)
        position = codes + (torch.arange(self.n_hashes, device=codes.device) << self.bits)
        if not self.sketched:
            return position, None
        key = _mix64(_signed(stream_state(self.seed, SKETCH)) + (position + 1) * _signed(GOLDEN))
        return (_shifted(key, 32) * self.n_rows) >> 32, 1 - 2 * (key & 1)

    def _check(self, codes: Tensor) -> None:
        if codes.is_meta:
            return
        wrong = (codes < 0) | (codes >= 1 << self.bits)
        if bool(wrong.any()):
            row, column = wrong.nonzero()[0].tolist()
            raise ValueError(
                f"codes must be from 0 to {(1 << self.bits) - 1} with bits={self.bits}, codes[{row}, {column}] is "
                f"{int(codes[row, column])}; give the bits of the hasher, with those that t_bits appended"
            )


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word


def _shifted(z: Tensor, n: int) -> Tensor:
    """Return z >> n with zeros coming in from the left, as for an unsigned number."""
    return (z >> n) & ((1 << (64 - n)) - 1)


def _mix64(z: Tensor) -> Tensor:
    z = (z ^ _shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shifted(z, 31)


def zero_table(shape: tuple[int, ...], device: Any = None, dtype: Any = None) -> Tensor:
    """Return zeros on a device; on a CPU in large pages where the system has them.

    NumPy asks the system for large pages and torch does not. With small ones nearly every row is on a page of its own,
    and the processor looks up as many addresses as it reads rows.
    """
    probe = torch.empty(0, device=device, dtype=dtype)
    if probe.device.type == "cpu" and probe.dtype == torch.float32:
        return torch.from_numpy(np.zeros(shape, dtype=np.float32))
    return torch.zeros(shape, device=device, dtype=dtype)


def is_native(tensor: Tensor) -> bool:
    """Return whether the native core takes this tensor: float32, on a CPU, and in one piece."""
    return tensor.is_cpu and tensor.dtype == torch.float32 and tensor.is_contiguous()


class GradientPart(NamedTuple):
    """A term of the gradient of a table, which one use of the layer adds in a backward pass.

    Attributes
    ----------
    row_of_code : RowOfCode
        Which rows the codes pick.
    codes : tensor of shape (n, k)
    output_gradient : tensor of shape (n, H)
        The gradient of the layer's output.
    """

    row_of_code: RowOfCode
    codes: Tensor
    output_gradient: Tensor

    def copy(self) -> GradientPart:
        """Return a part that stays as it is, whatever becomes of the tensors it was made of."""
        return GradientPart(self.row_of_code, self.codes.clone(), self.output_gradient.clone())

    def picks(self) -> _core.LookupsByRow:
        """Return the picks of the codes, sorted by row."""
        return _core.LookupsByRow(self.row_of_code.native(), self.codes.numpy(), torch.get_num_threads())

    def sparse(self) -> Tensor:
        """Return the gradient as a coalesced sparse tensor: the rows that occurred and their sums."""
        picks = self.picks()
        width = self.output_gradient.shape[1]
        rows = torch.empty((1, picks.n_rows_used), dtype=torch.int64)
        sums = torch.empty((picks.n_rows_used, width))
        picks.row_sums(self.output_gradient.numpy(), rows.numpy(), sums.numpy(), torch.get_num_threads())
        size = (self.row_of_code.n_rows, width)
        return torch.sparse_coo_tensor(rows, sums, size, is_coalesced=True, check_invariants=False)


class DeferredGradient:
    """The parts of a table's gradient that wait for the optimizer that defers it."""

    def __init__(self) -> None:
        self.optimizer: Any = None
        self._watched = False
        self._arriving: list[GradientPart] = []
        self._parts: list[GradientPart] = []
        self._mark: Tensor | None = None
        self._version = -1
        self._nothing: Tensor | None = None

    def watch(self, table: Tensor) -> None:
        """Take parts over once `backward` has come to the table; called before the first one."""
        if not self._watched:
            table.register_post_accumulate_grad_hook(self._accumulated)
            self._watched = True

    def arrive(self, table: Tensor, part: GradientPart) -> Tensor:
        """Keep a part, and return the gradient to hand on in its place: an empty one."""
        if not self._is_marked(table):
            self._parts = []
        if not self._arriving:
            torch.autograd.Variable._execution_engine.queue_callback(self._finished)
        self._arriving.append(part)
        if self._nothing is None or self._nothing.shape != table.shape:
            rows, sums = torch.empty((1, 0), dtype=torch.int64), torch.empty((0, table.shape[1]))
            self._nothing = torch.sparse_coo_tensor(rows, sums, table.shape, is_coalesced=True, check_invariants=False)
        return self._nothing

    def waiting(self, table: Tensor) -> list[GradientPart]:
        """Return the parts that are to be added to `table.grad`."""
        return self._parts if self._is_marked(table) else []

    def settle(self, table: Tensor) -> None:
        """Put an ordinary sparse gradient into `table.grad` in place of the parts that wait."""
        waiting = self.waiting(table)
        self._parts = []
        for part in waiting:
            table.grad = table.grad + part.sparse()

    def _is_marked(self, table: Tensor) -> bool:
        return self._mark is not None and self._mark is table.grad and self._mark._version == self._version

    def _accumulated(self, table: Tensor) -> None:
        if self._arriving:
            self._parts = self._parts + self._arriving
            self._arriving = []
            self._mark = table.grad
            self._version = table.grad._version

    def _finished(self) -> None:
        if self._arriving:
            self._arriving = []
            raise RuntimeError(
                "the gradient of a table that LazyAdam steps on is only there for LazyAdam, and only after "
                "loss.backward(); for torch.autograd.grad use HashedLinear(..., sparse=False)"
            )


_deferred = WeakTensorKeyDictionary()

_deferring: weakref.WeakSet[Optimizer] = weakref.WeakSet()

_hooks: list[Any] = []


def defer(table: Tensor, optimizer: Optimizer) -> None:
    """Let the gradients of `table` wait for `optimizer`, if it is the table of a hashed layer."""
    if not _hooks:
        _hooks.append(register_optimizer_step_pre_hook(_settle_for_others))
    _deferred.setdefault(table, DeferredGradient()).optimizer = weakref.ref(optimizer)
    _deferring.add(optimizer)


def deferred_gradient(table: Tensor) -> DeferredGradient | None:
    """Return the deferred gradient of a table, or None if no living optimizer defers it."""
    found: DeferredGradient | None = _deferred.get(table)
    return found if found is not None and found.optimizer() is not None else None


def _settle_for_others(optimizer: Optimizer, *_: Any) -> None:
    if optimizer in _deferring:  # it asks for the parts itself
        return
    for group in optimizer.param_groups:
        for table in group["params"]:
            found = _deferred.get(table)
            if found is not None:
                found.settle(table)
