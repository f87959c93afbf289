"""A layer that hashes the output of a trained network by GCWS and sums rows of a table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gcwsnet._validation import check_integer
from gcwsnet.hashing._hasher import Hasher
from gcwsnet.nn._hashed_linear import HashedLinear

ENCODINGS = ("mixed", "lowbits")


class GCWSLayer(nn.Module):
    """A linear layer on the one-hot codes of embeddings, for example as a new last layer of a trained network.

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
    Embeddings of any device are hashed on the CPU by the native core, and the codes go to the device of the layer. Half
    precision and bfloat16 are hashed as float32. Embeddings on the device "meta" give codes of the right shape and no
    values. `torch.compile` leaves the hashing out: there is a break in the graph before and after it. `state_dict` has
    the seed and the settings of the hashes.

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
        hasher = self._hasher
        if rows.is_meta:
            dtype = getattr(torch, hasher.code_dtype.name)
            return torch.empty((len(rows), hasher.n_hashes), dtype=dtype, device="meta")
        rows = rows.cpu() if rows.dtype in (torch.float32, torch.float64) else rows.to("cpu", torch.float32)
        return torch.from_numpy(hasher.codes(rows.numpy(), torch.get_num_threads()))

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

    def extra_repr(self) -> str:
        """Return what the layer was made with, for `repr`."""
        hasher = self._hasher
        return f"in_features={self.in_features}, n_hashes={hasher.n_hashes}, bits={hasher.bits}, p={hasher.p:g}"
