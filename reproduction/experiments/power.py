"""Figures 15 and 16: GCWS as a power transformation, next to u^p and p log u, on Pendigits and M-Noise1."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import methodcaller

from reproduction.charts import Chart, Style, accuracy_against, figure
from reproduction.datasets import DISPLAY_NAMES
from reproduction.experiment import NETS, Experiment, net_label
from reproduction.results import Results
from reproduction.settings import Settings, gcws, original
from reproduction.statements import NotMeasuredError, Statement, completed, required, span

POWERS = {
    "pendigits": (0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 50.0, 100.0, 200.0, 1000.0),
    "m-noise1": (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 150.0, 200.0, 500.0),
}
QUICK = {"pendigits": (0.1, 1.0, 5.0, 15.0, 100.0), "m-noise1": (1.0, 20.0, 80.0)}
K = (64, 512)
WAYS = (("gcws", 64), ("gcws", 512), ("power", 0), ("log", 0))
LABELS = ("GCWS, k = 64", "GCWS, k = 512", "u^p", "p log u")
STYLES = (Style("-", "o", 0.45), Style("-", "D", 0.0), Style("--", "s", 0.3), Style("-.", "x", 0.2))
FRACTIONS = (0.1, 0.5, 1.0)


def run(name: str, way: str, k: int, L: int, p: float) -> Settings:
    """Return the settings of GCWS with k hashes, or of the net on transformed data."""
    if way == "gcws":
        return gcws(name, k=k, b=8, L=L, p=p, epochs=1)
    return original(name, L=L, transform=way, p=p, epochs=1)


def _grid(name: str, quick: bool) -> list[Settings]:
    return [
        run(name, way, k, L, p)
        for L, _ in (NETS[1:2] if quick else NETS)
        for p in (QUICK if quick else POWERS)[name]
        for way, k in WAYS
    ]


def _charts(name: str, results: Results) -> Iterator[Chart]:
    for epochs in FRACTIONS:
        for L, H in NETS:
            series = [
                one
                for (way, k), label, style in zip(WAYS, LABELS, STYLES, strict=True)
                for one in accuracy_against(
                    results, label, "p", POWERS[name], partial(run, name, way, k, L), style, methodcaller("at", epochs)
                )
            ]
            title = f"{DISPLAY_NAMES[name]}: {net_label((L, H))}, after {epochs:g} epoch{'s' * (epochs < 1)}"
            yield Chart(title, tuple(series), x_label="p", log_x=True)


def _last(results: Results, name: str, way: str, k: int = 0) -> dict[float, float]:
    """Return the accuracy by p after one epoch, as the mean over nets."""
    found: dict[float, float] = {}
    for p in POWERS[name]:
        outcomes = [o for L, _ in NETS if (o := results.get(run(name, way, k, L, p))) is not None]
        if outcomes:
            found[p] = sum(outcome.accuracy for outcome in outcomes) / len(outcomes)
    if not found:
        raise NotMeasuredError("the runs that it is about have not been done")
    return found


def _best_range(name: str, least: float, most: float) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        best = []
        for k in K:
            found = _last(results, name, "gcws", k)
            best.append(max(found, key=lambda p: found[p]))
        numbers = ", ".join(f"p = {p:g} (k = {k})" for p, k in zip(best, K, strict=True))
        return all(least <= p <= most for p in best), f"best: {numbers}"

    return Statement(
        f"Using p from {least:g} to {most:g} produces the best results.",
        f"the best p is from {least:g} to {most:g} for k = 64 and k = 512, on average over L",
        check,
    )


def _any_p(results: Results) -> tuple[bool, str]:
    numbers, shares = [], []
    for k in K:
        found = _last(results, "pendigits", "gcws", k)
        worst = min(found, key=lambda p: found[p])
        shares.append(found[worst] / max(found.values()))
        numbers.append(f"p = {worst:g} with {found[worst]:.1f}%, {shares[-1]:.0%} of the best (k = {k})")
    return min(shares) >= 0.75, f"the worst is {'; '.join(numbers)}"


def _power_fails(results: Results) -> tuple[bool, str]:
    found = _last(results, "pendigits", "power")
    high, low = ([a for p, a in found.items() if (p >= 15) == large] for large in (True, False))
    if not (high and low):
        raise NotMeasuredError("powers on both sides of 15 have not been run")
    numbers = ", ".join(f"p = {p:g}: {accuracy:.0f}%" for p, accuracy in found.items() if p >= 10)
    return max(high) < max(low) / 2, f"{numbers}; best below 15: {max(low):.0f}%"


def _log_is_robust(results: Results) -> tuple[bool, str]:
    found = {p: a for p, a in _last(results, "pendigits", "log").items() if 0.5 <= p <= 100}
    return min(found.values()) >= 0.8 * max(found.values()), f"{span(found.values())}% for p from 0.5 to 100"


def _gcws_is_best(name: str) -> Statement:
    def check(results: Results) -> tuple[bool, str]:
        ours = max(_last(results, name, "gcws", 512).values())
        power, log = (max(_last(results, name, way).values()) for way in ("power", "log"))
        numbers = f"at the best p: GCWS with k = 512 {ours:.1f}%, u^p {power:.1f}%, p log u {log:.1f}%"
        return ours > max(power, log), numbers

    return Statement(
        "Feeding u^p or p log u directly to neural nets is not as accurate as GCWSNet.",
        "at the best p of each, GCWSNet with k = 512 is better than both, on average over L",
        check,
    )


def _tenth_of_an_epoch(results: Results) -> tuple[bool, str]:
    settings = [run("pendigits", "gcws", 512, L, p) for L, _ in NETS for p in (0.5, 1.0, 2.0, 5.0)]
    shares = [100 * outcome.at(0.1) / outcome.at(1) for outcome in completed(results, settings)]
    return min(shares) >= 75, f"0.1 epochs give {span(shares)}% of the accuracy after one epoch"


def _one_is_reasonable(results: Results) -> tuple[bool, str]:
    found = [required(results, run("m-noise1", "gcws", 512, 2, p)).accuracy for p in (1.0, 80.0)]
    return found[0] >= 0.6 * found[1], f"p = 1: {found[0]:.1f}%, p = 80: {found[1]:.1f}% (k = 512, L = 2)"


def _log_is_bad(results: Results) -> tuple[bool, str]:
    found = _last(results, "m-noise1", "log")
    best = max(found.values())
    far = {p: a for p, a in found.items() if p >= 20}
    if not far or 1.0 not in found:
        raise NotMeasuredError("p = 1 and p of 20 and more have not been run")
    holds = all(a <= found[1.0] - 5 for a in far.values())
    return holds, f"p = 1: {found[1.0]:.1f}%; p >= 20: {span(far.values())}%; best {best:.1f}%"


FIGURE_15 = Experiment(
    "power-pendigits",
    "Figure 15",
    "A wide range of p on Pendigits: GCWS, u^p and p log u",
    ("pendigits",),
    lambda quick: _grid("pendigits", quick),
    lambda results: figure(_charts("pendigits", results)),
    (
        _best_range("pendigits", 0.5, 5),
        Statement(
            "GCWS with any p produces reasonable predictions.",
            "the worst p gives at least 75% of the accuracy of the best p, on average over L",
            _any_p,
        ),
        Statement(
            "After p >= 15, directly applying the power transformation u^p makes the training fail.",
            "u^p with all p >= 15 has less than half the accuracy of the best p below 15",
            _power_fails,
        ),
        Statement(
            "The log-transformation p log u, with p log 0 = 0, seems to be quite robust on this dataset.",
            "for p from 0.5 to 100 the worst accuracy is at least 80% of the best",
            _log_is_robust,
        ),
        _gcws_is_best("pendigits"),
        Statement(
            "GCWSNet achieves a reasonable accuracy as early as in 0.1 epoch.",
            "k = 512, p from 0.5 to 5: 0.1 epochs give at least 75% of the accuracy after one epoch",
            _tenth_of_an_epoch,
        ),
    ),
    note="The paper shows nine panels with b = 8; here they are L = 1, 2 and 3 (H = 200) after 0.1, 0.5 and 1 epoch.",
)
FIGURE_16 = Experiment(
    "power-m-noise1",
    "Figure 16",
    "A wide range of p on M-Noise1: GCWS, u^p and p log u",
    ("m-noise1",),
    lambda quick: _grid("m-noise1", quick),
    lambda results: figure(_charts("m-noise1", results)),
    (
        _best_range("m-noise1", 60, 150),
        Statement(
            "The results of GCWSNet are still reasonable even with p = 1.",
            "k = 512, L = 2: p = 1 gives at least 60% of the accuracy with p = 80",
            _one_is_reasonable,
        ),
        Statement(
            "The log-power transformation produces bad results except for p close to 1.",
            "p log u with all p >= 20 is at least 5 points worse than with p = 1, on average over L",
            _log_is_bad,
        ),
        _gcws_is_best("m-noise1"),
    ),
    note="The paper shows nine panels with b = 8; here they are L = 1, 2 and 3 (H = 200) after 0.1, 0.5 and 1 epoch.",
)
