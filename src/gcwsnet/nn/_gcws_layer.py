"""GCWS on the output of a trained network: a layer that hashes embeddings and sums rows of a table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn

from gcwsnet._validation import check_integer
from gcwsnet.hashing import GCWSHasher
from gcwsnet.nn._hashed_linear import HashedLinear


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
        k.
    bits : int, default=8
        b.
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
        Of the table and the bias. Embeddings are hashed on the CPU.

    Attributes
    ----------
    linear : HashedLinear
        The layer on codes.

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
        self._hasher = GCWSHasher(n_hashes, p=p, bits=bits, t_bits=t_bits, encoding=encoding, random_state=seed)
        self._fit()
        placed = {"device": device, "dtype": dtype}
        self.linear = HashedLinear(
            n_hashes, self._hasher.code_bits, out_features, reduction=reduction, seed=seed, sparse=sparse, **placed
        )

    def codes(self, embeddings: Tensor) -> Tensor:
        """Return codes of shape (n, k), on the device of the layer, for embeddings of shape (n, D)."""
        if embeddings.ndim != 2 or embeddings.shape[1] != self.in_features:
            raise ValueError(f"embeddings must be n x {self.in_features}, got the shape {tuple(embeddings.shape)}")
        self._hasher.n_jobs = torch.get_num_threads()
        rows = embeddings.detach().to("cpu")
        rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.to(torch.float32)
        return torch.from_numpy(self._hasher.transform(rows.numpy())).to(self.linear.weight.device)

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return outputs of shape (n, out_features) for embeddings of shape (n, D)."""
        return self.linear(self.codes(embeddings))

    def get_extra_state(self) -> Tensor:
        """Return the seed of the hashes, for `state_dict`: a uint64 as the int64 of the same bits."""
        seed = int(self._hasher.seed_)
        return torch.tensor(seed - (seed >> 63 << 64))

    def set_extra_state(self, state: Tensor) -> None:
        """Take the seed of a `state_dict`."""
        self._hasher.random_state = int(state) % 2**64
        self._fit()

    def extra_repr(self) -> str:
        """Return what the layer was made with, for `repr`."""
        hasher = self._hasher
        return f"in_features={self.in_features}, n_hashes={hasher.n_hashes}, bits={hasher.bits}, p={hasher.p:g}"

    def _fit(self) -> None:
        self._hasher.fit(sparse.csr_matrix((1, self.in_features), dtype=np.float32))
