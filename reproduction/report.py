"""The page docs/reproduction.md: what the paper shows and says, next to what came out here, and its figures."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from reproduction.charts import Drawn, digest, draw
from reproduction.execution import duration, expected_seconds
from reproduction.experiment import Experiment
from reproduction.experiment_data import COMPARABLE, DISPLAY_NAMES, ORIGINS
from reproduction.experiments import EXPERIMENTS
from reproduction.experiments.nets import FIGURES, reasonable_soon
from reproduction.results import Results
from reproduction.rules import CLASSES, CONTRADICTED, HOLDS_BUT, REASONABLE, SHARES, SMALL, WORDS
from reproduction.settings import Settings, key, with_our_defaults
from reproduction.statements import (
    NOT_RUN,
    OTHER_ROWS,
    OWN_ROWS,
    SIMULATION,
    Case,
    Statement,
    Verdict,
    above,
    at_least,
    beside_plain,
    gain,
    head_start,
    middle,
    recommended,
    tally,
)

PAPERS, OURS = "the paper's setting", "our defaults"
TEXT, BEFORE = (Path(__file__).with_name(name) for name in ("page.md", "before.tsv"))
STATES = (*CLASSES, NOT_RUN)


class Found(NamedTuple):
    """An experiment with its results in one of the two settings."""

    results: Results
    verdicts: list[Verdict]


CHECKS: dict[str, tuple[Callable[[Sequence[Settings]], Any], Callable[..., float], Callable[[float], bool]]] = {
    "better in the end": (beside_plain, gain, above(0)),
    "much faster": (beside_plain, head_start, at_least(0)),
    "reasonable soon": (lambda grid: [(one,) for one in grid], reasonable_soon, at_least(REASONABLE)),
}
"""What the abstract says of all nets."""
STORIES = {
    "story-one-epoch": (("covtype-1", "b = 8, L = 2, H = 200"), ("dailysports", "DailySports: b = 8, L = 2, H = 200")),
    "story-powers": (
        ("power-pendigits", "L = 2, H = 200, after 1 epoch"),
        ("power-m-noise1", "L = 2, H = 200, after 1 epoch"),
    ),
    "story-fourier": (("nrff", "SEMG: L = 2, H = 200"), ("nrff", "DailySports: L = 2, H = 200")),
}
"""The large figures, as experiments and titles of their charts."""


class Evidence:
    """All experiments with their results, in the setting of the paper and with our defaults."""

    def __init__(self, results: Results) -> None:
        self.results = results

    @cached_property
    def found(self) -> dict[str, dict[str, Found]]:
        """For each setting and each experiment what was found."""
        views = {PAPERS: self.results, OURS: self.results.with_our_defaults()}
        return {
            setting: {name: _find(one, view) for name, one in EXPERIMENTS.items()} for setting, view in views.items()
        }

    def verdicts(self, setting: str) -> list[Verdict]:
        """Return the verdicts on all statements in one of the settings."""
        return [verdict for found in self.found[setting].values() for verdict in found.verdicts]

    def judged(self, *experiments: Experiment) -> Iterator[tuple[Experiment, Statement, Verdict, Verdict]]:
        """Yield the statements of experiments, or of all, with their verdicts in the paper's setting and in ours."""
        for one in experiments or EXPERIMENTS.values():
            papers, ours = (self.found[setting][one.name].verdicts for setting in (PAPERS, OURS))
            yield from zip([one] * len(papers), one.statements, papers, ours, strict=True)

    def figure(self, experiment: Experiment) -> tuple[str, Drawn]:
        """Return the figure in the setting of the paper, or with our defaults if these have more of it."""
        drawn = {setting: experiment.figure(found[experiment.name].results) for setting, found in self.found.items()}
        best = max(drawn, key=lambda setting: sum(len(points.x) for _, some in drawn[setting] for _, points in some))
        return best, drawn[best]

    def figures(self) -> Iterator[tuple[str, str, Drawn, int]]:
        """Yield all figures by name, with their setting and their number of columns."""
        for name, experiment in EXPERIMENTS.items():
            yield name, *self.figure(experiment), experiment.columns
        for name, charts in STORIES.items():
            settings: dict[str, str] = {}
            chosen = []
            for experiment_name, title in charts:
                setting, drawn = self.figure(EXPERIMENTS[experiment_name])
                dataset = DISPLAY_NAMES[EXPERIMENTS[experiment_name].datasets[0]]
                settings |= {dataset: setting} if drawn else {}
                chosen += [
                    (chart if ":" in title else replace(chart, title=f"{dataset}: {title}"), series)
                    for chart, series in drawn
                    if chart.title == title
                ]
            same = len(set(settings.values())) == 1
            where = [setting if same else f"{setting} on {dataset}" for dataset, setting in settings.items()]
            yield name, " and ".join(dict.fromkeys(where)), chosen, 2


