"""The registry of experiments: all that is in the paper, with its grids."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from reproduction import EXPERIMENTS
from reproduction.execution import compute
from reproduction.settings import gcws, key, training_time, with_our_defaults
from tests.reproduction.outcomes import outcome, results


def test_every_table_figure_and_theorem_has_an_experiment() -> None:
    places = [experiment.place for experiment in EXPERIMENTS.values()]
    numbered = ["Table 1", *(f"Theorem {n}" for n in range(1, 6)), *(f"Figure {n}" for n in range(1, 19))]
    remarks = ["Abstract", "Section 1", *2 * ["Section 1.1"], "Section 1.3", "Section 1.4", "Equation 7"]
    remarks += [*4 * ["Section 2"], "Figure 7, stand-in", *2 * ["Section 4"], "Section 5"]
    assert sorted(places) == sorted(numbered + remarks)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_run_is_listed_twice(name: str) -> None:
    runs = [key(one) for one in EXPERIMENTS[name].runs]
    assert len(set(runs)) == len(runs)


def test_all_that_statements_cover_is_run() -> None:
    runs = {key(one) for one in chain.from_iterable(experiment.runs for experiment in EXPERIMENTS.values())}
    statements = chain.from_iterable(experiment.statements for experiment in EXPERIMENTS.values())
    assert {key(one) for statement in statements for case in statement.runs for one in case} <= runs


def test_with_our_defaults_only_weights_and_optimizer_differ() -> None:
    one = gcws("semg", k=64, b=8, L=2)
    ours = with_our_defaults(one)
    assert (one["weights"], one["optimizer"], ours["optimizer"]) == ("xavier", "adam", "lazy")
    assert {**one, "optimizer": "lazy"} == {**ours, "weights": "xavier"}
    assert with_our_defaults(ours) == ours


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
    made = results(tmp_path, *(outcome(one, 50.0) for one in EXPERIMENTS[name].runs))
    assert len(EXPERIMENTS[name].figure(made)) == panels


def test_the_time_of_an_epoch_is_taken_for_each_k_and_b(tmp_path: Path) -> None:
    run = compute(training_time("digits", k=(8, 64), b=(1, 2, 8), L=2, H=20))
    assert np.shape(run.result["seconds"]) == (2, 3)
    assert np.min(run.result["seconds"]) > 0

    experiment = EXPERIMENTS["training-time"]
    seconds = [[1.0, 1.1, 1.2, 1.5], [2.0, 2.1, 2.2, 3.0], [4.0, 4.1, 4.2, 6.0], [5.0, 8.1, 8.2, 12.0]]
    made = results(tmp_path, *(outcome(one, 0.0, seconds=seconds) for one in experiment.runs))
    assert len(experiment.figure(made)) == 4
    (statement,) = experiment.statements
    verdict = statement.verdict(made)
    assert (len(verdict.cases), sum(case.holds for case in verdict.cases)) == (192, 188)
    assert min(case.value for case in verdict.cases) == pytest.approx(5 / 6)
