"""A report on a fitted model: one page of HTML with its scores on held-out rows, pictures, importances and columns.

The page loads nothing: pictures are SVG within it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

import gcwsnet
from gcwsnet.estimators._importances import Importance, importances_of
from gcwsnet.net._targets import LabelIndicators, Labels, Numbers
from gcwsnet.search import relevance_in_words
from gcwsnet.tables._describe import ColumnStatistics, ColumnSummary

if TYPE_CHECKING:
    from gcwsnet.estimators._base import BaseTableModel

Floats = NDArray[np.float64]

MAX_ROWS = 20_000
MAX_CURVES, MAX_CONFUSED, MAX_CANDIDATES, MAX_DRAWN, MAX_SHOWN = 8, 12, 10, 1000, 50
MANY_CLASSES = 6
"""From here on the confusion matrix has small cells."""
BIN_ROWS = 20
"""The rows of a point of a calibration curve, at least."""
STAGES = dict.fromkeys(("second", "columns", "third"), "kernel machine") | {
    "first": "kernel machine, few rows",
    "last": "net",
}


def report(estimator: BaseTableModel, X: Any, y: Any, *, title: str, score: dict[str, Any] | None = None) -> str:
    """Return the page about a fitted model.

    Parameters
    ----------
    estimator : BaseTableModel
    X : array or CSR
        Checked held-out rows.
    y : array of shape (n,)
        Their labels or numbers.
    title : str
    score : dict, optional
        What a command knows of its score: metrics and the "rows" that they are of, which may be more than these; the
        "rows_learned", and "importances".
    """
    predictor, score = estimator._predictor(), score or {}
    targets = predictor.targets
    if isinstance(targets, LabelIndicators) or (isinstance(targets, Numbers) and not targets.one_column):
        raise ValueError("a report is for one label or one number in each row, and the model has several")
    outputs, target = predictor.outputs_of_checked(X), targets.encode(y)
    if isinstance(targets, Labels):
        probabilities = targets.probabilities(outputs)
        cards, figures = _of_classes(targets, target, probabilities, targets.losses(outputs, target), score)
    else:
        cards, figures = _of_numbers(np.asarray(y, dtype=np.float64), targets.predictions(outputs), score)
    importances = [Importance(*one) for one in score.get("importances") or importances_of(predictor, X, target)]
    statistics = ColumnStatistics(X.shape[1])
    statistics.update(X)
    columns = statistics.summaries(estimator.schema_, getattr(predictor, "feature_names_in_", None))
    what = f"{len(targets.classes)} classes" if isinstance(targets, Labels) else "a number"
    learned = f" It learned from {score['rows_learned']:,} others." if "rows_learned" in score else ""
    template = Template((Path(__file__).parent / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(title),
        about=f"A {type(estimator).__name__} predicts {what} from {estimator.coder_.n_inputs:,} columns. All numbers "
        f"are of {score.get('rows', len(target)):,} held-out rows, which it has not seen.{learned}",
        cards="".join(cards),
        figures="".join(figures),
        loss={"cross_entropy": "the log loss", "squared_error": "the squared error, over the variance,"}.get(
            targets.loss, "the loss"
        ),
        columns=_columns_table(columns, importances),
        chosen=_chosen(estimator),
        version=gcwsnet.__version__,
    )


def _of_classes(
    targets: Labels, target: NDArray[Any], probabilities: Floats, losses: Floats, score: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Return the cards and the figures of a classification."""
    from sklearn.metrics import roc_auc_score, roc_curve  # noqa: PLC0415 - it takes long to import

    names = [_label(one) for one in targets.classes.tolist()]
    predicted, is_binary = probabilities.argmax(axis=1), len(names) == 2
    hits = (predicted == target).astype(np.float64)
    shares = np.bincount(target, minlength=len(names)) / len(target)
    entropy = -float(xlogy(shares, shares).sum())
    cards = [
        _card("accuracy", score.get("accuracy"), f"always {names[shares.argmax()]}: {shares.max():.3f}", hits),
        _card("log loss", score.get("log_loss"), f"shares of classes alone: {entropy:.3f}", losses),
    ]
    figures = []
    shown = [1] if is_binary else np.sort(np.argsort(-shares, kind="stable")[:MAX_CURVES]).tolist()
    roc = Plot((0, 1), (0, 1), "false positive rate", "true positive rate").line([0, 1], [0, 1], "guide")
    legend, areas = [], []
    for number, one in enumerate(one for one in shown if 0 < shares[one] < 1):
        false, true, _ = roc_curve(target == one, probabilities[:, one])
        areas.append(float(roc_auc_score(target == one, probabilities[:, one])))
        kept = np.unique(np.linspace(0, len(false) - 1, 200).astype(int))
        roc.line(false[kept], true[kept], f"curve c{number}")
        legend.append(f'<span class="key c{number}">{names[one]} ({areas[-1]:.3f})</span>')
    if areas:
        area = score.get("auc") or float(np.mean(areas))
        cards.append(_card("AUC" if is_binary else "mean AUC", area, "by chance: 0.5"))
        others = "" if is_binary else " for each class against the others"
        others += f", {len(shown)} of {len(names)} classes" if len(names) > MAX_CURVES else ""
        figures.append(_figure("ROC curve", roc.svg("ROC curve"), f"The area under it{others}: {' '.join(legend)}"))
    what = f"the class {names[1]}" if is_binary else "the predicted class"
    sure, is_true = (probabilities[:, 1], target) if is_binary else (probabilities.max(axis=1), hits)
    calibration = Plot((0, 1), (0, 1), f"probability of {what}", "share of rows where it is true")
    calibration.line([0, 1], [0, 1], "guide").means(sure, is_true.astype(np.float64))
    said = "On the diagonal, a probability says how often it happens. Points are means of equally many rows."
    figures.append(_figure("Calibration", calibration.svg("Calibration"), said))
    if len(names) <= MAX_CONFUSED:
        figures.append(_confusion(names, target, predicted))
    return cards, figures


