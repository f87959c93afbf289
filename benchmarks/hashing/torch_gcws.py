"""Algorithm 1 in torch, float32, eager or compiled: the fastest versions we know for one thread.

torch is imported when a sampler is made, since it may be missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.hashing.numpy_gcws import Floats, HashMajorTable, hash_blocks

Tensor = Any
CHUNK = 32  # features whose least a is found first: a minimum is vectorised, its position is not
SMALL = 300  # features, up to which the second look at a chunk costs more than it saves
ROWS = 32  # in a block of dense rows
ENTRIES = {"eager": 400, "compiled": 1600}  # in a block of sparse rows


def dense_kernel(L: Tensor, table: tuple[Tensor, ...], row: Tensor, hash_: Tensor, within: Tensor) -> Tensor:
    """Return the positions of the least a, hashes x rows: first the chunk that holds it, then the place in the chunk.

    L is rows x chunks x CHUNK, the tables are hashes x 1 x chunks x CHUNK. With the hashes outermost, their parameters
    are read once for all rows of the block.
    """
    inverse_r, beta, g, r = table
    a = g - r * (L * inverse_r + beta).floor()
    chunk = a.amin(3).argmin(2)
    at = (hash_, 0, chunk[..., None], within)
    a = g[at] - r[at] * (L[row, chunk[..., None], within] * inverse_r[at] + beta[at]).floor()
    return chunk * CHUNK + a.argmin(2)


def small_dense_kernel(L: Tensor, table: tuple[Tensor, ...], *_: Tensor) -> Tensor:
    """Return the same by one look at all features."""
    inverse_r, beta, g, r = table
    return (g - r * (L * inverse_r + beta).floor()).flatten(2).argmin(2)


def sparse_kernel(L: Tensor, parameters: Tensor) -> Tensor:
    """Return the positions of the least a among a row's entries, rows x hashes; L is rows x entries."""
    r, beta, g = parameters.unbind(2)
    r_t = (L[..., None] / r).add_(beta).floor_().mul_(r)
    return (g - r_t).argmin(1)


class TorchGCWS(ABC):
    """A sampler of rows of weights."""

    @abstractmethod
    def i_star(self, X: Any) -> NDArray[np.int64]:
        """Return the positions of the sampled features, of shape (n, k)."""

    def __call__(self, X: Any) -> NDArray[np.uint8]:
        """Return codes of 8 bits, the low bits of `i_star`."""
        return self.i_star(X).astype(np.uint8)


class TorchDenseEager(TorchGCWS):
    """A sampler of dense rows of weights that works on one row and a block of hashes at a time, in place."""

    def __init__(self, table: HashMajorTable, p: float) -> None:
        import torch

        self.torch, self.p = torch, p
        self.table = tuple(torch.from_numpy(one) for one in table)

    def i_star(self, X: Floats) -> NDArray[np.int64]:
        """Return the positions of the sampled features, of shape (n, k)."""
        torch = self.torch
        L = self.p * torch.from_numpy(X).log()
        n_hashes, n_features = self.table[0].shape
        winners = torch.empty((len(L), n_hashes), dtype=torch.int64)
        for hashes in hash_blocks(n_hashes, n_features):
            inverse_r, beta, g, r = (one[hashes] for one in self.table)
            a = torch.empty_like(r)
            for row, L_of_row in enumerate(L):
                torch.addcmul(beta, inverse_r, L_of_row, out=a)
                a.floor_()
                torch.addcmul(g, r, a, value=-1, out=a)
                winners[row, hashes] = a.argmin(1)
        return winners.numpy()


class TorchDenseCompiled(TorchGCWS):
    """A sampler of dense rows of weights by a compiled kernel for blocks of rows, which never holds all a.

    Rows and features are padded with zeros, so that only one shape is compiled.
    """

    def __init__(self, table: HashMajorTable, p: float, backend: str = "inductor") -> None:
        import torch

        self.torch, self.p = torch, p
        n_hashes, self.n_features = table.r.shape
        self.n_chunks = -(-self.n_features // CHUNK)
        fill = (0, self.n_chunks * CHUNK - self.n_features)
        shape = (n_hashes, 1, self.n_chunks, CHUNK)
        self.table = tuple(torch.nn.functional.pad(torch.from_numpy(one), fill, value=1.0).view(shape) for one in table)
        self.row, self.hash = torch.arange(ROWS)[:, None], torch.arange(n_hashes)[:, None, None]
        self.within = torch.arange(CHUNK)
        kernel = small_dense_kernel if self.n_features <= SMALL else dense_kernel
        self.kernel = torch.compile(kernel, dynamic=False, backend=backend)

    def i_star(self, X: Floats) -> NDArray[np.int64]:
        """Return the positions of the sampled features, of shape (n, k)."""
        torch = self.torch
        n = len(X)
        L = torch.full((-(-n // ROWS) * ROWS, self.n_chunks * CHUNK), -torch.inf)
        torch.log(torch.from_numpy(X), out=L[:n, : self.n_features]).mul_(self.p)
        blocks = L.view(-1, ROWS, self.n_chunks, CHUNK)
        winners = [self.kernel(block, self.table, self.row, self.hash, self.within).T for block in blocks]
        found: NDArray[np.int64] = torch.cat(winners)[:n].numpy()
        return found


class TorchSparse(TorchGCWS):
    """A sampler of CSR rows of weights: blocks of rows, padded to the longest, with the parameters of their entries."""

    def __init__(self, table: Floats, p: float, *, compiled: bool, backend: str = "inductor") -> None:
        import torch

        self.torch, self.p = torch, p
        self.table = torch.from_numpy(table)
        self.entries = ENTRIES["compiled" if compiled else "eager"]
        self.kernel = torch.compile(sparse_kernel, dynamic=False, backend=backend) if compiled else sparse_kernel

    def i_star(self, X: sparse.csr_matrix) -> NDArray[np.int64]:
        """Return the positions of the sampled features, of shape (n, k)."""
        torch = self.torch
        lengths = np.diff(X.indptr)
        longest = int(lengths.max())
        n_rows = max(1, self.entries // longest)
        n = -(-X.shape[0] // n_rows) * n_rows
        entry = np.arange(longest) < np.append(lengths, np.zeros(n - X.shape[0], dtype=int))[:, np.newaxis]
        features, weights = np.zeros((n, longest), dtype=np.int64), np.zeros((n, longest), dtype=np.float32)
        features[entry], weights[entry] = X.indices, X.data
        i, L = torch.from_numpy(features), self.p * torch.from_numpy(weights).log()
        winners = torch.empty((n, self.table.shape[2]), dtype=torch.int64)
        for first in range(0, n, n_rows):
            rows = slice(first, first + n_rows)
            parameters = self.table.index_select(0, i[rows].flatten()).view(n_rows, longest, 3, -1)
            winners[rows] = i[rows].gather(1, self.kernel(L[rows], parameters))
        found: NDArray[np.int64] = winners[: X.shape[0]].numpy()
        return found
