"""What the tests of the readers share."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from gcwsnet.data import Batch, Batches, DataError

Write = Callable[[str, str | bytes], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a file and gives its path."""

    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def whole(batches: Iterable[Batch]) -> Batch:
    """All rows of a stream, X dense."""
    given = list(batches)
    return Batch(
        np.concatenate([batch.X.toarray() if sparse.issparse(batch.X) else batch.X for batch in given]),
        None if given[0].y is None else np.concatenate([batch.y for batch in given]),
        None if given[0].weight is None else np.concatenate([batch.weight for batch in given]),
    )


def same(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits, NaN included."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def fault(batches: Batches) -> DataError:
    """The error that reading ends with."""
    with pytest.raises(DataError) as raised:
        list(batches)
    return raised.value
