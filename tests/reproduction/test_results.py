"""Results are files that are whole or not there."""

import json
from pathlib import Path

import pytest

from reproduction.results import Results
from reproduction.settings import gcws, key
from tests.reproduction.made_up import outcome

SETTINGS = gcws("semg", k=64, b=8, L=2)


def test_what_was_saved_is_found_again_by_its_settings(tmp_path: Path) -> None:
    saved = outcome(SETTINGS, 54.5)
    path = Results(tmp_path / "new").save(saved)
    assert path.name == f"{key(SETTINGS)}.json"
    found = Results(tmp_path / "new")
    assert found.get(SETTINGS) == saved
    assert SETTINGS in found
    assert gcws("semg", k=128, b=8, L=2) not in found
    assert len(found) == 1


def test_a_file_holds_settings_result_time_and_versions_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = Results(tmp_path).save(outcome(SETTINGS, 54.5))
    content = json.loads(path.read_text())
    assert content["settings"] == SETTINGS
    assert set(content) == {"settings", "origin", "result", "seconds", "versions", "machine"}
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_a_file_that_was_being_written_when_all_stopped_is_no_result(tmp_path: Path) -> None:
    (tmp_path / f".{key(SETTINGS)}.json.123").write_text('{"settings"')
    assert len(Results(tmp_path)) == 0


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"settings": {"method": "x", "name": "y"}}'])
def test_a_damaged_file_is_named_with_the_way_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / f"{key(SETTINGS)}.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"{path.name} must be .*remove it"):
        Results(tmp_path)


def test_a_result_under_the_name_of_other_settings_is_an_error(tmp_path: Path) -> None:
    path = Results(tmp_path).save(outcome(SETTINGS, 54.5))
    path.rename(tmp_path / f"{key(gcws('semg', k=128, b=8, L=2))}.json")
    with pytest.raises(ValueError, match="under its own name"):
        Results(tmp_path)


def test_accuracies_on_the_way_are_those_of_the_first_checkpoint_from_there() -> None:
    found = outcome(SETTINGS, 60.0, [10.0, 20.0, 30.0, 40.0])
    assert [found.at(epoch) for epoch in (0.1, 0.25, 0.3, 1.0, 2.0)] == [10, 10, 20, 40, 60]
