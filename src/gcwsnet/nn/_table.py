"""The table of a hashed layer: which row each code picks, and with which sign, and the memory of the rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

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

    def native(self) -> _core.RowOfCode:
        """Return the same map for the native core."""
        return _core.RowOfCode(self.n_hashes, self.bits, self.n_rows, self.sketched, self.seed)

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
