"""One thread learns and others save, copy and predict: each sees the model before or after a call that learns."""

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gcwsnet
from gcwsnet import GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier
from gcwsnet.neighbors import GCWSIndex

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = (X[:, 0] > 0).astype(int)
NET: dict[str, Any] = {"n_hashes": 32, "hidden": 32, "random_state": 0, "search": "off", "epochs": 1}


def together(learn: Callable[[], Any], others: list[Callable[[], Any]], times: int = 25) -> None:
    """Call `learn` in one thread and each of the others in its own, until each has been called that often."""
    calls, lock = [0] * (1 + len(others)), threading.Lock()
    errors: list[BaseException] = []

    def work(number: int, function: Callable[[], Any]) -> None:
        while not errors and min(calls) < times:
            try:
                function()
            except BaseException as error:
                errors.append(error)
            with lock:
                calls[number] += 1

    threads = [threading.Thread(target=work, args=one) for one in enumerate([learn, *others])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def grown(model: Any) -> Callable[[], Any]:
    """Return a function that learns rows with labels of which some are new."""
    number = iter(range(10**9))

    def learn() -> None:
        model.partial_fit(X, np.where(X[:, 1] > 0, next(number) % 40, Y))

    return learn


LEARNERS: dict[str, tuple[Any, Callable[[Any], Callable[[], Any]]]] = {
    "stream": (GCWSNetClassifier(**NET), lambda model: lambda: model.partial_fit(X, Y)),
    "new classes": (GCWSNetClassifier(**NET), grown),
    "numbers": (GCWSNetRegressor(**NET), lambda model: lambda: model.partial_fit(X, X[:, 0])),
    "fit": (GCWSNetClassifier(**NET), lambda model: lambda: model.fit(X, Y)),
    "kernel machine": (PGMMClassifier(random_state=0, p=1.0, scale="numeric"), lambda model: lambda: model.fit(X, Y)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_threads_that_save_copy_and_predict_see_a_whole_model(name: str, tmp_path: Path) -> None:
    like, learner = LEARNERS[name]
    model = copy.deepcopy(like)
    learn = learner(model)
    learn()
    rows = X[:, : model.n_features_in_]

    def save() -> None:
        model.save(tmp_path / "model")
        assert len(gcwsnet.load(tmp_path / "model").predict(rows)) == len(rows)

    def pickled() -> None:
        assert len(pickle.loads(pickle.dumps(model)).predict(rows)) == len(rows)

    def predict() -> None:
        assert len(model.predict(rows)) == len(rows)

    together(learn, [save, pickled, predict])


def test_a_save_during_a_call_that_learns_waits_for_its_end(tmp_path: Path) -> None:
    saved = threading.Event()
    model = GCWSNetClassifier(**NET)

    def save() -> None:
        model.save(tmp_path / "model")
        saved.set()

    threads: list[threading.Thread] = []

    def call_back(estimator: Any, record: dict[str, Any]) -> bool:
        del estimator, record
        if not threads:
            threads.append(threading.Thread(target=save))
            threads[0].start()
        assert not saved.wait(0.01)
        return False

    model.set_params(callbacks=[call_back]).fit(X, Y)
    threads[0].join()
    model.save(tmp_path / "after")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "after").read_bytes()


def test_searches_during_add_see_the_rows_before_or_after() -> None:
    rows = np.abs(X)
    for threshold in (None, 0.6):
        index = GCWSIndex(32, threshold=threshold, random_state=0).add(rows[:50])

        def add(index: GCWSIndex = index) -> None:
            index.add(rows[:20])
            index.remove(index.ids_[-10:])

        def query(index: GCWSIndex = index) -> None:
            found = index.query(rows[:5], 3)
            assert found.ids[:, 0].tolist() == [0, 1, 2, 3, 4]
            assert (found.similarities[:, 0] == 1).all()
            index.pairs(0.9)

        together(add, [query, query])
