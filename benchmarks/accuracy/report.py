"""The results of the suite as tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from benchmarks.accuracy.learners import Learner
from benchmarks.accuracy.runs import LARGE, Run
from benchmarks.accuracy.split import SuiteDataset, Task
from benchmarks.subject import markdown_table

OURS, RIVAL = "GCWSNet", "LightGBM"
QUICK_SECONDS = 2.0
AUTOMATIC = "auto auto"
MAX_POINTS_BELOW = 2.0
MIN_SHARE = 2 / 3
"""The share of the datasets that a learner has learned from, to be among those whose means are compared."""
MAIN_SCORE: dict[Task, str] = {"classification": "accuracy", "regression": "r2"}
OTHER_SCORES: dict[Task, dict[str, str]] = {
    "classification": {"log_loss": "log loss", "ece": "ECE"},
    "regression": {},
}
DIGITS = {"accuracy": 1, "log_loss": 3, "ece": 3, "r2": 3}
COSTS = {"fit": "fit_seconds", "predict": "predict_seconds", "size": "bytes"}
TIE = {"accuracy": 0.1, "r2": 0.001}


class SuiteResults:
    """The runs of one part of the suite on datasets of one task.

    Parameters
    ----------
    runs : sequence of Run
    datasets : sequence of SuiteDataset
        Those without a run are left out.
    task : {"classification", "regression"}
    part : {"learners", "pairs"}
    """

    def __init__(
        self, runs: Sequence[Run], datasets: Sequence[SuiteDataset], task: Task, part: str = "learners"
    ) -> None:
        self.task, self.main_score = task, MAIN_SCORE[task]
        self.n_datasets = sum(one.task == task for one in datasets)
        self._runs: defaultdict[str, defaultdict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
        for run in runs:
            if run.part == part and run.scores:
                self._runs[run.dataset][run.learner].append(run)
        self.datasets = [one for one in datasets if one.task == task and one.name in self._runs]

    def of(self, dataset: str) -> list[Run]:
        """Return the runs on a dataset."""
        return [run for found in self._runs[dataset].values() for run in found]

    def mean(self, dataset: str, learner: str, field: str | None = None) -> float | None:
        """Return the mean over seeds of a score or of a field of `Run`, of the main score by default."""
        found = self._runs[dataset][learner]
        values = [run.scores.get(field or self.main_score, getattr(run, field or "", None)) for run in found]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    def learned(self, learner: str) -> list[str]:
        """Return the names of the datasets that a learner has learned from."""
        return [one.name for one in self.datasets if self._runs[one.name][learner]]

    def compared(self, learners: Sequence[Learner]) -> tuple[list[Learner], list[str]]:
        """Return the learners whose means are compared, and the datasets that all of them have learned from."""
        least = MIN_SHARE * len(self.datasets)
        chosen = [one for one in learners if self.learned(one.name) and len(self.learned(one.name)) >= least]
        return chosen, [
            one.name for one in self.datasets if all(one.name in self.learned(learner.name) for learner in chosen)
        ]

    def overall(self, learner: str, names: Sequence[str], field: str | None = None) -> float:
        """Return the mean of a score over datasets."""
        return float(np.mean([self.mean(name, learner, field) for name in names]))

    def ratio(self, learner: str, field: str) -> float | None:
        """Return the median over datasets of a time or size, as a multiple of LightGBM's."""
        pairs = [(self.mean(one.name, learner, field), self.mean(one.name, RIVAL, field)) for one in self.datasets]
        ratios = [theirs / rival for theirs, rival in pairs if theirs is not None and rival]
        return float(np.median(ratios)) if ratios else None

    def shown(self, learners: Sequence[Learner]) -> list[Learner]:
        """Return the learners that have a run."""
        return [one for one in learners if self.learned(one.name)]


def score_table(results: SuiteResults, learners: Sequence[Learner]) -> str:
    """Return a table of the main score with a line for each dataset, the best in bold."""
    names, digits, rows = [one.name for one in results.shown(learners)], DIGITS[results.main_score], []
    for one in results.datasets:
        first = results.of(one.name)[0]
        means = [results.mean(one.name, name) for name in names]
        texts = ["" if mean is None else f"{mean:.{digits}f}" for mean in means]
        best = f"{max((mean for mean in means if mean is not None), default=np.nan):.{digits}f}"
        cells = [f"**{text}**" if text == best else text for text in texts]
        rows.append([one.name, one.origin, f"{first.rows:,}", f"{first.columns:,}", *cells])
    return markdown_table(["rows", "from", "train", "columns", *names], rows, align="ll")


def summary_table(results: SuiteResults, learners: Sequence[Learner]) -> str:
    """Return a table with a line for each learner: means, ranks, wins, and times and sizes next to LightGBM's."""
    compared, names = results.compared(learners)
    scores = [results.main_score, *OTHER_SCORES[results.task]]
    heads = ["R2" if results.task == "regression" else "accuracy", *OTHER_SCORES[results.task].values()]
    ranks = _mean_ranks(results, compared, names)
    rows = []
    for one in results.shown(learners):
        cells = [one.name, one.passes, str(len(results.learned(one.name)))]
        if one in compared and names:
            cells += [f"{results.overall(one.name, names, score):.{DIGITS[score]}f}" for score in scores]
            cells += [f"{ranks[one.name]:.1f}"]
        else:
            cells += [""] * (len(scores) + 1)
        cells += ["", ""] if one.name == RIVAL else _against_rival(results, one.name)
        for field in COSTS.values():
            ratio = results.ratio(one.name, field)
            cells.append("" if ratio is None else f"{float(f'{ratio:.2g}'):g}")
        rows.append(cells)
    return markdown_table(
        ["", "passes", "sets", *heads, "rank", f"won, tied, lost against {RIVAL}", "difference", *COSTS],
        rows,
        align="ll",
    )


