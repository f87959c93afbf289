"""The search over preprocessing, p, epochs and temperature, with scores that are made up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.search import (
    FEW_ROWS,
    FIRST,
    LAST_TRAINING_ROWS,
    LAST_VALIDATION_ROWS,
    MIN_ROWS,
    MIN_ROWS_OF_LAST_STAGE,
    SECOND,
    Candidate,
    Outcome,
    Point,
    clearly_better,
    fit_coder,
    open_points,
    selected_training,
    selection_state,
    splits,
)
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._preprocessing import Recipe

RNG = np.random.default_rng(0)
X = np.hstack([RNG.normal(3, 2, (1200, 4)), RNG.integers(0, 2, (1200, 1))])
SMALL = CoderSettings(n_hashes=8)


@dataclass
class MadeUp:
    """A score whose losses are made up: noise of the row plus what `loss` says of the call's number and its epochs."""

    loss: Callable[[int, int], float] = lambda number, epochs: 1.0  # noqa: ARG005
    accuracy: Callable[[int], float] = lambda epochs: 0.5  # noqa: ARG005
    epochs: Sequence[int] = (8, 3)
    hidden: tuple[int, ...] = (5,)
    noise: float = 0.0
    target: NDArray[Any] = field(default_factory=lambda: (X[:, 0] > 3).astype(np.int64))
    calls: list[dict[str, Any]] = field(default_factory=list)
    _outcomes: int = 0

    def outputs(self, codes: Any, training: Any, held_out: Any, **settings: Any) -> NDArray[np.float32]:
        assert len(codes) == len(training)
        self.calls.append({"training": training, "n_hashes": codes.shape[1], **settings})
        return np.zeros((len(held_out), 2), dtype=np.float32)

    def outcome(self, outputs: Any, rows: Any) -> Outcome:
        assert len(outputs) == len(rows)
        call = self.calls[-1]
        for one in self.calls[self._outcomes :]:
            one["validation"] = rows
        self._outcomes = len(self.calls)
        number = len({id(one["validation"]) for one in self.calls}) - 1
        noise = self.noise * np.random.default_rng(number).normal(size=len(rows))
        losses = self.loss(number, call["epochs"]) + noise - noise.mean()
        return Outcome(losses, self.accuracy(call["epochs"]), 1.5)


class Found(NamedTuple):
    coder: Coder
    selection: list[Candidate]
    epochs: int | None
    temperature: float


def search(X: Any, settings: CoderSettings, seed: int, score: Any) -> Found:
    coder, selection = fit_coder(X, settings, seed, score)
    return Found(coder, selection, *selected_training(selection))


def point_of(found: Found) -> Point:
    return Point(found.coder.preprocessing.recipe, found.coder.p)