def _find(experiment: Experiment, results: Results) -> Found:
    comparable = experiment.comparable(results)
    return Found(comparable, [statement.verdict(comparable) for statement in experiment.statements])


def write_report(results: Results, out: str | os.PathLike[str]) -> None:
    """Write the page `out`, and its figures as SVG files into the folder "paper" beside it, where they are others."""
    path, evidence = Path(out), Evidence(results)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report(evidence), encoding="utf-8")
    for name, _, drawn, columns in evidence.figures():
        file = path.parent / "paper" / f"{name}.svg"
        if drawn and not (file.is_file() and digest(drawn) in file.read_text(encoding="utf-8")):
            draw(drawn, file, columns)


def report(evidence: Evidence) -> str:
    """Return the page as Markdown: the text of page.md with what the results say in place of its marks."""
    parts: dict[str, Callable[[Evidence], Iterable[str]]] = {
        "numbers": _numbers,
        "abstract": _abstract,
        "counts": _counts,
        "contradictions": _contradictions,
        "figures": _figures,
        "rules": _rules,
        "appendix": _appendix,
        "missing": _missing,
    }
    text = TEXT.read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", "\n\n".join(some for some in part(evidence) if some))
    for name, setting, _, _ in evidence.figures():
        text = text.replace(f"{{{{{name}}}}}", f"Nets have {setting}.")
    return text


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; columns behind the first are numbers if the head says so with a colon."""
    marks = ["---:" if name.endswith(":") else "---" for name in head]
    cells = [[name.removesuffix(":") for name in head], marks, *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |" for row in cells)


def _plain(text: str) -> str:
    """Return text whose stars are stars, and no emphasis."""
    return text.replace("*", "\\*")


def _numbers(evidence: Evidence, *experiments: Experiment, own: bool = True) -> Iterator[str]:
    """Yield the printed numbers of experiments, or of all, on the paper's own rows or on others, beside ours."""
    rows = []
    for experiment in experiments or EXPERIMENTS.values():
        for number in experiment.numbers:
            found = [number.found(evidence.found[setting][experiment.name].results) for setting in (PAPERS, OURS)]
            if any(one and (one[1] in COMPARABLE) == own for one in found):
                cells = [f"{one[0]:.1f}" if one else NOT_RUN for one in found]
                rows.append(
                    (number.what, f"{number.value:g}", cells[0], cells[1] if experiment.has_two_settings else "")
                )
    if rows:
        yield table(("accuracy in %", "paper:", f"{PAPERS}:", f"{OURS}:"), rows)


def _abstract(evidence: Evidence) -> Iterator[str]:
    """Yield what the abstract says, by figure: in how many cases it holds, in all and with b = 8."""
    rows: list[tuple[str, ...]] = []
    missing, said = [], []
    sums: dict[str, dict[str, list[Case]]] = {setting: {what: [] for what in CHECKS} for setting in (PAPERS, OURS)}
    for label, grid in FIGURES.items():
        for setting in (PAPERS, OURS):
            found = _checked(grid, evidence.found[setting]["abstract"].results)
            if not found[0]:
                missing.append(label)
                continue
            rows.append((label, setting, *(_fraction(some) for cases in found for some in (cases, recommended(cases)))))
            for what, cases in zip(CHECKS, found, strict=True):
                sums[setting][what] += [case for case in cases if case.rows == OWN_ROWS]
    for setting, by_check in sums.items():
        if any(by_check.values()):
            total = [f"**{_fraction(some)}**" for cases in by_check.values() for some in (cases, recommended(cases))]
            rows.append(("**the paper's own rows**", setting, *total))
            held = [f"{what} in {tally(recommended(cases))}" for what, cases in by_check.items()]
            said.append(f"with {setting} {', '.join(held)} cases")
    yield f"With b = 8, on those of the paper's own rows that are run, GCWSNet is: {'; '.join(said)}." if said else ""
    yield table(("nets", "setting", *(name for what in CHECKS for name in (f"{what}:", "b = 8:"))), rows)
    yield f"Not yet run in {PAPERS}: {'; '.join(dict.fromkeys(missing))}." if missing else ""


