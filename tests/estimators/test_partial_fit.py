"""`partial_fit`: the forms and the classes of its rows, and what it has in common with `fit`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import gcwsnet
from tests.conftest import Rows
from tests.estimators.models import assert_same_model, small, weights


def test_a_stream_in_pieces_gives_the_model_of_the_whole(three_classes: Rows) -> None:
    X, y = three_classes
    whole = small(scale=None, relevance=0, batch_size=32).partial_fit(X, y)
    stream = small(scale=None, relevance=0, batch_size=32)
    for first in range(0, 600, 160):  # a multiple of the batch
        stream.partial_fit(X[first : first + 160], y[first : first + 160], classes=["oak", "ash", "beech"])
    for name, value in weights(stream).items():
        np.testing.assert_array_equal(value, weights(whole)[name])
    assert stream.n_rows_seen_ == 600
    assert stream.history_["rows"][-1] == 600


@pytest.mark.parametrize("scale", ["numeric", None])
def test_pieces_of_a_stream_may_change_their_type_and_have_weights_or_not(scale: Any, three_classes: Rows) -> None:
    X, y = three_classes
    X = X.round(3)
    model, plain = small(scale=scale), small(scale=scale)
    for first in range(0, 600, 150):
        rows = slice(first, first + 150)
        form: Any = (np.float32, np.float64)[first % 300 > 0]
        weight = np.ones(150) if first % 300 else None
        model.partial_fit(X[rows].astype(form), y[rows].astype(object), np.unique(y), weight)
        plain.partial_fit(X[rows], y[rows], classes=np.unique(y))
    assert model.n_rows_seen_ == 600
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X), atol=0.1)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("first", [np.array, sparse.csr_array])
def test_a_stream_without_shifts_takes_dense_and_sparse_pieces(first: Any, three_classes: Rows) -> None:
    X, y = three_classes
    other = sparse.csr_array if first is np.array else np.array
    model = small(scale=None, relevance=0).partial_fit(first(X[:300]), y[:300], classes=np.unique(y))
    model.partial_fit(other(X[300:]), y[300:])
    expected = (
        small(scale=None, relevance=0).partial_fit(X[:300], y[:300], classes=np.unique(y)).partial_fit(X[300:], y[300:])
    )
    assert_same_model(model, expected)
    with pytest.raises(ValueError, match="learned from dense rows and shifts columns"):
        small().partial_fit(X[:300], y[:300], classes=np.unique(y)).partial_fit(sparse.csr_array(X[:9]), y[:9])


def test_classes_that_are_given_at_the_first_call_are_all_there_are(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().partial_fit(X[:10], y[:10], classes=["ash", "beech", "oak"])
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, y, classes=["ash", "oak"])
    elm = y.copy().astype(object)
    elm[17] = "elm"
    with pytest.raises(ValueError, match=r"y\[17\] is 'elm'; give all classes"):
        model.partial_fit(X, elm)


BIG = 2**60


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ([BIG, BIG + 1], [3.0]),
        ([BIG, BIG + 1], [3.0, 4.0]),
        ([BIG, BIG + 1], [float(BIG), float(BIG)]),
        ([1.0, 2.0], [BIG + 1, BIG]),
        ([BIG, BIG + 1], np.array([2**63 + 1, 5], dtype=np.uint64)),
    ],
)
def test_labels_are_exact_or_an_error_that_changes_nothing(first: Any, then: Any, tmp_path: Path) -> None:
    rows = np.eye(2)
    model = small().partial_fit(rows, first)
    model.save(tmp_path / "before")
    with pytest.raises(ValueError, match=r"labels beyond 2\*\*53 must all have the same type"):
        model.partial_fit(rows[: len(then)], then)
    assert model.classes_.tolist() == sorted(first)
    model.save(tmp_path / "after")
    assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
    assert gcwsnet.load(tmp_path / "after").classes_.tolist() == sorted(first)


def test_small_integers_and_floats_are_the_same_labels() -> None:
    model = small().partial_fit(np.eye(2), [1, 2]).partial_fit(np.eye(2), [2.0, 3.0])
    assert model.classes_.tolist() == [1, 2, 3]
