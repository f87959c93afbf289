"""A remark in section 2: other learning rates than 0.001 are no better."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reproduction.charts import BY_NUMBER, Chart, against, figure
from reproduction.datasets import SHOWN
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.settings import RATE, Settings, gcws
from reproduction.statements import Claim, needed

RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
POWERS = {"dailysports": 1.0, "pendigits": 2.0}
NETS = (1, 2)


def _one(name: str, L: int, rate: float) -> Settings:
    return gcws(name, k=256, b=8, L=L, p=POWERS[name], rate=rate)


def _grid(quick: bool) -> list[Settings]:
    rates = RATES[::2] if quick else RATES
    return [_one(name, L, rate) for name in POWERS for L in (NETS[1:] if quick else NETS) for rate in rates]


def _charts(results: Results) -> Iterator[Chart]:
    for name, p in POWERS.items():
        lines = [
            line
            for L, style in zip(NETS, BY_NUMBER, strict=False)
            for line in against(results, f"L = {L}", "rate", RATES, partial(_one, name, L), style)
        ]
        title = f"{SHOWN[name]}, p = {p:g}, k = 256, b = 8"
        yield Chart(title, tuple(lines), x_label="learning rate, one epoch", log_x=True)


def _no_better(results: Results) -> tuple[bool, str]:
    told, holds = [], []
    for name in POWERS:
        reference = needed(results, _one(name, 2, RATE)).accuracy
        others = {rate: o.accuracy for rate in RATES if (o := results.get(_one(name, 2, rate))) is not None}
        best = max(others, key=lambda rate: others[rate])
        holds.append(others[best] <= reference + 1)
        told.append(f"{SHOWN[name]}: {reference:.1f}% with 0.001, {others[best]:.1f}% with {best:g}")
    return all(holds), "; ".join(told)


SECTION_2 = Experiment(
    "learning-rates",
    "Section 2",
    "Learning rates, one epoch",
    tuple(POWERS),
    _grid,
    lambda results: figure(_charts(results), columns=2),
    (
        Claim(
            "Learning rates other than 0.001 gave either similar or worse results.",
            "L = 2, after one epoch: no other rate is better by more than 1 point",
            _no_better,
        ),
    ),
    note="Not a figure of the paper, which only says so.",
)
