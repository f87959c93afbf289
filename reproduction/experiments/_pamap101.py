"""Figures 6 and 7: PAMAP101 for 100 epochs and for one epoch."""

from __future__ import annotations

from reproduction._grids import K, Net, curves, nets_on_hashes
from reproduction.charts import Figure, figure
from reproduction.experiment import Experiment
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import Claim, always_better, pairs

NAME, EPOCHS, QUICK_EPOCHS = "pamap101", 100, 3
B = (1, 2, 4)
NETS: tuple[Net, ...] = ((1, 0), (2, 50), (2, 100), (2, 200))
PANELS = [(b, net) for net in NETS for b in B]
NOTE = "The paper does not say which nets the rows of its panels are: those of Covtype here."


def _grid(epochs: int, quick_epochs: int, quick: bool) -> list[Settings]:
    if quick:
        return nets_on_hashes(NAME, p=1, epochs=quick_epochs, k=(64,), b=(4,), nets=NETS[-1:])
    return nets_on_hashes(NAME, p=1, epochs=epochs, b=B, nets=NETS)


def _figure(results: Results, epochs: int) -> Figure:
    return figure(curves(results, NAME, p=1, epochs=epochs, panels=PANELS, title="PAMAP101"))


def _faster(epochs: int) -> Claim:
    def check(results: Results) -> tuple[bool, str]:
        settings = [
            (gcws(NAME, k=k, b=4, L=L, H=H, epochs=epochs), original(NAME, L=L, H=H, epochs=epochs))
            for L, H in NETS
            for k in K
        ]
        return always_better(pairs(results, settings), epoch=1)

    return Claim(
        "GCWSNet converges much faster and can reach a reasonable accuracy even with only one epoch of training.",
        "b = 4: better than the original data after one epoch, for all k and nets",
        check,
    )


FIGURE_6 = Experiment(
    "pamap101-100",
    "Figure 6",
    "GCWSNet with p = 1 on PAMAP101, 100 epochs",
    (NAME,),
    lambda quick: _grid(EPOCHS, QUICK_EPOCHS, quick),
    lambda results: _figure(results, EPOCHS) if _figure(results, EPOCHS).charts else _figure(results, QUICK_EPOCHS),
    (_faster(EPOCHS),),
    note=NOTE,
)
FIGURE_7 = Experiment(
    "pamap101-1",
    "Figure 7",
    "GCWSNet with p = 1 on PAMAP101, one epoch",
    (NAME,),
    lambda quick: _grid(1, 1, quick),
    lambda results: _figure(results, 1),
    (_faster(1),),
    note=NOTE,
)
