"""Figures 8, 9 and 10: DailySports, M-Noise1 and M-Image in one epoch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reproduction._grids import NETS, B, K, curves, net_shown, nets_on_hashes
from reproduction.charts import BY_NUMBER, Chart, Figure, against, figure
from reproduction.datasets import SHOWN
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import Claim, always_better, in_how_many, pairs, span, those_done

POWERS = {"dailysports": 1.0, "m-noise1": 80.0, "m-image": 50.0}
"""p of the paper, as suggested by its Table 1."""


def _experiment(name: str, place: str) -> Experiment:
    p, shown = POWERS[name], SHOWN[name]

    def grid(quick: bool) -> list[Settings]:
        if quick:
            return nets_on_hashes(name, p=p, epochs=1, k=(64, 256), b=(1, 8), nets=NETS[:2])
        return nets_on_hashes(name, p=p, epochs=1)

    def charts(results: Results) -> Iterator[Chart]:
        for L, H in NETS:
            lines = [
                line
                for b, style in zip(B, BY_NUMBER, strict=False)
                for line in against(results, f"b = {b}", "k", K, partial(gcws, name, b=b, L=L, H=H, p=p), style)
            ]
            title = f"{shown}, p = {p:g}: {net_shown((L, H))}"
            yield Chart(title, tuple(lines), x_label="k, after one epoch", log_x=True)
        yield from curves(results, name, p=p, epochs=1, panels=[(8, net) for net in NETS], title=f"{shown}, p = {p:g}")

    def draw(results: Results) -> Figure:
        return figure(charts(results))

    def faster(results: Results) -> tuple[bool, str]:
        settings = [(gcws(name, k=k, b=8, L=L, p=p), original(name, L=L)) for L, _ in NETS for k in K]
        return always_better(pairs(results, settings))

    def more_bits(results: Results) -> tuple[bool, str]:
        settings = [(gcws(name, k=k, b=8, L=L, p=p), gcws(name, k=k, b=1, L=L, p=p)) for L, _ in NETS for k in K]
        return always_better(pairs(results, settings))

    def early(results: Results) -> tuple[bool, str]:
        found = those_done(results, [gcws(name, k=k, b=8, L=L, p=p) for L, _ in NETS for k in K])
        shares = [100 * outcome.at(0.5) / outcome.at(1) for outcome in found]
        enough = [share >= 85 for share in shares]
        told = f"half an epoch gives {span(shares)}% of the accuracy after one epoch"
        return all(enough), f"{in_how_many(enough)} cases; {told}"

    return Experiment(
        name,
        place,
        f"GCWSNet with p = {p:g} on {shown}, one epoch",
        (name,),
        grid,
        draw,
        (
            Claim(
                "GCWSNet converges much faster than training on the original data.",
                "after one epoch, GCWSNet with b = 8 is better than the same net on the original data, for all k and L",
                faster,
            ),
            Claim(
                "A large b is recommended.",
                "after one epoch, b = 8 is better than b = 1 for all k and L",
                more_bits,
            ),
            Claim(
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
