"""Streams of batches: again from the start, from a row on, surveyed, and in little memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from scipy import sparse

from gcwsnet.files import Batches, Survey, read
from tests.files.conftest import Write, same, whole

N = 1000


@pytest.fixture(params=["libsvm", "csv", "parquet", "npz", "arrays"])
def batches(request: pytest.FixtureRequest, write: Write, tmp_path: Path) -> Batches:
    """The same rows, one number each, with a label."""
    x, y = np.arange(1.0, N + 1), np.arange(N) % 3
    if request.param == "libsvm":
        return read(write("a.svm", "".join(f"{b} 1:{a}\n" for a, b in zip(x, y, strict=True))), batch_rows=64)
    if request.param == "csv":
        text = "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True))
        return read(write("a.csv", text), label="y", batch_rows=64)
    if request.param == "parquet":
        pa.parquet.write_table(pa.table({"x": x, "y": y}), tmp_path / "a.parquet", row_group_size=100)
        return read(tmp_path / "a.parquet", label="y", batch_rows=64)
    if request.param == "npz":
        np.savez_compressed(tmp_path / "a.npz", X=x[:, np.newaxis], y=y)
        return read(tmp_path / "a.npz", batch_rows=64)
    return read((x[:, np.newaxis], y), batch_rows=64)


def test_batches_have_one_size_and_come_again(batches: Batches) -> None:
    for _ in range(2):
        given = list(batches)
        assert [batch.n_rows for batch in given] == [64] * 15 + [40]
        assert whole(given).X[:, 0].tolist() == list(range(1, N + 1))
    survey = batches.survey()
    assert survey == Survey(
        n_rows=N,
        n_features=1,
        label_type="integers",
        labels=(0, 1, 2),
        index_base=survey.index_base,
        skipped=0,
        n_weighted=N,
    )


def test_a_loop_that_is_left_begins_again(batches: Batches) -> None:
    assert same(next(iter(batches)).X[:3].sum(), np.float64(6))
    assert same(next(iter(batches)).X[:3].sum(), np.float64(6))


def test_batches_are_not_changed_by_those_that_follow(batches: Batches) -> None:
    stream = iter(batches)
    first = next(stream)
    before = first.X.toarray() if sparse.issparse(first.X) else first.X.copy()
    list(stream)
    assert same(first.X.toarray() if sparse.issparse(first.X) else first.X, before)