def _of_numbers(y: Floats, predicted: Floats, score: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the cards and the figures of a regression."""
    errors = np.abs(predicted - y)
    root, spread = math.sqrt(float((errors**2).mean())), float(y.std())
    cards = [
        _card("R2", score.get("r2", 1 - (root / spread) ** 2 if spread else None), "always the mean: 0"),
        _card("mean error", score.get("mae"), f"always the median: {_short(np.abs(y - np.median(y)).mean())}", errors),
        _card("root mean square error", score.get("rmse", root), f"always the mean: {_short(spread)}"),
    ]
    drawn = slice(None, None, -(-len(y) // MAX_DRAWN))
    ends = float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))
    both = Plot(ends, ends, "predicted", "true").line(ends, ends, "guide")
    both.points(predicted[drawn], y[drawn], "point", 2.5).means(predicted, y)
    counts, edges = np.histogram(predicted - y, bins=min(40, max(8, round(2 * len(y) ** (1 / 3)))))
    residuals = Plot((edges[0], edges[-1]), (0, counts.max()), "predicted minus true", "rows").bars(edges, counts)
    half, most = (_short(one) for one in np.quantile(errors, [0.5, 0.9]))
    said = "Large points are means of equally many rows: on the diagonal, predictions are right on average."
    of_errors = f"Half of the predictions are within {half} of the truth, and nine of ten within {most}."
    return cards, [
        _figure("Predictions and calibration", both.svg("Predictions and calibration"), said),
        _figure("Residuals", residuals.svg("Residuals"), of_errors),
    ]


def _card(label: str, value: float | None, note: str, of_rows: Floats | None = None) -> str:
    """Return a score with what it is compared with; it may be the mean of a number of each row."""
    error = "" if of_rows is None else f" <i>&plusmn; {_short(_standard_error(of_rows))}</i>"
    value = float(of_rows.mean()) if value is None and of_rows is not None else value
    shown = "undefined" if value is None else _short(value)
    return f"<div><span>{label}</span><b>{shown}{error}</b><small>{note}</small></div>"


def _short(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 10 else f"{value:,.1f}" if abs(value) < 1e6 else f"{value:.4g}"


def _standard_error(values: Floats) -> float:
    return float(values.std()) / math.sqrt(len(values))


def _label(label: Any) -> str:
    return escape(f"{label:g}" if isinstance(label, float) else str(label))


def _figure(title: str, picture: str, caption: str) -> str:
    return f"<figure><h2>{title}</h2>{picture}<figcaption>{caption}</figcaption></figure>"


def _row(cells: Iterable[str], *, head: bool = False, kind: str = "") -> str:
    """Return the row of a table, whose first cell is its head, or all of whose cells are heads."""
    first, *others = cells
    rest = "".join(f"<th>{one}</th>" if head else one if one.startswith("<td") else f"<td>{one}</td>" for one in others)
    return f'<tr class="{kind}"><th>{first}</th>{rest}</tr>'


def _confusion(names: list[str], target: NDArray[Any], predicted: NDArray[Any]) -> str:
    n = len(names)
    counts = np.bincount(target * n + predicted, minlength=n * n).reshape(n, n)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    rows = [_row(["", *names], head=True)]
    for name, count, share in zip(names, counts.tolist(), shares.tolist(), strict=True):
        cells = (f'<td style="--share:{two:.2f}">{one:,}</td>' for one, two in zip(count, share, strict=True))
        rows.append(_row([name, *cells]))
    kind = "confusion small" if n > MANY_CLASSES else "confusion"
    table = f'<div class="wide"><table class="{kind}">{"".join(rows)}</table></div>'
    return _figure("Confusion matrix", table, "Rows are the true classes, columns the predicted ones.")


def _columns_table(columns: Sequence[ColumnSummary], importances: Sequence[Importance]) -> str:
    """Return the rows of a table of columns, in the order of their importance."""
    known = {one.column: one for one in importances}
    largest = max((one.mean for one in importances), default=0.0) or 1.0
    rows = []
    for one in sorted(columns, key=lambda one: -known[one.name].mean if one.name in known else math.inf)[:MAX_SHOWN]:
        bar = ""
        if one.name in known:
            _, mean, deviation = known[one.name]
            bar = f'<div class="bar" style="--share:{max(0.0, mean) / largest:.3f}"></div>'
            bar += f"{round(mean, 3) + 0.0:.3f} <i>&plusmn; {deviation:.3f}</i>"
        missing = f"{one.missing:,}" if one.missing else ""
        rows.append(_row([escape(one.name), bar, escape(one.holds), missing, escape(one.values)]))
    rest = len(columns) - MAX_SHOWN
    return "\n".join(rows) + (_row([f"and {rest:,} more"]) if rest > 0 else "")


def _chosen(estimator: BaseTableModel) -> str:
    """Return what was chosen, and the best candidates that it was compared with."""
    lines = [line.partition(": ") for line in estimator.explain().splitlines()]
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(said)}</dd>" for name, _, said in lines if said)
    stages = list(STAGES)
    compared = sorted(estimator.selection_, key=lambda one: (-stages.index(one.stage), one.loss))
    if len(compared) < 2:
        return f"<dl>{items}</dl><p>{escape(lines[-1][0])}</p>"
    rows = [_row(("compared", "scaling", "relevance", "p", "loss on rows that were left out"), head=True)]
    for one in compared[:MAX_CANDIDATES]:
        cells = STAGES[one.stage], one.scale or "none", relevance_in_words(one), f"{one.p:g}"
        rows.append(_row((*cells, f"{one.loss:.4f} <i>&plusmn; {one.error:.4f}</i>"), kind="chosen" * one.chosen))
    rest = len(compared) - MAX_CANDIDATES
    rows += [_row([f"and {rest} more"])] if rest > 0 else []
    return f'<dl>{items}</dl><div class="wide"><table>{"".join(rows)}</table></div>'


class Plot:
    """A picture as SVG: two axes, and marks in the units of the data."""

    width, height, left, right, top, bottom = 360, 290, 50, 12, 10, 44

    def __init__(self, x: tuple[float, float], y: tuple[float, float], x_label: str, y_label: str) -> None:
        self._x, self._y = _Axis(*x, self.left, self.width - self.right), _Axis(*y, self.height - self.bottom, self.top)
        self._labels, self._marks = (x_label, y_label), list[str]()

    def line(self, xs: Iterable[float], ys: Iterable[float], kind: str) -> Plot:
        """Draw a line through points."""
        points = " ".join(f"{self._x.place(x)},{self._y.place(y)}" for x, y in zip(xs, ys, strict=True))
        self._marks.append(f'<polyline class="{kind}" points="{points}"/>')
        return self

    def points(self, xs: Iterable[float], ys: Iterable[float], kind: str, radius: float) -> Plot:
        """Draw points."""
        for x, y in zip(xs, ys, strict=True):
            place = f'cx="{self._x.place(x)}" cy="{self._y.place(y)}"'
            self._marks.append(f'<circle class="{kind}" r="{radius}" {place}/>')
        return self

    def means(self, x: Floats, y: Floats) -> Plot:
        """Draw the mean of y, with its standard error, in up to ten bins of equally many rows in the order of x."""
        bins = np.array_split(np.argsort(x, kind="stable"), min(10, max(1, len(x) // BIN_ROWS)))
        xs, ys = ([float(values[rows].mean()) for rows in bins] for values in (x, y))
        for rows, place, mean in zip(bins, xs, ys, strict=True):
            error = _standard_error(y[rows])
            self.line([place] * 2, np.clip([mean - error, mean + error], self._y.low, self._y.high), "whisker")
        return self.line(xs, ys, "curve c0").points(xs, ys, "mean", 4)

    def bars(self, edges: Floats, heights: NDArray[Any]) -> Plot:
        """Draw the bars of a histogram."""
        for first, last, height in zip(edges[:-1], edges[1:], heights, strict=True):
            left, top = self._x.place(first), self._y.place(height)
            size = f'width="{self._x.place(last) - left - 1:.1f}" height="{self._y.place(0) - top:.1f}"'
            self._marks.append(f'<rect class="fill" x="{left}" y="{top}" {size}/>')
        return self

    def svg(self, title: str) -> str:
        """Return the picture."""
        out = [f'<svg viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{title}">']
        base, right = self.height - self.bottom, self.width - self.right
        for tick, x in self._x.ticks():
            out.append(f'<path class="grid" d="M{x} {self.top}V{base}"/>{_svg_text(x, base + 16, tick)}')
        for tick, y in self._y.ticks():
            out.append(
                f'<path class="grid" d="M{self.left} {y}H{right}"/>{_svg_text(self.left - 7, y + 4, tick, "end")}'
            )
        out.append(_svg_text((self.left + right) / 2, self.height - 8, self._labels[0]))
        turned = f'<g transform="translate(13 {(self.top + base) / 2}) rotate(-90)">'
        return "".join([*out, turned, _svg_text(0, 0, self._labels[1]), "</g>", *self._marks, "</svg>"])


def _svg_text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


class _Axis:
    """An axis from pixel `first` to pixel `last`, which begins and ends with the data."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        if low == high:
            low, high = low - 1, high + 1
        self.low, self.high, self._first, self._last = float(low), float(high), first, last

    def place(self, value: float) -> float:
        return round(self._first + (value - self.low) / (self.high - self.low) * (self._last - self._first), 1)

    def ticks(self) -> Iterator[tuple[str, float]]:
        """Yield some four to eight round numbers with their pixels."""
        span = self.high - self.low
        unit = 10.0 ** math.floor(math.log10(span))
        step = next(unit * one for one in (0.1, 0.2, 0.5, 1, 2) if span / (unit * one) <= 8)
        for number in range(math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9) + 1):
            tick = round(step * number, 12)
            yield (f"{tick:,.10g}" if abs(tick) < 1e7 else f"{tick:.3g}"), self.place(tick)
