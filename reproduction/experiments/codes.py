"""Figures 11 and 14: codes with bits of t*, and codes with count-sketch, on M-Noise1 and M-Image."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from statistics import fmean

from reproduction.charts import BY_K, BY_NUMBER, Chart, accuracy_against, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import NETS, B, Experiment, K, net_label
from reproduction.experiments.one_epoch import POWERS
from reproduction.results import Results
from reproduction.settings import Settings, gcws
from reproduction.statements import Statement, completed_pairs

DATASETS = ("m-noise1", "m-image")
T_BITS = (0, 1, 2)
DASHES = {0: "-", 1: "--", 2: "-."}


def _t_bits_grid(quick: bool) -> list[Settings]:
    return [
        gcws(name, k=k, b=b, L=L, H=H, p=POWERS[name], t_bits=t)
        for name in (DATASETS[:1] if quick else DATASETS)
        for L, H in (NETS[1:2] if quick else NETS)
        for b in ((1, 8) if quick else B)
        for k in ((256,) if quick else K)
        for t in T_BITS
    ]


def _t_bits_charts(results: Results) -> Iterator[Chart]:
    for name in DATASETS:
        for L, H in NETS:
            series = [
                one
                for b, style in zip(B, BY_NUMBER, strict=False)
                for t in T_BITS
                for one in accuracy_against(
                    results,
                    f"b = {b}, {t} of t*",
                    "k",
                    K,
                    partial(gcws, name, b=b, L=L, H=H, p=POWERS[name], t_bits=t),
                    style._replace(dashes=DASHES[t]),
                )
            ]
            title = f"{DISPLAY_NAMES[name]}, p = {POWERS[name]:g}: {net_label((L, H))}"
            yield Chart(title, tuple(series), x_label="k, after one epoch", log_x=True)


def _gain(results: Results, bits: tuple[int, ...], more: int, less: int) -> float:
    """Return by how many points more bits of t* are better, on average over datasets, k and L."""
    settings = [
        (
            gcws(name, k=k, b=b, L=L, H=H, p=POWERS[name], t_bits=more),
            gcws(name, k=k, b=b, L=L, H=H, p=POWERS[name], t_bits=less),
        )
        for name in DATASETS
        for L, H in NETS
        for b in bits
        for k in K
    ]
    gains = [a.accuracy - b.accuracy for a, b in completed_pairs(results, settings)]
    return sum(gains) / len(gains)


def _helps_few_bits(results: Results) -> tuple[bool, str]:
    gain = _gain(results, (1, 2), 1, 0)
    return gain > 0.3, f"{gain:+.2f} points on average with b = 1 and b = 2"


def _second_bit(results: Results) -> tuple[bool, str]:
    gain = _gain(results, B, 2, 1)
    return gain < 0.5, f"{gain:+.2f} points on average from 1 to 2 bits of t*"


def _helps_many_bits(results: Results) -> tuple[bool, str]:
    gain = _gain(results, (4, 8), 1, 0)
    return abs(gain) < 0.5, f"{gain:+.2f} points on average with b = 4 and b = 8"


FIGURE_11 = Experiment(
    "t-bits",
    "Figure 11",
    "0, 1 and 2 bits of t* on M-Noise1 and M-Image",
    DATASETS,
    _t_bits_grid,
    lambda results: figure(_t_bits_charts(results)),
    (
        Statement(
            "Adding 1 bit of t* indeed helps slightly when only b = 1 or b = 2 bits are used for i*.",
            "1 bit of t* with b = 1 and b = 2: more than 0.3 points better on average",
            _helps_few_bits,
        ),
        Statement(
            "Using 2 bits for t* does not lead to further improvements.",
            "2 bits instead of 1: less than 0.5 points better on average",
            _second_bit,
        ),
        Statement(
            "With b = 4 or b = 8 bits for i*, adding 1 bit of t* does not help in a noticeable manner.",
            "1 bit of t* with b = 4 and b = 8: within 0.5 points on average",
            _helps_many_bits,
        ),
    ),
    note="0 bits of t* are solid, 1 bit dashed and 2 bits dash-dotted, as in the paper. The paper does not say what "
    "its six panels differ in: the nets L = 1, 2 and 3 here, H = 200, after one epoch.",
)


REDUCTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _sketched(name: str, k: int, L: int, m: int) -> Settings:
    return gcws(name, k=k, b=8, L=L, p=POWERS[name], m=m)


def _sketch_grid(quick: bool) -> list[Settings]:
    return [
        _sketched(name, k, L, m)
        for name in (DATASETS[:1] if quick else DATASETS)
        for L, _ in (NETS[1:2] if quick else NETS)
        for k in ((512,) if quick else K)
        for m in ((1, 8, 16, 64) if quick else REDUCTIONS)
    ]


def _sketch_charts(results: Results) -> Iterator[Chart]:
    for name in DATASETS:
        for L, H in NETS:
            series = [
                one
                for k in K
                for one in accuracy_against(
                    results, f"k = {k}", "m", REDUCTIONS, partial(_sketched, name, k, L), BY_K[k]
                )
            ]
            title = f"{DISPLAY_NAMES[name]}, p = {POWERS[name]:g}, b = 8: {net_label((L, H))}"
            yield Chart(title, tuple(series), x_label="m, after one epoch", log_x=True)


def _losses(results: Results, m: int) -> dict[int, list[float]]:
    """Return the points that m instead of 1 loses, for each k."""
    settings = [(_sketched(name, k, L, m), _sketched(name, k, L, 1)) for name in DATASETS for L, _ in NETS for k in K]
    losses: dict[int, list[float]] = {}
    for reduced, full in completed_pairs(results, settings):
        losses.setdefault(full.settings["k"], []).append(full.accuracy - reduced.accuracy)
    return losses


def _no_loss(m: int) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        losses = _losses(results, m)
        mean = fmean(chain(*losses.values()))
        numbers = ", ".join(f"{fmean(some):.1f} with k = {k}" for k, some in losses.items())
        return mean <= 2, f"m = {m} loses {mean:.1f} points on average ({numbers})"

    return Statement(
        f"With m = {m} there is no obvious loss of accuracy.",
        f"m = {m} instead of m = 1 costs at most 2 points on average over datasets, k and L",
        check,
    )


def _eight_bits_of_more(results: Results) -> tuple[bool, str]:
    small, large = (fmean(chain(*_losses(results, m).values())) for m in (8, 256))
    return large > small, f"m = 8 loses {small:.1f} points, m = 256 loses {large:.1f}"


FIGURE_14 = Experiment(
    "count-sketch",
    "Figure 14",
    "GCWS combined with count-sketch on M-Noise1 and M-Image",
    DATASETS,
    _sketch_grid,
    lambda results: figure(_sketch_charts(results)),
    (
        _no_loss(8),
        _no_loss(16),
        Statement(
            "With b = 8 a saving by an order of magnitude is to be expected, but not by more.",
            "m = 256 loses more than m = 8, on average",
            _eight_bits_of_more,
        ),
    ),
    note="The paper does not say what its six panels differ in: the nets L = 1, 2 and 3 here, with b = 8 and H = 200.",
)