def _fraction(cases: Sequence[Case]) -> str:
    return f"{sum(case.holds for case in cases)}/{len(cases)}"


def _checked(grid: Sequence[Settings], results: Results) -> list[Sequence[Case]]:
    return [
        Statement("", "", runs(grid), measure, test).verdict(results).cases for runs, measure, test in CHECKS.values()
    ]


def _counts(evidence: Evidence) -> Iterator[str]:
    """Yield how many statements are in each class, by the kind of rows that they rest on."""
    head, rows = ("setting", "rows", *(f"{state}:" for state in STATES)), []
    for setting in (PAPERS, OURS):
        verdicts = evidence.verdicts(setting)
        for kind in (OWN_ROWS, OTHER_ROWS, SIMULATION):
            count = Counter(one.state for one in verdicts if one.rows == kind)
            if count:
                rows.append((setting, kind, *(str(count[state] or "") for state in STATES)))
        count = Counter(one.state for one in verdicts)
        rows.append((setting, "**all**", *(f"**{count[state]}**" for state in STATES)))
    yield table(head, rows)


def _contradictions(evidence: Evidence) -> Iterator[str]:
    rows = []
    for experiment, statement, papers, ours in evidence.judged():
        if CONTRADICTED in (papers.state, ours.state):
            where = f"[{experiment.place}](#{anchor(experiment)})"
            why = f"<br>{statement.why}" if statement.why else ""
            rows.append((f"{_plain(statement.text)} {where}{why}", *_cells(experiment, statement, papers, ours)))
    yield table(("statement", PAPERS, OURS), rows)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text[1].islower() else text


def _sentence(statement: Statement, verdict: Verdict) -> str:
    """Return a verdict with the share of the cases, the median effect, and the cases with b = 8."""
    if verdict.state == NOT_RUN:
        return f"{NOT_RUN}, {verdict.missing} run{'s' * (verdict.missing > 1)} missing"
    cases, eight = verdict.cases, recommended(verdict.cases)
    found = f"{tally(cases)}, median {middle(cases, statement.unit)}"
    if 0 < len(eight) < len(cases):
        found += f"; b = 8: {tally(eight)}"
    if verdict.state == CONTRADICTED:
        found += f"; against it: {middle([case for case in cases if not case.holds], statement.unit)}"
    if verdict.others:
        found += f"; on other rows: {tally(verdict.others)}"
    state = f"holds except for {verdict.small}" if verdict.state == HOLDS_BUT else verdict.state
    return f"**{state}**: {found}"


def _cells(experiment: Experiment, statement: Statement, papers: Verdict, ours: Verdict) -> tuple[str, str]:
    """Return what was found in the two settings; the second is empty where there is only one."""
    two = experiment.has_two_settings and any(with_our_defaults(one) != one for case in statement.runs for one in case)
    return _sentence(statement, papers), _sentence(statement, ours) if two else ""


def anchor(experiment: Experiment) -> str:
    """Return the anchor of the heading of an experiment."""
    kept = [
        letter if letter.isalnum() or letter in "-_" else " "
        for letter in _heading(experiment).lower()
        if letter.isalnum() or letter in " -_"
    ]
    return "".join(kept).replace(" ", "-")


def _heading(experiment: Experiment) -> str:
    return f"{experiment.place}: {experiment.title}"


def _figures(evidence: Evidence) -> Iterator[str]:
    for experiment in EXPERIMENTS.values():
        yield from _section(evidence, experiment)


def _section(evidence: Evidence, experiment: Experiment) -> Iterator[str]:
    setting, drawn = evidence.figure(experiment)
    yield f"### {_heading(experiment)}"
    yield _result(evidence, experiment)
    shown = f"Shown: {setting}." if experiment.has_two_settings and drawn else ""
    if drawn:
        yield f"![{experiment.title}](paper/{experiment.name}.svg)"
    yield " ".join(part for part in (_about_rows(experiment, evidence.results), shown, experiment.note) if part)
    for part in _numbers(evidence, experiment, own=False):
        yield f"Numbers of the paper, with which those on these other rows need not agree:\n\n{part}"
    rows = [
        (_plain(statement.text), *_cells(experiment, statement, papers, ours))
        for _, statement, papers, ours in evidence.judged(experiment)
    ]
    if any(row[2] for row in rows):
        yield table(("statement", PAPERS, OURS), rows)
    elif rows:
        yield table(("statement", "verdict"), [row[:2] for row in rows])


