"""The search over preprocessing, p, epochs and temperature, with scores that are made up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse

from gcwsnet.net._settings import EPOCHS, TrainingSettings
from gcwsnet.net._targets import LabelIndicators, Labels, Numbers
from gcwsnet.search import (
    EFFORTS,
    MAX_COMPARED_COLUMNS,
    MAX_HASHES,
    MAX_TRAINING_ROWS,
    MAX_VALIDATION_ROWS,
    MIN_ROWS,
    MIN_ROWS_OF_LAST_STAGE,
    MIN_ROWS_OF_NETS,
    Candidate,
    KernelSearch,
    NetScore,
    Outcome,
    Point,
    Problem,
    best_points,
    clearly_better,
    columns_to_learn,
    fit_coder,
    open_points,
    selected_training,
    selection_state,
)
from gcwsnet.tables._coder import Coder, CoderSettings
from gcwsnet.tables._preprocessing import PreprocessingFit, Recipe

RNG = np.random.default_rng(0)
X = np.hstack([RNG.normal(3, 2, (1200, 4)), RNG.integers(0, 2, (1200, 1))])
SMALL = CoderSettings(n_hashes=8)


@dataclass(frozen=True, eq=False)
class MadeUp(NetScore):
    """A score whose losses are made up: noise of the row plus what `loss` says of the call's number and its epochs."""

    targets: Any = field(default_factory=lambda: Labels(np.arange(2)))
    target: NDArray[Any] = field(default_factory=lambda: (X[:, 0] > 3).astype(np.int32))
    weight: Any = None
    settings: TrainingSettings = field(default_factory=lambda: TrainingSettings(hidden=(5,), ensemble=4, additive=0.0))
    given_epochs: Sequence[int] = (EPOCHS[0],)
    seed: int = 7
    n_jobs: int = 1
    loss: Callable[[int, int], float] = lambda number, epochs: 1.0  # noqa: ARG005
    accuracy: Callable[[int], float] = lambda epochs: 0.5  # noqa: ARG005
    noise: float = 0.0
    calls: list[dict[str, Any]] = field(default_factory=list)

    def outputs(self, codes: Any, training: Any, held_out: Any, **settings: Any) -> list[NDArray[np.float32]]:
        assert len(codes) == len(training)
        more = {"n_hashes": codes.shape[1], "hidden": self.settings.layers()}
        self.calls.append({"training": training, **more, **settings})
        return [np.zeros((len(held_out), 2), dtype=np.float32)]

    def outcome(self, outputs: Any, rows: Any) -> Outcome:
        assert len(outputs[0]) == len(rows)
        call = self.calls[-1]
        call["held_out"] = rows
        number = len(self.calls) - 1
        noise = self.noise * np.random.default_rng(number).normal(size=len(rows))
        losses = self.loss(number, call["epochs"]) + noise - noise.mean()
        return Outcome(losses, self.accuracy(call["epochs"]), 1.5)


class Found(NamedTuple):
    coder: Coder
    selection: list[Candidate]
    epochs: int | None
    temperature: float
    additive: float


def search(X: Any, settings: CoderSettings, seed: int, score: Any) -> Found:
    coder, selection = fit_coder(X, settings, seed, score)
    return Found(coder, selection, *selected_training(selection))


def point_of(found: Found) -> Point:
    return Point(found.coder.preprocessing.recipe, found.coder.p)


