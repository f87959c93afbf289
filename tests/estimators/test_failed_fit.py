"""A fit that fails says why, and leaves the model as it was."""

import copy
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from gcwsnet.tables import _coder
from tests.conftest import Rows
from tests.estimators.models import assert_same_model, small


def no_memory(*_: Any) -> None:
    raise MemoryError("none left")


@pytest.mark.parametrize(
    ("settings", "eval_labels", "message"),
    [({"weight_decay": -1.0}, "ash", "weight_decay must be"), ({"n_hashes": 7}, "never seen", "every label")],
)
def test_a_fit_that_fails_before_it_learns_leaves_the_model_as_it_was(
    settings: dict[str, Any], eval_labels: str, message: str, three_classes: Rows
) -> None:
    X, y = three_classes
    model = small().fit(X, y)
    before = copy.deepcopy(model)
    wider = np.hstack([X, X])
    with pytest.raises(ValueError, match=message):
        model.set_params(**settings).fit(wider, y, eval_set=(wider[:3], [eval_labels] * 3))
    assert_same_model(model, before)
    assert model.score(X, y) == before.score(X, y)
    unfitted = small(**settings)
    with pytest.raises(ValueError, match=message):
        unfitted.fit(X, y, eval_set=(X[:3], [eval_labels] * 3))
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_codes_that_find_no_memory_leave_the_model_as_it_was(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    fitted, stream, unfitted = small().fit(X, y), small().partial_fit(X[:9], y[:9], classes=np.unique(y)), small()
    before, stream_before = copy.deepcopy(fitted), copy.deepcopy(stream)

    with monkeypatch.context() as patched:
        patched.setattr(_coder, "require_memory", no_memory)
        for learn in (fitted.fit, stream.partial_fit, unfitted.fit):
            with pytest.raises(MemoryError):
                learn(X, y)
    assert_same_model(fitted, before)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)
    assert_same_model(stream.partial_fit(X, y), stream_before.partial_fit(X, y))


def test_learning_that_fails_leaves_settings_and_averages_as_they_were(
    three_classes: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = three_classes
    stream = small(scale=None).partial_fit(X, y, classes=np.unique(y))
    fitted = small(scale=None).fit(X, y)
    expected = [model.predict_proba(X) for model in (stream, fitted)]
    with pytest.raises(ValueError, match="'elm'"):
        stream.set_params(batch_size=7).partial_fit(X, ["elm"] * 600)
    with monkeypatch.context() as patched:
        patched.setattr(_coder, "require_memory", no_memory)
        for learn in (stream.fit, fitted.partial_fit):
            with pytest.raises(MemoryError):
                learn(X, y)
    for model, before in zip((stream, fitted), expected, strict=True):
        np.testing.assert_array_equal(model.predict_proba(X), before)
        assert model.trainer_.settings.batch_size == "auto"
    assert (stream.trainer_.net.averaging, fitted.trainer_.net.averaging) == ("recent", None)


def test_training_that_diverges_is_an_error(three_classes: Rows) -> None:
    X, y = three_classes
    with pytest.raises(ValueError, match="the training diverges; use a smaller learning_rate"):
        small(learning_rate=1e3, epochs=200, hidden=(64, 64, 64, 64, 64, 64)).fit(X, y)
