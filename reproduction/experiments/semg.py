"""Figures 1 and 2: SEMG with p = 1 and p = 2, five epochs."""

from __future__ import annotations

from reproduction.charts import Figure, figure
from reproduction.experiment import (
    NETS,
    SEMG_ORIGINAL_L1,
    SEMG_ORIGINAL_L2,
    B,
    Comparison,
    Experiment,
    K,
    compare_runs,
    curves,
    gcws_and_original_grid,
)
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import Statement, always_better, completed, completed_pairs, required, span, tally

NAME, EPOCHS = "semg", 5
PANELS_1 = [(b, net) for b in B for net in NETS]
PANELS_2 = [(8, net) for net in NETS]


def _grid_1(quick: bool) -> list[Settings]:
    if quick:
        return gcws_and_original_grid(NAME, p=1, epochs=EPOCHS, k=(64, 512), b=(1, 8), nets=NETS[:2])
    return gcws_and_original_grid(NAME, p=1, epochs=EPOCHS)


def _grid_2(quick: bool) -> list[Settings]:
    nets = NETS[:2] if quick else NETS
    powered = [_original(L, power=2) for L, _ in nets]
    return powered + gcws_and_original_grid(NAME, p=2, epochs=EPOCHS, k=(64, 512) if quick else K, b=(8,), nets=nets)


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


def _linear_is_poor(results: Results) -> tuple[bool, str]:
    found = required(results, _original(1)).accuracy
    return found < 20, f"{found:.1f}% with L = 1"


def _one_layer_helps(results: Results) -> tuple[bool, str]:
    one, two = (required(results, _original(L)).accuracy for L in (1, 2))
    return two >= one + 2, f"L = 1: {one:.1f}%, L = 2: {two:.1f}%"


def _third_layer_helps_little(results: Results) -> tuple[bool, str]:
    two, three = (required(results, _original(L)).accuracy for L in (2, 3))
    return three <= two + 3, f"L = 2: {two:.1f}%, L = 3: {three:.1f}%"


def _all_gcws(p: float, b: tuple[int, ...] = B) -> list[Settings]:
    return [gcws(NAME, k=k, b=some_b, L=L, H=H, p=p, epochs=EPOCHS) for L, H in NETS for some_b in b for k in K]


def _beats_original(results: Results) -> tuple[bool, str]:
    return always_better(completed_pairs(results, [(one, _original(one["L"])) for one in _all_gcws(1)]))


def _one_epoch_is_enough(p: float) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        found = completed(results, _all_gcws(p, b=(8,)))
        shares = [100 * outcome.at(1) / max(outcome.result["curve"]["accuracy"]) for outcome in found]
        later = [100 * outcome.at(2) / max(outcome.result["curve"]["accuracy"]) for outcome in found]
        close = [share >= 85 for share in shares]
        numbers = f"after one epoch {span(shares)}%, after two {span(later)}% of the best of five epochs"
        return all(close), f"{tally(close)} cases; {numbers}"

    return Statement(
        "With b = 8 bits, regardless of H and k and the number of hidden layers, GCWSNet reaches a reasonable, "
        "close-to-the-best accuracy at the end of one epoch.",
        "b = 8: the accuracy after one epoch is at least 85% of the best in five epochs, for all k and L",
        check,
    )


def _second_power_helps(results: Results) -> tuple[bool, str]:
    found = completed_pairs(
        results, [(two, one) for two, one in zip(_all_gcws(2, b=(8,)), _all_gcws(1, b=(8,)), strict=True)]
    )
    gains = [two.accuracy - one.accuracy for two, one in found]
    return sum(gains) / len(gains) > 1, f"mean gain {sum(gains) / len(gains):.1f} points ({span(gains)})"


def _power_of_original(results: Results) -> tuple[bool, str]:
    found = completed_pairs(results, [(_original(L, power=2), _original(L)) for L in (1, 2, 3)])
    off = [powered.accuracy - plain.accuracy for powered, plain in found]
    return max(map(abs, off)) <= 5, f"p = 2 minus p = 1: {span(off)} points"


FIGURE_1 = Experiment(
    "semg-p1",
    "Figure 1",
    "GCWSNet with p = 1 on SEMG, five epochs",
    (NAME,),
    _grid_1,
    _figure_1,
    (
        Statement(
            "On the original data, L = 1 has an accuracy of less than 20%, as a linear classifier in Table 1.",
            "original data, L = 1: below 20%",
            _linear_is_poor,
        ),
        Statement(
            "One layer of hidden units improves the accuracy on the original data quite noticeably, to about 25%.",
            "original data: L = 2 is better than L = 1 by at least 2 points",
            _one_layer_helps,
        ),
        Statement(
            "Two layers of hidden units improve the accuracy on the original data only very little, if at all.",
            "original data: L = 3 is better than L = 2 by at most 3 points",
            _third_layer_helps_little,
        ),
        Statement(
            "The results for the original data are substantially worse than those of GCWSNet.",
            "after five epochs GCWSNet is better for all k, b and L",
            _beats_original,
        ),
        _one_epoch_is_enough(1),
    ),
    _compare,
    "The paper does not say which H the panels have: H = 200 here. An epoch of the derived dataset has half as many "
    "batches as one of the paper's.",
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
            "b = 8, after five epochs: better than p = 1 by more than 1 point on average over k and L",
            _second_power_helps,
        ),
        Statement(
            "On the original data, the power transformation with p = 2 does not make much of a difference.",
            "the square of the original data is within 5 points of the original data for all L",
            _power_of_original,
        ),
        _one_epoch_is_enough(2),
    ),
    note="The paper does not say which b and H its three panels have: b = 8 and H = 200 here, for L = 1, 2 and 3.",
)
