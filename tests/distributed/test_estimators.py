"""The estimators for Dask arrays and dataframes."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import dask
import dask.array
import dask.dataframe
import numpy as np
import pandas as pd
import pytest
from distributed import Client
from sklearn.base import clone

import gcwsnet
from gcwsnet.distributed import DaskGCWSNetClassifier, DaskGCWSNetRegressor
from tests.distributed.conftest import ClientOf

N = 600
RNG = np.random.default_rng(0)
X = RNG.random((N, 5))
Y = np.array(["low", "high"])[(X[:, 0] + X[:, 1] > 1).astype(int)]
SETTINGS: dict[str, Any] = {"n_hashes": 16, "hidden": 8, "epochs": 4, "search": "off", "random_state": 0}
SHARDING = {"shards": 3, "sync_rows": 32}


def fitted(client: Client, chunk: int = 200, **more: Any) -> DaskGCWSNetClassifier:
    rows, labels = dask.array.from_array(X, chunks=(chunk, 3)), dask.array.from_array(Y, chunks=chunk)
    return DaskGCWSNetClassifier(**SETTINGS | SHARDING | more, client=client).fit(rows, labels)


def content(model: Any) -> dict[str, bytes]:
    return {name: value.tobytes() for name, value in model.trainer_.net.weights().items()}


@pytest.fixture(scope="module")
def model(client_of: ClientOf) -> DaskGCWSNetClassifier:
    return fitted(client_of(2))


@pytest.mark.parametrize(("workers", "chunk"), [(1, 150), (2, 600), (4, 77)])
def test_neither_workers_nor_partitions_change_a_bit(
    workers: int, chunk: int, model: DaskGCWSNetClassifier, client_of: ClientOf
) -> None:
    assert content(fitted(client_of(workers), chunk).local_) == content(model.local_)


def test_to_local_is_an_ordinary_model_that_can_be_saved(model: DaskGCWSNetClassifier, tmp_path: Path) -> None:
    local = model.to_local()
    assert type(local) is gcwsnet.GCWSNetClassifier
    assert local.score(X, Y) > 0.85
    local.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(gcwsnet.load(tmp_path).predict_proba(X), local.predict_proba(X))
    local.partial_fit(X[:10], Y[:10])
    assert content(local) != content(model.local_)


def test_predictions_are_lazy_and_those_of_the_local_model(model: DaskGCWSNetClassifier) -> None:
    predicted = model.predict(dask.array.from_array(X, chunks=(250, 5)))
    assert predicted.chunks == ((250, 250, 100),)
    assert predicted.dtype == model.to_local().predict(X).dtype
    assert list(model.classes_) == ["high", "low"]
    assert_predicts(model, X, dask.array.from_array(X, chunks=(250, 5)))


def assert_predicts(model: Any, rows: Any, collection: Any) -> None:
    """The predictions for a collection are those of the local model for its rows."""
    local = model.to_local()
    for method in ("predict", "predict_proba") if hasattr(model, "predict_proba") else ("predict",):
        found = getattr(model, method)(collection).compute(scheduler="synchronous")
        np.testing.assert_array_equal(found, getattr(local, method)(rows))


def test_dataframes_with_categories_and_missing_values(client_of: ClientOf) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "city": np.where(X[:, 1] > 0.5, "Rome", "Oslo"), "b": X[:, 2]})
    frame.loc[::7, "b"] = np.nan
    y = pd.Series(np.where(frame["city"] == "Rome", 1, 0), name="y")
    weight = pd.Series(np.ones(N))
    model = DaskGCWSNetClassifier(**SETTINGS | SHARDING, class_weight="balanced", client=client_of(2))
    parts = [dask.dataframe.from_pandas(one, npartitions=3) for one in (frame, y, weight)]
    model.fit(*parts)
    assert list(model.feature_names_in_) == ["a", "city", "b"]
    local = model.to_local()
    assert local.score(frame, y) > 0.95
    assert_predicts(model, frame, parts[0])


@pytest.mark.parametrize("labels_as", ["numbers", "indicators", "indicators in a frame"])
def test_several_numbers_or_labels_of_a_row(labels_as: str, client_of: ClientOf) -> None:
    rows, is_regression = dask.array.from_array(X, chunks=(200, 5)), labels_as == "numbers"
    y = np.stack([X[:, 0] + X[:, 1], X[:, 2]], axis=1)
    if not is_regression:
        y = np.stack([X[:, 0] > 0.5, X[:, 1] > 0.5, X[:, 2] > 0.7], axis=1).astype(int)
    given = dask.array.from_array(y, chunks=(100, 1))
    if labels_as == "indicators in a frame":
        given = dask.dataframe.from_pandas(pd.DataFrame(y), npartitions=3)
    make = DaskGCWSNetRegressor if is_regression else DaskGCWSNetClassifier
    model = make(**SETTINGS | SHARDING | {"n_hashes": 64}, client=client_of(2)).fit(rows, given)
    local = model.to_local()
    assert type(local) is (gcwsnet.GCWSNetRegressor if is_regression else gcwsnet.GCWSNetClassifier)
    assert local.score(X, y) > 0.5 if is_regression else (local.predict(X) == y).mean() > 0.85
    assert_predicts(model, X, rows)


def test_parameters_are_those_of_the_local_estimator_and_three_more() -> None:
    more = DaskGCWSNetClassifier().get_params()
    local = gcwsnet.GCWSNetClassifier().get_params()
    assert more == local | {"shards": 4, "sync_rows": 8192, "client": None}
    assert clone(DaskGCWSNetClassifier(32, shards=2)).get_params() == more | {"n_hashes": 32, "shards": 2}
    with pytest.raises(TypeError, match="nonsense"):
        DaskGCWSNetClassifier(nonsense=1)


ROWS, LABELS = dask.array.from_array(X, chunks=(200, 5)), dask.array.from_array(Y, chunks=200)
FRAMES = [
    dask.dataframe.from_pandas(pd.DataFrame(X), npartitions=2),
    dask.dataframe.from_pandas(pd.Series(Y), npartitions=3),
]
NUMBERS = dask.array.from_array(np.arange(2 * N).reshape(N, 2), chunks=(200, 2))


@pytest.mark.parametrize(
    ("settings", "rows", "labels", "message"),
    [
        ({}, X, Y, "X must be a Dask array or a Dask dataframe, got ndarray"),
        ({}, ROWS, Y, "y must be a Dask array or a Dask series, as X is, got ndarray"),
        ({}, ROWS, NUMBERS, "one label for each row, or a column of 0 and 1 for each of several labels"),
        ({}, *FRAMES, "y must have the partitions of X, 2 of them, got 3"),
        ({"early_stopping": True}, ROWS, LABELS, "early_stopping=True is not for a training on a cluster: it needs"),
        ({"shards": 0}, ROWS, LABELS, "shards must be from 1 to 4096, got shards=0"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    settings: Any, rows: Any, labels: Any, message: str, client_of: ClientOf
) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        DaskGCWSNetClassifier(**settings, client=client_of(1)).fit(rows, labels)


def collection(parts: list[Any]) -> Any:
    """Return a Dask array with chunks of unknown rows, or a Dask dataframe or series, with these partitions."""
    delayed = [dask.delayed(part) for part in parts]
    if hasattr(parts[0], "iloc"):
        return dask.dataframe.from_delayed(delayed, meta=parts[0].iloc[:0])
    arrays = [
        dask.array.from_delayed(one, (np.nan, *part.shape[1:]), part.dtype)
        for one, part in zip(delayed, parts, strict=True)
    ]
    return dask.array.concatenate(arrays, allow_unknown_chunksizes=True)


def cut(rows: Any, *places: int) -> Any:
    """Return a collection whose partitions end at these rows."""
    ends = [0, *places, len(rows)]
    return collection([rows[begin:end] for begin, end in pairwise(ends)])


FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.where(X[:, 2] > 0.5, "x", "z")})


@pytest.mark.parametrize(("rows", "labels"), [(X, Y), (FRAME, pd.Series(Y, name="y"))], ids=["array", "frame"])
def test_partitions_without_rows_change_nothing(rows: Any, labels: Any, client_of: ClientOf) -> None:
    def fit(*places: int) -> DaskGCWSNetClassifier:
        made = DaskGCWSNetClassifier(**SETTINGS | SHARDING, client=client_of(2))
        return made.fit(cut(rows, *places), cut(labels, *places))

    whole, model = fit(), fit(0, 0, 70, 70, 200, N)
    assert content(model.local_) == content(whole.local_)
    assert_predicts(model, rows, cut(rows, 0, 90, 90, N))
    assert model.predict(collection([rows[:0]])).compute().shape == (0,)
    assert model.predict_proba(collection([rows[:0]])).compute().shape == (0, 2)
    with pytest.raises(ValueError, match="X must have rows of positive weight, and has none"):
        DaskGCWSNetClassifier(client=client_of(2)).fit(collection([rows[:0]] * 2), collection([labels[:0]] * 2))


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_rows_of_weight_zero_change_nothing(class_weight: Any, client_of: ClientOf) -> None:
    weight = np.tile([1.0, 0.0, 0.5], N // 3)
    weight[:100] = 0
    kept, wild = weight > 0, X.copy()
    wild[~kept] *= 1e3
    settings = SETTINGS | SHARDING | {"client": client_of(2)}
    for make, y in ((DaskGCWSNetClassifier, Y), (DaskGCWSNetRegressor, np.where(kept, X[:, 0], 1e6))):
        more = {"class_weight": class_weight} if make is DaskGCWSNetClassifier else {}
        one = make(**settings, **more).fit(cut(wild, 100, 200), cut(y, 100, 200), cut(weight, 100, 200))
        other = make(**settings, **more).fit(cut(X[kept]), cut(y[kept]), cut(weight[kept]))
        assert content(one.local_) == content(other.local_)
    with pytest.raises(ValueError, match="X must have rows of positive weight, and has none"):
        DaskGCWSNetClassifier(**settings).fit(cut(X, 100), cut(Y, 100), cut(np.zeros(N), 100))
