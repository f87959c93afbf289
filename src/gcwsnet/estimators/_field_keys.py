"""Rows of fields as keys: each value of a field is a number of 64 bits, and no table of values is kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _sparse as sparse
from gcwsnet.data._columns import Factor, factor_of, text_of
from gcwsnet.data._frames import is_frame, open_frame

CSR_FIELD = crc32(b"column")


class KeyRows(NamedTuple):
    """Rows of keys: those of row i are ``keys[starts[i]:starts[i + 1]]``."""

    starts: NDArray[np.int64]
    keys: NDArray[np.uint64]

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1


def key_of(name: Any, value: Any) -> int | None:
    """Return the key of a value of a field; None where the value is missing.

    The upper half is the CRC-32 of the field's name, the lower one that of the value's text. Whole numbers are values
    as they are. Other numbers are rounded to two digits, so that those of about the same size are one value.

    Examples
    --------
    >>> key_of("city", "Rome") == key_of("city", "Oslo"), key_of("n", 3) == key_of("n", 3.0) == key_of("n", "3")
    (False, True)
    >>> key_of("price", 1.234) == key_of("price", 1.2), key_of("price", float("nan"))
    (True, None)
    """
    text = text_of(value)
    if text is None:
        return None
    if isinstance(value, float | np.floating) and not float(value).is_integer():
        text = f"{value:.2g}"
    return _field(name) | crc32(text.encode())


def keys_of_dicts(rows: Iterable[Mapping[Any, Any]]) -> KeyRows:
    """Return the keys of dicts from names of fields to values; a field may be in some of them only."""
    starts, keys = [0], []
    for row in rows:
        found = (key_of(name, value) for name, value in row.items())
        keys += [key for key in found if key is not None]
        starts.append(len(keys))
    return KeyRows(np.array(starts, dtype=np.int64), np.array(keys, dtype=np.uint64))


def keys_of(X: Any) -> tuple[KeyRows, list[str] | int | None]:
    """Return the keys of rows, and the names or the number of their columns where all rows have the same ones.

    Parameters
    ----------
    X : frame, array of shape (n, D), CSR matrix, or sequence of dicts
        The columns of a frame or of an array are fields. Those of an array have their numbers as names. Entries of a
        CSR matrix that are not zero are values that are there, whatever their number.
    """
    if is_frame(X):
        frame = open_frame(X)
        factors = [
            _rounded(column.factor()) if column.kind == "number" else column.factor() for column in frame.columns
        ]
        return _keys_of_factors(frame.names, factors, frame.n_rows), frame.names
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, copy=True)
        X.eliminate_zeros()
        keys = (CSR_FIELD << 32) + X.indices.astype(np.uint64)
        return KeyRows(X.indptr.astype(np.int64), keys), int(X.shape[1])
    if isinstance(X, Sequence) and len(X) and all(isinstance(row, Mapping) for row in X):
        return keys_of_dicts(X), None
    table = np.asarray(X)
    if table.ndim != 2:
        raise ValueError(
            f"X must be a frame, a sequence of dicts, a CSR matrix or an array of shape (n, D), got the shape "
            f"{table.shape}"
        )
    if table.dtype.kind == "O":
        factors = [factor_of(np.arange(len(table)), column) for column in table.T]
    else:
        pairs = [np.unique(column, return_inverse=True) for column in table.T]
        factors = [factor_of(inverse, values.tolist()) for values, inverse in pairs]
    numbers = [_rounded(factor) if table.dtype.kind in "fO" else factor for factor in factors]
    names = [str(number) for number in range(table.shape[1])]
    return _keys_of_factors(names, numbers, len(table)), int(table.shape[1])


def _field(name: Any) -> int:
    return crc32(str(name).encode()) << 32


def _rounded(factor: Factor) -> Factor:
    """Return a column of numbers with those that are not whole rounded to two digits."""
    return factor._replace(texts=[_rounded_text(text) for text in factor.texts])


def _rounded_text(text: str) -> str:
    if text.lstrip("-").isdigit():
        return text
    try:
        return f"{float(text):.2g}"
    except ValueError:
        return text


def _keys_of_factors(names: Sequence[str], factors: Sequence[Factor], n_rows: int) -> KeyRows:
    keys = np.empty((n_rows, len(factors)), dtype=np.uint64)
    is_there = np.empty(keys.shape, dtype=bool)
    for column, (name, factor) in enumerate(zip(names, factors, strict=True)):
        of_texts = np.array([_field(name) | crc32(text.encode()) for text in factor.texts] + [0], dtype=np.uint64)
        keys[:, column] = of_texts[factor.codes]
        is_there[:, column] = factor.codes >= 0
    starts = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(is_there.sum(axis=1), out=starts[1:])
    return KeyRows(starts, keys[is_there])
