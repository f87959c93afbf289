"""Which row of a table each code picks, and with which sign, natively and in torch."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from gcwsnet import _core
from gcwsnet._keys import GOLDEN, SKETCH, stream_state

CODE_TYPES = (torch.uint8, torch.uint16, torch.uint32, torch.int32, torch.int64)


class Layout(NamedTuple):
    """Code c of hash j picks row 2**bits j + c, or the bin of that position in a count-sketch, with its sign."""

    n_hashes: int
    bits: int
    n_rows: int
    sketched: bool
    seed: int

    def native(self) -> _core.RowOfCode:
        """The same for the native core."""
        return _core.RowOfCode(self.n_hashes, self.bits, self.n_rows, self.sketched, self.seed)

    def rows_and_signs(self, codes: Tensor) -> tuple[Tensor, Tensor | None]:
        """Rows of int64 and signs of 1 and -1 (None without a sketch), n x k, on the device of the codes.

        ValueError for a code out of range. This is `bins_and_signs` in torch, whose int64 wraps around as uint64 does.
        """
        codes = codes.to(torch.int64)
        self._check(codes)
        position = codes + (torch.arange(self.n_hashes, device=codes.device) << self.bits)
        if not self.sketched:
            return position, None
        key = _mix64(_signed(stream_state(self.seed, SKETCH)) + (position + 1) * _signed(GOLDEN))
        return (_shifted(key, 32) * self.n_rows) >> 32, 1 - 2 * (key & 1)

    def _check(self, codes: Tensor) -> None:
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
    """z >> n with zeros coming in from the left, as for an unsigned number."""
    return (z >> n) & ((1 << (64 - n)) - 1)


def _mix64(z: Tensor) -> Tensor:
    z = (z ^ _shifted(z, 30)) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ _shifted(z, 27)) * _signed(0x94D049BB133111EB)
    return z ^ _shifted(z, 31)
