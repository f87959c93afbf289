"""The registry of experiments: all that is in the paper, with its grids."""

from pathlib import Path

import numpy as np
import pytest

from reproduction import EXPERIMENTS
from reproduction.execution import compute
from reproduction.settings import as_in_paddle, key, training_time
from tests.reproduction.outcomes import outcome, results


def test_every_table_figure_and_theorem_has_an_experiment() -> None:
    places = [experiment.place for experiment in EXPERIMENTS.values()]
    numbered = ["Table 1", *(f"Theorem {n}" for n in range(1, 6)), *(f"Figure {n}" for n in range(1, 19))]
    remarks = ["Abstract", "Section 1", *2 * ["Section 1.1"], "Section 1.3", "Section 1.4", "Equation 7"]
    remarks += [*6 * ["Section 2"], *2 * ["Section 4"], "Section 5"]
    assert sorted(places) == sorted(numbered + remarks)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_grid_has_no_run_twice_and_needs_only_the_datasets_that_are_named(name: str) -> None:
    experiment = EXPERIMENTS[name]
    for quick in (True, False):
        grid = experiment.grid(quick)
        assert len({key(settings) for settings in grid}) == len(grid)
        used = {settings["dataset"] for settings in grid if "dataset" in settings}
        assert used <= set(experiment.datasets)
        assert quick or used == set(experiment.datasets)


def test_all_that_the_abstract_covers_is_run_by_the_figures() -> None:
    others = {key(one) for name, other in EXPERIMENTS.items() if name != "abstract" for one in other.grid(False)}
    assert {key(one) for one in EXPERIMENTS["abstract"].grid(False)} <= others


def test_the_defaults_of_paddle_are_run_for_each_net_of_figures_1_and_8() -> None:
    runs = {key(one) for one in EXPERIMENTS["defaults"].grid(False)}
    figures = [one for name in ("semg-p1", "dailysports") for one in EXPERIMENTS[name].grid(False) if one["H"] != 400]
    assert runs == {key(as_in_paddle(one)) for one in figures}


@pytest.mark.parametrize(
    ("name", "panels"),
    [
        ("semg-p1", 12),
        ("semg-p2", 3),
        ("covtype-100", 12),
        ("covtype-1", 12),
        ("covtype-summary", 6),
        ("pamap101-100", 12),
        ("pamap101-1", 12),
        ("dailysports", 6),
        ("m-noise1", 6),
        ("m-image", 6),
        ("t-bits", 6),
        ("count-sketch-ratio", 3),
        ("count-sketch-strategies", 2),
        ("count-sketch", 6),
        ("power-pendigits", 9),
        ("power-m-noise1", 9),
        ("nrff", 6),
    ],
)
def test_a_figure_has_as_many_panels_as_in_the_paper(name: str, panels: int, tmp_path: Path) -> None:
    made = results(tmp_path, *(outcome(one, 50.0) for one in EXPERIMENTS[name].grid(False)))
    assert len(EXPERIMENTS[name].figure(made).charts) == panels


def test_the_time_of_an_epoch_is_taken_for_each_k_and_b(tmp_path: Path) -> None:
    run = compute(training_time("digits", k=(8, 64), b=(1, 2, 8), L=2, H=20))
    assert np.shape(run.result["seconds"]) == (2, 3)
    assert np.min(run.result["seconds"]) > 0

    experiment = EXPERIMENTS["training-time"]
    seconds = [[1.0, 1.1, 1.2, 1.5], [2.0, 2.1, 2.2, 3.0], [4.0, 4.1, 4.2, 6.0], [5.0, 8.1, 8.2, 12.0]]
    made = results(tmp_path, *(outcome(one, 0.0, seconds=seconds) for one in experiment.grid(False)))
    assert len(experiment.figure(made).charts) == 4
    (statement,) = experiment.statements
    verdict = statement.verdict(made)
    assert verdict.numbers.startswith("188 of 192 cases, from 0.833 to 3, ")
    assert verdict.against[0] == "SEMG, L = 2, k = 512 and b = 1 next to k = 256 and b = 8: 0.833 times"
