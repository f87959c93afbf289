"""Figure 18: normalized random Fourier features against GCWS, on SEMG and DailySports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from reproduction.charts import Chart, Series, Style, accuracy_against, accuracy_series, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import NETS, Experiment, K, net_label
from reproduction.results import Outcome, Results
from reproduction.settings import Settings, gcws, nrff
from reproduction.statements import NotMeasuredError, Statement, always_better

EPOCHS = {"semg": 5, "dailysports": 1}
GAMMAS = (1.0, 10.0, 100.0)
K_NRFF = (64, 128, 256, 512, 1024, 2048, 4096, 8192)
LENGTHS = {"1": Style("--", "s", 0.0), "sqrt(k)": Style("-.", "^", 0.3)}
B = (1, 8)


def _ours(name: str, *, k: int, b: int, L: int) -> Settings:
    return gcws(name, k=k, b=b, L=L, epochs=EPOCHS[name])


def _theirs(name: str, *, k: int, gamma: float, length: str, L: int) -> Settings:
    return nrff(name, k=k, gamma=gamma, length=length, L=L, epochs=EPOCHS[name])


def _grid(quick: bool) -> list[Settings]:
    nets = NETS[1:2] if quick else NETS
    runs = [
        _ours(name, k=k, b=b, L=L) for name in EPOCHS for L, _ in nets for b in B for k in ((64, 512) if quick else K)
    ]
    return runs + [
        _theirs(name, k=k, gamma=gamma, length=length, L=L)
        for name in EPOCHS
        for k in ((64, 512, 1024) if quick else K_NRFF)
        for gamma in GAMMAS
        for length in LENGTHS
        for L, _ in nets
    ]


def best_nrff(results: Results, name: str, k: int, L: int, lengths: Iterable[str] = LENGTHS) -> Outcome | None:
    """Return the run with the gamma and the length that are best on the rows for testing, which favors NRFF."""
    runs = [_theirs(name, k=k, gamma=gamma, length=length, L=L) for gamma in GAMMAS for length in lengths]
    found = [outcome for run in runs if (outcome := results.get(run)) is not None]
    return max(found, key=lambda outcome: outcome.accuracy, default=None)


def _charts(results: Results) -> Iterator[Chart]:
    styles = (Style("-", "o", 0.45), Style("-", "D", 0.0))
    for name, epochs in EPOCHS.items():
        for L, H in NETS:
            series: list[Series] = []
            for b, style in zip(B, styles, strict=True):
                series += accuracy_against(results, f"GCWS, b = {b}", "k", K, partial(_ours, name, b=b, L=L), style)
            for length, style in LENGTHS.items():
                best = [(k, best_nrff(results, name, k, L, (length,))) for k in K_NRFF]
                series += accuracy_series(f"NRFF of length {length}", best, style)
            yield Chart(
                f"{DISPLAY_NAMES[name]}: {net_label((L, H))}",
                tuple(series),
                x_label=f"k, after {epochs} epoch{'s' * (epochs > 1)}",
                log_x=True,
            )


def _both(results: Results, some_k: Sequence[int], b: int) -> list[tuple[Outcome, Outcome]]:
    found = []
    for name in EPOCHS:
        for L, _ in NETS:
            for k in some_k:
                ours, theirs = results.get(_ours(name, k=k, b=b, L=L)), best_nrff(results, name, k, L)
                if ours is not None and theirs is not None:
                    found.append((ours, theirs))
    if not found:
        raise NotMeasuredError("the runs that it is about have not been done")
    return found


def _better(b: int) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        return always_better(_both(results, K, b))

    return Statement(
        f"GCWS performs considerably better than NRFF at the same k{', even with b = 1' if b == 1 else ''}.",
        f"b = {b}: better than NRFF with the best gamma and length, for both datasets, all k up to 512 and all L",
        check,
    )


def _needs_many(results: Results) -> tuple[bool, str]:
    numbers, holds = [], []
    for name in EPOCHS:
        small, large = best_nrff(results, name, 64, 2), best_nrff(results, name, 8192, 2)
        if small is not None and large is not None:
            holds.append(large.accuracy >= small.accuracy + 5)
            numbers.append(
                f"{DISPLAY_NAMES[name]}: {small.accuracy:.1f}% with k = 64, {large.accuracy:.1f}% with k = 8192"
            )
    if not holds:
        raise NotMeasuredError("the runs that it is about have not been done")
    return all(holds), "; ".join(numbers)


def _faster(results: Results) -> tuple[bool, str]:
    return always_better(_both(results, K, 8), epoch=0.5)


FIGURE_18 = Experiment(
    "nrff",
    "Figure 18",
    "NRFF and GCWS on SEMG and DailySports",
    tuple(EPOCHS),
    _grid,
    lambda results: figure(_charts(results)),
    (
        _better(1),
        _better(8),
        Statement(
            "RFF needs a large number of samples in order to obtain reasonable results.",
            "L = 2: NRFF with k = 8192 is better than with k = 64 by at least 5 points",
            _needs_many,
        ),
        Statement(
            "GCWS converges much faster than NRFF.",
            "b = 8: better than NRFF after half an epoch at the same k",
            _faster,
        ),
    ),
    note="The paper does not say which gamma it has: gamma = 1, 10 and 100 are run, and the best of them on the rows "
    "for testing is shown, which favors NRFF. Rows of NRFF have a length of 1; a net learns them faster if they have a "
    "length of sqrt(k), as the codes of GCWS do, so both are run and statements are checked against the better one. "
    "H = 200.",
)