@pytest.mark.parametrize("n", [30, MIN_ROWS_OF_NETS - 1, MIN_ROWS_OF_NETS, 1200])
def test_all_nets_have_the_same_rows_and_are_compared_by_others(n: int) -> None:
    score, other = MadeUp(), MadeUp()
    search(X[:n], SMALL, 0, score)
    search(X[:n], SMALL, 1, other)
    training, held_out = score.calls[0]["training"], score.calls[0]["held_out"]
    assert not set(training) & set(held_out)
    assert len(held_out) == (n // 3 if n < MIN_ROWS_OF_NETS else n // 5)
    assert len(training) == n - len(held_out)
    for call in score.calls:
        assert list(call["training"]) == list(training)
        assert list(call["held_out"]) == list(held_out)
    assert list(other.calls[0]["training"]) != list(training)


def test_nets_are_compared_on_few_of_many_rows() -> None:
    many = RNG.normal(size=(8000, 2))
    score = MadeUp(target=(many[:, 0] > 0).astype(np.int32))
    search(many, SMALL, 0, score)
    for call in score.calls:
        assert (len(call["training"]), len(call["held_out"])) == (MAX_TRAINING_ROWS, MAX_VALIDATION_ROWS)
    assert {one.stage for one in search(many, SMALL, 0, score).selection} == {"first", "last"}


def test_nets_that_are_compared_are_small_and_the_last_one_is_as_large_as_that_in_use() -> None:
    small = MadeUp()
    search(X, CoderSettings(n_hashes=300), 7, small)
    assert {(one["n_hashes"], one["hidden"], one["epochs"]) for one in small.calls} == {(MAX_HASHES, (5,), EPOCHS[0])}
    large = MadeUp(settings=TrainingSettings(hidden=(200,), ensemble=1))
    found = search(X, SMALL, 7, large)
    assert [one["hidden"] for one in large.calls] == [(48,)] * (len(large.calls) - 1) + [(200,)]
    assert [one.stage for one in found.selection if one.epochs] == ["second"] * (len(large.calls) - 1) + ["last"]
    linear = MadeUp(settings=TrainingSettings(hidden=(), ensemble=1))
    search(X, SMALL, 7, linear)
    assert {one["hidden"] for one in linear.calls} == {()}


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_net_with_the_least_loss_decides(number: int) -> None:
    found = search(X, SMALL, 7, MadeUp(loss=lambda call, _: 1.0 - 0.1 * (call == number)))
    compared = [one for one in found.selection if one.stage == "last"]
    assert len(compared) == 1 + EFFORTS["fast"].n_kept
    assert [one.chosen for one in compared] == [i == number for i in range(len(compared))]
    assert point_of(found) == point_of_candidate(compared[number])
    assert point_of_candidate(compared[0]) == open_points(SMALL, X)[0]


def point_of_candidate(one: Candidate) -> Point:
    return Point(Recipe(one.scale, one.relevance, one.indicators), one.p)


def test_of_few_rows_and_of_a_stream_the_default_stays_unless_another_is_clearly_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    default, other, *_ = open_points(SMALL, X)

    def losses(gain: float) -> Callable[..., NDArray[np.float64]]:
        def of(self: KernelSearch, stage: str, n_rows: int, point: Point) -> NDArray[np.float64]:
            made = np.tile([0.0, 10.0], 50) - (gain * np.random.default_rng(0).random(100) if point == other else 0.0)
            self.note(stage, self.problem.last(n_rows), point, 0.3, made, 0.0)
            return made

        return of

    for n, epochs in ((MIN_ROWS_OF_NETS - 1, (5,)), (1200, ())):
        for gain, chosen in ((1.0, other), (-1.0, default)):
            monkeypatch.setattr(KernelSearch, "losses", losses(gain))
            found = search(X[:n], SMALL, 7, MadeUp(given_epochs=epochs))
            assert point_of(found) == chosen
            assert {one.stage for one in found.selection} == {"first", "second", *(["last"] if epochs else [])}


def test_the_kernel_finds_relevant_columns_and_the_power() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(600, 40))
    y = (noise[:, 0] > 0).astype(np.int32)
    settings = CoderSettings(n_hashes=8, p=1.0, scale="numeric")
    found = search(noise, settings, 7, MadeUp(target=y))
    assert found.coder.preprocessing.recipe.relevance != 0
    largest = rng.random((600, 30)) ** 4  # the class is the place of the largest entry
    largest_y = (largest.argmax(axis=1) < 15).astype(np.int32)
    found = search(largest, CoderSettings(n_hashes=8, scale=None, relevance=0), 7, MadeUp(target=largest_y))
    assert found.coder.p > 1


def test_rows_of_weight_two_count_as_two_rows() -> None:
    weight = RNG.integers(1, 3, 200).astype(np.float64)
    twice = np.repeat(np.arange(200), weight.astype(int))
    target = (X[:, 0] > 3).astype(np.int32)
    settings = CoderSettings(n_hashes=8, scale="numeric", relevance=0, p=1.0)
    weighted = kernel_losses(X[:200], target[:200], weight, settings)
    repeated = kernel_losses(X[twice], target[twice], np.ones(len(twice)), settings)
    assert weighted != pytest.approx(kernel_losses(X[:200], target[:200], np.ones(200), settings), rel=1e-6)
    assert repeated < weighted  # a row that is there twice is known when it is left out once


def kernel_losses(X: Any, target: Any, weight: Any, settings: CoderSettings) -> float:
    problem = Problem(X, target, columns_to_learn(target, Labels(np.arange(2))), weight, None)
    (point,) = open_points(settings, X)
    return float(KernelSearch(problem, PreprocessingFit(X, target), (0.3,), 1).losses("first", 10**6, point).mean())


def test_what_least_squares_learns_of_targets() -> None:
    np.testing.assert_array_equal(columns_to_learn(np.array([0, 1]), Labels(np.arange(2))), [[-1], [1]])
    np.testing.assert_array_equal(columns_to_learn(np.array([2, 0]), Labels(np.arange(3))), [[0, 0, 1], [1, 0, 0]])
    indicators = np.array([[1.0, 0.0]], dtype=np.float32)
    np.testing.assert_array_equal(columns_to_learn(indicators, LabelIndicators(np.arange(2))), [[1, -1]])
    numbers = Numbers.learn(np.array([1.0, 3.0]), "squared_error")
    np.testing.assert_array_equal(columns_to_learn(numbers.encode(np.array([1.0, 3.0])), numbers), [[-1], [1]])


