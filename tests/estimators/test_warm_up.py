"""The warm-up buffer: what is learned from the first rows of a stream does not depend on the size of its pieces."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor
from gcwsnet.estimators._stream import WarmUp
from gcwsnet.files import Batch
from gcwsnet.tables._scaling import fit_scaling
from tests.conftest import Rows


def small(**settings: Any) -> GCWSNetClassifier:
    defaults: dict[str, Any] = {
        "p": 1.0,
        "relevance": 0,
        "scale": "numeric",
        "n_hashes": 32,
        "hidden": (8,),
        "random_state": 0,
    }
    return GCWSNetClassifier(**defaults | settings)


def scaling_of(X: Any) -> Any:
    return fit_scaling(X, "numeric")


def in_pieces(model: Any, X: Any, y: Any, size: int, **first: Any) -> Any:
    for start in range(0, X.shape[0], size):
        model.partial_fit(X[start : start + size], y[start : start + size], **first if start == 0 else {})
    return model


def test_a_fit_is_due_whenever_rows_have_doubled() -> None:
    buffer, sizes = WarmUp(100), []
    for number in range(120):
        buffer = buffer.append(Batch(np.full((1, 2), number), np.array([number])))
        if buffer.is_fit_due:
            rows = buffer.joined()
            sizes.append(rows.n_rows)
            assert_array_equal(rows.y, np.arange(rows.n_rows))
            assert_array_equal(rows.X[:, 1], rows.y)
            buffer = buffer.fitted(rows)
        if buffer.is_over:
            break
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 100]
    assert buffer == WarmUp()


def test_weights_and_sparse_rows_are_put_together_and_forms_are_not_mixed() -> None:
    eye = sparse.csr_matrix(np.eye(2))
    buffer = WarmUp(10).append(Batch(eye, np.array([0, 1])))
    buffer = buffer.append(Batch(2 * eye, np.array([2, 3]), np.array([5.0, 6.0])))
    rows = buffer.joined()
    assert_array_equal(rows.X.toarray(), [[1, 0], [0, 1], [2, 0], [0, 2]])
    assert rows.weight is not None
    assert rows.weight.tolist() == [1, 1, 5, 6]
    assert buffer.append(Batch(np.ones((20, 2)), np.arange(20))) is buffer


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_stream_of_small_pieces_gets_the_scaling_of_its_first_rows(three_classes: Rows, size: int) -> None:
    X, y = three_classes
    stream = in_pieces(small(), X, y, size, classes=np.unique(y))
    used = 512 if size == 1 else 448 if size == 7 else 400
    expected = scaling_of(X[:used])
    assert_array_equal(stream.scaling_.divisor, expected.divisor)
    assert stream.n_rows_seen_ == 600
    assert stream.score(X, y) > 0.85
    assert stream.history_["rows"][-1] == 600


def test_a_stream_of_single_rows_chooses_scaling_and_p() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 6)) * [1, 1, 1e5, 1e5, 1e5, 1e5]
    y = X[:, 0] * X[:, 1] > 0
    stream = in_pieces(small(p="auto", scale="auto", relevance="auto"), X, y, 1, classes=[False, True])
    assert len(stream.selection_) > 5


def test_numbers_get_the_mean_and_deviation_of_the_first_rows(three_classes: Rows) -> None:
    X = three_classes.X
    y = 1000 + 10 * X[:, 0]
    model = GCWSNetRegressor(n_hashes=64, hidden=(8,), p=1.0, random_state=0)
    in_pieces(model, X, y, 1)
    np.testing.assert_allclose(model.target_mean_, y[:512].mean())
    assert model.score(X, y) > 0.5


def test_what_rows_do_not_decide_needs_no_second_look(three_classes: Rows) -> None:
    X, y = three_classes
    model = small(scale=None).partial_fit(X[:10], y[:10], classes=np.unique(y))
    trainer = model.trainer_
    in_pieces(model, X[10:], y[10:], 50)
    assert model.trainer_ is trainer


def test_an_unknown_label_changes_nothing(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().partial_fit(X[:50], y[:50], classes=np.unique(y))
    before = {name: value.tobytes() for name, value in model.trainer_.net.weights().items()}
    with pytest.raises(ValueError, match="is 'elm'"):
        model.partial_fit(X[:60], ["elm"] * 60)
    assert {name: value.tobytes() for name, value in model.trainer_.net.weights().items()} == before
    model.partial_fit(X[50:], y[50:])
    assert model.n_rows_seen_ == 600


def test_a_saved_stream_goes_on_with_what_it_has_learned(three_classes: Rows, tmp_path: Path) -> None:
    X, y = three_classes
    model = small().partial_fit(X[:100], y[:100], classes=np.unique(y))
    model.save(tmp_path / "model", training_state=True)
    again = gcwsnet.load(tmp_path / "model").partial_fit(X[100:], y[100:])
    assert_array_equal(again.scaling_.divisor, scaling_of(X[:100]).divisor)
    assert again.n_rows_seen_ == 600
    other = pickle.loads(pickle.dumps(model)).partial_fit(X[100:], y[100:])
    assert_array_equal(other.scaling_.divisor, scaling_of(X).divisor)


def test_the_rows_of_a_fit_are_gone_over_as_often_as_was_chosen_or_given(three_classes: Rows) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    assert {one.epochs for one in model.selection_ if one.epochs} == {5}
    assert model.n_epochs_seen_ == next(one.epochs for one in model.selection_ if one.chosen)
    assert small(search="off").fit(X, y).n_epochs_seen_ == 5
    assert small(epochs=1).fit(X, y).n_epochs_seen_ == 1
    with pytest.raises((TypeError, ValueError), match="epochs"):
        small(epochs="many").fit(X, y)
