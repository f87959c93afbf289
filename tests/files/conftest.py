"""Helpers of the tests of the readers."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.files import Batch, Batches, DataError

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file and returns its path."""

    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def whole(batches: Iterable[Batch]) -> Any:
    """Return all rows of a stream as one batch, with X dense."""
    given = list(batches)
    return Batch(
        np.concatenate([batch.X.toarray() if sparse.issparse(batch.X) else batch.X for batch in given]),
        None if given[0].y is None else np.concatenate([batch.y for batch in given]),
        None if given[0].weight is None else np.concatenate([batch.weight for batch in given]),
    )


def same(a: Any, b: Any) -> bool:
    """Return whether two arrays have the same bits, NaN included."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def fault(batches: Batches) -> DataError:
    """Return the DataError that reading raises."""
    with pytest.raises(DataError) as raised:
        list(batches)
    return raised.value
