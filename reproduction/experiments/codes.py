"""Figures 11 and 14: codes with bits of t*, and codes with count-sketch, on M-Noise1 and M-Image; and 8 bits always."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from statistics import fmean

from reproduction.charts import BY_K, BY_NUMBER, Chart, accuracy_against, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import NETS, B, Experiment, K, net_label
from reproduction.experiments.one_epoch import POWERS
from reproduction.results import Results
from reproduction.settings import Settings, gcws
from reproduction.statements import NO_LOSS, SIMILAR, Case, Statement, all_pairs_done, better

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


def _gains(results: Results, bits: tuple[int, ...], more: int, less: int) -> list[Case]:
    """Return for each dataset, b and L by how many points more bits of t* are better, on average over k."""
    cases = []
    for name in DATASETS:
        for b in bits:
            for L, H in NETS:
                runs = [[gcws(name, k=k, b=b, L=L, H=H, p=POWERS[name], t_bits=t) for t in (more, less)] for k in K]
                pairs = all_pairs_done(results, [(one, other) for one, other in runs])
                gain = fmean(one.accuracy - other.accuracy for one, other in pairs)
                cases.append(Case(f"b = {b}, {net_label((L, H))}", gain, True, tuple(chain(*pairs))))
    return cases


def _helps_few_bits(results: Results) -> list[Case]:
    return [replace(case, holds=case.value > 0) for case in _gains(results, (1, 2), 1, 0)]


def _second_bit(results: Results) -> list[Case]:
    return [replace(case, holds=case.value <= SIMILAR) for case in _gains(results, B, 2, 1)]


def _many_bits(results: Results) -> list[Case]:
    return [replace(case, holds=abs(case.value) <= SIMILAR) for case in _gains(results, (4, 8), 1, 0)]


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
            "b = 1 and 2: better with 1 bit of t*, on average over k; both datasets, all L",
            _helps_few_bits,
        ),
        Statement(
            "Using 2 bits for t* does not lead to further improvements.",
            f"2 bits are better than 1 by at most {SIMILAR:g} point, on average over k; both datasets, all b and L",
            _second_bit,
        ),
        Statement(
            "With b = 4 or b = 8 bits for i*, adding 1 bit of t* does not help in a noticeable manner.",
            f"b = 4 and 8: within {SIMILAR:g} point with 1 bit of t*, on average over k; both datasets, all L",
            _many_bits,
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


def _no_loss(m: int) -> Statement:
    def cases(results: Results) -> list[Case]:
        runs = [(_sketched(name, k, L, m), _sketched(name, k, L, 1)) for name in DATASETS for L, _ in NETS for k in K]
        return better(all_pairs_done(results, runs), by=-NO_LOSS)

    return Statement(
        f"With m = {m} there is no obvious loss of accuracy.",
        f"m = {m} costs less than {NO_LOSS:g} points, compared with m = 1; both datasets, all k and L",
        cases,
        why="The loss is that of few hashes: it shrinks as k grows, as Theorem 4 says it should, and is about 1 point "
        "for k = 512 and m = 16. What the paper would call obvious is not known.",
    )


FIGURE_14 = Experiment(
    "count-sketch",
    "Figure 14",
    "GCWS combined with count-sketch on M-Noise1 and M-Image",
    DATASETS,
    _sketch_grid,
    lambda results: figure(_sketch_charts(results)),
    (*map(_no_loss, (2, 4, 8, 16)),),
    note="The paper does not say what its six panels differ in: the nets L = 1, 2 and 3 here, with b = 8 and H = 200.",
)


EIGHT_BITS = {8: 1, 12: 16, 16: 256}
"""For b bits of i* the reduction m that leaves 2^8 bins for each hash."""


def _eight_bits(name: str, k: int, L: int, b: int) -> Settings:
    return gcws(name, k=k, b=b, L=L, p=POWERS[name], m=EIGHT_BITS[b])


def _eight_bits_grid(quick: bool) -> list[Settings]:
    return [
        _eight_bits(name, k, L, b)
        for name in (DATASETS[:1] if quick else DATASETS)
        for L, _ in (NETS[1:2] if quick else NETS)
        for k in ((512,) if quick else K)
        for b in EIGHT_BITS
    ]


def _eight_bits_charts(results: Results) -> Iterator[Chart]:
    for name in DATASETS:
        for L, H in NETS:
            series = [
                one
                for b, style in zip(EIGHT_BITS, BY_NUMBER, strict=False)
                for one in accuracy_against(
                    results, f"b = {b}, m = {EIGHT_BITS[b]}", "k", K, partial(_eight_bits, name, L=L, b=b), style
                )
            ]
            title = f"{DISPLAY_NAMES[name]}, p = {POWERS[name]:g}: {net_label((L, H))}"
            yield Chart(title, tuple(series), x_label="k, after one epoch", log_x=True)


def _eight_bits_lose_nothing(results: Results) -> list[Case]:
    runs = [
        (_eight_bits(name, k, L, b), _eight_bits(name, k, L, 8))
        for name in DATASETS
        for L, _ in NETS
        for k in K
        for b in (12, 16)
    ]
    return better(all_pairs_done(results, runs), by=-NO_LOSS)


SECTION_4 = Experiment(
    "eight-bits",
    "Section 4",
    "Always 8 bits: count-sketch with 2^8 bins for each hash, on M-Noise1 and M-Image",
    DATASETS,
    _eight_bits_grid,
    lambda results: figure(_eight_bits_charts(results)),
    (
        Statement(
            "We can always apply an 8-bit count-sketch on the output of GCWS without hurting the accuracy much.",
            f"b = 12 and 16 with 2^8 bins for each hash cost less than {NO_LOSS:g} points, compared with b = 8 and no "
            "count-sketch, whose model is as large; both datasets, all k and L",
            _eight_bits_lose_nothing,
            why="A count-sketch of 12 or 16 bits spreads all hashes over all bins, so that each bin sums parts of "
            "several hashes, with few hashes most of all; the low 8 bits of i* leave each hash its own bins.",
        ),
    ),
    note="Not a figure of the paper, which recommends it by its analysis. The largest i* of these rows has 11 bits. "
    "Without count-sketch the largest of these models would have 7 billion weights.",
)
