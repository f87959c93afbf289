"""Small classifiers for the tests, and what they have learned."""

from typing import Any

from gcwsnet import GCWSNetClassifier


def small(**settings: Any) -> GCWSNetClassifier:
    """Return a classifier that learns in a moment."""
    defaults: dict[str, Any] = {
        "p": 1.0,
        "n_hashes": 64,
        "hidden": (16,),
        "epochs": 1,
        "learning_rate": 5e-3,
        "search": "off",
    }
    return GCWSNetClassifier(**defaults | {"random_state": 0} | settings)


def weights(model: Any) -> dict[str, bytes]:
    """Return the bytes of the weights of a net."""
    return {name: value.tobytes() for name, value in model.trainer_.net.weights().items()}


def assert_same_model(a: Any, b: Any) -> None:
    """Check that two nets have the same weights, bit for bit."""
    assert weights(a) == weights(b)
