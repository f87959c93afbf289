"""The report: what the paper shows and says, next to what came out here."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from reproduction.charts import Figure
from reproduction.datasets import COMPARABLE, DISPLAY_NAMES, ORIGINS, availability, where_to_get
from reproduction.execution import duration
from reproduction.experiment import Experiment
from reproduction.experiments import EXPERIMENTS
from reproduction.results import Outcome, Results, write_text
from reproduction.settings import key
from reproduction.statements import FAILS, HOLDS, NOT_MEASURED, Statement, Verdict
from reproduction.svg import svg, svg_of_figure

STORY = {
    "story-one-epoch": (
        ("covtype-1", "Covtype: b = 8, L = 2, H = 200"),
        ("dailysports", "DailySports, p = 1: b = 8, L = 2, H = 200"),
        ("semg-p1", "SEMG, p = 1: b = 8, L = 2, H = 200"),
    ),
    "story-powers": (
        ("power-pendigits", "Pendigits: L = 2, H = 200, after 1 epoch"),
        ("power-m-noise1", "M-Noise1: L = 2, H = 200, after 1 epoch"),
    ),
    "story-fourier": (
        ("nrff", "SEMG: L = 2, H = 200"),
        ("nrff", "DailySports: L = 2, H = 200"),
    ),
}
"""The figures of the README, as experiments and titles of their charts: accuracy in one epoch, the choice of p, and
random Fourier features."""

TITLE = "GCWSNet: the paper, reproduced"
HEAD = ("what", "paper", "here", "verdict")
ABOUT = (
    "Each table, figure and theorem of Li and Zhao, GCWSNet: Generalized Consistent Weighted Sampling for Scalable and "
    "Accurate Training of Neural Networks, reproduced with this package. Statements of the paper are checked against "
    "the results; the limits that make a statement checkable are written below it. Accuracies are in percent of the "
    "rows for testing. Nets are trained with Adam at 0.001, ReLU and batches of 32 (Covtype: 128), on the low b bits "
    "of i*, one seed each; curves are measured on at most 10,000 rows for testing, last numbers on all of them. The "
    "figures of the paper are known by their captions and by the text, so where these do not say what a panel shows, "
    "the panels are a choice."
)
STYLE = """
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1rem;font:16px/1.5 system-ui,sans-serif;color:#111;background:#fff;
overflow-wrap:anywhere}
h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.25rem;margin:0 0 .25rem}
section{border-top:2px solid #111;margin-top:2.5rem;padding-top:1rem}
.charts{display:grid;gap:.75rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,18rem),1fr));margin:1rem 0}
.charts figure{margin:0;border:1px solid #ddd;border-radius:4px;padding:.25rem;max-width:30rem}
.charts svg{display:block;width:100%;height:auto}
table{border-collapse:collapse;overflow-wrap:break-word;width:100%;font-size:.9rem;margin:1rem 0}
th,td{border-bottom:1px solid #ccc;padding:.3rem .4rem;text-align:left;vertical-align:top}
ul{padding-left:0;list-style:none}li{margin:.6rem 0;padding-left:.75rem;border-left:4px solid #999}
li.holds{border-color:#111}li.does-not-hold{border:2px dashed #111;border-left-width:4px;padding:.4rem .75rem}
.state{font-weight:bold}.rule,.note,.facts{color:#444;font-size:.9rem}code{background:#f2f2f2;padding:0 .2rem}
nav{columns:2 16rem;font-size:.95rem}nav a{display:block;color:#111}
.missing{border:1px dashed #111;padding:.5rem .75rem}
@media print{section{break-inside:avoid}}
"""


def write_report(results: Results, out: str | os.PathLike[str]) -> None:
    """Write the page `out`, and its figures as SVG files into the folder `out` without its suffix."""
    path = Path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, report(results))
    folder = path.with_suffix("")
    figures = {name: _figure(experiment, results) for name, experiment in EXPERIMENTS.items()}
    figures |= {name: _select_charts(charts, results) for name, charts in STORY.items()}
    for name, figure in figures.items():
        if figure.charts:
            folder.mkdir(exist_ok=True)
            write_text(folder / f"{name}.svg", svg_of_figure(figure))


def report(results: Results) -> str:
    """Return the page on all experiments, as HTML that needs no network and no script."""
    verdicts = {name: [statement.verdict(results) for statement in one.statements] for name, one in EXPERIMENTS.items()}
    body = [f"<h1>{escape(TITLE)}</h1>", paragraph(ABOUT), *_summary(results, verdicts)]
    for name, experiment in EXPERIMENTS.items():
        body += ["<section>", *_section(experiment, results, verdicts[name]), "</section>"]
    return page(TITLE, body)


def _summary(results: Results, verdicts: dict[str, list[Verdict]]) -> Iterator[str]:
    states = Counter(verdict.state for some in verdicts.values() for verdict in some)
    yield paragraph(
        f"Of {sum(states.values())} statements, {states[HOLDS]} hold, {states[FAILS]} do not hold and "
        f"{states[NOT_MEASURED]} have not been measured."
    )
    for machine in sorted({outcome.machine for outcome in results}):
        times = [outcome.seconds for outcome in results if outcome.machine == machine]
        yield paragraph(f"{len(times)} runs took {duration(sum(times))} with one thread on {machine}.")
    links = []
    for name, experiment in EXPERIMENTS.items():
        count = Counter(verdict.state for verdict in verdicts[name])
        counts = ", ".join(f"{count[state]} {state}" for state in (HOLDS, FAILS, NOT_MEASURED) if count[state])
        links.append(f'<a href="#{name}">{escape(experiment.place)}: {escape(experiment.title)} ({counts})</a>')
    yield f"<nav>{''.join(links)}</nav>"


def _section(experiment: Experiment, results: Results, verdicts: list[Verdict]) -> Iterator[str]:
    outcomes = _outcomes(experiment, results)
    yield f'<h2 id="{experiment.name}">{escape(experiment.place)}: {escape(experiment.title)}</h2>'
    yield from _about_data(experiment, outcomes)
    rows = experiment.compare(results)
    if rows:
        yield table(HEAD, rows)
    drawn = _figure(experiment, results).charts
    if drawn:
        yield chart_grid(map(svg, drawn))
    yield "<ul>"
    for statement, verdict in zip(experiment.statements, verdicts, strict=True):
        data = "" if verdict.state == NOT_MEASURED else _other_data(statement, _origins(experiment, outcomes))
        yield statement_item(verdict.state, data, statement.text, statement.rule, verdict.numbers)
    yield "</ul>"
    if experiment.note:
        yield paragraph(experiment.note, "note")
    yield _command(experiment, outcomes)


def _outcomes(experiment: Experiment, results: Results) -> list[Outcome]:
    settings = {key(one): one for quick in (True, False) for one in experiment.grid(quick)}
    return [outcome for one in settings.values() if (outcome := results.get(one)) is not None]


def _origins(experiment: Experiment, outcomes: list[Outcome]) -> dict[str, str]:
    """Return the origins of the datasets of outcomes."""
    found = {outcome.settings["dataset"]: outcome.origin for outcome in outcomes if outcome.origin is not None}
    return {name: found[name] for name in experiment.datasets if name in found}


def _figure(experiment: Experiment, results: Results) -> Figure:
    """Return the figure, with the origin of datasets that are not the paper's in its titles."""
    drawn = experiment.figure(results)
    charts = list(drawn.charts)
    for name, origin in _origins(experiment, _outcomes(experiment, results)).items():
        if origin not in COMPARABLE:
            named = f"{DISPLAY_NAMES[name]} ({origin})"
            charts = [replace(chart, title=chart.title.replace(DISPLAY_NAMES[name], named)) for chart in charts]
    return replace(drawn, charts=tuple(charts))


def _select_charts(charts: Iterable[tuple[str, str]], results: Results) -> Figure:
    """Return a figure of charts that are named by experiment and title, without those that have no results."""
    found = []
    for name, title in charts:
        experiment = EXPERIMENTS[name]
        titled = zip(experiment.figure(results).charts, _figure(experiment, results).charts, strict=True)
        found += [named for chart, named in titled if chart.title == title]
    return Figure(tuple(found))


def _other_data(statement: Statement, origins: dict[str, str]) -> str:
    """Return the datasets behind a statement that are not the paper's."""
    words = f"{statement.text} {statement.rule}"
    about = {name: origin for name, origin in origins.items() if DISPLAY_NAMES[name] in words} or origins
    other = _grouped({name: origin for name, origin in about.items() if origin not in COMPARABLE})
    return ", ".join(f"{names} {origin}" for origin, names in other.items())


def _grouped(origins: dict[str, str]) -> dict[str, str]:
    """Return for each origin the names of its datasets."""
    return {
        origin: ", ".join(DISPLAY_NAMES[name] for name in origins if origins[name] == origin)
        for origin in origins.values()
    }


def _about_data(experiment: Experiment, outcomes: list[Outcome]) -> Iterator[str]:
    """Yield the origins of datasets, and which file is missing where there are no results."""
    origins = _origins(experiment, outcomes)
    for origin, names in _grouped(origins).items():
        kind = "the dataset of the paper" if origin in COMPARABLE else f"{origin} dataset"
        yield paragraph(f"{names}: {kind} ({ORIGINS[origin]}).", "facts")
    for name in experiment.datasets:
        if name not in origins:
            found = availability(name)
            state = "not run yet" if found.available else f"{found.state}; {where_to_get(name)}"
            yield paragraph(f"{DISPLAY_NAMES[name]}: {state}.", "missing")


def _command(experiment: Experiment, outcomes: list[Outcome]) -> str:
    """Return the command of an experiment, how much of it is done, and the time it took."""
    full, quick = ({key(one) for one in experiment.grid(kind)} for kind in (False, True))
    done = {key(outcome.settings) for outcome in outcomes}
    if not full:
        return paragraph("Made from formulas by: python -m reproduction report", "facts")
    flag = "" if done & (full - quick) or not done else " --quick"
    took = duration(sum(outcome.seconds for outcome in outcomes))
    progress = f"{len(done & full)} of {len(full)} runs of the full grid are done; they took {took} with one thread."
    return f'<p class="facts"><code>python -m reproduction run {experiment.name}{flag}</code>: {escape(progress)}</p>'


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole page: readable on a phone and in print, without scripts."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def paragraph(text: str, kind: str = "") -> str:
    """Return a paragraph of plain text."""
    attribute = f' class="{kind}"' if kind else ""
    return f"<p{attribute}>{escape(text)}</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain text."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>\n" for row in rows)
    return f"<table>\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{lines}</tbody>\n</table>"


def chart_grid(pictures: Iterable[str]) -> str:
    """Return charts in as many columns as there is room for."""
    return '<div class="charts">' + "\n".join(f"<figure>{picture}</figure>" for picture in pictures) + "</div>"


def statement_item(state: str, data: str, text: str, rule: str, numbers: str) -> str:
    """Return a checked statement as an item of a list; `data` names the datasets that are not the paper's."""
    here = f" Here: {escape(numbers)}." if numbers else ""
    where = f" ({escape(data)})" if data else ""
    return (
        f'<li class="{state.replace(" ", "-")}"><span class="state">{escape(state.capitalize())}{where}:</span> '
        f'{escape(text)}{here}<br><span class="rule">Checked: {escape(rule)}.</span></li>'
    )
