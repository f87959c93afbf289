"""What the paper says in passing: noise levels, learning rates, more hidden layers, time, other splits, other tasks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise, product

from reproduction.charts import BLUE, BY_NUMBER, ORIGINAL, RED, Chart, Points, Series, Style, against
from reproduction.experiment import B, Experiment, K, net_label
from reproduction.experiment_data import DISPLAY_NAMES, REBUILT
from reproduction.experiments.nets import as_in_text, text_numbers
from reproduction.results import Outcome, Results
from reproduction.rules import MUCH, REASONABLE, SIMILAR, TYPICALLY
from reproduction.settings import RATE, Settings, clusters, first_layer, gcws, original, regression, training_time
from reproduction.statements import Statement, above, at_most, better, gain, reaches

LEVELS = tuple(range(1, 7))


def _noise(p: float, level: int) -> Settings:
    return gcws(f"m-noise{level}", k=512, b=8, L=2, p=p)


def _plain_noise(level: int) -> Settings:
    return original(f"m-noise{level}", L=2)


NOISE_WAYS: dict[str, tuple[Callable[[int], Settings], Style]] = {
    "GCWS, p = 80": (partial(_noise, 80), Style("-", "D", RED)),
    "GCWS, p = 1": (partial(_noise, 1), Style("-", "o", BLUE)),
    "original data": (_plain_noise, ORIGINAL),
}
NOISE_LEVELS = Experiment(
    "m-noise-levels",
    "Section 1.1",
    "M-Noise1 to M-Noise6 in one epoch",
    [way(level) for level in LEVELS for way, _ in NOISE_WAYS.values()],
    [
        Chart(
            "k = 512, b = 8, L = 2, H = 200",
            tuple(Series(label, style, against(LEVELS, way)) for label, (way, style) in NOISE_WAYS.items()),
            "number of the set, after one epoch",
        )
    ],
    (
        better(
            "M-Noise2, ..., M-Noise6 exhibit similar behaviors as M-Noise1: a large p helps.",
            f"p = 80 is better than p = 1 by more than {MUCH:g} points, as in Table 1; all sets, k = 512, b = 8, L = 2",
            [(_noise(80, level), _noise(1, level)) for level in LEVELS],
            MUCH,
        ),
    ),
    note="Not a figure of the paper, which only says so.",
    columns=2,
)


RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
RATE_POWERS = {"dailysports": 1.0, "pendigits": 2.0}
RATE_CASES = [(name, L) for name in RATE_POWERS for L in (1, 2)]


def _with_rate(name: str, L: int, rate: float) -> Settings:
    return gcws(name, k=256, b=8, L=L, p=RATE_POWERS[name], rate=rate)


LEARNING_RATES = Experiment(
    "learning-rates",
    "Section 2",
    "Learning rates, one epoch",
    [_with_rate(name, L, rate) for name, L in RATE_CASES for rate in RATES],
    [
        Chart(
            f"{DISPLAY_NAMES[name]}, p = {p:g}, k = 256, b = 8",
            tuple(
                Series(f"L = {L}", style, against(RATES, partial(_with_rate, name, L)))
                for L, style in zip((1, 2), BY_NUMBER, strict=False)
            ),
            "learning rate, one epoch",
            log_x=True,
        )
        for name, p in RATE_POWERS.items()
    ],
    (
        Statement(
            "Learning rates other than 0.001 gave either similar or worse results.",
            f"after one epoch, another rate is better by at most {SIMILAR:g} point; four rates, L = 1 and 2, k = 256, "
            "b = 8",
            [
                (_with_rate(name, L, rate), _with_rate(name, L, RATE))
                for name, L in RATE_CASES
                for rate in RATES
                if rate != RATE
            ],
            gain,
            at_most(SIMILAR),
            why="With our defaults all cases against it are nets without hidden units, which 0.001 trains too slowly "
            "for one epoch.",
        ),
    ),
    note="Not a figure of the paper, which only says so, and not for which nets and how many epochs.",
    columns=2,
)


DEEP_POWERS = {"dailysports": 1.0, "pendigits": 2.0}
LAYERS, UNITS, DEEP_K = (2, 3, 4, 5), (200, 400), (64, 256)


def _deep(name: str, k: int, H: int, L: int) -> Settings:
    return gcws(name, k=k, b=8, L=L, H=H, p=DEEP_POWERS[name], epochs=5)


DEEP_RUNS = [_deep(name, k, H, L) for name in DEEP_POWERS for k in DEEP_K for H in UNITS for L in LAYERS]
DEEPER = Experiment(
    "hidden-layers",
    "Section 2",
    "One to four hidden layers, five epochs",
    DEEP_RUNS,
    [
        Chart(
            f"{DISPLAY_NAMES[name]}, p = {p:g}: k = {k}, b = 8",
            tuple(
                Series(f"H = {H}", style, against(LAYERS, partial(_deep, name, k, H), 1.0))
                for H, style in zip(UNITS, BY_NUMBER, strict=False)
            ),
            "L, after one epoch",
        )
        for name, p in DEEP_POWERS.items()
        for k in DEEP_K
    ],
    (
        reaches(
            "With b = 8 bits, regardless of H and k (and the number of hidden layers), GCWSNet converges fast and "
            "typically reaches a reasonable accuracy at the end of one epoch.",
            f"after one epoch at least {REASONABLE:g}% of the best accuracy of five epochs; L = 2 to 5, H = 200 and "
            "400, k = 64 and 256, two datasets",
            DEEP_RUNS,
            1,
            REASONABLE,
            share=TYPICALLY,
        ),
    ),
    note="Not a figure of the paper, whose nets have at most two hidden layers. Each layer has half of the units of "
    "the one before.",
    columns=2,
)


SPLIT = "covtype-authors"
AUTHORS_SPLIT = Experiment(
    SPLIT,
    "Section 2",
    "Covtype in a split that the authors publish, one epoch",
    [original(SPLIT, L=2), *(gcws(SPLIT, k=k, b=8, L=2) for k in (64, 256))],
    (),
    (as_in_text(SPLIT),),
    text_numbers(1, (84, 77), SPLIT),
    note="The authors publish this split with another of their packages. It has the sizes of the paper; whether it is "
    "the split of the paper is not known.",
)


DRAWS = tuple(range(3))


def _draw(name: str, draw: int) -> Settings:
    return gcws(name, k=512, b=8, L=2, p=50.0 if name == "m-image" else 80.0, draw=draw)


def _plain_draw(name: str, draw: int) -> Settings:
    return original(name, L=2, draw=draw)


def _spreads(results: Results) -> str:
    """Return by how much accuracies differ from draw to draw, at most."""
    most = []
    for way in (_draw, _plain_draw):
        done = [[one.accuracy for draw in DRAWS if (one := results.get(way(name, draw)))] for name in REBUILT]
        if any(len(some) < len(DRAWS) for some in done):
            return ""
        most.append(max(max(some) - min(some) for some in done))
    return (
        f"From draw to draw GCWSNet differs by up to {most[0]:.1f} points, and the net on the original data by up to "
        f"{most[1]:.1f}."
    )


DIFFERENT_DRAWS = Experiment(
    "draws",
    "Section 1.1",
    "Three draws of the rebuilt datasets, one epoch",
    [way(name, draw) for name in REBUILT for draw in DRAWS for way in (_draw, _plain_draw)],
    [
        Chart(
            DISPLAY_NAMES[name],
            (
                Series("GCWS, k = 512, b = 8, L = 2", BY_NUMBER[0], against(DRAWS, partial(_draw, name))),
                Series("original data", ORIGINAL, against(DRAWS, partial(_plain_draw, name))),
            ),
            "draw of the rows",
        )
        for name in REBUILT
    ],
    result=_spreads,
    note="Not in the paper: it shows how much the numbers depend on the draw of rebuilt rows.",
    columns=4,
)


TASK_K, TIMED_K = 512, 256
CLUSTERED = {"pendigits": 2.0, "dailysports": 1.0, "digits": 1.0}
TASKS = {
    **{
        f"K-means on {DISPLAY_NAMES[name]}, 100 times the adjusted mutual information with the classes": (
            clusters(name, rows="codes", k=TASK_K, p=p),
            clusters(name, rows="original"),
        )
        for name, p in CLUSTERED.items()
    },
    "Ridge regression on scikit-learn's diabetes, 100 times R2": (
        regression(rows="codes", k=TASK_K),
        regression(rows="original"),
    ),
}
TIMED = [first_layer(name, k=TIMED_K) for name in ("dailysports", "m-noise1", "digits")]


def _tasks(results: Results) -> str:
    found = []
    for what, runs in TASKS.items():
        ours, theirs = map(results.get, runs)
        if ours is not None and theirs is not None:
            found.append(f"{what}: {ours.accuracy:.1f} on codes, {theirs.accuracy:.1f} on the original rows.")
    for settings in TIMED:
        run = results.get(settings)
        if run is not None:
            ratio, hashing = (run.result[part] / run.result["codes"] for part in ("numbers", "hashing"))
            found.append(
                f"A first layer of 200 units on the columns of {DISPLAY_NAMES[settings['dataset']]} takes {ratio:.1f} "
                f"times as long as one on {TIMED_K} codes; hashing takes as long as {hashing:.1f} of these, once."
            )
    return " ".join(found)


OTHER_TASKS = Experiment(
    "other-tasks",
    "Section 1.3",
    "Clustering, regression, and additions instead of multiplications",
    [*(run for pair in TASKS.values() for run in pair), *TIMED],
    result=_tasks,
    note="The paper says that one-hot vectors of codes are fed to classification, regression or clustering, and that "
    "multiplications are avoided. A first layer on codes is faster only where rows have far more columns than hashes.",
)


TIMED_NETS = [training_time(name, k=K, b=B, L=L) for name in ("semg", "dailysports") for L in (2, 1)]


def _seconds(settings: Settings, place: int, results: Results) -> Points | None:
    outcome = results.get(settings)
    return None if outcome is None else Points(K, [line[place] for line in outcome.result["seconds"]])


def _ratios(outcome: Outcome) -> list[float]:
    """Return how much longer an epoch with twice as many hashes takes, for each two b."""
    lines = outcome.result["seconds"]
    return [twice / once for less, more in pairwise(lines) for once, twice in product(less, more)]


TRAINING_TIME = Experiment(
    "training-time",
    "Section 2",
    "The time of training by k and b",
    TIMED_NETS,
    [
        Chart(
            f"{DISPLAY_NAMES[one['dataset']]}: {net_label((one['L'], one['H']))}",
            tuple(
                Series(f"b = {b}", style, partial(_seconds, one, place))
                for place, (b, style) in enumerate(zip(B, BY_NUMBER, strict=False))
            ),
            "k",
            "seconds of an epoch",
            log_x=True,
            log_y=True,
        )
        for one in TIMED_NETS
    ],
    (
        Statement(
            "The (online) training cost is mainly determined by k, the number of nonzero entries.",
            "an epoch with twice as many hashes takes longer, whatever b is for either; all k and b, L = 1 and 2",
            [(one,) for one in TIMED_NETS],
            _ratios,
            above(1),
            unit="times",
            why="All cases against it set b = 1 or 2 against b = 4 or 8: a batch then updates more rows of a larger "
            "table. With the same b an epoch with twice as many hashes takes longer in all cases.",
        ),
    ),
    note="The paper says it in sections 2 and 4, and shows no times. Here they are medians over the epochs of three "
    "trainings by this package, with lazy Adam, on one thread of a machine that others use, too. Hashing is not in "
    "them.",
    columns=2,
)