def test_of_very_many_classes_some_are_compared() -> None:
    n = 4 * MAX_COMPARED_COLUMNS
    target = np.repeat(np.arange(n // 2), 2).astype(np.int32)
    found = search(RNG.normal(size=(n, 2)), SMALL, 7, MadeUp(target=target, targets=Labels(np.arange(n // 2))))
    assert {one.stage for one in found.selection} == {"first", "last"}


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
        given_epochs=(8, 3),
        loss=lambda _, epochs: loss_of_3 if epochs == 3 else 1.0,
        accuracy=lambda epochs: accuracy_of_3 if epochs == 3 else 0.5,
        noise=noise,
    )
    settings = CoderSettings(n_hashes=8, p=1.0, scale="numeric", relevance=0)
    found = search(X, settings, 7, score)
    assert (found.epochs, found.temperature) == (chosen, 1.5)
    assert [(one.stage, one.epochs, one.chosen) for one in found.selection] == [
        ("last", 8, chosen == 8),
        ("last", 3, chosen == 3),
    ]


@pytest.mark.parametrize(("n", "epochs"), [(1200, (5,)), (1200, (8, 3)), (1200, ()), (700, (5,)), (700, ())])
def test_candidates_are_written_down_with_exactly_one_chosen_which_is_in_use(n: int, epochs: tuple[int, ...]) -> None:
    found = search(X[:n], SMALL, 7, MadeUp(loss=lambda number, _: 1.0 - 0.01 * (number % 5), given_epochs=epochs))
    (chosen,) = [one for one in found.selection if one.chosen]
    assert chosen.stage == "last" if epochs else chosen.alpha == 0.3
    assert point_of_candidate(chosen) == point_of(found)
    assert found.epochs == (chosen.epochs if epochs else None)
    assert found.temperature == (1.5 if epochs else 1.0)
    for one in found.selection:
        assert one.seconds > 0
        assert (one.epochs is None) == (one.alpha is not None)


def test_other_powers_are_tried_as_long_as_they_help() -> None:
    recipe = Recipe("numeric", 0.0, True)

    def tried(loss: Callable[[float], float]) -> list[float]:
        order: list[float] = []

        def of(point: Point) -> float:
            order.append(point.p)
            return loss(point.p)

        best = best_points([Point(recipe, 1.0)], of, n_starts=1, open_powers=True)
        assert [loss(one.p) for one in best] == sorted(loss(p) for p in order)
        return order

    assert tried(lambda p: -p) == [1.0, 0.5, 2.0, 5.0, 20.0, 80.0]
    assert tried(lambda p: abs(p - 1)) == [1.0, 0.5, 2.0]


def test_what_is_given_is_not_searched() -> None:
    fixed = CoderSettings(n_hashes=8, p=3.0, scale="minmax", relevance=0.7, missing="zero")
    assert open_points(fixed, X) == [(Recipe("minmax", 0.7, False), 3.0)]
    assert [one.stage for one in search(X, fixed, 7, MadeUp()).selection] == ["last"]
    assert {p for _, p in open_points(CoderSettings(p=3.0), X)} == {3.0}
    assert {recipe.scale for recipe, _ in open_points(CoderSettings(scale="minmax"), X)} == {"minmax"}
    assert {recipe.relevance for recipe, _ in open_points(CoderSettings(relevance=0.7), X)} == {0.7}
    assert {recipe.relevance for recipe, _ in open_points(CoderSettings(), X)} == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("score", [None, MadeUp()])
def test_without_a_score_or_with_search_off_there_are_the_defaults(score: Any) -> None:
    settings = CoderSettings(n_hashes=8, search="fast" if score is None else "off")
    found = search(X, settings, 7, score)
    assert point_of(found) == (Recipe("numeric", 0.0, True), 1.0)
    assert {one.stage for one in found.selection} == ({"last"} if score else set())


def test_after_one_epoch_without_a_search_there_is_no_temperature() -> None:
    found = search(X, CoderSettings(n_hashes=8, search="off"), 7, MadeUp(given_epochs=(1,)))
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


def test_a_thorough_search_compares_more() -> None:
    fast, thorough = (
        search(X, CoderSettings(n_hashes=8, search=name), 7, MadeUp()).selection for name in ("fast", "thorough")
    )
    for stage in ("first", "last"):
        assert sum(one.stage == stage for one in thorough) > sum(one.stage == stage for one in fast)


def test_a_state_without_timings_has_none() -> None:
    found = search(X, SMALL, 7, MadeUp())
    described = selection_state(found.selection, timings=False)
    assert len(described) == len(found.selection)
    assert {one["seconds"] for one in described} == {0.0}