def _mean_ranks(results: SuiteResults, learners: Sequence[Learner], names: Sequence[str]) -> dict[str, float]:
    scores = [[results.mean(name, one.name) for one in learners] for name in names]
    if not scores:
        return {}
    means = rankdata(-np.array(scores, dtype=float), axis=1).mean(axis=0)
    return {one.name: float(mean) for one, mean in zip(learners, means, strict=True)}


def _against_rival(results: SuiteResults, learner: str) -> list[str]:
    """Return how often a learner won, tied and lost against LightGBM, and the median difference."""
    pairs = [(results.mean(one.name, learner), results.mean(one.name, RIVAL)) for one in results.datasets]
    differences = np.array([ours - rival for ours, rival in pairs if ours is not None and rival is not None])
    if not len(differences):
        return ["", ""]
    tie = TIE[results.main_score]
    won, lost = int((differences >= tie).sum()), int((differences <= -tie).sum())
    median = f"{np.median(differences):+.{DIGITS[results.main_score]}f}"
    return [f"{won}, {len(differences) - won - lost}, {lost}", median]


def comparison(results: SuiteResults, learners: Sequence[Learner]) -> list[str]:
    """Return the lines of one kind of datasets: how many there are, the summary, and the table of scores."""
    if not results.datasets:
        return [f"0 of {results.n_datasets} datasets have runs."]
    compared, names = results.compared(learners)
    others = [one.name for one in results.shown(learners) if one not in compared]
    lines = [
        f"{len(results.datasets)} of {results.n_datasets} datasets have runs. Means and ranks are over the "
        f"{len(names)} of {len(results.datasets)} that all of {len(compared)} learners have learned from"
        + (f"; without those with runs on less than two thirds: {', '.join(others)}." if others else ".")
    ]
    return [*lines, *fit_times(results), "", summary_table(results, learners), "", score_table(results, learners)]


def fit_times(results: SuiteResults) -> list[str]:
    """Return a line that says on how many datasets GCWSNet's fits are quick; nothing without runs of both."""
    names = [name for name in results.learned(OURS) if name in results.learned(RIVAL)]
    times = [[results.mean(name, learner, "fit_seconds") or 0.0 for learner in (OURS, RIVAL)] for name in names]
    if not times:
        return []
    quick = sum(ours <= max(QUICK_SECONDS, 2 * rival) for ours, rival in times)
    line = (
        f"A fit of {OURS} takes at most {QUICK_SECONDS:g} seconds, or twice the time of {RIVAL}, on {quick} of "
        f"{len(times)} datasets."
    )
    large = [
        ours / rival
        for name, (ours, rival) in zip(names, times, strict=True)
        if results.of(name)[0].rows > LARGE and rival
    ]
    if large:
        count = f"{len(large)} dataset" + ("s" if len(large) > 1 else "")
        line += f" Above {LARGE:,} training rows ({count}) it takes {np.median(large):.2g} times as long."
    return ["", line]


def stopped(runs: Sequence[Run], datasets: Sequence[SuiteDataset]) -> list[str]:
    """Return lines that name the runs that took too long, by learner."""
    names: dict[tuple[str, float], list[str]] = {}
    for one in datasets:
        for run in runs:
            if run.dataset == one.name and run.stopped_after:
                found = names.setdefault((run.learner, run.stopped_after), [])
                if one.name not in found:
                    found.append(one.name)
    return [
        f"- {learner}, after {seconds:g} seconds: {', '.join(found)}." for (learner, seconds), found in names.items()
    ]


def choice_table(results: SuiteResults) -> str:
    """Return a table of the scaling and p that GCWSNet chose, next to the best fixed pair and to the default one."""
    head = ["rows", "chosen", "automatic", "best fixed pair", "difference", "numeric, p = 1", "as they are, p = 1"]
    rows = []
    for name, (automatic, means) in _choices(results).items():
        best = max(means, key=lambda pair: means[pair])
        counts = Counter(run.chosen for run in results.of(name) if run.learner == AUTOMATIC)
        rows.append([name, ", ".join(f"{count} times {pair}" for pair, count in counts.most_common())])
        rows[-1] += [f"{automatic:.1f}", f"{means[best]:.1f} ({best})", f"{automatic - means[best]:+.1f}"]
        rows[-1] += [f"{means['numeric 1']:.1f}", f"{means['None 1']:.1f}"]
    return markdown_table(head, rows, align="llrl")


def choice_summary(results: SuiteResults) -> str:
    """Return in a sentence how often the choice of GCWSNet is close to the best fixed pair."""
    below = {name: max(means.values()) - automatic for name, (automatic, means) in _choices(results).items()}
    near = sum(points <= MAX_POINTS_BELOW for points in below.values())
    far = ", ".join(f"{name} ({points:.1f})" for name, points in below.items() if points > MAX_POINTS_BELOW)
    sentence = f"On {near} of {len(below)} datasets it is at most {MAX_POINTS_BELOW:g} points below the best of them"
    return f"{sentence}; the others: {far}." if far else f"{sentence}."


def _choices(results: SuiteResults) -> dict[str, tuple[float, dict[str, float]]]:
    """Return for each dataset the score of GCWSNet's own choice, and those of the fixed pairs."""
    found = {}
    for one in results.datasets:
        means = {run.learner: results.mean(one.name, run.learner) or 0.0 for run in results.of(one.name)}
        if {AUTOMATIC, "numeric 1", "None 1"} <= set(means):
            found[one.name] = means.pop(AUTOMATIC), means
    return found
