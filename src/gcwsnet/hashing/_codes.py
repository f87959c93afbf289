"""Arrays of codes that know the hasher that made them, and codes as one-hot vectors."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse


@dataclass(frozen=True)
class Origin:
    """A record of all that decides the codes of a row: codes of equal origins can be compared.

    Attributes
    ----------
    method : str
        The sampler.
    hash_version : int
        The version of the hash.
    seed : int
    p : float
    bits : int
        Bits of a code, with those appended from t*.
    t_bits : "all" or int
    encoding : str
    columns : int or None
        D where the encoding depends on it, with ``encoding="lowbits"``.
    caps : str or None
        A digest of the caps of rejection sampling.
    """

    method: str
    hash_version: int
    seed: int
    p: float
    bits: int
    t_bits: int | str
    encoding: str
    columns: int | None = None
    caps: str | None = None


class Codes(np.ndarray[Any, Any]):
    """An array of codes with its `origin`, which its slices and copies keep.

    What is computed from codes is a plain array. `origin` is None where it is not known, as for codes that were put
    together from several arrays.

    Examples
    --------
    >>> from gcwsnet import GCWSHasher
    >>> codes = GCWSHasher(4, random_state=7).fit_transform([[1.0, 2.0], [3.0, 0.0]])
    >>> codes[:1].origin.method, codes.origin.seed
    ('gcws', 7)
    >>> type(codes % 2).__name__
    'ndarray'
    """

    origin: Origin | None

    def __new__(cls, codes: Any, origin: Origin) -> Codes:
        """Return `codes`, not copied, as codes of that origin."""
        array = np.asarray(codes).view(cls)
        array.origin = origin
        return array

    def __array_finalize__(self, base: Any) -> None:
        self.origin = getattr(base, "origin", None)

    def __array_wrap__(self, result: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(result)
        return plain[()] if return_scalar else plain

    def __repr__(self) -> str:
        return repr(self.view(np.ndarray))

    def __reduce__(self) -> Any:
        plain: Any = super().__reduce__()
        make, arguments, state = plain
        return make, arguments, (state, self.origin)

    def __setstate__(self, state: Any) -> None:
        array_state, self.origin = state
        super().__setstate__(array_state)


def one_hot(codes: NDArray[Any], bits: int) -> Any:
    """Return the concatenated one-hot vectors of codes: 2**bits columns for each hash, exactly one 1 in each.

    Parameters
    ----------
    codes : array of unsigned integers, shape (n, k)
        Each below 2**bits.
    bits : int
        Bits of a code, with those appended from t*.

    Returns
    -------
    Z : CSR matrix of float32, shape (n, 2**bits * k)

    Examples
    --------
    The paper's example, k = 3 and b = 2 (the paper counts the places of a block from the right):

    >>> one_hot(np.array([[3, 0, 1]], dtype=np.uint8), bits=2).toarray().astype(int)
    array([[0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0]])
    """
    n, k = codes.shape
    n_columns = k << bits
    index_type = np.dtype(np.int32 if max(n_columns, n * k) <= np.iinfo(np.int32).max else np.int64)
    indices: NDArray[Any] = codes.astype(index_type)
    indices += np.arange(0, n_columns, 1 << bits, dtype=index_type)
    indptr = np.arange(0, n * k + 1, k, dtype=index_type)
    return sparse.csr_matrix((np.ones(n * k, dtype=np.float32), indices.reshape(-1), indptr), shape=(n, n_columns))


def check_comparable(arrays: Iterable[Any], bits: int) -> None:
    """Raise a ValueError if codes are known to be of different origins, or not to have `bits` bits."""
    origins = [array.origin for array in arrays if isinstance(array, Codes) and array.origin is not None]
    for origin in origins:
        if origin.bits != bits:
            raise ValueError(f"bits must be the bits of the codes, which is {origin.bits}, got bits={bits}")
        for field in fields(Origin):
            first, other = getattr(origins[0], field.name), getattr(origin, field.name)
            if first != other:
                raise ValueError(
                    "codes can only be compared if one hasher made them, or hashers that agree in all that decides "
                    f"a code; these have {field.name}={first!r} and {field.name}={other!r}"
                )
