"""The page has the verdicts, and says what is not yet run."""

from dataclasses import replace
from pathlib import Path

from reproduction import EXPERIMENTS
from reproduction.report import OURS, PAPERS, Evidence, report
from reproduction.settings import with_our_defaults
from tests.reproduction.outcomes import outcome, results


def test_without_results_nothing_has_a_verdict(tmp_path: Path) -> None:
    text = report(Evidence(results(tmp_path)))
    text = text.replace("\\*", "*")
    assert all(statement.text in text for one in EXPERIMENTS.values() for statement in one.statements)
    assert "**holds**" not in text
    assert "**contradicted**" not in text
    assert "{{" not in text


def test_both_settings_stand_side_by_side_and_rows_that_are_not_the_papers_are_marked(tmp_path: Path) -> None:
    runs = [outcome(one, 17.0 + 33 * (one["method"] == "gcws")) for one in EXPERIMENTS["semg-p1"].runs]
    derived = [replace(one, origin="derived") for one in runs]
    ours = [replace(one, settings=with_our_defaults(one.settings)) for one in derived]
    evidence = Evidence(results(tmp_path, *derived[4:], *ours))
    text = report(evidence)
    assert "SEMG: derived from published data, and not the rows of the paper." in text
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith("| The results for the original data are") and "48" in line
    ]
    assert (
        "| not yet run, 4 runs missing | **cannot be tested here**: 48 of 48, median +33 points; b = 8: 12 of 12 |"
        in line
    )
    setting, drawn = evidence.figure(EXPERIMENTS["semg-p1"])
    assert (setting, len(drawn)) == (OURS, 12)
    complete = Evidence(results(tmp_path / "both", *derived, *ours))
    assert complete.figure(EXPERIMENTS["semg-p1"])[0] == PAPERS