def test_training_rows_and_validation_rows_are_apart_and_those_of_all_stages_too() -> None:
    for n in (FEW_ROWS, 2600, 12_345, 50_000):
        drawn, held_out = RNG.permutation(n), set[int]()
        for training_rows, validation_rows in (
            (FIRST.training_rows, FIRST.validation_rows),
            (SECOND.training_rows, SECOND.validation_rows),
            (LAST_TRAINING_ROWS, LAST_VALIDATION_ROWS),
        ):
            ((training, validation),) = splits(drawn, training_rows, validation_rows)
            assert len(set(training) | set(validation)) == len(training) + len(validation)
            assert len(validation) == min(validation_rows, n // 5, LAST_VALIDATION_ROWS)
            assert len(training) == min(training_rows, n - min(n // 5, LAST_VALIDATION_ROWS))
            held_out |= set(validation)
            assert not held_out & set(training)
        assert max(held_out) < n


def test_all_candidates_have_the_same_rows_which_depend_on_the_seed() -> None:
    one, other = MadeUp(), MadeUp()
    search(X, SMALL, 0, one)
    search(X, SMALL, 1, other)
    first, last = (list(one.calls[place]["training"]) for place in (0, -1))
    assert first[:100] == last[:100]
    assert list(other.calls[0]["training"]) != first


@pytest.mark.parametrize("n", [30, 31, FEW_ROWS - 1])
def test_few_rows_are_all_validated_on_by_nets_that_have_not_seen_them(n: int) -> None:
    folds = splits(RNG.permutation(n), 10, 10)
    assert len(folds) == 3
    assert sorted(np.concatenate([validation for _, validation in folds])) == list(range(n))
    for training, validation in folds:
        assert sorted(np.concatenate([training, validation])) == list(range(n))


def test_each_stage_has_its_rows_and_nets() -> None:
    score = MadeUp()
    search(X, CoderSettings(n_hashes=300), 7, score)
    sizes = [(one["n_hashes"], one["hidden"], one["epochs"], len(one["training"])) for one in score.calls]
    assert set(sizes) == {(64, (32,), 4, 960), (128, (64,), 4, 960), (300, (5,), 8, 960), (300, (5,), 3, 960)}
    assert sizes == sorted(sizes, key=lambda one: one[0])
    for one in score.calls:
        assert not set(one["training"]) & set(one["validation"])
    linear = MadeUp(hidden=())
    search(X, SMALL, 7, linear)
    assert {one["hidden"] for one in linear.calls} == {()}
    assert {one["n_hashes"] for one in linear.calls} == {8}


def test_the_default_stays_unless_another_is_clearly_better() -> None:
    settings = CoderSettings(n_hashes=8, p=1.0)
    default, *others = open_points(settings, X)
    assert default == (Recipe("numeric", 0.0, True), 1.0)
    in_second_stage = 1 + len(others) + 1  # after the default

    def third(gain: float) -> Callable[[int, int], float]:
        return lambda number, _: 1.0 - gain * (number in (2, in_second_stage))

    kept = search(X, settings, 7, MadeUp(third(0.001), noise=1.0))
    assert point_of(kept) == default
    changed = search(X, settings, 7, MadeUp(third(0.5), noise=1.0))
    assert point_of(changed) == others[1]


def test_clearly_better_is_by_more_than_the_error_of_the_differences() -> None:
    than = np.tile([0.0, 10.0], 50)
    assert clearly_better(than - 0.01, than)  # all rows a little
    noise = np.random.default_rng(0).normal(size=100)
    noise = (noise - noise.mean()) / noise.std(ddof=1)
    assert not clearly_better(than - 0.09 + noise, than)  # the standard error is a tenth
    assert clearly_better(than - 0.11 + noise, than)
    assert not clearly_better(than, than)
    assert not clearly_better(np.zeros(1), np.ones(1))


@pytest.mark.parametrize(
    ("loss_of_3", "accuracy_of_3", "noise", "chosen"),
    [(0.9, 0.5, 0.1, 3), (0.9, 0.4, 0.1, 8), (0.9999, 0.6, 1.0, 8), (1.1, 0.6, 0.1, 8)],
)
def test_fewer_epochs_must_be_clearly_better_and_not_less_accurate(
    loss_of_3: float, accuracy_of_3: float, noise: float, chosen: int
) -> None:
    score = MadeUp(
        lambda _, epochs: loss_of_3 if epochs == 3 else 1.0,
        lambda epochs: accuracy_of_3 if epochs == 3 else 0.5,
        noise=noise,
    )
    settings = CoderSettings(n_hashes=8, p=1.0, scale="numeric", relevance=0)
    found = search(X, settings, 7, score)
    assert (found.epochs, found.temperature) == (chosen, 1.5)
    assert [(one.stage, one.epochs, one.chosen) for one in found.selection] == [
        ("last", 8, chosen == 8),
        ("last", 3, chosen == 3),
    ]


def test_candidates_are_written_down_with_exactly_one_chosen_which_is_in_use() -> None:
    for epochs in ((8, 3), ()):  # of a fit, and of a stream
        found = search(X, SMALL, 7, MadeUp(lambda number, _: 1.0 - 0.01 * (number % 5), epochs=epochs, noise=0.01))
        (chosen,) = [one for one in found.selection if one.chosen]
        assert chosen.stage == ("last" if epochs else "second")
        assert Recipe(chosen.scale, chosen.relevance, chosen.indicators) == found.coder.preprocessing.recipe
        assert (chosen.p, found.epochs) == (found.coder.p, chosen.epochs if epochs else None)
        assert found.temperature == (1.5 if epochs else 1.0)
        for one in found.selection:
            assert one.error == pytest.approx(0.01 / np.sqrt(240), rel=0.2)
            assert one.seconds > 0


def test_other_powers_are_tried_as_long_as_they_help() -> None:
    settings = CoderSettings(n_hashes=8, scale="numeric", relevance=0)
    found = search(X, settings, 7, MadeUp(lambda number, _: 1.0 - 0.1 * number, noise=0.01))
    assert [one.p for one in found.selection if one.stage == "first"] == [1.0, 0.5, 2.0, 5.0, 20.0, 80.0]
    worse = search(X, settings, 7, MadeUp(lambda number, _: 1.0 + 0.1 * number, noise=0.01))
    assert [one.p for one in worse.selection if one.stage == "first"] == [1.0, 0.5, 2.0]


def test_what_is_given_is_not_searched() -> None:
    fixed = CoderSettings(n_hashes=8, p=3.0, scale="minmax", relevance=0.7, missing="zero")
    assert open_points(fixed, X) == [(Recipe("minmax", 0.7, False), 3.0)]
    assert {one.stage for one in search(X, fixed, 7, MadeUp()).selection} == {"last"}
    assert {p for _, p in open_points(CoderSettings(p=3.0), X)} == {3.0}
    assert {recipe.scale for recipe, _ in open_points(CoderSettings(scale="minmax"), X)} == {"minmax"}
    assert {recipe.relevance for recipe, _ in open_points(CoderSettings(relevance=0.7), X)} == {0.7}
    assert {recipe.relevance for recipe, _ in open_points(CoderSettings(), X)} == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("score", [None, MadeUp()])
def test_without_a_score_or_with_search_off_there_are_the_defaults(score: Any) -> None:
    settings = CoderSettings(n_hashes=8, search="fast" if score is None else "off")
    found = search(X, settings, 7, score)
    assert point_of(found) == (Recipe("numeric", 0.0, True), 1.0)
    assert (found.selection, found.epochs, found.temperature) == ([], None, 1.0)


def test_fewer_rows_are_searched_for_less() -> None:
    some = MadeUp()
    found = search(X[: MIN_ROWS - 1], SMALL, 7, some)
    assert {one.stage for one in found.selection} == {"last"}
    assert point_of(found) == open_points(SMALL, X)[0]
    found = search(X[: MIN_ROWS_OF_LAST_STAGE - 1], SMALL, 7, MadeUp())
    assert (found.selection, found.epochs, found.temperature) == ([], None, 1.0)


def test_candidates_suit_the_rows() -> None:
    dense = [recipe.scale for recipe, _ in open_points(SMALL, X)]
    assert {"quantile", "local", "standard", None} <= set(dense)
    assert "tfidf" not in dense
    assert "standard" not in {recipe.scale for recipe, _ in open_points(SMALL, X[:, :4])}
    in_csr = {recipe.scale for recipe, _ in open_points(SMALL, sparse.csr_array(X))}
    assert in_csr == {"numeric", "tfidf", "unit", "idf", None, "minmax", "standard"}
    numeric = np.array([True] * 4 + [False])
    of_table = {recipe.scale for recipe, _ in open_points(SMALL, sparse.csr_array(X), numeric)}
    assert of_table == {"numeric", "quantile", "local", "standard"}
    assert "local" not in {recipe.scale for recipe, _ in open_points(SMALL, np.zeros((2, 501)))}
    holes = X.copy()
    holes[3, 2] = np.nan
    assert {recipe.indicators for recipe, _ in open_points(SMALL, holes)} == {True, False}
    assert {recipe.indicators for recipe, _ in open_points(SMALL, X)} == {True}


def test_a_thorough_search_keeps_more_candidates_and_tries_more_powers() -> None:
    fast, thorough = (
        search(X, CoderSettings(n_hashes=8, search=name), 7, MadeUp(lambda number, _: 1 - number / 1000, noise=0.001))
        for name in ("fast", "thorough")
    )
    for stage in ("first", "second"):
        counts = [sum(one.stage == stage for one in found.selection) for found in (fast, thorough)]
        assert counts[1] > counts[0]


def test_a_state_without_timings_has_none() -> None:
    found = search(X, SMALL, 7, MadeUp())
    described = selection_state(found.selection, timings=False)
    assert len(described) == len(found.selection)
    assert {one["seconds"] for one in described} == {0.0}
