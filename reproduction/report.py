"""The report: what the paper shows and says, next to what came out here."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape
from pathlib import Path

from gcwsnet._atomic import written_beside
from gcwsnet.datasets._catalog import DATASETS
from reproduction import _page
from reproduction._expected import in_words
from reproduction._story import STORY
from reproduction.charts import Figure
from reproduction.datasets import COMPARABLE, ORIGINS, SHOWN, availability
from reproduction.experiment import Experiment
from reproduction.experiments import EXPERIMENTS
from reproduction.results import Outcome, Results
from reproduction.settings import key
from reproduction.statements import FAILS, HOLDS, NOT_MEASURED, Claim, Verdict
from reproduction.svg import svg, svg_of_figure

TITLE = "GCWSNet: the evidence of the paper, made again"
HEAD = ("what", "paper", "here", "verdict")
ABOUT = (
    "Each table, figure and theorem of Li and Zhao, GCWSNet: Generalized Consistent Weighted Sampling for Scalable and "
    "Accurate Training of Neural Networks, made again with this package. Statements of the paper are checked against "
    "the results; the limits that make a statement checkable are written below it. Accuracies are in percent of the "
    "rows for testing. Nets are trained with Adam at 0.001, ReLU and batches of 32 (Covtype: 128), on the low b bits "
    "of i*, one seed each; curves are judged by at most 10,000 rows for testing, last numbers by all of them. The "
    "figures of the paper are known by their captions and by the text, so where these do not say what a panel shows, "
    "the panels are a choice."
)


def write_report(results: Results, out: str | os.PathLike[str]) -> None:
    """Write the page, beside its place first; figures go as SVG files into a folder of its name without the suffix."""
    place = Path(out)
    place.parent.mkdir(parents=True, exist_ok=True)
    _write(place, report(results))
    pictures = place.with_suffix("")
    figures = {name: _figure(experiment, results) for name, experiment in EXPERIMENTS.items()}
    figures |= {name: _chosen(charts, results) for name, charts in STORY.items()}
    for name, figure in figures.items():
        if figure.charts:
            pictures.mkdir(exist_ok=True)
            _write(pictures / f"{name}.svg", svg_of_figure(figure))


def report(results: Results) -> str:
    """The page on all experiments, as HTML.

    Parameters
    ----------
    results : Results

    Returns
    -------
    html : str
        It needs no network and no script.
    """
    verdicts = {name: [claim.verdict(results) for claim in one.claims] for name, one in EXPERIMENTS.items()}
    body = [f"<h1>{escape(TITLE)}</h1>", _page.paragraph(ABOUT), *_summary(results, verdicts)]
    for name, experiment in EXPERIMENTS.items():
        body += ["<section>", *_section(experiment, results, verdicts[name]), "</section>"]
    return _page.page(TITLE, body)


def _write(path: Path, text: str) -> None:
    with written_beside(path) as beside:
        beside.write_text(text, encoding="utf-8")


def _summary(results: Results, verdicts: dict[str, list[Verdict]]) -> Iterator[str]:
    states = Counter(verdict.state for some in verdicts.values() for verdict in some)
    yield _page.paragraph(
        f"Of {sum(states.values())} statements, {states[HOLDS]} hold, {states[FAILS]} do not hold and "
        f"{states[NOT_MEASURED]} have not been measured."
    )
    for machine in sorted({outcome.machine for outcome in results}):
        times = [outcome.seconds for outcome in results if outcome.machine == machine]
        yield _page.paragraph(f"{len(times)} runs took {in_words(sum(times))} with one thread on {machine}.")
    links = []
    for name, experiment in EXPERIMENTS.items():
        count = Counter(verdict.state for verdict in verdicts[name])
        told = ", ".join(f"{count[state]} {state}" for state in (HOLDS, FAILS, NOT_MEASURED) if count[state])
        links.append(f'<a href="#{name}">{escape(experiment.place)}: {escape(experiment.title)} ({told})</a>')
    yield f"<nav>{''.join(links)}</nav>"


def _section(experiment: Experiment, results: Results, verdicts: list[Verdict]) -> Iterator[str]:
    outcomes = _outcomes(experiment, results)
    yield f'<h2 id="{experiment.name}">{escape(experiment.place)}: {escape(experiment.title)}</h2>'
    yield from _about_data(experiment, outcomes)
    rows = experiment.compare(results)
    if rows:
        yield _page.table(HEAD, rows)
    drawn = _figure(experiment, results).charts
    if drawn:
        yield _page.charts(map(svg, drawn))
    yield "<ul>"
    for claim, verdict in zip(experiment.claims, verdicts, strict=True):
        data = "" if verdict.state == NOT_MEASURED else _other_data(claim, _origins(experiment, outcomes))
        yield _page.statement(verdict.state, data, claim.text, claim.rule, verdict.numbers)
    yield "</ul>"
    if experiment.note:
        yield _page.paragraph(experiment.note, "note")
    yield _how(experiment, outcomes)


def _outcomes(experiment: Experiment, results: Results) -> list[Outcome]:
    settings = {key(one): one for quick in (True, False) for one in experiment.grid(quick)}
    return [outcome for one in settings.values() if (outcome := results.get(one)) is not None]


def _origins(experiment: Experiment, outcomes: list[Outcome]) -> dict[str, str]:
    """What the datasets of outcomes are."""
    found = {outcome.settings["dataset"]: outcome.origin for outcome in outcomes if outcome.origin is not None}
    return {name: found[name] for name in experiment.datasets if name in found}


def _figure(experiment: Experiment, results: Results) -> Figure:
    """The figure, with datasets that are not the paper's named as what they are."""
    drawn = experiment.figure(results)
    charts = list(drawn.charts)
    for name, origin in _origins(experiment, _outcomes(experiment, results)).items():
        if origin not in COMPARABLE:
            named = f"{SHOWN[name]} ({origin})"
            charts = [replace(chart, title=chart.title.replace(SHOWN[name], named)) for chart in charts]
    return replace(drawn, charts=tuple(charts))


