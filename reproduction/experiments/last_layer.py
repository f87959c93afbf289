"""Figure 17: GCWS on the last layer of a net while it is trained, on DailySports."""

from __future__ import annotations

from collections.abc import Iterator

from reproduction.charts import ORIGINAL, Chart, Series, Style, figure
from reproduction.experiment import (
    LAST_LAYER_GCWS,
    LAST_LAYER_NET,
    Comparison,
    Experiment,
    compare_accuracy,
    not_compared,
)
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, last_layer
from reproduction.statements import Statement, completed

NAME = "dailysports"
UNITS = (200, 400)
EVERY, EVERY_QUICK = 1, 16


def _grid(quick: bool) -> list[Settings]:
    units = UNITS[:1] if quick else UNITS
    return [last_layer(NAME, k=256, b=8, H=H, every=EVERY_QUICK if quick else EVERY) for H in units]


def _done(results: Results, H: int) -> Outcome | None:
    """Return the run with the most points on its curve."""
    found = (results.get(last_layer(NAME, k=256, b=8, H=H, every=every)) for every in (EVERY, EVERY_QUICK))
    return next((outcome for outcome in found if outcome is not None), None)


def _charts(results: Results) -> Iterator[Chart]:
    for H in UNITS:
        outcome = _done(results, H)
        if outcome is not None:
            curve = outcome.result["curve"]
            x = tuple(curve["epoch"])
            series = (
                Series("GCWS on the hidden layer", x, tuple(curve["gcws"]), Style("-", "", 0.0)),
                Series("the net itself", x, tuple(curve["net"]), ORIGINAL),
            )
            yield Chart(f"DailySports: L = 2, H = {H}, k = 256, b = 8", series)


def _compare(results: Results) -> list[Comparison]:
    rows = []
    for H in UNITS:
        outcome = _done(results, H)
        for fact, way in ((LAST_LAYER_NET, "net"), (LAST_LAYER_GCWS, "gcws")):
            what = f"{fact.place}, H = {H}"
            if outcome is None:
                rows.append(not_compared(what, fact.value, NAME))
            else:
                first = outcome.result["curve"][way][0]
                rows.append(compare_accuracy(what, fact.value, first, outcome.origin))
    return rows


def _outcomes(results: Results) -> list[Outcome]:
    every = [last_layer(NAME, k=256, b=8, H=H, every=some) for H in UNITS for some in (EVERY, EVERY_QUICK)]
    return completed(results, every)


def _drastically_at_first(results: Results) -> tuple[bool, str]:
    first = [(o.settings["H"], o.result["curve"]["net"][0], o.result["curve"]["gcws"][0]) for o in _outcomes(results)]
    numbers = "; ".join(f"H = {H}: from {net:.0f}% to {gcws:.0f}%" for H, net, gcws in first)
    return all(gcws >= net + 30 for _, net, gcws in first), f"after the first batch, {numbers}"


def _always(results: Results) -> tuple[bool, str]:
    shares = []
    for outcome in _outcomes(results):
        curve = outcome.result["curve"]
        better = [gcws > net for gcws, net in zip(curve["gcws"], curve["net"], strict=True)]
        shares.append(100 * sum(better) / len(better))
    return min(shares) >= 95, f"better after {min(shares):.0f}% of the batches"


FIGURE_17 = Experiment(
    "last-layer",
    "Figure 17",
    "GCWS on the output of the last hidden layer, DailySports",
    (NAME,),
    _grid,
    lambda results: figure(_charts(results), columns=2),
    (
        Statement(
            "GCWS drastically improves the test accuracy at the beginning of the training, for example from 20% to 70% "
            "after the first batch.",
            "after the first batch GCWS is better by at least 30 points",
            _drastically_at_first,
        ),
        Statement(
            "GCWS improves the entire history of the training.",
            "GCWS is better after at least 95% of the batches of the first epoch",
            _always,
        ),
    ),
    _compare,
    "After each batch a new logistic regression learns from the codes of all rows for training, in one epoch. The "
    "paper does not say how its logistic regression is trained.",
)
