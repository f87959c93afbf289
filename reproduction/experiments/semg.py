"""Figures 1 and 2: SEMG with p = 1 and p = 2, five epochs."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.charts import Figure, figure
from reproduction.experiment import (
    NETS,
    SEMG_ORIGINAL_L1,
    SEMG_ORIGINAL_L2,
    B,
    Comparison,
    Experiment,
    K,
    Net,
    compare_runs,
    curves,
    gcws_and_original_grid,
)
from reproduction.experiments.table_1 import best
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import (
    ALL,
    CLOSE_TO_BEST,
    CONSISTENT,
    MUCH,
    NOTICEABLE,
    OBVIOUS,
    REASONABLE,
    SIMILAR,
    TYPICALLY,
    Case,
    NotMeasuredError,
    Share,
    Statement,
    all_done,
    all_pairs_done,
    better,
    faster,
    reaches,
)

NAME, EPOCHS = "semg", 5
CHANCE = 100 / 6
"""The accuracy in percent of a guess among the six classes."""
WIDE: tuple[Net, ...] = ((2, 400), (3, 400))
"""Nets of which only b = 8 is run, as the paper says that H does not matter there."""
HALF_AS_MANY = (
    "An epoch of the derived rows has half as many batches as the paper's. After two epochs, which have as many, "
)
SETTLED_BY_ROWS = "The published rows would settle it."
PANELS_1 = [(b, net) for b in B for net in NETS]
PANELS_2 = [(8, net) for net in NETS]


def _grid_1(quick: bool) -> list[Settings]:
    if quick:
        return gcws_and_original_grid(NAME, p=1, epochs=EPOCHS, k=(64, 512), b=(1, 8), nets=NETS[:2])
    return gcws_and_original_grid(NAME, p=1, epochs=EPOCHS) + _all_gcws(1, b=(8,), nets=WIDE)


def _grid_2(quick: bool) -> list[Settings]:
    nets = NETS[:2] if quick else NETS
    powered = [_original(L, power=2) for L, _ in nets]
    grid = gcws_and_original_grid(NAME, p=2, epochs=EPOCHS, k=(64, 512) if quick else K, b=(8,), nets=nets)
    return powered + grid + ([] if quick else _all_gcws(2, b=(8,), nets=WIDE))


def _figure_1(results: Results) -> Figure:
    return figure(curves(results, NAME, p=1, epochs=EPOCHS, panels=PANELS_1, title="SEMG, p = 1"))


def _figure_2(results: Results) -> Figure:
    return figure(curves(results, NAME, p=2, epochs=EPOCHS, panels=PANELS_2, title="SEMG, p = 2"))


def _original(L: int, power: float | None = None) -> Settings:
    """Return the settings of the net on the original data, or on a power of them."""
    if power is None:
        return original(NAME, L=L, epochs=EPOCHS)
    return original(NAME, L=L, transform="power", p=power, epochs=EPOCHS)


def _compare(results: Results) -> list[Comparison]:
    return compare_runs(results, [(SEMG_ORIGINAL_L1, _original(1)), (SEMG_ORIGINAL_L2, _original(2))])


def _nets_that_learned(results: Results, *layers: int) -> list[Outcome]:
    """Return nets on the original data; an error if none of them is better than a guess, which says nothing."""
    nets = all_done(results, [_original(L) for L in layers])
    if all(net.accuracy <= CHANCE + CONSISTENT for net in nets):
        found = " and ".join(f"{net.accuracy:.1f}%" for net in nets)
        raise NotMeasuredError(f"on these rows nets on the original data learn nothing: {found}, a guess {CHANCE:.1f}%")
    return nets


def _linear_as_in_table(results: Results) -> list[Case]:
    (net,), machine = all_done(results, [_original(1)]), best(results, NAME, "linear")
    if machine is None:
        raise NotMeasuredError("the linear support vector machine has not been run")
    off = net.accuracy - machine.accuracy
    return [Case("L = 1", off, abs(off) <= CONSISTENT, (net, machine))]


def _one_layer_helps(results: Results) -> list[Case]:
    one, two = _nets_that_learned(results, 1, 2)
    return better([(two, one)], by=NOTICEABLE)


def _third_layer_helps_little(results: Results) -> list[Case]:
    two, three = _nets_that_learned(results, 2, 3)
    gain = three.accuracy - two.accuracy
    return [Case("L = 3 instead of L = 2", gain, gain <= SIMILAR, (two, three))]


def _faster(results: Results) -> list[Case]:
    theirs = {net.settings["L"]: net for net in _nets_that_learned(results, 1, 2, 3)}
    return faster([(ours, theirs[ours.settings["L"]]) for ours in all_done(results, _all_gcws(1))])


def _all_gcws(p: float, b: tuple[int, ...] = B, nets: Sequence[Net] = NETS) -> list[Settings]:
    return [gcws(NAME, k=k, b=some_b, L=L, H=H, p=p, epochs=EPOCHS) for L, H in nets for some_b in b for k in K]


def _beats_original(results: Results) -> list[Case]:
    return better(all_pairs_done(results, [(one, _original(one["L"])) for one in _all_gcws(1)]), by=MUCH)


def _one_epoch_is_enough(p: float, text: str, share: Share, why: str) -> Statement:
    return Statement(
        text,
        f"b = 8: after one epoch at least {REASONABLE:g}% of the best accuracy in five epochs; all k and L, H = 200 "
        "and 400",
        lambda results: reaches(all_done(results, _all_gcws(p, b=(8,), nets=(*NETS, *WIDE))), 1, REASONABLE),
        "%",
        share,
        why,
    )


def _second_power_helps(results: Results) -> list[Case]:
    pairs = zip(_all_gcws(2, b=(8,)), _all_gcws(1, b=(8,)), strict=True)
    return better(all_pairs_done(results, pairs), by=OBVIOUS)


def _power_of_original(results: Results) -> list[Case]:
    cases = []
    for plain, powered in all_pairs_done(results, [(_original(L), _original(L, power=2)) for L in (1, 2, 3)]):
        off = powered.accuracy - plain.accuracy
        cases.append(Case(f"L = {plain.settings['L']}", off, abs(off) <= MUCH, (plain, powered)))
    return cases


FIGURE_1 = Experiment(
    "semg-p1",
    "Figure 1",
    "GCWSNet with p = 1 on SEMG, five epochs",
    (NAME,),
    _grid_1,
    _figure_1,
    (
        Statement(
            "On the original data, L = 1 is consistent with the linear classifier of Table 1.",
            f"original data: L = 1 is within {CONSISTENT:g} points of the linear support vector machine on the same "
            "rows",
            _linear_as_in_table,
        ),
        Statement(
            "One layer of hidden units improves the accuracy on the original data quite noticeably, to about 25%.",
            f"original data: L = 2 is better than L = 1 by more than {NOTICEABLE:g} points",
            _one_layer_helps,
        ),
        Statement(
            "Two layers of hidden units improve the accuracy on the original data only very little, if at all.",
            f"original data: L = 3 is better than L = 2 by at most {SIMILAR:g} point",
            _third_layer_helps_little,
        ),
        Statement(
            "The results for the original data are substantially worse than those of GCWSNet.",
            f"GCWSNet is better by more than {MUCH:g} points after five epochs; all k, b and L",
            _beats_original,
        ),
        Statement(
            "GCWSNet converges much faster.",
            "at most half of the epochs that the same net on the original data needs for the accuracy with which it "
            "ends; all k, b and L",
            _faster,
            "times as long",
        ),
        Statement(
            "GCWSNet reaches the close-to-the-best accuracy after finishing merely one epoch.",
            f"after one epoch at least {CLOSE_TO_BEST:g}% of the best accuracy in five epochs; all k, b and L",
            lambda results: reaches(all_done(results, _all_gcws(1)), 1, CLOSE_TO_BEST),
            "%",
            why=f"{HALF_AS_MANY}13 of 48 nets are close to their best. {SETTLED_BY_ROWS}",
        ),
        _one_epoch_is_enough(
            1,
            "With b = 8 bits, regardless of H and k and the number of hidden layers, GCWSNet typically reaches a "
            "reasonable accuracy at the end of one epoch.",
            TYPICALLY,
            f"{HALF_AS_MANY}all 20 nets have a reasonable accuracy. With PaddlePaddle's defaults 9 of the 12 nets with "
            f"H = 200 have one after one epoch, with ours 2. {SETTLED_BY_ROWS}",
        ),
    ),
    _compare,
    "The paper does not say which H the panels have: H = 200 here. An epoch of the derived dataset has half as many "
    "batches as one of the paper's. On these rows nets on the original data are no better than a guess. So it is not "
    "measured whether hidden units help them, and whether GCWSNet converges faster than they do. That L = 1 is "
    "consistent with the linear classifier means that both only guess.",
)

FIGURE_2 = Experiment(
    "semg-p2",
    "Figure 2",
    "GCWSNet with p = 2 on SEMG, five epochs",
    (NAME,),
    _grid_2,
    _figure_2,
    (
        Statement(
            "Compared with p = 1 the improvements with p = 2 are quite obvious.",
            f"b = 8, after five epochs: p = 2 is better than p = 1 by more than {OBVIOUS:g} points; all k and L",
            _second_power_helps,
            why="p = 2 is better in all 12 cases. In Table 1 of the paper p = 2 is better by 2.1 points. "
            f"{SETTLED_BY_ROWS}",
        ),
        Statement(
            "On the original data, the power transformation with p = 2 does not make much of a difference.",
            f"the square of the original data is within {MUCH:g} points of the original data; all L",
            _power_of_original,
            why="On the derived rows nets only guess (16 to 18%), and on the squares of these rows they have 21% (L = "
            f"1), 25% (L = 2) and 27% (L = 3). {SETTLED_BY_ROWS}",
        ),
        _one_epoch_is_enough(
            2,
            "Training just one epoch can already reach good accuracies.",
            ALL,
            f"{HALF_AS_MANY}all 20 nets have a good accuracy. {SETTLED_BY_ROWS}",
        ),
    ),
    note="The paper does not say which b and H its three panels have: b = 8 and H = 200 here, for L = 1, 2 and 3.",
)