def _chosen(charts: Iterable[tuple[str, str]], results: Results) -> Figure:
    """Charts of experiments by their titles, those that are there."""
    found = []
    for name, title in charts:
        experiment = EXPERIMENTS[name]
        titled = zip(experiment.figure(results).charts, _figure(experiment, results).charts, strict=True)
        found += [named for chart, named in titled if chart.title == title]
    return Figure(tuple(found))


def _other_data(claim: Claim, origins: dict[str, str]) -> str:
    """The datasets behind a statement that are not the paper's."""
    said = f"{claim.text} {claim.rule}"
    about = {name: origin for name, origin in origins.items() if SHOWN[name] in said} or origins
    other = _grouped({name: origin for name, origin in about.items() if origin not in COMPARABLE})
    return ", ".join(f"{names} {origin}" for origin, names in other.items())


def _grouped(told: dict[str, str]) -> dict[str, str]:
    """The datasets, by name, of which the same is told."""
    return {what: ", ".join(SHOWN[name] for name in told if told[name] == what) for what in told.values()}


def _about_data(experiment: Experiment, outcomes: list[Outcome]) -> Iterator[str]:
    """What the data are, where that matters, or which file is missing."""
    origins = _origins(experiment, outcomes)
    for origin, names in _grouped(origins).items():
        told = "the dataset of the paper" if origin in COMPARABLE else f"{origin} dataset"
        yield _page.paragraph(f"{names}: {told} ({ORIGINS[origin]}).", "facts")
    for name in experiment.datasets:
        if name not in origins:
            told = "not run yet" if availability(name).there else f"dataset not available; {_wanted(name)}"
            yield _page.paragraph(f"{SHOWN[name]}: {told}.", "missing")


def _wanted(name: str) -> str:
    """Which file to put where: said without the folders of this machine, as the page may be read elsewhere."""
    files = " and ".join(f"{one.file} from {one.urls[0]}" for one in DATASETS[name].published)
    return f"put {files} into the folder that GCWSNET_DATA names, and run it"


def _how(experiment: Experiment, outcomes: list[Outcome]) -> str:
    """The command, how much of it is done, and the time it took."""
    full, quick = ({key(one) for one in experiment.grid(kind)} for kind in (False, True))
    done = {key(outcome.settings) for outcome in outcomes}
    if not full:
        return _page.paragraph("Made from formulas by: python -m reproduction report", "facts")
    flag = "" if done & (full - quick) or not done else " --quick"
    took = in_words(sum(outcome.seconds for outcome in outcomes))
    told = f"{len(done & full)} of {len(full)} runs of the full grid are done; they took {took} with one thread."
    return f'<p class="facts"><code>python -m reproduction run {experiment.name}{flag}</code>: {escape(told)}</p>'
