"""What the paper says in passing: more hidden layers, other tasks, the time of training, other splits and draws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise, product

from reproduction.charts import BY_NUMBER, ORIGINAL, Chart, Series, accuracy_against, accuracy_series, figure
from reproduction.experiment import (
    BY_FORMULA,
    NO_VERDICT,
    B,
    Comparison,
    Experiment,
    K,
    net_label,
)
from reproduction.experiment_data import DISPLAY_NAMES, REBUILT, sizes
from reproduction.experiments.hundred_epochs import compare_one_epoch, one_epoch_as_in_text
from reproduction.results import Results
from reproduction.settings import Settings, clusters, first_layer, gcws, original, regression, training_time
from reproduction.statements import (
    REASONABLE,
    TYPICALLY,
    Case,
    Statement,
    all_done,
    reaches,
)

DEEP_POWERS = {"dailysports": 1.0, "pendigits": 2.0}
LAYERS, UNITS, DEEP_K, DEEP_EPOCHS = (2, 3, 4, 5), (200, 400), (64, 256), 5


def _deep(name: str, k: int, H: int, L: int) -> Settings:
    return gcws(name, k=k, b=8, L=L, H=H, p=DEEP_POWERS[name], epochs=DEEP_EPOCHS)


def _deep_grid(quick: bool) -> list[Settings]:
    return [
        _deep(name, k, H, L)
        for name in (list(DEEP_POWERS)[1:2] if quick else DEEP_POWERS)
        for k in (DEEP_K[1:] if quick else DEEP_K)
        for H in (UNITS[1:2] if quick else UNITS)
        for L in LAYERS
    ]


def _deep_charts(results: Results) -> Iterator[Chart]:
    for name, p in DEEP_POWERS.items():
        for k in DEEP_K:
            series = [
                one
                for H, style in zip(UNITS, BY_NUMBER, strict=False)
                for one in accuracy_against(results, f"H = {H}", "L", LAYERS, partial(_deep, name, k, H), style, 1.0)
            ]
            yield Chart(
                f"{DISPLAY_NAMES[name]}, p = {p:g}: k = {k}, b = 8", tuple(series), x_label="L, after one epoch"
            )


def _reasonable_after_one(results: Results) -> list[Case]:
    return reaches(all_done(results, _deep_grid(False)), 1.0, REASONABLE)


DEEPER = Experiment(
    "hidden-layers",
    "Section 2",
    "One to four hidden layers, five epochs",
    tuple(DEEP_POWERS),
    _deep_grid,
    lambda results: figure(_deep_charts(results), columns=2),
    (
        Statement(
            "With b = 8 bits, regardless of H and k (and the number of hidden layers), GCWSNet converges fast and "
            "typically reaches a reasonable accuracy at the end of one epoch.",
            f"after one epoch at least {REASONABLE:g}% of the best accuracy of five epochs; L = 2 to 5, H = 200 "
            "and 400, k = 64 and 256, two datasets",
            _reasonable_after_one,
            "%",
            TYPICALLY,
        ),
    ),
    note="Not a figure of the paper, whose nets have at most two hidden layers. Each layer has half of the units of "
    "the one before.",
)


SPLIT = "covtype-authors"
SPLIT_K = (64, 256)


def _split_grid(quick: bool) -> list[Settings]:
    return [original(SPLIT, L=2), *(gcws(SPLIT, k=k, b=8, L=2) for k in (SPLIT_K[:1] if quick else SPLIT_K))]


def _split_charts(results: Results) -> Iterator[Chart]:
    for name in ("covtype", SPLIT):
        runs = [(k, results.get(gcws(name, k=k, b=8, L=2))) for k in SPLIT_K]
        plain = [(k, results.get(original(name, L=2))) for k in SPLIT_K]
        series = (
            *accuracy_series("GCWS, b = 8", runs, BY_NUMBER[0]),
            *accuracy_series("original data", plain, ORIGINAL),
        )
        yield Chart(f"{DISPLAY_NAMES[name]}: L = 2, H = 200", series, x_label="k, after one epoch", log_x=True)


AUTHORS_SPLIT = Experiment(
    SPLIT,
    "Section 2",
    "Covtype in a split that the authors publish, one epoch",
    (SPLIT,),
    _split_grid,
    lambda results: figure(_split_charts(results), columns=2),
    (one_epoch_as_in_text(SPLIT),),
    partial(compare_one_epoch, dataset=SPLIT),
    "The authors publish this split with another of their packages. It has the sizes of the paper; whether it is the "
    "split of the paper is not known.",
)


DRAWS = tuple(range(3))
DRAW_POWERS = {name: 50.0 if name == "m-image" else 80.0 for name in REBUILT}


def _hashed_draw(name: str, draw: int) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=DRAW_POWERS[name], draw=draw)


def _plain_draw(name: str, draw: int) -> Settings:
    return original(name, L=2, draw=draw)


def _draw_grid(quick: bool) -> list[Settings]:
    names, draws = (REBUILT[:1], DRAWS[:2]) if quick else (REBUILT, DRAWS)
    return [way(name, draw) for name in names for draw in draws for way in (_hashed_draw, _plain_draw)]


def _draw_charts(results: Results) -> Iterator[Chart]:
    for name in REBUILT:
        series = (
            *accuracy_against(results, "GCWS", "draw", DRAWS, partial(_hashed_draw, name), BY_NUMBER[0]),
            *accuracy_against(results, "original data", "draw", DRAWS, partial(_plain_draw, name), ORIGINAL),
        )
        title = f"{DISPLAY_NAMES[name]}: k = 512, b = 8, p = {DRAW_POWERS[name]:g}, L = 2"
        yield Chart(title, series, x_label="draw of the rows, after one epoch")


def _compare_draws(results: Results) -> list[Comparison]:
    """Return the range of accuracies over the draws."""
    rows = []
    for name in REBUILT:
        found = [[results.get(way(name, draw)) for draw in DRAWS] for way in (_hashed_draw, _plain_draw)]
        done = [[one.accuracy for one in some if one is not None] for some in found]
        if all(len(some) == len(DRAWS) for some in done):
            ours, plain = (f"{min(some):.1f} to {max(some):.1f}" for some in done)
            numbers = f"GCWSNet {ours}, the net on the original data {plain}"
            rows.append(Comparison(f"{DISPLAY_NAMES[name]}, three draws", "not given", numbers, NO_VERDICT))
    return rows


DIFFERENT_DRAWS = Experiment(
    "draws",
    "Section 1.1",
    "Three draws of the rebuilt datasets, one epoch",
    REBUILT,
    _draw_grid,
    lambda results: figure(_draw_charts(results)),
    compare=_compare_draws,
    note="Not in the paper: it shows how much the numbers depend on the draw of rebuilt rows.",
)


TASK_K = 512
TIMED_SETS, TIMED_K = ("dailysports", "m-noise1", "digits"), 256
CLUSTERED = {"pendigits": 2.0, "dailysports": 1.0, "digits": 1.0}


def _task_grid(quick: bool) -> list[Settings]:
    names = list(CLUSTERED)[-1:] if quick else CLUSTERED
    found = [way for name in names for way in (clusters(name, rows="original"), _clustered_codes(name))]
    found += [first_layer(name, k=TIMED_K) for name in (TIMED_SETS[-1:] if quick else TIMED_SETS)]
    return found if quick else [*found, regression(rows="original"), regression(rows="codes", k=TASK_K)]


def _clustered_codes(name: str) -> Settings:
    return clusters(name, rows="codes", k=TASK_K, p=CLUSTERED[name])


def _compare_tasks(results: Results) -> list[Comparison]:
    """Return how clusters and a linear regression on codes do, beside those on the original data."""
    pairs = [
        (f"k-means on {DISPLAY_NAMES[name]}, 100 times the adjusted mutual information with the classes", *runs)
        for name in CLUSTERED
        for runs in [(clusters(name, rows="original"), _clustered_codes(name))]
    ]
    pairs.append(
        ("ridge regression on diabetes, 100 times R2", regression(rows="original"), regression(rows="codes", k=TASK_K))
    )
    rows = []
    for what, plain, hashed in pairs:
        first, second = results.get(plain), results.get(hashed)
        if first is not None and second is not None:
            ours = f"{second.accuracy:.1f} on codes, {first.accuracy:.1f} on the original data"
            rows.append(Comparison(what, "not given", ours, NO_VERDICT))
    return [*rows, *(line for name in TIMED_SETS for line in _multiplications(results, name))]


def _multiplications(results: Results, name: str) -> list[Comparison]:
    """Return the multiplications of a first layer of 200 units for one row, the additions on codes, and times."""
    D, settings = sizes(name)[2], first_layer(name, k=TIMED_K)
    units, layer = settings["H"], f"a first layer of {settings['H']} units on {DISPLAY_NAMES[name]}"
    left = f"0 of {D * units:,}, and {TIMED_K * units:,} additions"
    rows = [Comparison(f"products for a row in {layer}, on {TIMED_K} codes", "a lot avoided", left, BY_FORMULA)]
    run = results.get(settings)
    if run is not None:
        taken = {part: 1e6 * run.result[part] / settings["batch"] for part in ("numbers", "codes", "hashing")}
        ratio = f"numbers take {taken['numbers'] / taken['codes']:.1f} times the time of codes"
        each = f"{taken['numbers']:.1f} and {taken['codes']:.1f} µs for a row"
        times = f"{ratio}: {each}; hashing takes {taken['hashing']:.1f} µs, once for each row"
        rows.append(Comparison(f"{layer}, in batches of {settings['batch']}", "not timed", times, run.machine))
    return rows


OTHER_TASKS = Experiment(
    "other-tasks",
    "Section 1.3",
    "Clustering, regression, and additions instead of multiplications",
    (*CLUSTERED, "diabetes", "m-noise1"),
    _task_grid,
    lambda _: figure(()),
    compare=_compare_tasks,
    note="The paper says that one-hot vectors of codes are fed to classification, regression or clustering, and that "
    "multiplications are avoided. They are, and yet a first layer on codes is faster only where rows have far more "
    "columns than hashes: multiplications of many numbers in a row are what processors are built for, while rows of a "
    "table are scattered in memory. Whole steps of training are timed in docs/results/training.md.",
)


TIMED_NETS = [(name, L) for name in ("semg", "dailysports") for L in (2, 1)]


def _time_grid(quick: bool) -> list[Settings]:
    return [training_time(name, k=K, b=B, L=L) for name, L in (TIMED_NETS[:1] if quick else TIMED_NETS)]


def _time_charts(results: Results) -> Iterator[Chart]:
    for settings in _time_grid(False):
        outcome = results.get(settings)
        if outcome is not None:
            by_b = zip(*outcome.result["seconds"], strict=True)
            series = tuple(
                Series(f"b = {b}", tuple(map(float, K)), seconds, style)
                for b, seconds, style in zip(B, by_b, BY_NUMBER, strict=False)
            )
            title = f"{DISPLAY_NAMES[settings['dataset']]}: {net_label((settings['L'], settings['H']))}"
            yield Chart(title, series, "k", "seconds of an epoch", log_x=True, log_y=True)


def _determined_by_k(results: Results) -> list[Case]:
    """Return how much longer an epoch with twice as many hashes takes, for each two b."""
    cases = []
    for outcome in all_done(results, _time_grid(False)):
        seconds = {
            (k, b): time
            for k, line in zip(K, outcome.result["seconds"], strict=True)
            for b, time in zip(B, line, strict=True)
        }
        for k, twice in pairwise(K):
            for b, other in product(B, B):
                ratio = seconds[twice, b] / seconds[k, other]
                what = f"L = {outcome.settings['L']}, k = {twice} and b = {b} next to k = {k} and b = {other}"
                cases.append(Case(what, ratio, ratio > 1, (outcome,)))
    return cases


TRAINING_TIME = Experiment(
    "training-time",
    "Section 2",
    "The time of training by k and b",
    ("semg", "dailysports"),
    _time_grid,
    lambda results: figure(_time_charts(results), columns=2),
    (
        Statement(
            "The (online) training cost is mainly determined by k, the number of nonzero entries.",
            "an epoch with twice as many hashes takes longer, whatever b is for either; all k and b, L = 1 and 2",
            _determined_by_k,
            "times",
            why="All cases against it set b = 1 or 2 against b = 4 or 8. With the same b an epoch with twice as many "
            "hashes takes 1.2 to 2.6 times as long; with the same k an epoch with b = 8 takes 1.1 to 5.8 times as long "
            "as one with b = 1, since a batch then updates more rows of a larger table. Times of the paper's nets "
            "would settle it.",
        ),
    ),
    note="The paper says it in sections 2 and 4, and shows no times. Here they are medians over the epochs of three "
    "trainings by this package on one thread of a machine that others use, too. Hashing is not in them.",
)