def _result(evidence: Evidence, experiment: Experiment) -> str:
    """Return the sentence above a figure."""
    if isinstance(experiment.result, str) and experiment.result:
        return experiment.result
    for setting, found in evidence.found.items():
        results, verdicts = found[experiment.name]
        text = experiment.result(results) if callable(experiment.result) else _counted(verdicts)
        if text:
            return text if setting == PAPERS or not experiment.has_two_settings else f"With {OURS}: {_lower(text)}"
    return f"{NOT_RUN.capitalize()}." if not evidence.figure(experiment)[1] else ""


def _counted(verdicts: Sequence[Verdict]) -> str:
    """Return how many statements are in which class; nothing while a run is missing."""
    count = Counter(one.state for one in verdicts)
    if not verdicts or NOT_RUN in count:
        return ""
    return f"Statements of the paper: {', '.join(f'{n} {state}' for state, n in count.items())}."


def _about_rows(experiment: Experiment, results: Results) -> str:
    """Return which rows are not the paper's, and where they are from."""
    origins: dict[str, dict[str, None]] = {}
    for view in (results, results.with_our_defaults()):
        for one in experiment.runs:
            outcome = view.get(one)
            if outcome is not None and outcome.origin not in (None, *COMPARABLE):
                origins.setdefault(str(outcome.origin), {})[one["dataset"]] = None
    about = [
        f"{', '.join(DISPLAY_NAMES[name] for name in names)}: {ORIGINS[origin]}." for origin, names in origins.items()
    ]
    return " ".join(about)


def _rules(_: Evidence) -> Iterator[str]:
    yield table(("class", "a statement holds"), CLASSES.items())
    yield table(
        ("words of the paper", "share of the cases:"), [(share.words, f"{100 * share.least:g}%") for share in SHARES]
    )
    yield (
        "Small codes that may be left out, the least first; the first that is enough is named: "
        + "; ".join(small.name for small in SMALL)
        + ". Some larger codes must be left."
    )
    yield table(("words of the paper", "in numbers"), WORDS.items())


def _appendix(evidence: Evidence) -> Iterator[str]:
    """Yield all statements with their verdicts before and after the change of the rules and of the setting."""
    with BEFORE.open(encoding="utf-8", newline="") as file:
        before = {(one["experiment"], one["statement"]): one for one in csv.DictReader(file, delimiter="\t")}
    rows = []
    for experiment, statement, papers, ours in evidence.judged():
        old = before[experiment.name, statement.text]
        cells = (f"{old['verdict']} {old['cases']}".strip(), _short(ours), _short(papers))
        rows.append((experiment.place, f"{_plain(statement.text)}<br>*Checked:* {_plain(statement.rule)}.", *cells))
    yield table(
        ("where", "statement", "old rules, our defaults", "new rules, our defaults", f"new rules, {PAPERS}"), rows
    )


def _short(verdict: Verdict) -> str:
    if verdict.state == NOT_RUN:
        return NOT_RUN
    small = f" ({verdict.small})" if verdict.small else ""
    return f"{verdict.state}{small}, {tally(verdict.cases)}"


def _missing(evidence: Evidence) -> Iterator[str]:
    """Yield how many runs are missing in the setting of the paper, and how long they would take."""
    rows: list[tuple[str, ...]] = []
    everything: dict[str, Settings] = {}
    for name, experiment in EXPERIMENTS.items():
        runs = [one for one in experiment.runs if one.get("dataset") != "pamap101"]
        everything |= {key(one): one for one in runs}
        todo = [one for one in runs if one not in evidence.results]
        if todo and name != "abstract":
            time = duration(sum(expected_seconds(todo, evidence.results)))
            rows.append((f"`{name}`", experiment.place, f"{len(runs) - len(todo)} of {len(runs)}", time))
    whole = duration(sum(expected_seconds(list(everything.values()), evidence.results)))
    yield (
        f"All {len(everything)} runs of one seed in {PAPERS}, without those on PAMAP101, take about {whole} on one "
        "core. Not yet run, with the time that the rest takes:"
    )
    yield table(("experiment", "", "runs done:", "the rest:"), rows)
