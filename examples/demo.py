"""One pass over the digits: a linear classifier on GCWS codes and on the original pixels.

The same classifier, averaged stochastic gradient descent on the logistic loss, sees each training row exactly once, in
batches of 32. Its input is either the one-hot codes of `gcwsnet.GCWSHasher` or the pixels in one of three usual
scalings. The step size of each input is chosen by cross-validation within the training rows; the test rows only give
the curves. Every number is the mean over five runs, each with an order of the rows and a hash seed of its own.

Run it with ``make demo``, or with ``python examples/demo.py`` where gcwsnet, matplotlib and rich are installed. It
writes the learning curves to ``demo.png`` in the current folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from gcwsnet import GCWSHasher

BATCH = 32
STEPS = (0.03, 0.1, 0.3)
SEEDS = range(5)
N_FOLDS = 3
PICTURE = Path("demo.png")

Labels = NDArray[np.int64]
MakeInput = Callable[[int], Any]
"""From a seed to a scikit-learn transformer."""


class Rows(NamedTuple):
    """Rows to learn from and rows to judge by, with their labels."""

    X_train: Any
    y_train: Labels
    X_test: Any
    y_test: Labels


class Curve(NamedTuple):
    """What one input gave: accuracies (in percent) at shares of the pass, its step and its size."""

    step: float
    shares: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    spread: float
    columns: int
    non_zeros: float


def gcws_codes(seed: int) -> Any:
    """256 hashes of 8 bits, one-hot."""
    return GCWSHasher(n_hashes=256, bits=8, output="onehot", random_state=seed)


def pixels_from_0_to_1(seed: int) -> Any:  # noqa: ARG001
    """The pixels, which are whole numbers from 0 to 16, divided by 16."""
    return FunctionTransformer(lambda X: X / 16)


def standardised_pixels(seed: int) -> Any:  # noqa: ARG001
    """Each pixel with mean 0 and variance 1."""
    return StandardScaler()


def rows_of_one_length(seed: int) -> Any:  # noqa: ARG001
    """Each row with the length 8, so that the mean square of its 64 pixels is 1."""
    return FunctionTransformer(lambda X: 8 * Normalizer().transform(X))


INPUTS: dict[str, MakeInput] = {
    "GCWS, k=256, b=8": gcws_codes,
    "pixels / 16": pixels_from_0_to_1,
    "pixels standardised": standardised_pixels,
    "pixels, length 8": rows_of_one_length,
}


def load_rows() -> Rows:
    """The digits, 70% of each class for training, always the same."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    return Rows(X_train, y_train, X_test, y_test)


def folds_of(rows: Rows) -> Iterator[Rows]:
    """The training rows alone, in turn one third of them to judge by."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for learn, judge in folds.split(rows.X_train, rows.y_train):
        yield Rows(rows.X_train[learn], rows.y_train[learn], rows.X_train[judge], rows.y_train[judge])


def transformed(rows: Rows, make_input: MakeInput, seed: int) -> Rows:
    """The rows as the classifier sees them."""
    transformer = make_input(seed).fit(rows.X_train)
    return rows._replace(X_train=transformer.transform(rows.X_train), X_test=transformer.transform(rows.X_test))


def one_pass(rows: Rows, step: float, seed: int) -> Iterator[tuple[int, SGDClassifier]]:
    """The rows seen so far and the classifier, after each batch of one pass in random order."""
    classifier = SGDClassifier(loss="log_loss", average=True, learning_rate="constant", eta0=step, random_state=seed)
    classes = np.unique(rows.y_train)
    order = np.random.default_rng(seed).permutation(len(rows.y_train))
    for start in range(0, len(order), BATCH):
        batch = order[start : start + BATCH]
        classifier.partial_fit(rows.X_train[batch], rows.y_train[batch], classes=classes)
        yield start + len(batch), classifier


def final_accuracy(rows: Rows, step: float, seed: int) -> float:
    """Accuracy in percent after the pass."""
    *_, (_, classifier) = one_pass(rows, step, seed)
    return 100 * float(classifier.score(rows.X_test, rows.y_test))


def best_step(rows: Rows, make_input: MakeInput, tick: Callable[[], None]) -> float:
    """The step with the best mean accuracy on held-out training rows."""
    total = dict.fromkeys(STEPS, 0.0)
    for seed, fold in enumerate(folds_of(rows)):
        ready = transformed(fold, make_input, seed)
        for step in STEPS:
            total[step] += final_accuracy(ready, step, seed)
            tick()
    return max(total, key=lambda step: total[step])


def learning_curve(rows: Rows, make_input: MakeInput, tick: Callable[[], None]) -> Curve:
    """Mean test accuracy along the pass, with the step chosen on training rows."""
    step = best_step(rows, make_input, tick)
    runs = []
    for seed in SEEDS:
        ready = transformed(rows, make_input, seed)
        run = []
        for number, (seen, classifier) in enumerate(one_pass(ready, step, seed), start=1):
            if number == 1 or number % 2 == 0 or seen == len(ready.y_train):
                run.append((seen / len(ready.y_train), 100 * classifier.score(ready.X_test, ready.y_test)))
        runs.append(run)
        tick()
    shares, accuracies = np.moveaxis(np.array(runs), 2, 0)
    X = ready.X_train
    non_zeros = float(np.mean((X != 0).sum(axis=1)))
    return Curve(step, shares[0], accuracies.mean(axis=0), accuracies[:, -1].std(ddof=1), X.shape[1], non_zeros)


def table_of(curves: dict[str, Curve], n_train: int) -> Table:
    """The comparison after the pass."""
    table = Table(title=f"Test accuracy after one pass over {n_train} rows")
    table.add_column("input")
    for name in ("accuracy %", "+/-", "columns", "non-zeros per row", "step"):
        table.add_column(name, justify="right")
    for name, curve in curves.items():
        table.add_row(
            name,
            f"{curve.accuracy[-1]:.1f}",
            f"{curve.spread:.1f}",
            f"{curve.columns}",
            f"{curve.non_zeros:.0f}",
            f"{curve.step:g}",
        )
    return table


def draw(curves: dict[str, Curve], path: Path) -> None:
    """The learning curves, told apart by line and marker as well as by colour."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (name, curve), style in zip(curves.items(), ("k-o", "C0--s", "C1:^", "C2-.v"), strict=True):
        axes.plot(curve.shares, curve.accuracy, style, label=name, markersize=4, linewidth=1.3)
    axes.set(
        xlabel="share of the training rows seen, each once",
        ylabel="test accuracy, %",
        title="Digits, one pass, linear classifier",
        ylim=(60, 100),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run, show the table, write the picture."""
    console = Console()
    rows = load_rows()
    curves = {}
    runs_per_input = N_FOLDS * len(STEPS) + len(SEEDS)
    with Progress(console=console) as progress:
        task = progress.add_task("one pass after the other", total=runs_per_input * len(INPUTS))
        for name, make_input in INPUTS.items():
            curves[name] = learning_curve(rows, make_input, lambda: progress.advance(task))
    console.print(table_of(curves, len(rows.y_train)))
    console.print(
        f"Means over {len(SEEDS)} runs; +/- is the standard deviation of a run. "
        f"{len(rows.y_test)} test rows; the step was chosen on training rows."
    )
    draw(curves, PICTURE)
    console.print(f"The learning curves are in {PICTURE.resolve()}", soft_wrap=True)


if __name__ == "__main__":
    main()
