"""Figure 14: GCWS combined with count-sketch on M-Noise1 and M-Image."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from statistics import fmean

from reproduction._grids import NETS, K, net_shown
from reproduction.charts import BY_K, Chart, against, figure
from reproduction.datasets import SHOWN
from reproduction.experiment import Experiment
from reproduction.experiments.one_epoch import POWERS
from reproduction.results import Results
from reproduction.settings import Settings, gcws
from reproduction.statements import Claim, pairs

DATASETS = ("m-noise1", "m-image")
REDUCTIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _one(name: str, k: int, L: int, m: int) -> Settings:
    return gcws(name, k=k, b=8, L=L, p=POWERS[name], m=m)


def _grid(quick: bool) -> list[Settings]:
    return [
        _one(name, k, L, m)
        for name in (DATASETS[:1] if quick else DATASETS)
        for L, _ in (NETS[1:2] if quick else NETS)
        for k in ((512,) if quick else K)
        for m in ((1, 8, 16, 64) if quick else REDUCTIONS)
    ]


def _charts(results: Results) -> Iterator[Chart]:
    for name in DATASETS:
        for L, H in NETS:
            lines = [
                line
                for k in K
                for line in against(results, f"k = {k}", "m", REDUCTIONS, partial(_one, name, k, L), BY_K[k])
            ]
            title = f"{SHOWN[name]}, p = {POWERS[name]:g}, b = 8: {net_shown((L, H))}"
            yield Chart(title, tuple(lines), x_label="m, after one epoch", log_x=True)


def _losses(results: Results, m: int) -> dict[int, list[float]]:
    """What m instead of 1 loses, for each k."""
    settings = [(_one(name, k, L, m), _one(name, k, L, 1)) for name in DATASETS for L, _ in NETS for k in K]
    losses: dict[int, list[float]] = {}
    for reduced, full in pairs(results, settings):
        losses.setdefault(full.settings["k"], []).append(full.accuracy - reduced.accuracy)
    return losses


def _no_loss(m: int) -> Claim:
    def check(results: Results) -> tuple[bool, str]:
        losses = _losses(results, m)
        mean = fmean(chain(*losses.values()))
        told = ", ".join(f"{fmean(some):.1f} with k = {k}" for k, some in losses.items())
        return mean <= 2, f"m = {m} loses {mean:.1f} points on average ({told})"

    return Claim(
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
    _grid,
    lambda results: figure(_charts(results)),
    (
        _no_loss(8),
        _no_loss(16),
        Claim(
            "With b = 8 a saving by an order of magnitude is to be expected, but not by more.",
            "m = 256 loses more than m = 8, on average",
            _eight_bits_of_more,
        ),
    ),
    note="The paper does not say what its six panels differ in: the nets L = 1, 2 and 3 here, with b = 8 and H = 200.",
)
