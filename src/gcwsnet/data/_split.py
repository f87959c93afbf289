"""Rows on two sides, by what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet import _core
from gcwsnet._keys import SPLIT, stream_state
from gcwsnet._validation import check_integer, check_number
from gcwsnet.data._batch import Batch
from gcwsnet.data._batches import Batches, Derived


def split(batches: Batches, fraction: float, seed: int = 0) -> tuple[Batches, Batches]:
    """The rows for training and those held out, which are about the given fraction of all.

    Parameters
    ----------
    batches : Batches
        Each of the two sides reads them on its own, so they must be readable more than once.
    fraction : float
        From 0 to 1: the part that is held out.
    seed : int, default=0
        From 0 to 2**64 - 1.

    Returns
    -------
    training, held_out : Batches

    Notes
    -----
    A row's side depends on the numbers of its X and on the seed alone: not on its place, its label, the batch, the
    format, how the numbers are written, or whether X is dense or CSR. So rows with equal X are on one side, and a row
    stays on its side when rows are added. A number that float32 rounds is another number.

    The key of a row is mix(s + the sum over its entries that are not zero of mix(mix(s + (column + 1) g) ^ bits)),
    modulo 2**64. mix is the finalizer of splitmix64, g is 0x9e3779b97f4a7c15, s is the state of the stream number 13 of
    `seed` (docs/hash-specification.md), bits are those of the number as a double, and columns count from 0. A row is
    held out if its key is below fraction times 2**64.

    Examples
    --------
    >>> import numpy as np
    >>> from gcwsnet.data import read, split
    >>> training, held_out = split(read(np.arange(1000.0).reshape(1000, 1)), 0.2, seed=0)
    >>> sum(batch.n_rows for batch in training), sum(batch.n_rows for batch in held_out)
    (833, 167)
    """
    below = int(check_number("fraction", fraction, 0, 1) * 2.0**64)
    state = stream_state(check_integer("seed", seed, 0, 2**64 - 1), SPLIT)

    def side(batches: Iterable[Batch], held_out: bool) -> Iterator[Batch]:
        for batch in batches:
            yield batch.take(_is_below(row_keys(batch.X, state), below) == held_out)

    return Derived(batches, lambda source: side(source, False)), Derived(batches, lambda source: side(source, True))


def _is_below(found: NDArray[np.uint64], bound: int) -> NDArray[np.bool_]:
    return np.ones(len(found), bool) if bound == 2**64 else found < np.uint64(bound)


def row_keys(X: Any, state: int) -> NDArray[np.uint64]:
    """The keys of the rows of X."""
    out = np.empty(X.shape[0], np.uint64)
    if sparse.issparse(X):
        _core.csr_row_keys(X.data, X.indices, X.indptr.astype(X.indices.dtype, copy=False), state, out)
    else:
        _core.dense_row_keys(np.ascontiguousarray(X), state, out)
    return out
