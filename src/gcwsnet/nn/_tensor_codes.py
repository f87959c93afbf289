"""GCWS by operations on tensors, for devices that the native core does not reach: the same codes, in bounded memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from gcwsnet._keys import SALTS, keys
from gcwsnet.encoding.reference import NAN_BITS
from gcwsnet.hashing._fitted import FittedHasher
from gcwsnet.hashing.elementary import LN2, SQRT_HALF, SQRT_HALF_OF_DOUBLE, F, Q
from gcwsnet.hashing.parameters import parameters

EVALUATIONS_AT_ONCE = 1 << 23
"""The numbers of a block of rows, features and hashes; four such blocks are there at a time."""
FEATURES_AT_ONCE = 256
"""The features whose parameters are made at a time."""
WORD = 0xFFFFFFFF
CODE_DTYPES = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}


class TensorHasher:
    """A function from embeddings on any device to codes.

    Every operation is one that the reference has too and is rounded once, so the codes are equal to its codes wherever
    float32 is computed by the standard.

    Parameters
    ----------
    hasher : FittedHasher
        Of the method "gcws".
    device : torch.device
        Where the parameters of all features and hashes are kept: 16 bytes for each feature, two of a column, and hash.
    """

    def __init__(self, hasher: FittedHasher, device: torch.device) -> None:
        self._hasher, self.device = hasher, device
        k, n_features = hasher.settings.n_hashes, 2 * hasher.n_features
        self._tables = [torch.empty((n_features, k), dtype=torch.float32, device=device) for _ in range(4)]
        for first in range(0, n_features, FEATURES_AT_ONCE):
            features = np.arange(first, min(first + FEATURES_AT_ONCE, n_features))
            r, log_c, beta = parameters(hasher.seed, features, np.arange(k))
            made = (F(1) / r, beta, log_c - r * (F(1) - beta), r)
            for table, part in zip(self._tables, made, strict=True):
                table[first : first + len(features)] = torch.from_numpy(part).to(device)
        salts = keys(hasher.seed, SALTS, np.arange(k))
        self._salts = [torch.from_numpy(part.astype(np.int64)).to(device) for part in salts]

    def codes(self, rows: Tensor) -> Tensor:
        """Return the codes of rows of float32 or float64, of shape (n, k); a number that is not finite is an error."""
        if not bool(torch.isfinite(rows).all()):
            row, column = (~torch.isfinite(rows)).nonzero()[0].tolist()
            raise ValueError(
                f"every entry must be finite, not NaN or inf; embeddings[{row}, {column}] is {float(rows[row, column])}"
            )
        settings = self._hasher.settings
        codes = torch.empty((len(rows), settings.n_hashes), dtype=self.dtype, device=rows.device)
        features = _features_at_once(rows.shape[1], settings.n_hashes)
        step = max(1, EVALUATIONS_AT_ONCE // (features * settings.n_hashes))
        for first in range(0, len(rows), step):
            some = rows[first : first + step]
            codes[first : first + step] = self._encoded(*self._samples(some, features)).to(self.dtype)
        return codes

    @property
    def dtype(self) -> Any:
        """The type of the codes."""
        return CODE_DTYPES[self._hasher.code_dtype.itemsize]

    def _samples(self, rows: Tensor, features_at_once: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return i*, t* and which rows are empty: Algorithm 1, over some features at a time."""
        L = torch.tensor(self._hasher.settings.p, dtype=torch.float32, device=rows.device) * log_of_data(rows)
        negative = rows < 0
        has_negative = bool(negative.any())
        nothing = torch.tensor(-torch.inf, device=rows.device)
        both = [torch.where(negative, nothing, L), torch.where(negative, L, nothing)] if has_negative else [L]
        L = torch.stack(both, dim=2).flatten(1)
        stride = 1 if has_negative else 2  # of non-negative rows the even features are all there are
        inverse_r, beta, offset, r = (table[::stride] for table in self._tables)
        shape = (len(rows), self._hasher.settings.n_hashes)
        best = torch.full(shape, torch.inf, device=rows.device)
        t_star = torch.zeros(shape, device=rows.device)
        i_star = torch.zeros(shape, dtype=torch.int64, device=rows.device)
        for first in range(0, L.shape[1], features_at_once):
            here = slice(first, first + features_at_once)
            t = torch.floor(L[:, here, None] * inverse_r[here] + beta[here])
            a = offset[here] - r[here] * t
            winner = a.argmin(dim=1, keepdim=True)  # on a tie the lowest feature
            least, t = (values.gather(1, winner)[:, 0] for values in (a, t))
            better = least < best
            best = torch.where(better, least, best)
            t_star = torch.where(better, t, t_star)
            i_star = torch.where(better, (winner[:, 0] + first) * stride, i_star)
        return i_star, t_star, torch.isneginf(L).all(1, keepdim=True)

    def _encoded(self, i: Tensor, t: Tensor, empty: Tensor) -> Tensor:
        """Return codes as int64, see `gcwsnet.encoding.reference.encode`."""
        settings = self._hasher.settings
        i = torch.where(empty, WORD, i)
        if settings.encoding == "mixed":
            low, high = self._salts
            code = _scrambled(i ^ low) ^ high
            if settings.t_bits == "all":
                bits = (t + 0.0).view(torch.int32).to(torch.int64) & WORD
                code = code ^ torch.where(empty, int(NAN_BITS), bits)
            code = _scrambled(code) >> (32 - settings.bits)
        else:
            column_first = (i >> 1) + (i & 1) * self._hasher.n_features
            code = torch.where(empty, i, column_first) & ((1 << settings.bits) - 1)
        appended = settings.appended_bits
        return (code << appended) | (t.to(torch.int64) & ((1 << appended) - 1))


def _features_at_once(n_columns: int, n_hashes: int) -> int:
    return max(1, min(2 * n_columns, EVALUATIONS_AT_ONCE // n_hashes, 1024))


def log_of_data(x: Tensor) -> Tensor:
    """Return ln|x| of finite float32 or float64 numbers as float32, minus infinity where x is zero."""
    size = x.abs()
    if size.dtype == torch.float32:
        i = size.view(torch.int32)
        subnormal = i < 1 << 23
        i = torch.where(subnormal, i.to(torch.float32).view(torch.int32), i)
        e = (i - SQRT_HALF) >> 23
        f = (i - (e << 23)).view(torch.float32) - 1.0
        e = e - torch.where(subnormal, 149, 0).to(torch.int32)
    else:
        j = size.view(torch.int64)
        subnormal = j < 1 << 52
        j = torch.where(subnormal, j.to(torch.float64).view(torch.int64), j)
        e = (j - SQRT_HALF_OF_DOUBLE) >> 52
        f = ((j - (e << 52)).view(torch.float64) - 1.0).to(torch.float32)
        e = e - torch.where(subnormal, 1074, 0)
    q = torch.full_like(f, float(Q[0]))
    for coefficient in Q[1:]:
        q = q * f + float(coefficient)
    f2 = f * f
    logarithm = e.to(torch.float32) * float(LN2) + (f + (q * f * f2 - f2 * 0.5))
    return torch.where(size == 0, -torch.inf, logarithm)


def _scrambled(h: Tensor) -> Tensor:
    """Return 32 bits scrambled one to one; products wrap around."""
    x = h ^ (h >> 16)
    x = (x * 0x7FEB352D) & WORD
    x = x ^ (x >> 15)
    x = (x * 0x846CA68B) & WORD
    return x ^ (x >> 16)
