"""Dask arrays and dataframes: lazy, with the right metadata, and equal to the hasher on all rows together."""

from typing import Any

import dask.array
import dask.dataframe
import numpy as np
import pandas
import pytest
from scipy import sparse

from gcwsnet import GCWSHasher
from gcwsnet.distributed import hash_array, hash_dataframe
from tests.distributed.conftest import ClientOf

ROWS = np.random.default_rng(0).normal(size=(50, 4))
FRAME = pandas.DataFrame(ROWS, columns=[*"abcd"], index=np.arange(100, 150))


def hasher(**more: Any) -> GCWSHasher:
    return GCWSHasher(6, **{"random_state": 1, **more})


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("chunks", [(50, 4), (7, 4), (20, 3), ((0, 30, 20), 2)])
@pytest.mark.parametrize("more", [{}, {"bits": 12, "p": 3.0}, {"t_bits": 2}, {"method": "minwise"}])
def test_codes_of_an_array_are_those_of_all_rows(chunks: Any, more: dict[str, Any], scheduler: str) -> None:
    X = dask.array.from_array(ROWS, chunks=chunks)
    expected = hasher(**more).fit_transform(ROWS)
    for given in (hasher(**more), hasher(**more).fit(ROWS)):
        codes = hash_array(given, X)
        assert isinstance(codes, dask.array.Array)
        assert (codes.shape, codes.dtype) == ((50, 6), expected.dtype)
        assert codes.chunks == (X.chunks[0], (6,))
        assert type(codes._meta) is np.ndarray
        found = codes.compute(scheduler=scheduler)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_codes_are_computed_when_they_are_asked_for() -> None:
    def unknown(_: Any) -> Any:
        raise AssertionError("a chunk was computed")

    X = dask.array.from_array(ROWS, chunks=(10, 4)).map_blocks(unknown, meta=np.empty((0, 0)))
    codes = hash_array(hasher(), X)
    with pytest.raises(AssertionError, match="a chunk was computed"):
        codes.compute(scheduler="synchronous")


def test_chunks_of_unknown_size_and_sparse_chunks() -> None:
    X = dask.array.from_array(ROWS, chunks=(20, 4))
    positive = X[X[:, 0] > 0]
    codes = hash_array(hasher(), positive)
    assert np.isnan(codes.shape[0])
    expected = hasher().fit_transform(ROWS[ROWS[:, 0] > 0])
    np.testing.assert_array_equal(codes.compute(scheduler="synchronous"), expected)
    of_sparse = X.map_blocks(sparse.csr_matrix, meta=sparse.csr_matrix((0, 0)))
    found = hash_array(hasher(), of_sparse).compute(scheduler="synchronous")
    np.testing.assert_array_equal(found, hasher().fit_transform(ROWS))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
@pytest.mark.parametrize("partitions", [1, 3])
def test_codes_of_a_dataframe_are_those_of_all_rows(partitions: int, scheduler: str) -> None:
    frame = dask.dataframe.from_pandas(FRAME, npartitions=partitions)
    expected = hasher().set_output(transform="pandas").fit_transform(FRAME)
    for given in (hasher(), hasher().fit(FRAME)):
        codes = hash_dataframe(given, frame)
        assert isinstance(codes, dask.dataframe.DataFrame)
        assert list(codes.columns) == [f"gcwshasher{number}" for number in range(6)]
        assert codes.divisions == frame.divisions
        assert set(codes.dtypes) == {np.dtype(np.uint8)}
        assert codes.npartitions == partitions
        pandas.testing.assert_frame_equal(codes.compute(scheduler=scheduler), expected)


def test_partitions_without_rows_have_no_codes() -> None:
    frame = dask.dataframe.from_pandas(FRAME, npartitions=3)
    late = frame.map_partitions(lambda part: part[part.index >= 140])
    codes = hash_dataframe(hasher(), late).compute(scheduler="synchronous")
    np.testing.assert_array_equal(codes, hasher().fit_transform(FRAME.loc[140:]))
    assert list(codes.index) == list(range(140, 150))


def test_a_cluster_gives_the_same_codes(client_of: ClientOf) -> None:
    client = client_of(2)
    codes = hash_array(hasher(), dask.array.from_array(ROWS, chunks=(10, 2)))
    np.testing.assert_array_equal(client.compute(codes).result(), hasher().fit_transform(ROWS))
    frame = hash_dataframe(hasher(), dask.dataframe.from_pandas(FRAME, npartitions=4))
    np.testing.assert_array_equal(client.compute(frame).result(), hasher().fit_transform(ROWS))


def test_errors_name_the_rule() -> None:
    X = dask.array.from_array(ROWS, chunks=(10, 4))
    with pytest.raises(TypeError, match="X must be a Dask array with two dimensions, got ndarray; use hasher"):
        hash_array(hasher(), ROWS)
    with pytest.raises(TypeError, match="two dimensions"):
        hash_array(hasher(), X[:, 0])
    with pytest.raises(TypeError, match="frame must be a Dask dataframe, got DataFrame; use hasher"):
        hash_dataframe(hasher(), FRAME)
    with pytest.raises(ValueError, match="X must have 3 columns as in fit, got 4"):
        hash_array(hasher().fit(ROWS[:, :3]), X)
    with pytest.raises(ValueError, match="output must be 'codes', got output='onehot'"):
        hash_array(hasher(output="onehot"), X)
    with pytest.raises(ValueError, match="method='rejection' learns the largest values"):
        hash_array(hasher(method="rejection"), X)
    np.testing.assert_array_equal(
        hash_array(hasher(method="rejection").fit(ROWS), X).compute(scheduler="synchronous"),
        hasher(method="rejection").fit_transform(ROWS),
    )
