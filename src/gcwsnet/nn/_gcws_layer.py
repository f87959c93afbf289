"""A layer that hashes the output of a trained network by GCWS and sums rows of a table, on any device."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gcwsnet._keys import SALTS, keys
from gcwsnet._validation import check_integer
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.hashing.elementary import LN2, SQRT_HALF, SQRT_HALF_OF_DOUBLE, F, Q
from gcwsnet.hashing.parameters import parameters
from gcwsnet.hashing.reference import NAN_BITS
from gcwsnet.nn._hashed_linear import HashedLinear

EVALUATIONS_AT_ONCE = 1 << 23
"""The numbers of a block of rows, features and hashes; four such blocks are there at a time."""

FEATURES_AT_ONCE = 256
"""The features whose parameters are made at a time."""

WORD = 0xFFFFFFFF

CODE_DTYPES = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}


class TensorHasher:
    """A function from embeddings on any device to codes, by operations on tensors.

    Every operation is one that the reference has too and is rounded once, so the codes are equal to its codes wherever
    float32 is computed by the standard. 16 bytes are kept for each feature, two of a column, and hash.
    """

    def __init__(self, hasher: Hasher, device: torch.device) -> None:
        self._hasher, self.device = hasher, device
        k, n_features = hasher.n_hashes, 2 * hasher.n_features
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
        settings = self._hasher
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
        L = torch.tensor(self._hasher.p, dtype=torch.float32, device=rows.device) * log_of_data(rows)
        negative = rows < 0
        has_negative = bool(negative.any())
        nothing = torch.tensor(-torch.inf, device=rows.device)
        both = [torch.where(negative, nothing, L), torch.where(negative, L, nothing)] if has_negative else [L]
        L = torch.stack(both, dim=2).flatten(1)
        stride = 1 if has_negative else 2  # of non-negative rows the even features are all there are
        inverse_r, beta, offset, r = (table[::stride] for table in self._tables)
        shape = (len(rows), self._hasher.n_hashes)
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
        """Return codes as int64, see `gcwsnet.hashing.reference.encode`."""
        settings = self._hasher
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


ENCODINGS = ("mixed", "lowbits")


class GCWSLayer(nn.Module):
    """A linear layer on the one-hot codes of embeddings, for the last layer of a network that is trained already.

    The embeddings, for example the outputs of the last hidden layer, are hashed by GCWS, and the codes go to a
    `HashedLinear`. Codes are integers: no gradient goes through them, so training this layer leaves the network alone.

    Parameters
    ----------
    in_features : int
        D, the columns of the embeddings.
    out_features : int
        Classes, or targets of a regression.
    n_hashes : int, default=256
        k, the codes of a row.
    bits : int, default=8
        b, the bits of a code.
    p : float, default=1.0
        The power.
    t_bits : int or "all", default="all"
        As in `GCWSHasher`.
    encoding : str, default="mixed"
        As in `GCWSHasher`.
    reduction : int, "8bit" or None, default=None
        As in `HashedLinear`.
    seed : int, default=0
        Chooses the hashes, and the bins and signs of a reduction. It is part of `state_dict`.
    sparse : bool, default=True
        As in `HashedLinear`: train it with `LazyAdam`.
    device, dtype : default=None
        Of the table and the bias.

    Attributes
    ----------
    linear : HashedLinear
        The layer on codes.

    Notes
    -----
    Embeddings are hashed where they are: on a CPU by the native core, elsewhere by operations on tensors, some rows and
    features at a time, with the same codes. Half precision and bfloat16 are hashed as float32. Embeddings on the device
    "meta" give codes of the right shape and no values.

    `torch.compile` leaves the hashing out: there is a break in the graph before and after it, since a compiler that
    fuses a multiplication and an addition would change codes. `state_dict` has the seed and the settings of the hashes.

    Examples
    --------
    >>> import torch
    >>> from gcwsnet.nn import GCWSLayer
    >>> network = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU())
    >>> layer = GCWSLayer(in_features=32, out_features=10, n_hashes=128)
    >>> layer(network(torch.rand(5, 64))).shape
    torch.Size([5, 10])

    Embeddings that do not change are hashed once:

    >>> codes = layer.codes(network(torch.rand(5, 64)))
    >>> codes.shape, layer.linear(codes).shape
    (torch.Size([5, 128]), torch.Size([5, 10]))
    """

    _tensors: TensorHasher | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        n_hashes: int = 256,
        *,
        bits: int = 8,
        p: float = 1.0,
        t_bits: int | Literal["all"] = "all",
        encoding: str = "mixed",
        reduction: int | Literal["8bit"] | None = None,
        seed: int = 0,
        sparse: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = check_integer("in_features", in_features, 1, 2**31 - 1)
        self._hasher = Hasher(
            n_hashes, seed=seed, n_features=self.in_features, p=p, bits=bits, t_bits=t_bits, encoding=encoding
        )
        self._tensors = None
        placed = {"device": device, "dtype": dtype}
        self.linear = HashedLinear(
            n_hashes, self._hasher.code_bits, out_features, reduction=reduction, seed=seed, sparse=sparse, **placed
        )

    def codes(self, embeddings: Tensor) -> Tensor:
        """Return codes of shape (n, k), on the device of the layer, for embeddings of shape (n, D)."""
        if embeddings.ndim != 2 or embeddings.shape[1] != self.in_features:
            raise ValueError(f"embeddings must be n x {self.in_features}, got the shape {tuple(embeddings.shape)}")
        hashed = torch.compiler.disable(self._codes) if torch.compiler.is_compiling() else self._codes
        return hashed(embeddings.detach()).to(self.linear.weight.device)

    def _codes(self, rows: Tensor) -> Tensor:
        """Return codes on the device of the rows, which the native core computes on a CPU."""
        rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.to(torch.float32)
        if rows.is_cpu:
            return torch.from_numpy(self._hasher.codes(rows.numpy(), torch.get_num_threads()))
        return self._codes_by_tensors(rows)

    def _codes_by_tensors(self, rows: Tensor) -> Tensor:
        """Return the same codes by operations on tensors."""
        hasher = self._hasher
        if rows.is_meta:
            dtype = CODE_DTYPES[hasher.code_dtype.itemsize]
            return torch.empty((len(rows), hasher.n_hashes), dtype=dtype, device="meta")
        if self._tensors is None or self._tensors.device != rows.device:
            self._tensors = TensorHasher(hasher, rows.device)
        return self._tensors.codes(rows)

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return outputs of shape (n, out_features) for embeddings of shape (n, D)."""
        return self.linear(self.codes(embeddings))

    def get_extra_state(self) -> Tensor:
        """Return the seed and the settings of the hashes, for `state_dict`: six numbers of int64.

        They are the seed, as the int64 of the same bits, k, b, `t_bits` with -1 for "all", the number of the encoding,
        and the bits of p as a float64.
        """
        hasher, seed = self._hasher, self._hasher.seed
        t_bits = -1 if hasher.t_bits == "all" else hasher.t_bits
        p = int(np.float64(hasher.p).view(np.int64))
        encoding = ENCODINGS.index(hasher.encoding)
        return torch.tensor([seed - (seed >> 63 << 64), hasher.n_hashes, hasher.bits, t_bits, encoding, p])

    def set_extra_state(self, state: Tensor) -> None:
        """Take the seed and the settings of a `state_dict`, whose codes must have as many hashes and bits."""
        seed, n_hashes, bits, t_bits, encoding, p = state.tolist()
        hasher = self._hasher
        if (n_hashes, bits + max(t_bits, 0)) != (hasher.n_hashes, hasher.code_bits):
            raise ValueError(
                f"a state of {n_hashes} hashes of {bits + max(t_bits, 0)} bits cannot be loaded into a layer of "
                f"{hasher.n_hashes} hashes of {hasher.code_bits} bits; make the layer with the same n_hashes and bits"
            )
        self._hasher = hasher.replace(
            seed=seed % 2**64,
            bits=bits,
            t_bits="all" if t_bits < 0 else t_bits,
            encoding=ENCODINGS[encoding],
            p=float(np.int64(p).view(np.float64)),
        )
        self._tensors = None

    def extra_repr(self) -> str:
        """Return what the layer was made with, for `repr`."""
        hasher = self._hasher
        return f"in_features={self.in_features}, n_hashes={hasher.n_hashes}, bits={hasher.bits}, p={hasher.p:g}"

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept of the layer: the tables of a device follow from the rest."""
        return self.__dict__ | {"_tensors": None}
