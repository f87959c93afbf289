"""Runs of GCWSNet with the settings of the paper."""

from __future__ import annotations

from typing import Any

from gcwsnet.estimators import GCWSNetClassifier
from gcwsnet.paper._data import some_test_rows
from gcwsnet.paper._settings import Settings, hidden_layers

MOST_JUDGED = 10_000
"""Rows for testing that accuracies on the way are measured on; the last one is measured on all of them."""


def run_gcws(settings: Settings, data: Any) -> dict[str, Any]:
    """Accuracies of a GCWSNet: Adam with a constant rate, batches in random order."""
    net = GCWSNetClassifier(
        settings["k"],
        bits=settings["b"],
        t_bits=settings["t_bits"],
        encoding=settings["encoding"],
        p=settings["p"],
        scale=None,
        hidden=hidden_layers(settings),
        reduction=None if settings["m"] == 1 else settings["m"],
        epochs=settings["epochs"],
        batch_size=settings["batch"],
        learning_rate=settings["learning_rate"],
        schedule="constant",
        optimizer=settings["optimizer"],
        betas=(0.9, 0.999),
        records=settings["checkpoints"],
        random_state=settings["seed"],
        n_jobs=1,
    )
    judged = some_test_rows(data, MOST_JUDGED)
    net.fit(data.X_train, data.y_train, eval_set=judged)
    reached = [100 * share for share in net.history_["eval_accuracy"]]
    all_rows = len(judged[1]) == len(data.y_test)
    return {
        "accuracy": reached[-1] if all_rows else 100 * float(net.score(data.X_test, data.y_test)),
        "curve": {"epoch": net.history_["epoch"], "accuracy": reached, "rows": len(judged[1])},
    }
