"""The table of a hashed layer: which row each code looks up, with which sign, and the gradient of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from gcwsnet import _core
from gcwsnet._keys import GOLDEN, SKETCH, stream_state

CODE_TYPES = (torch.uint8, torch.uint16, torch.uint32, torch.int32, torch.int64)


class CodeToRow(NamedTuple):
    """The map from codes to rows: code c of hash j looks up row 2**bits j + c.

    With `sketched` it looks up the bin of that position in a count-sketch, with its sign.
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

    It is codes of shape (n, k), the rows that they look up, and the gradient of the layer's output, of shape (n, H).
    """

    code_to_row: CodeToRow
    codes: Tensor
    output_gradient: Tensor

    def lookups(self) -> _core.LookupsByRow:
        """Return the lookups of the codes, sorted by row."""
        return _core.LookupsByRow(self.code_to_row.native(), self.codes.numpy(), torch.get_num_threads())

    def sparse(self) -> Tensor:
        """Return the gradient as a coalesced sparse tensor: the rows that occurred and their sums."""
        lookups = self.lookups()
        width = self.output_gradient.shape[1]
        rows = torch.empty((1, lookups.n_rows_used), dtype=torch.int64)
        sums = torch.empty((lookups.n_rows_used, width))
        lookups.row_sums(self.output_gradient.numpy(), rows.numpy(), sums.numpy(), torch.get_num_threads())
        size = (self.code_to_row.n_rows, width)
        return torch.sparse_coo_tensor(rows, sums, size, is_coalesced=True, check_invariants=False)


class LazyGradient(Tensor):
    """The gradient of a table, whose rows are summed when something looks at it.

    Until then it is a list of parts, which `LazyAdam` sums row by row while it updates the table. For all functions of
    torch it is the sparse tensor of the rows that occurred, or a dense one if a dense gradient was added.
    """

    parts: list[GradientPart]
    summed: Tensor | None

    @staticmethod
    def __new__(cls, shape: Any, parts: list[GradientPart], summed: Tensor | None = None) -> LazyGradient:
        """Return the gradient with these parts and the sum of the parts before them."""
        gradient: LazyGradient = Tensor._make_wrapper_subclass(cls, shape, dtype=torch.float32)
        gradient.parts, gradient.summed = parts, summed
        return gradient

    def __init__(self, *_: Any) -> None:
        """Do nothing: `__new__` has done all."""

    def value(self) -> Tensor:
        """Return the gradient as an ordinary tensor, which takes the place of the parts."""
        for part in self.parts:
            self.summed = _sum(self.summed, part.sparse())
        self.parts = []
        if self.summed is None:
            self.summed = torch.sparse_coo_tensor(size=_shape(self), check_invariants=False)
        return self.summed

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call a function of torch with the ordinary tensor."""
        if func is Tensor.zero_:
            args[0].parts, args[0].summed = [], None
            return args[0]
        args, kwargs = tree_map_only(cls, cls.value, (args, kwargs or {}))
        return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Do what autograd does when it accumulates gradients, without summing the rows."""
        aten, first = torch.ops.aten, args[0]
        if func is aten.detach.default:
            return cls(_shape(first), first.parts, first.summed)
        if func is aten.new_empty_strided.default:
            return cls(_shape(first), [])
        if func is aten.copy_.default and isinstance(first, cls) and isinstance(args[1], cls):
            first.parts, first.summed = args[1].parts, args[1].summed
            return first
        if not kwargs and (func is aten.add.Tensor or (func is aten.add_.Tensor and isinstance(first, cls))):
            parts = [part for one in args if isinstance(one, cls) for part in one.parts]
            summed = _sum(*(one.summed if isinstance(one, cls) else one for one in args))
            if func is aten.add.Tensor:
                return cls(_shape(first), parts, summed)
            first.parts, first.summed = parts, summed
            return first
        args, kwargs = tree_map_only(cls, lambda one: one.value().to_dense(), (args, kwargs or {}))
        return func(*args, **kwargs)


def _shape(tensor: Tensor) -> Any:
    """Return the shape of a tensor, for which the rows of a lazy gradient need not be summed."""
    with torch._C.DisableTorchFunctionSubclass():
        return tensor.shape


def _sum(one: Tensor | None, other: Tensor | None) -> Tensor | None:
    """Return the sum of two gradients that are sparse, dense or not there."""
    if one is None or other is None:
        return other if one is None else one
    return other + one if one.is_sparse and not other.is_sparse else one + other  # torch wants the dense one first
