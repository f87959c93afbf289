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
from gcwsnet.nn._tensor_codes import CODE_DTYPES, TensorHasher

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
        hashed = torch.compiler.disable(self._codes) if torch.compiler.is_compiling() else self._codes
        return hashed(embeddings.detach()).to(self.linear.weight.device)

    def _codes(self, rows: Tensor) -> Tensor:
        """Return codes on the device of the rows, which the native core computes on a CPU."""
        rows = rows if rows.dtype in (torch.float32, torch.float64) else rows.to(torch.float32)
        if rows.is_cpu:
            self._hasher.n_jobs = torch.get_num_threads()
            return torch.from_numpy(self._hasher.transform(rows.numpy()))
        return self._codes_by_tensors(rows)

    def _codes_by_tensors(self, rows: Tensor) -> Tensor:
        """Return the same codes by operations on tensors."""
        fitted = self._hasher._native
        if rows.is_meta:
            dtype = CODE_DTYPES[fitted.code_dtype.itemsize]
            return torch.empty((len(rows), fitted.settings.n_hashes), dtype=dtype, device="meta")
        if self._tensors is None or self._tensors.device != rows.device:
            self._tensors = TensorHasher(fitted, rows.device)
        return self._tensors.codes(rows)

    def forward(self, embeddings: Tensor) -> Tensor:
        """Return outputs of shape (n, out_features) for embeddings of shape (n, D)."""
        return self.linear(self.codes(embeddings))

    def get_extra_state(self) -> Tensor:
        """Return the seed and the settings of the hashes, for `state_dict`: six numbers of int64.

        They are the seed, as the int64 of the same bits, k, b, `t_bits` with -1 for "all", the number of the encoding,
        and the bits of p as a float64.
        """
        hasher, seed = self._hasher, int(self._hasher.seed_)
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
        hasher.set_params(
            random_state=seed % 2**64,
            bits=bits,
            t_bits="all" if t_bits < 0 else t_bits,
            encoding=ENCODINGS[encoding],
            p=float(np.int64(p).view(np.float64)),
        )
        self._fit()

    def extra_repr(self) -> str:
        """Return what the layer was made with, for `repr`."""
        hasher = self._hasher
        return f"in_features={self.in_features}, n_hashes={hasher.n_hashes}, bits={hasher.bits}, p={hasher.p:g}"

    def __getstate__(self) -> dict[str, Any]:
        """Return what is kept of the layer: the tables of a device follow from the rest."""
        return self.__dict__ | {"_tensors": None}

    def _fit(self) -> None:
        self._tensors = None
        self._hasher.fit(sparse.csr_matrix((1, self.in_features), dtype=np.float32))
