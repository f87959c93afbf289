"""Figures 3 to 7: Covtype and PAMAP101 for 100 epochs and for one epoch, and a stand-in for PAMAP101."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from reproduction.charts import BY_NUMBER, Chart, Figure, accuracy_against, figure
from reproduction.experiment import (
    COVTYPE_GCWS_1,
    COVTYPE_GCWS_100,
    COVTYPE_ORIGINAL_1,
    COVTYPE_ORIGINAL_100,
    TABLE_1,
    Comparison,
    Experiment,
    K,
    Net,
    compare_runs,
    curves,
    gcws_and_original_grid,
    net_label,
)
from reproduction.experiment_data import DISPLAY_NAMES
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import (
    CLOSE,
    CONSISTENT,
    MUCH,
    NOTICEABLE,
    REASONABLE,
    TYPICALLY,
    Case,
    Statement,
    all_done,
    all_pairs_done,
    better,
    case_name,
    faster,
    reaches,
)

COVTYPE, PAMAP101, MOMENTS = "covtype", "pamap101", "dailysports-moments"
EPOCHS, QUICK_EPOCHS = 100, 3
COVTYPE_B, PAMAP101_B = (2, 4, 8), (1, 2, 4)
NETS: tuple[Net, ...] = ((1, 0), (2, 50), (2, 100), (2, 200))
COVTYPE_PANELS, PAMAP101_PANELS = ([(b, net) for net in NETS for b in bits] for bits in (COVTYPE_B, PAMAP101_B))
COVTYPE_NOTE = (
    "The text names H = 200 for the panel at the lower right; the other rows are taken to be L = 1 and L = 2 with "
    "H = 50 and H = 100. Numeric columns are standardised and binary ones left alone, for all nets alike; the paper "
    "does not say what it does."
)
PAMAP101_NOTE = "The paper does not say which nets the rows of its panels are: those of Covtype here."
MOMENTS_NOTE = (
    "A stand-in: PAMAP101 is not available here. Both are what sensors on a body measure in one moment of an activity. "
    "These rows are drawn from all moments of DailySports, as many as PAMAP101 has, with 45 numbers instead of 51, 19 "
    "activities, and eight people instead of one. So there is no verdict; in how many cases GCWSNet is much faster and "
    "ahead is said under Abstract. "
)
FASTER = "GCWSNet converges much faster than training on the original data."
CAPTION_ONLY = (
    "The curves of the paper's figure, of which only the caption is known here, would settle whether it means these "
    "nets, too."
)


def _covtype_100_grid(quick: bool) -> list[Settings]:
    if quick:
        return gcws_and_original_grid(COVTYPE, p=1, epochs=QUICK_EPOCHS, k=(64,), b=(8,), nets=NETS[-1:])
    grid = gcws_and_original_grid(COVTYPE, p=1, epochs=EPOCHS, b=COVTYPE_B, nets=NETS)
    return sorted(grid, key=lambda one: (one["H"], one.get("b", 8)) != (200, 8))  # first the panel of the text


def _covtype_1_grid(quick: bool) -> list[Settings]:
    if quick:
        return gcws_and_original_grid(COVTYPE, p=1, epochs=1, k=(64, 256), b=COVTYPE_B, nets=(NETS[0], NETS[-1]))
    return gcws_and_original_grid(COVTYPE, p=1, epochs=1, b=COVTYPE_B, nets=NETS)


def _covtype_100_figure(results: Results) -> Figure:
    full = figure(curves(results, COVTYPE, p=1, epochs=EPOCHS, panels=COVTYPE_PANELS, title="Covtype"))
    return (
        full
        if full.charts
        else figure(
            curves(
                results,
                COVTYPE,
                p=1,
                epochs=QUICK_EPOCHS,
                panels=COVTYPE_PANELS,
                title=f"Covtype, only {QUICK_EPOCHS} epochs",
            )
        )
    )


def _covtype_1_figure(results: Results) -> Figure:
    return figure(curves(results, COVTYPE, p=1, epochs=1, panels=COVTYPE_PANELS, title="Covtype"))


def _summary_charts(results: Results) -> Iterator[Chart]:
    for b in COVTYPE_B:
        series = [
            one
            for (L, H), style in zip(NETS, BY_NUMBER, strict=False)
            for one in accuracy_against(
                results, net_label((L, H)), "k", K, partial(gcws, COVTYPE, b=b, L=L, H=H), style
            )
        ]
        yield Chart(f"Covtype: b = {b}", tuple(series), x_label="k, after one epoch", log_x=True)
    for L, H in (NETS[0], *NETS[-2:]):
        series = [
            one
            for k, style in zip(K, BY_NUMBER, strict=False)
            for one in accuracy_against(
                results, f"k = {k}", "b", COVTYPE_B, partial(gcws, COVTYPE, k=k, L=L, H=H), style
            )
        ]
        yield Chart(f"Covtype: {net_label((L, H))}", tuple(series), x_label="b, after one epoch", log_x=True)


def _of_text(epochs: int, dataset: str = COVTYPE) -> tuple[Settings, Settings]:
    """Return the runs that the text compares: GCWSNet and the original data."""
    return gcws(dataset, k=64, b=8, L=2, epochs=epochs), original(dataset, L=2, epochs=epochs)


def _stopping_early_costs(results: Results) -> list[Case]:
    first, last = (all_done(results, _of_text(epochs)) for epochs in (1, EPOCHS))
    cases = []
    for name, paper, one, hundred in zip(("GCWSNet", "original data"), (7.7, 13.5), first, last, strict=True):
        lost = 100 * (1 - one.accuracy / hundred.accuracy)
        cases.append(Case(name, lost, abs(lost - paper) <= CLOSE, (one, hundred)))
    return cases


def _pairs(dataset: str, bits: tuple[int, ...], epochs: int) -> list[tuple[Settings, Settings]]:
    """Return all that a figure shows: GCWSNet with each k, b and net, and the same net on the original data."""
    return [
        (gcws(dataset, k=k, b=b, L=L, H=H, epochs=epochs), original(dataset, L=L, H=H, epochs=epochs))
        for L, H in NETS
        for b in bits
        for k in K
    ]


def _faster(dataset: str, bits: tuple[int, ...], epochs: int, why: str = "") -> Statement:
    return Statement(
        FASTER,
        "at most half of the epochs that the same net on the original data needs for the accuracy with which it ends; "
        f"all k, b and nets, {epochs:g} epoch{'s' * (epochs > 1)}",
        lambda results: faster(all_pairs_done(results, _pairs(dataset, bits, epochs))),
        "times as long",
        why=why,
    )


def _worse_in_the_end(results: Results) -> list[Case]:
    return better(all_pairs_done(results, _pairs(COVTYPE, COVTYPE_B, EPOCHS)), MUCH)


def _more_epochs_help(results: Results) -> list[Case]:
    cases = []
    for outcome in all_done(results, _covtype_100_grid(False)):
        gain = outcome.accuracy - outcome.at(1)
        kind = "GCWSNet" if outcome.settings["method"] == "gcws" else "original data"
        cases.append(Case(f"{kind}, {case_name(outcome.settings)}", gain, gain > NOTICEABLE, (outcome,)))
    return cases


def compare_one_epoch(results: Results, dataset: str = COVTYPE) -> list[Comparison]:
    """Return the numbers of the text for one epoch beside ours, on Covtype in one of its splits."""
    return compare_runs(results, zip((COVTYPE_GCWS_1, COVTYPE_ORIGINAL_1), _of_text(1, dataset), strict=True))


def one_epoch_as_in_text(dataset: str = COVTYPE) -> Statement:
    """Return what the text says of Covtype after one epoch, for one of its splits."""

    def cases(results: Results) -> list[Case]:
        numbers, outcomes = (COVTYPE_GCWS_1, COVTYPE_ORIGINAL_1), all_done(results, _of_text(1, dataset))
        made = []
        for what, number, outcome in zip(("GCWSNet", "original data"), numbers, outcomes, strict=True):
            off = outcome.accuracy - number.value
            made.append(Case(f"{what} {outcome.accuracy:.1f}%", off, abs(off) <= CLOSE, (outcome,)))
        return made

    return Statement(
        "After one epoch the accuracy is 84% with GCWSNet and 77% on the original data.",
        f"k = 64, b = 8, L = 2, H = 200: both within {CLOSE:g} points",
        cases,
    )


def _linear_as_in_table(results: Results) -> list[Case]:
    cases = []
    for outcome in all_done(results, [original(COVTYPE, L=1, epochs=epochs) for epochs in (1, EPOCHS)]):
        off = outcome.accuracy - TABLE_1[COVTYPE].linear
        what = f"L = 1 on the original data, epochs: {outcome.settings['epochs']}"
        cases.append(Case(what, off, abs(off) <= CONSISTENT, (outcome,)))
    return cases


FIGURE_3 = Experiment(
    "covtype-100",
    "Figure 3",
    "GCWSNet with p = 1 on Covtype, 100 epochs",
    (COVTYPE,),
    _covtype_100_grid,
    _covtype_100_figure,
    (
        Statement(
            "The results for the original data are substantially worse than those of GCWSNet.",
            f"better than the same net on the original data by more than {MUCH:g} points after 100 epochs; all k, b "
            "and nets",
            _worse_in_the_end,
            why="GCWSNet is better in all cases but those with k = 64 and b = 2. The paper's own numbers for k = 64, b "
            "= 8 and H = 200 are 91% and 89%, which is not a difference of more than 5 points. The curves of the paper "
            "would settle what it calls substantial.",
        ),
        _faster(COVTYPE, COVTYPE_B, EPOCHS, f"The cases against it are all nets with k = 64 and b = 2. {CAPTION_ONLY}"),
        Statement(
            "With b = 8 bits, regardless of H and k (and the number of hidden layers), GCWSNet converges fast and "
            "typically reaches a reasonable accuracy at the end of one epoch.",
            f"b = 8: after one epoch at least {REASONABLE:g}% of the best accuracy in 100 epochs; all k and nets",
            lambda results: _one_epoch_is_reasonable(results, COVTYPE, (8,)),
            "%",
            TYPICALLY,
        ),
        Statement(
            "Training more epochs might lead to noticeably better accuracies.",
            f"after 100 epochs better than after one by more than {NOTICEABLE:g} points; all k, b and nets, and all "
            "nets on the original data",
            _more_epochs_help,
        ),
        Statement(
            "If training stops after one epoch, the accuracy drops from 91% to 84% with GCWSNet (by 7.7%), and from "
            "89% to 77% on the original data (by 13.5%).",
            f"k = 64, b = 8, L = 2, H = 200: the share that is lost is within {CLOSE:g} points of the paper's, for "
            "both",
            _stopping_early_costs,
            "%",
        ),
    ),
    lambda results: compare_runs(results, zip((COVTYPE_GCWS_100, COVTYPE_ORIGINAL_100), _of_text(EPOCHS), strict=True)),
    COVTYPE_NOTE,
)
FIGURE_4 = Experiment(
    "covtype-1",
    "Figure 4",
    "GCWSNet with p = 1 on Covtype, one epoch",
    (COVTYPE,),
    _covtype_1_grid,
    _covtype_1_figure,
    (
        _faster(
            COVTYPE,
            COVTYPE_B,
            1,
            "The cases against it have few hashes of few bits: k = 64 and b = 2 in four cases, k = 128 and b = 2 in "
            f"three. {CAPTION_ONLY}",
        ),
        one_epoch_as_in_text(),
        Statement(
            "LIBLINEAR's 71.5% is more or less consistent with L = 1.",
            f"L = 1 on the original data is within {CONSISTENT:g} points of 71.5%, after one epoch and after {EPOCHS}",
            _linear_as_in_table,
        ),
    ),
    compare_one_epoch,
    COVTYPE_NOTE,
)
FIGURE_5 = Experiment(
    "covtype-summary",
    "Figure 5",
    "Covtype at the end of the first epoch",
    (COVTYPE,),
    _covtype_1_grid,
    lambda results: figure(_summary_charts(results)),
    note="The paper says no more about this figure than that it illustrates the impact of b, H, k and L; its "
    "recommendation of a large b is checked under Abstract. The same runs as in Figure 4. The paper does not say what "
    "its six panels differ in. " + COVTYPE_NOTE,
)


def _sensors_grid(dataset: str, epochs: int, quick_epochs: int, quick: bool) -> list[Settings]:
    if quick:
        return gcws_and_original_grid(dataset, p=1, epochs=quick_epochs, k=(64,), b=(4,), nets=NETS[-1:])
    return gcws_and_original_grid(dataset, p=1, epochs=epochs, b=PAMAP101_B, nets=NETS)


def _sensors_figure(results: Results, dataset: str, epochs: int) -> Figure:
    title = DISPLAY_NAMES[dataset]
    return figure(curves(results, dataset, p=1, epochs=epochs, panels=PAMAP101_PANELS, title=title))


def _one_epoch_is_reasonable(results: Results, dataset: str, bits: tuple[int, ...]) -> list[Case]:
    runs = [ours for ours, _ in _pairs(dataset, bits, EPOCHS)]
    return reaches(all_done(results, runs), 1, REASONABLE)


FIGURE_6 = Experiment(
    "pamap101-100",
    "Figure 6",
    "GCWSNet with p = 1 on PAMAP101, 100 epochs",
    (PAMAP101,),
    lambda quick: _sensors_grid(PAMAP101, EPOCHS, QUICK_EPOCHS, quick),
    lambda results: (
        _sensors_figure(results, PAMAP101, EPOCHS)
        if _sensors_figure(results, PAMAP101, EPOCHS).charts
        else _sensors_figure(results, PAMAP101, QUICK_EPOCHS)
    ),
    (
        _faster(PAMAP101, PAMAP101_B, EPOCHS),
        Statement(
            "GCWSNet can reach a reasonable accuracy even with only one epoch of training.",
            f"after one epoch at least {REASONABLE:g}% of the best accuracy in 100 epochs; all k, b and nets",
            partial(_one_epoch_is_reasonable, dataset=PAMAP101, bits=PAMAP101_B),
            "%",
        ),
    ),
    note=PAMAP101_NOTE,
)
FIGURE_7 = Experiment(
    "pamap101-1",
    "Figure 7",
    "GCWSNet with p = 1 on PAMAP101, one epoch",
    (PAMAP101,),
    lambda quick: _sensors_grid(PAMAP101, 1, 1, quick),
    lambda results: _sensors_figure(results, PAMAP101, 1),
    (_faster(PAMAP101, PAMAP101_B, 1),),
    note=PAMAP101_NOTE,
)
FIGURE_7_STAND_IN = Experiment(
    "moments-1",
    "Section 2",
    "A stand-in for PAMAP101: GCWSNet with p = 1 on single moments of DailySports, one epoch",
    (MOMENTS,),
    lambda quick: _sensors_grid(MOMENTS, 1, 1, quick),
    lambda results: _sensors_figure(results, MOMENTS, 1),
    note=MOMENTS_NOTE + PAMAP101_NOTE,
)
