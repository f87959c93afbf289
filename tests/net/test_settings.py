"""The settings of a training, schedules and learning rates."""

import math
from typing import Any

import numpy as np
import pytest

from gcwsnet.net._settings import SCHEDULES, TrainingSettings


def test_schedules_are_one_at_first_and_fall_to_zero_but_for_the_constant_one() -> None:
    done = np.linspace(0, 1, 9)
    assert {name: schedule(done)[[0, 4, 8]].tolist() for name, schedule in SCHEDULES.items()} == {
        "constant": [1.0, 1.0, 1.0],
        "linear": [1.0, 0.5, 0.0],
    }


@pytest.mark.parametrize(
    ("settings", "n_steps", "rate"),
    [
        ({}, 3000, 7e-3),
        ({}, 3001, 3e-3),
        ({}, math.inf, 3e-3),
        ({"hidden": ()}, 10, 1e-2),
        ({"learning_rate": 0.25}, 10, 0.25),
    ],
)
def test_the_first_rate_follows_from_the_number_of_steps(settings: dict[str, Any], n_steps: float, rate: float) -> None:
    assert TrainingSettings(**settings).rate(n_steps) == rate


def test_more_hashes_than_256_have_a_smaller_rate() -> None:
    assert [TrainingSettings().rate(10, k) for k in (64, 256, 1024)] == [7e-3, 7e-3, 3.5e-3]
    assert TrainingSettings(learning_rate=0.25).rate(10, 1024) == 0.25


def test_all_epochs_together_have_at_most_160_000_rows() -> None:
    settings = TrainingSettings(hidden=(64,))
    compared = [settings.epochs_to_compare(n) for n in (1, 32_000, 32_001, 53_333, 53_334)]
    assert compared == [(5,), (5,), (3,), (3,), (1,)]
    assert [settings.n_epochs(n) for n in (1, 32_001, 10**9)] == [5, 3, 1]
    assert settings.epochs_to_compare(10**9, thorough=True) == (20, 8, 3, 1)
    large = TrainingSettings(hidden=(200,))
    assert [large.n_epochs(n) for n in (10_000, 10_001, 20_000, 20_001)] == [5, 8, 8, 5]
    given = TrainingSettings(epochs=7)
    assert (given.n_epochs(1), given.epochs_to_compare(10**9), given.epochs_to_compare(1, thorough=True)) == (
        7,
        (7,),
        (7,),
    )


def test_nets_that_are_compared_have_at_most_the_layers_of_a_member() -> None:
    for given, compared in (((200, 30), (48, 30)), ((16,), (16,)), ((), ())):
        assert TrainingSettings(hidden=given).for_comparison().layers() == compared


@pytest.mark.parametrize(("n_outputs", "hidden"), [(1, (64,)), (2, (64,)), (3, (200,))])
def test_one_net_with_one_or_two_outputs_is_small(n_outputs: int, hidden: tuple[int, ...]) -> None:
    assert TrainingSettings().for_rows(10_001, n_outputs).layers() == hidden
    assert TrainingSettings(hidden=(9,)).for_rows(10_001, n_outputs).layers() == (9,)


@pytest.mark.parametrize(
    ("given", "n_rows", "ensemble", "hidden"),
    [
        ({}, 10_000, 4, (48,)),
        ({}, 10_001, 1, (200,)),
        ({}, math.inf, 1, (200,)),
        ({"hidden": (9,)}, 100, 1, (9,)),
        ({"hidden": ()}, 100, 1, ()),
        ({"ensemble": 3}, math.inf, 3, (48,)),
        ({"ensemble": 1}, 100, 1, (200,)),
        ({"ensemble": 2, "hidden": (9, 5)}, 100, 2, (9, 5)),
    ],
)
def test_the_nets_follow_from_the_rows_unless_they_are_given(
    given: dict[str, Any], n_rows: float, ensemble: int, hidden: tuple[int, ...]
) -> None:
    settings = TrainingSettings(**given).for_rows(n_rows)
    assert (settings.members(), settings.layers()) == (ensemble, hidden)


def test_layers_that_are_left_open_are_not_known_before_the_rows() -> None:
    with pytest.raises(TypeError, match="has no layers before the number of rows is known"):
        TrainingSettings().layers()


def test_many_rows_are_learned_in_larger_batches_and_streams_in_small_ones() -> None:
    assert [TrainingSettings().rows_of_a_step(n) for n in (1, 199_999, 200_000, math.inf)] == [32, 32, 128, 4]
    assert TrainingSettings(batch_size=7).rows_of_a_step(1e9) == 7
