"""Nets with PaddlePaddle's defaults, and whether these explain what does not hold on SEMG and DailySports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from reproduction.charts import BLUE, RED, Chart, Series, Style, accuracy_against, figure
from reproduction.experiment import NETS, NO_VERDICT, B, Comparison, Experiment, K, gcws_and_original_grid, net_label
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Results
from reproduction.settings import Settings, as_in_paddle, gcws, original
from reproduction.statements import (
    CLOSE_TO_BEST,
    REASONABLE,
    Case,
    NotMeasuredError,
    all_done,
    all_pairs_done,
    better,
    faster,
    reaches,
    tally,
)

EPOCHS = {"semg": 5, "dailysports": 1}
STYLES = {1: Style("-", "o", BLUE), 8: Style("-", "D", RED)}
Defaults = Callable[[Settings], Settings]
Check = Callable[[Results, Defaults], list[Case]]


def _ours(settings: Settings) -> Settings:
    return settings


def _grid(quick: bool) -> list[Settings]:
    return [
        as_in_paddle(one)
        for name, epochs in EPOCHS.items()
        for one in gcws_and_original_grid(
            name,
            p=1,
            epochs=epochs,
            k=(64, 512) if quick else K,
            b=(8,) if quick else B,
            nets=NETS[:2] if quick else NETS,
        )
    ]


def _nets(name: str, bits: Iterable[int] = B) -> list[Settings]:
    return [gcws(name, k=k, b=b, L=L, epochs=EPOCHS[name]) for L, _ in NETS for b in bits for k in K]


def _charts(results: Results) -> Iterator[Chart]:
    for name, epochs in EPOCHS.items():
        for L, H in NETS:
            series: list[Series] = []
            for b, style in STYLES.items():
                for defaults, label in ((_ours, "ours"), (as_in_paddle, "PaddlePaddle's")):
                    settings = partial(_with_defaults, defaults, name, b, L)
                    look = style._replace(dashes="-" if defaults is _ours else "--")
                    series += accuracy_against(results, f"b = {b}, {label}", "k", K, settings, look, epoch=epochs / 5)
            at = f"k, after {epochs / 5:g} epochs".replace("after 1 epochs", "after one epoch")
            yield Chart(f"{DISPLAY_NAMES[name]}, p = 1: {net_label((L, H))}", tuple(series), x_label=at, log_x=True)


def _with_defaults(defaults: Defaults, name: str, b: int, L: int, k: int) -> Settings:
    return defaults(gcws(name, k=k, b=b, L=L, epochs=EPOCHS[name]))


def _against(rival: Defaults, epoch: float | None = None) -> Check:
    """Return the check that GCWSNet is much faster than nets on the original data, or better than they at an epoch."""

    def cases(results: Results, defaults: Defaults) -> list[Case]:
        pairs = all_pairs_done(results, _pairs("dailysports", defaults, rival))
        return faster(pairs) if epoch is None else better(pairs, epoch=epoch)

    return cases


def _checks() -> Iterator[tuple[str, Check]]:
    """Yield statements that do not hold, as in Figures 1 and 8, and their cases with some defaults."""
    yield (
        f"SEMG: after one epoch at least {CLOSE_TO_BEST:g}% of the best accuracy in five epochs",
        lambda results, defaults: reaches(all_done(results, map(defaults, _nets("semg"))), 1, CLOSE_TO_BEST),
    )
    yield (
        f"SEMG, b = 8: after one epoch at least {REASONABLE:g}% of the best accuracy in five epochs",
        lambda results, defaults: reaches(all_done(results, map(defaults, _nets("semg", (8,)))), 1, REASONABLE),
    )
    for rival, whose in ((_ours, "ours"), (as_in_paddle, "theirs")):
        what = f"the net on the original data with {whose}"
        yield f"DailySports: at most half of the epochs of {what}", _against(rival)
        yield f"DailySports: better than {what} after 0.1 epochs", _against(rival, epoch=0.1)
    yield (
        f"DailySports: half an epoch gives at least {REASONABLE:g}% of the accuracy after one epoch",
        lambda results, defaults: reaches(
            all_done(results, map(defaults, _nets("dailysports"))), 0.5, REASONABLE, last=1
        ),
    )


def _pairs(name: str, defaults: Defaults, rival: Defaults) -> list[tuple[Settings, Settings]]:
    """Return each net of GCWSNet with some defaults, and the same net on the original data with some."""
    return [(defaults(one), rival(original(name, L=one["L"], epochs=EPOCHS[name]))) for one in _nets(name)]


def _compare(results: Results) -> list[Comparison]:
    rows = []
    for what, check in _checks():
        try:
            ours, theirs = (tally(case.holds for case in check(results, way)) for way in (_ours, as_in_paddle))
        except NotMeasuredError:
            continue
        rows.append(
            Comparison(what, "holds", f"{ours} with our defaults for GCWSNet, {theirs} with theirs", NO_VERDICT)
        )
    return rows


DEFAULTS = Experiment(
    "defaults",
    "Section 2",
    "The same nets with PaddlePaddle's defaults, on SEMG and DailySports",
    tuple(EPOCHS),
    _grid,
    lambda results: figure(_charts(results)),
    compare=_compare,
    note="GCWSNet is implemented with PaddlePaddle in the paper, and what the paper does not say of its nets may be "
    "PaddlePaddle's defaults: initial weights of all layers by Xavier's rule (uniform, for tables as if the one-hot "
    "vectors were made), and Adam that moves all rows of a table in each step. Both are taken here, also for nets on "
    "the original data, which are worse for it on DailySports, by 0.5 to 5.6 points. With b = 8 GCWSNet is better for "
    "it on DailySports, and on SEMG at the end of the first epoch; with L = 1 and b = 1 or 2 it is worse. Dashed lines "
    "are PaddlePaddle's defaults, solid ones ours.",
)
