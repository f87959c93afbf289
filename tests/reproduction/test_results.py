"""Results are lines of files, which are found by their settings, and averaged over seeds."""

from pathlib import Path

import pytest

from reproduction.results import Outcome, Results
from reproduction.settings import gcws, with_our_defaults
from tests.reproduction.outcomes import outcome

SETTINGS = gcws("semg", k=64, b=8, L=2)
OTHER = gcws("semg", k=128, b=8, L=2)


def saved(folder: Path, *outcomes: Outcome) -> Results:
    results = Results(folder)
    for one in outcomes:
        results.save(one, "some")
    return results


def test_a_saved_outcome_is_found_by_its_settings(tmp_path: Path) -> None:
    one = outcome(SETTINGS, 54.5)
    saved(tmp_path / "new", one)
    found = Results(tmp_path / "new")
    assert found.get(SETTINGS) == one
    assert SETTINGS in found
    assert OTHER not in found
    assert len(found) == 1


def test_settings_of_the_paper_stand_for_ours_in_a_view(tmp_path: Path) -> None:
    both = saved(tmp_path, outcome(SETTINGS, 60.0), outcome(with_our_defaults(SETTINGS), 50.0))
    accuracies = [one and one.accuracy for one in (both.get(SETTINGS), both.with_our_defaults().get(SETTINGS))]
    assert accuracies == [60.0, 50.0]


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"settings": {"method": "x", "name": "y"}}'])
def test_a_damaged_line_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "semg-p1.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"semg-p1.jsonl, line 1, must .*remove the line"):
        Results(tmp_path)


def test_a_run_must_not_be_in_two_lines(tmp_path: Path) -> None:
    saved(tmp_path, outcome(SETTINGS, 54.5))
    path = tmp_path / "some.jsonl"
    (tmp_path / "others.jsonl").write_text(path.read_text())
    with pytest.raises(ValueError, match=r"some.jsonl, line 1, must not repeat the settings"):
        Results(tmp_path)


def test_the_outcome_of_settings_is_the_mean_over_seeds(tmp_path: Path) -> None:
    curves = ([10.0, 50.0], [20.0, 56.0], [30.0, 62.0])
    seeds = [outcome({**SETTINGS, "seed": seed}, curve[-1], curve) for seed, curve in enumerate(curves)]
    found = saved(tmp_path, *reversed(seeds)).get(SETTINGS)
    assert found is not None
    assert found.settings == SETTINGS
    assert (found.accuracy, found.deviation(), found.seeds) == (56, 6, 3)
    assert (found.at(0.5), found.deviation(0.5)) == (20, 10)
    assert found.seconds == 3


def test_a_seed_counts_when_all_runs_that_are_compared_have_it(tmp_path: Path) -> None:
    grid = [{**SETTINGS, "method": "gcws", "dataset": name, "k": k} for name in ("a", "b") for k in (64, 128)]
    one, other, elsewhere, _ = grid
    runs = [
        outcome({**settings, "seed": seed}, 50.0 + seed)
        for settings, n_seeds in ((one, 3), (other, 2), (elsewhere, 3))
        for seed in range(n_seeds)
    ]
    results = saved(tmp_path, *runs)
    found = [results.with_common_seeds(grid).get(settings) for settings in grid]
    assert [outcome and outcome.seeds for outcome in found] == [2, 2, 3, None]
    assert [outcome.accuracy for outcome in found if outcome] == [50.5, 50.5, 51]
    everything = results.get(one)
    assert everything is not None
    assert everything.seeds == 3
