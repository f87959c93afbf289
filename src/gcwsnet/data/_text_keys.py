"""The column that a text is hashed to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core

BASIS, PRIME = 0xCBF29CE484222325, 0x100000001B3
_WORD = (1 << 64) - 1


def state_of(prefix: bytes) -> int:
    """The state of FNV-1a (64 bits) after some bytes."""
    state = BASIS
    for byte in prefix:
        state = (state ^ byte) * PRIME & _WORD
    return state


def hashed_columns(column: str, texts: Any, n_columns: int) -> NDArray[np.int64]:
    """The columns, from 0 to `n_columns` - 1, that texts of one column of a table are hashed to.

    The bytes of ``column=text`` in UTF-8 go through FNV-1a (64 bits) and the finalizer of splitmix64. The upper 32 bits
    of that, times `n_columns`, over 2**32 is the column.

    Parameters
    ----------
    column : str
        The name, or the number from 0 where there is no name.
    texts : pyarrow array of strings, without nulls
    n_columns : int
        At most 2**31.

    Examples
    --------
    >>> import pyarrow
    >>> hashed_columns("city", pyarrow.array(["Rome", "Oslo"]), 1000).tolist()
    [800, 413]
    """
    texts = texts.cast("large_string")
    _, ends, content = texts.buffers()
    ends = (
        np.frombuffer(ends, np.int64)[texts.offset : texts.offset + len(texts) + 1] if len(texts) else np.zeros(1, int)
    )
    keys = np.empty(len(texts), np.uint64)
    _core.text_keys(b"" if content is None else content.to_pybytes(), ends, state_of(f"{column}=".encode()), keys)
    return ((keys >> np.uint64(32)) * np.uint64(n_columns) >> np.uint64(32)).astype(np.int64)
