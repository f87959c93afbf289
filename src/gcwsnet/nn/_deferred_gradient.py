"""Gradients of tables that wait for the optimizer as they come: codes and the gradient of the output.

The gradient of a table is a sum over the samples that picked each row. An optimizer that claims a table gets what that
sum is made of, and sums and applies it in one go. `.grad` of the table then is an empty sparse tensor: the mark of the
batches that wait. Whoever sets it to None, or to zero, drops them. Any other optimizer that steps on the table finds
its ordinary sparse gradient there.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.optim.optimizer import Optimizer, register_optimizer_step_pre_hook
from torch.utils.weak import WeakTensorKeyDictionary

from gcwsnet import _core
from gcwsnet.nn._layout import Layout


class Batch(NamedTuple):
    """A part of a table's gradient: `gradient` is that of the layer's output, of shape (n, H)."""

    layout: Layout
    codes: Tensor
    gradient: Tensor

    def copy(self) -> Batch:
        """A batch that stays as it is, whatever becomes of the tensors it was made of."""
        return Batch(self.layout, self.codes.clone(), self.gradient.clone())

    def picks(self) -> _core.PicksByRow:
        """The picks of the codes, sorted by row."""
        return _core.PicksByRow(self.layout.native(), self.codes.numpy(), torch.get_num_threads())

    def sparse(self) -> Tensor:
        """The gradient as a coalesced sparse tensor: the rows that occurred and their sums."""
        picks = self.picks()
        rows = torch.empty((1, picks.n_picked_rows), dtype=torch.int64)
        sums = torch.empty((picks.n_picked_rows, self.gradient.shape[1]))
        picks.row_sums(self.gradient.numpy(), rows.numpy(), sums.numpy(), torch.get_num_threads())
        size = (self.layout.n_rows, self.gradient.shape[1])
        return torch.sparse_coo_tensor(rows, sums, size, is_coalesced=True, check_invariants=False)


class Claim:
    """What waits for the optimizer that has claimed a table."""

    def __init__(self) -> None:
        self.owner: Any = None
        self._watched = False
        self._arriving: list[Batch] = []
        self._batches: list[Batch] = []
        self._mark: Tensor | None = None
        self._version = -1
        self._nothing: Tensor | None = None

    def watch(self, table: Tensor) -> None:
        """Take batches over once `backward` has come to the table; called before the first one."""
        if not self._watched:
            table.register_post_accumulate_grad_hook(self._accumulated)
            self._watched = True

    def arrive(self, table: Tensor, batch: Batch) -> Tensor:
        """The gradient to hand on for a batch: nothing, the batch itself waits here."""
        if not self._is_marked(table):
            self._batches = []
        if not self._arriving:
            torch.autograd.Variable._execution_engine.queue_callback(self._finished)
        self._arriving.append(batch)
        if self._nothing is None or self._nothing.shape != table.shape:
            rows, sums = torch.empty((1, 0), dtype=torch.int64), torch.empty((0, table.shape[1]))
            self._nothing = torch.sparse_coo_tensor(rows, sums, table.shape, is_coalesced=True, check_invariants=False)
        return self._nothing

    def waiting(self, table: Tensor) -> list[Batch]:
        """Batches whose gradients are to be added to `table.grad`."""
        return self._batches if self._is_marked(table) else []

    def settle(self, table: Tensor) -> None:
        """Put an ordinary sparse gradient into `table.grad` in place of the batches that wait."""
        waiting = self.waiting(table)
        self._batches = []
        for batch in waiting:
            table.grad = table.grad + batch.sparse()

    def _is_marked(self, table: Tensor) -> bool:
        return self._mark is not None and self._mark is table.grad and self._mark._version == self._version

    def _accumulated(self, table: Tensor) -> None:
        if self._arriving:
            self._batches = self._batches + self._arriving
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


_claims = WeakTensorKeyDictionary()
_claimers: weakref.WeakSet[Optimizer] = weakref.WeakSet()
_hooks: list[Any] = []


def claim(table: Tensor, optimizer: Optimizer) -> None:
    """Let the gradients of `table` wait for `optimizer`, if it is the table of a hashed layer."""
    if not _hooks:
        _hooks.append(register_optimizer_step_pre_hook(_settle_for_others))
    _claims.setdefault(table, Claim()).owner = weakref.ref(optimizer)
    _claimers.add(optimizer)


def claim_of(table: Tensor) -> Claim | None:
    """The claim on a table, while the optimizer that made it lives."""
    found: Claim | None = _claims.get(table)
    return found if found is not None and found.owner() is not None else None


def _settle_for_others(optimizer: Optimizer, *_: Any) -> None:
    if optimizer in _claimers:  # looks for itself
        return
    for group in optimizer.param_groups:
        for table in group["params"]:
            found = _claims.get(table)
            if found is not None:
                found.settle(table)
