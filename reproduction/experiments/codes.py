"""Figures 11 and 14: codes with bits of t*, and codes with count-sketch, on M-Noise1 and M-Image; and 8 bits always."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from reproduction.charts import BY_NUMBER, Chart, Points, Series, against
from reproduction.experiment import BY_K, NETS, B, Experiment, K, net_label
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Results
from reproduction.rules import MUCH, NOTICEABLE, OBVIOUS
from reproduction.settings import Settings, gcws
from reproduction.statements import Pair, Statement, at_most, better, gain

POWERS = {"m-noise1": 80.0, "m-image": 50.0}
T_BITS = (0, 1, 2)
PANELS = [(name, net) for name in POWERS for net in NETS]


def _run(name: str, L: int, k: int, b: int = 8, m: int = 1, t: int = 0) -> Settings:
    return gcws(name, k=k, b=b, L=L, p=POWERS[name], t_bits=t, m=m)


def _gains(name: str, L: int, b: int, t: int) -> Callable[[Results], Points | None]:
    """Return the points that t bits of t* add to the accuracy, against k."""

    def points(results: Results) -> Points | None:
        pairs = [(k, results.get(_run(name, L, k, b, t=t)), results.get(_run(name, L, k, b))) for k in K]
        done = [(float(k), more.accuracy - none.accuracy) for k, more, none in pairs if more and none]
        return Points(*map(tuple, zip(*done, strict=True))) if done else None

    return points


def _t_bits(bits: tuple[int, ...], more: int, less: int) -> list[Pair]:
    return [
        (_run(name, L, k, b, t=more), _run(name, L, k, b, t=less)) for name, (L, _) in PANELS for b in bits for k in K
    ]


FIGURE_11 = Experiment(
    "t-bits",
    "Figure 11",
    "0, 1 and 2 bits of t* on M-Noise1 and M-Image",
    [_run(name, L, k, b, t=t) for name, (L, _) in PANELS for b in B for k in K for t in T_BITS],
    [
        Chart(
            f"{DISPLAY_NAMES[name]}: {net_label((L, H))}",
            tuple(
                Series(f"b = {b}, {t} bit{'s' * (t > 1)} of t*", style._replace(line=line), _gains(name, L, b, t))
                for b, style in zip(B, BY_NUMBER, strict=False)
                for t, line in ((1, "-"), (2, "--"))
            ),
            "k, after one epoch",
            "points more than without t*",
            log_x=True,
        )
        for name, (L, H) in PANELS
    ],
    (
        better(
            "Adding 1 bit of t* indeed helps slightly when only b = 1 or b = 2 bits are used for i*.",
            "b = 1 and 2: better with 1 bit of t*; both datasets, all k and L",
            _t_bits((1, 2), 1, 0),
        ),
        Statement(
            "Using 2 bits for t* does not lead to further improvements.",
            f"2 bits are better than 1 by at most {NOTICEABLE:g} points; both datasets, all b, k and L",
            _t_bits(B, 2, 1),
            gain,
            at_most(NOTICEABLE),
        ),
        Statement(
            "With b = 4 or b = 8 bits for i*, adding 1 bit of t* does not help in a noticeable manner.",
            f"b = 4 and 8: 1 bit of t* is better than none by at most {NOTICEABLE:g} points; both datasets, all k, L",
            _t_bits((4, 8), 1, 0),
            gain,
            at_most(NOTICEABLE),
        ),
    ),
    note="The paper draws accuracies. Here these lie on top of each other, so the gains over 0 bits of t* are drawn. "
    "The paper does not say what its six panels differ in: the nets L = 1, 2 and 3 here, H = 200, after one epoch.",
)


REDUCTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _sketched(name: str, L: int, k: int, m: int) -> Settings:
    return _run(name, L, k, m=m)


def _losses(results: Results) -> str:
    """Return the largest losses with m = 16."""
    found = []
    for k in (K[0], K[-1]):
        pairs = [[results.get(_sketched(name, L, k, m)) for m in (1, 16)] for name, (L, _) in PANELS]
        lost = [one.accuracy - other.accuracy for one, other in pairs if one and other]
        if len(lost) < len(PANELS):
            return ""
        found.append(f"at most {max(lost):.1f} points with k = {k}")
    return f"m = 16 costs {' and '.join(found)}."


FIGURE_14 = Experiment(
    "count-sketch",
    "Figure 14",
    "GCWS combined with count-sketch on M-Noise1 and M-Image",
    [_sketched(name, L, k, m) for name, (L, _) in PANELS for k in K for m in REDUCTIONS],
    [
        Chart(
            f"{DISPLAY_NAMES[name]}: {net_label((L, H))}",
            tuple(Series(f"k = {k}", BY_K[k], against(REDUCTIONS, partial(_sketched, name, L, k))) for k in K),
            "m, after one epoch",
            log_x=True,
        )
        for name, (L, H) in PANELS
    ],
    (
        better(
            "When m <= 16, we do not see an obvious drop of accuracy, compared with m = 1.",
            f"m = 2, 4, 8 and 16 cost less than {OBVIOUS:g} points, compared with m = 1; both datasets, all k and L",
            [
                (_sketched(name, L, k, m), _sketched(name, L, k, 1))
                for name, (L, _) in PANELS
                for k in K
                for m in REDUCTIONS[1:5]
            ],
            -OBVIOUS,
        ),
    ),
    result=_losses,
    note="By Theorem 4 the variance that count-sketch adds falls as 1 / k. The paper does not say what its six panels "
    "differ in: the nets L = 1, 2 and 3 here, with b = 8 and H = 200.",
)


WHOLE = 10
"""The bits that hold any i* of these rows, which have 784 columns and no negative entries: more give the same codes."""
EIGHT_BITS = {WHOLE: 1, 8: 1, 12: 16, 16: 256}
"""For b bits of i* the reduction m: each hash has 2^8 bins, or without count-sketch as many as it needs."""


def _eight(name: str, L: int, b: int, k: int) -> Settings:
    return _run(name, L, k, b, EIGHT_BITS[b])


SECTION_4 = Experiment(
    "eight-bits",
    "Section 4",
    "Always 8 bits: count-sketch with 2^8 bins for each hash, on M-Noise1 and M-Image",
    [_eight(name, L, b, k) for name, (L, _) in PANELS for k in K for b in EIGHT_BITS],
    [
        Chart(
            f"{DISPLAY_NAMES[name]}: {net_label((L, H))}",
            tuple(
                Series(f"b = {b}, m = {m}", style, against(K, partial(_eight, name, L, b)))
                for (b, m), style in zip(EIGHT_BITS.items(), BY_NUMBER, strict=False)
            ),
            "k, after one epoch",
            log_x=True,
        )
        for name, (L, H) in PANELS
    ],
    (
        better(
            "We can always apply an 8-bit count-sketch on the output of GCWS without hurting the accuracy much.",
            f"b = 12 and 16 with 2^8 bins for each hash cost less than {MUCH:g} points, compared with the same codes "
            "without count-sketch; both datasets, all k and L",
            [
                (_eight(name, L, b, k), _eight(name, L, WHOLE, k))
                for name, (L, _) in PANELS
                for k in K
                for b in (12, 16)
            ],
            -MUCH,
        ),
    ),
    note="Not a figure of the paper, which recommends it by its analysis. The i* of these rows have at most 10 bits, "
    "so 12 and 16 bits are the same codes, with count-sketches of their own. Rows with more columns were not tried.",
)
