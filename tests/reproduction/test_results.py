"""Results are files that are whole or not there, and packing them loses nothing."""

from pathlib import Path

import pytest

from reproduction import EXPERIMENTS, experiment_of_runs
from reproduction.results import Outcome, Results
from reproduction.settings import gcws, key, theorem
from tests.reproduction.outcomes import outcome

SETTINGS = gcws("semg", k=64, b=8, L=2)
OTHER = gcws("semg", k=128, b=8, L=2)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files of a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def single_files(folder: Path, *outcomes: Outcome) -> Results:
    """Save each outcome to a file of its own."""
    results = Results(folder)
    for one in outcomes:
        results.save(one)
    return results


def test_a_saved_outcome_is_found_by_its_settings(tmp_path: Path) -> None:
    saved = outcome(SETTINGS, 54.5)
    path = Results(tmp_path / "new").save(saved)
    assert path.name == f"{key(SETTINGS)}.json"
    found = Results(tmp_path / "new")
    assert found.get(SETTINGS) == saved
    assert SETTINGS in found
    assert OTHER not in found
    assert len(found) == 1


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"settings": {"method": "x", "name": "y"}}'])
def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"{key(SETTINGS)}.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path.name} must .*remove the file"):
        Results(tmp_path)
    path.rename(tmp_path / "semg-p1.jsonl")
    with pytest.raises(ValueError, match=r"semg-p1.jsonl, line 1, must .*remove the line"):
        Results(tmp_path)


def test_packing_and_unpacking_give_the_same_bytes_back(tmp_path: Path) -> None:
    runs = [EXPERIMENTS["semg-p1"].grid(True), EXPERIMENTS["zero-bit"].grid(True), [theorem("theorem1", size=7)]]
    single = single_files(tmp_path, *(outcome(one, 100 / 3, note="ä") for some in runs for one in some))
    before = contents(tmp_path)
    single.pack(experiment_of_runs())
    assert set(contents(tmp_path)) == {"semg-p1.jsonl", "zero-bit.jsonl", "unlisted.jsonl"}
    packed = Results(tmp_path)
    assert all(packed.get(one.settings) == one for one in single)
    packed.unpack()
    assert contents(tmp_path) == before


def test_the_outcome_of_settings_is_the_mean_over_seeds(tmp_path: Path) -> None:
    curves = ([10.0, 50.0], [20.0, 56.0], [30.0, 62.0])
    seeds = [outcome({**SETTINGS, "seed": seed}, curve[-1], curve) for seed, curve in enumerate(curves)]
    found = single_files(tmp_path, *reversed(seeds)).get(SETTINGS)
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
    results = single_files(tmp_path, *runs)
    found = [results.with_common_seeds(grid).get(settings) for settings in grid]
    assert [outcome and outcome.seeds for outcome in found] == [2, 2, 3, None]
    assert [outcome.accuracy for outcome in found if outcome] == [50.5, 50.5, 51]
    everything = results.get(one)
    assert everything is not None
    assert everything.seeds == 3
