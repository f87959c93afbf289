"""Gradients of tables that are kept as codes and gradients of outputs until the optimizer steps.

The gradient of a table is a sum over the samples that picked each row. An optimizer that defers the gradients of a
table gets what that sum is made of, and sums and applies it in one pass. `.grad` of the table then is an empty sparse
tensor: the mark of the parts that wait. Setting it to None, or to zero, drops them. Any other optimizer that steps on
the table finds its ordinary sparse gradient there.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from torch.utils.weak import WeakTensorKeyDictionary

from gcwsnet import _core
from gcwsnet.nn._table import RowOfCode


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

    def picks(self) -> _core.PicksByRow:
        """Return the picks of the codes, sorted by row."""
        return _core.PicksByRow(self.row_of_code.native(), self.codes.numpy(), torch.get_num_threads())

    def sparse(self) -> Tensor:
        """Return the gradient as a coalesced sparse tensor: the rows that occurred and their sums."""
        picks = self.picks()
        width = self.output_gradient.shape[1]
        rows = torch.empty((1, picks.n_picked_rows), dtype=torch.int64)
        sums = torch.empty((picks.n_picked_rows, width))
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
