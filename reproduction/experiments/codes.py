"""Figure 11: bits of t* in addition to those of i*, on M-Noise1 and M-Image."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reproduction._grids import NETS, B, K, net_shown
from reproduction.charts import BY_NUMBER, Chart, against, figure
from reproduction.datasets import SHOWN
from reproduction.experiment import Experiment
from reproduction.experiments.one_epoch import POWERS
from reproduction.results import Results
from reproduction.settings import Settings, gcws
from reproduction.statements import Claim, pairs

DATASETS = ("m-noise1", "m-image")
T_BITS = (0, 1, 2)
DASHES = {0: "-", 1: "--", 2: "-."}


def _grid(quick: bool) -> list[Settings]:
    return [
        gcws(name, k=k, b=b, L=L, H=H, p=POWERS[name], t_bits=t)
        for name in (DATASETS[:1] if quick else DATASETS)
        for L, H in (NETS[1:2] if quick else NETS)
        for b in ((1, 8) if quick else B)
        for k in ((256,) if quick else K)
        for t in T_BITS
    ]


def _charts(results: Results) -> Iterator[Chart]:
    for name in DATASETS:
        for L, H in NETS:
            lines = [
                line
                for b, style in zip(B, BY_NUMBER, strict=False)
                for t in T_BITS
                for line in against(
                    results,
                    f"b = {b}, {t} of t*",
                    "k",
                    K,
                    partial(gcws, name, b=b, L=L, H=H, p=POWERS[name], t_bits=t),
                    style._replace(dashes=DASHES[t]),
                )
            ]
            title = f"{SHOWN[name]}, p = {POWERS[name]:g}: {net_shown((L, H))}"
            yield Chart(title, tuple(lines), x_label="k, after one epoch", log_x=True)


def _gain(results: Results, bits: tuple[int, ...], more: int, less: int) -> float:
    """By how many points more bits of t* are better, on average over datasets, k and L."""
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
    gains = [a.accuracy - b.accuracy for a, b in pairs(results, settings)]
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
    _grid,
    lambda results: figure(_charts(results)),
    (
        Claim(
            "Adding 1 bit of t* indeed helps slightly when only b = 1 or b = 2 bits are used for i*.",
            "1 bit of t* with b = 1 and b = 2: more than 0.3 points better on average",
            _helps_few_bits,
        ),
        Claim(
            "Using 2 bits for t* does not lead to further improvements.",
            "2 bits instead of 1: less than 0.5 points better on average",
            _second_bit,
        ),
        Claim(
            "With b = 4 or b = 8 bits for i*, adding 1 bit of t* does not help in a noticeable manner.",
            "1 bit of t* with b = 4 and b = 8: within 0.5 points on average",
            _helps_many_bits,
        ),
    ),
    note="0 bits of t* are solid, 1 bit dashed and 2 bits dash-dotted, as in the paper. The paper does not say what "
    "its six panels differ in: the nets L = 1, 2 and 3 here, H = 200, after one epoch.",
)
