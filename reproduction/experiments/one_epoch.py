"""Figures 8 to 10, and remarks in sections 1.1 and 2: nets after one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reproduction.charts import BY_NUMBER, ORIGINAL, Chart, Figure, Style, accuracy_against, accuracy_series, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import NETS, B, Experiment, K, curves, gcws_and_original_grid, net_label
from reproduction.results import Results
from reproduction.settings import RATE, Settings, gcws, original
from reproduction.statements import Statement, always_better, completed, completed_pairs, required, span, tally

POWERS = {"dailysports": 1.0, "m-noise1": 80.0, "m-image": 50.0}
"""The p of the paper, as suggested by its Table 1."""


def _experiment(name: str, place: str) -> Experiment:
    p, dataset = POWERS[name], DISPLAY_NAMES[name]

    def grid(quick: bool) -> list[Settings]:
        if quick:
            return gcws_and_original_grid(name, p=p, epochs=1, k=(64, 256), b=(1, 8), nets=NETS[:2])
        return gcws_and_original_grid(name, p=p, epochs=1)

    def charts(results: Results) -> Iterator[Chart]:
        for L, H in NETS:
            series = [
                one
                for b, style in zip(B, BY_NUMBER, strict=False)
                for one in accuracy_against(results, f"b = {b}", "k", K, partial(gcws, name, b=b, L=L, H=H, p=p), style)
            ]
            title = f"{dataset}, p = {p:g}: {net_label((L, H))}"
            yield Chart(title, tuple(series), x_label="k, after one epoch", log_x=True)
        yield from curves(
            results, name, p=p, epochs=1, panels=[(8, net) for net in NETS], title=f"{dataset}, p = {p:g}"
        )

    def draw(results: Results) -> Figure:
        return figure(charts(results))

    def faster(results: Results) -> tuple[bool, str]:
        settings = [(gcws(name, k=k, b=8, L=L, p=p), original(name, L=L)) for L, _ in NETS for k in K]
        return always_better(completed_pairs(results, settings))

    def more_bits(results: Results) -> tuple[bool, str]:
        settings = [(gcws(name, k=k, b=8, L=L, p=p), gcws(name, k=k, b=1, L=L, p=p)) for L, _ in NETS for k in K]
        return always_better(completed_pairs(results, settings))

    def early(results: Results) -> tuple[bool, str]:
        found = completed(results, [gcws(name, k=k, b=8, L=L, p=p) for L, _ in NETS for k in K])
        shares = [100 * outcome.at(0.5) / outcome.at(1) for outcome in found]
        enough = [share >= 85 for share in shares]
        numbers = f"half an epoch gives {span(shares)}% of the accuracy after one epoch"
        return all(enough), f"{tally(enough)} cases; {numbers}"

    return Experiment(
        name,
        place,
        f"GCWSNet with p = {p:g} on {dataset}, one epoch",
        (name,),
        grid,
        draw,
        (
            Statement(
                "GCWSNet converges much faster than training on the original data.",
                "after one epoch, GCWSNet with b = 8 is better than the same net on the original data, for all k and L",
                faster,
            ),
            Statement(
                "A large b is recommended.",
                "after one epoch, b = 8 is better than b = 1 for all k and L",
                more_bits,
            ),
            Statement(
                "GCWS typically reaches a reasonable accuracy in less than one epoch.",
                "b = 8: half an epoch gives at least 85% of the accuracy after one epoch, for all k and L",
                early,
            ),
        ),
        note="The paper does not say what its six panels differ in. Here the upper three show the accuracy after one "
        "epoch against k, and the lower three the way there with b = 8; H = 200.",
    )


DAILYSPORTS = _experiment("dailysports", "Figure 8")
M_NOISE1 = _experiment("m-noise1", "Figure 9")
M_IMAGE = _experiment("m-image", "Figure 10")


LEVELS = tuple(range(1, 7))
NOISE_SETS = tuple(f"m-noise{level}" for level in LEVELS)


def _powered(name: str) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=80)


def _plain(name: str) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=1)


def _original(name: str) -> Settings:
    return original(name, L=2)


def _noise_grid(quick: bool) -> list[Settings]:
    return [way(name) for name in (NOISE_SETS[::5] if quick else NOISE_SETS) for way in (_powered, _plain, _original)]


def _noise_charts(results: Results) -> Iterator[Chart]:
    ways = (
        ("GCWS, p = 80", _powered, Style("-", "D", 0.0)),
        ("GCWS, p = 1", _plain, Style("-", "o", 0.5)),
        ("original data", _original, ORIGINAL),
    )
    series = [
        one
        for label, way, style in ways
        for one in accuracy_series(
            label, [(level, results.get(way(name))) for level, name in zip(LEVELS, NOISE_SETS, strict=True)], style
        )
    ]
    yield Chart(
        "M-Noise1 to M-Noise6: k = 512, b = 8, L = 2", tuple(series), x_label="number of the set, after one epoch"
    )


def _alike(results: Results) -> tuple[bool, str]:
    gains = [
        powered.accuracy - plain.accuracy
        for powered, plain in completed_pairs(results, [(_powered(name), _plain(name)) for name in NOISE_SETS])
    ]
    return all(gain > 1 for gain in gains), f"p = 80 gains {span(gains)} points over p = 1 on {len(gains)} sets"


def _better(results: Results) -> tuple[bool, str]:
    gains = [
        ours.accuracy - theirs.accuracy
        for ours, theirs in completed_pairs(results, [(_powered(name), _original(name)) for name in NOISE_SETS])
    ]
    return all(gain > 0 for gain in gains), f"better by {span(gains)} points on {len(gains)} sets"


SECTION_1 = Experiment(
    "m-noise-levels",
    "Section 1.1",
    "M-Noise1 to M-Noise6 in one epoch",
    NOISE_SETS,
    _noise_grid,
    lambda results: figure(_noise_charts(results)),
    (
        Statement(
            "M-Noise2, ..., M-Noise6 exhibit similar behaviors as M-Noise1: a large p helps.",
            "p = 80 is better than p = 1 by more than 1 point on all sets, with k = 512, b = 8 and L = 2",
            _alike,
        ),
        Statement(
            "GCWSNet often improves the classification accuracy.",
            "p = 80 is better than the same net on the original data on all sets, after one epoch",
            _better,
        ),
    ),
    note="Not a figure of the paper, which only says so.",
)


RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
RATE_POWERS = {"dailysports": 1.0, "pendigits": 2.0}
RATE_NETS = (1, 2)


def _with_rate(name: str, L: int, rate: float) -> Settings:
    return gcws(name, k=256, b=8, L=L, p=RATE_POWERS[name], rate=rate)


def _rate_grid(quick: bool) -> list[Settings]:
    rates = RATES[::2] if quick else RATES
    return [
        _with_rate(name, L, rate)
        for name in RATE_POWERS
        for L in (RATE_NETS[1:] if quick else RATE_NETS)
        for rate in rates
    ]


def _rate_charts(results: Results) -> Iterator[Chart]:
    for name, p in RATE_POWERS.items():
        series = [
            one
            for L, style in zip(RATE_NETS, BY_NUMBER, strict=False)
            for one in accuracy_against(results, f"L = {L}", "rate", RATES, partial(_with_rate, name, L), style)
        ]
        title = f"{DISPLAY_NAMES[name]}, p = {p:g}, k = 256, b = 8"
        yield Chart(title, tuple(series), x_label="learning rate, one epoch", log_x=True)


def _no_better(results: Results) -> tuple[bool, str]:
    numbers, holds = [], []
    for name in RATE_POWERS:
        reference = required(results, _with_rate(name, 2, RATE)).accuracy
        others = {rate: o.accuracy for rate in RATES if (o := results.get(_with_rate(name, 2, rate))) is not None}
        best = max(others, key=lambda rate: others[rate])
        holds.append(others[best] <= reference + 1)
        numbers.append(f"{DISPLAY_NAMES[name]}: {reference:.1f}% with 0.001, {others[best]:.1f}% with {best:g}")
    return all(holds), "; ".join(numbers)


SECTION_2 = Experiment(
    "learning-rates",
    "Section 2",
    "Learning rates, one epoch",
    tuple(RATE_POWERS),
    _rate_grid,
    lambda results: figure(_rate_charts(results), columns=2),
    (
        Statement(
            "Learning rates other than 0.001 gave either similar or worse results.",
            "L = 2, after one epoch: no other rate is better by more than 1 point",
            _no_better,
        ),
    ),
    note="Not a figure of the paper, which only says so.",
)
