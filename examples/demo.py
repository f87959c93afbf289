"""One pass over the digits: GCWSNet, and the same net on the original pixels.

Both nets have one hidden layer of 200 units and see each of the training rows once, in batches of 32, with the same
optimizer: Adam without momentum, whose rate falls to zero. GCWSNet is as it is by default. The net on pixels gets them
standardised, and its rate is chosen by cross-validation within the training rows; the test rows only give the curves.
Every number is the mean over five runs, each with its own order of rows, hashes and weights.

Run it with ``make demo``, or with ``python examples/demo.py`` where gcwsnet[demo] is installed. It
writes the learning curves to ``demo.png`` in the current folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from scipy.special import softmax
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSNetClassifier

HIDDEN, BATCH, K = 200, 32, 256
BETA = 0.999  # of the squares of gradients in Adam
RATES = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2)
SEEDS = range(5)
N_FOLDS = 3
N_POINTS = 20
PICTURE = Path("demo.png")

Numbers = NDArray[np.float64]


class Rows(NamedTuple):
    """Training rows and held-out rows, with their labels."""

    X_train: Numbers
    y_train: NDArray[np.int64]
    X_test: Numbers
    y_test: NDArray[np.int64]


class Curve(NamedTuple):
    """Accuracies in percent at shares of the pass, a row for each run, and the learning rate."""

    shares: Numbers
    accuracies: Numbers
    rate: str


def load_rows() -> Rows:
    """Return the digits, 70% of each class for training, always the same."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    return Rows(X_train, y_train, X_test, y_test)


def folds_of(rows: Rows) -> Iterator[Rows]:
    """Yield the training rows alone, in turn one third of them held out."""
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
    for learn, held_out in folds.split(rows.X_train, rows.y_train):
        yield Rows(rows.X_train[learn], rows.y_train[learn], rows.X_train[held_out], rows.y_train[held_out])


def learn_from_codes(rows: Rows, seed: int) -> tuple[Numbers, Numbers]:
    """Return shares of one pass, and the test accuracy of GCWSNet there."""
    net = GCWSNetClassifier(
        n_hashes=K, hidden=(HIDDEN,), epochs=1, batch_size=BATCH, records=N_POINTS, random_state=seed
    )
    net.fit(rows.X_train, rows.y_train, eval_set=(rows.X_test, rows.y_test))
    return np.array(net.history_["epoch"]), 100 * np.array(net.history_["eval_accuracy"])


class PixelNet:
    """A net of one hidden layer on rows of numbers, which begins with weights as torch draws them."""

    def __init__(self, n_columns: int, n_classes: int, rng: np.random.Generator) -> None:
        bounds = (1 / np.sqrt(n_columns), 1 / np.sqrt(HIDDEN))
        shapes = [(n_columns, HIDDEN), (HIDDEN,), (HIDDEN, n_classes), (n_classes,)]
        self.weights = [rng.uniform(-bounds[i // 2], bounds[i // 2], shape) for i, shape in enumerate(shapes)]
        self.squares = [np.zeros(shape) for shape in shapes]
        self.steps = 0

    def hidden(self, X: Numbers) -> Numbers:
        """Return the outputs of the hidden layer."""
        return np.maximum(X @ self.weights[0] + self.weights[1], 0)

    def outputs(self, X: Numbers) -> Numbers:
        """Return an output for each class."""
        return self.hidden(X) @ self.weights[2] + self.weights[3]

    def learn(self, X: Numbers, y: NDArray[np.int64], rate: float) -> None:
        """Take one step of Adam without momentum."""
        hidden = self.hidden(X)
        error = (softmax(self.outputs(X), axis=1) - np.eye(self.weights[3].size)[y]) / len(y)
        hidden_error = (error @ self.weights[2].T) * (hidden > 0)
        gradients = [X.T @ hidden_error, hidden_error.sum(axis=0), hidden.T @ error, error.sum(axis=0)]
        self.steps += 1
        for i, gradient in enumerate(gradients):
            self.squares[i] += (1 - BETA) * (gradient**2 - self.squares[i])
            self.weights[i] -= rate * gradient / (np.sqrt(self.squares[i] / (1 - BETA**self.steps)) + 1e-8)


def learn_from_pixels(rows: Rows, rate: float, seed: int) -> tuple[Numbers, Numbers]:
    """Return the same for a net on standardised pixels."""
    rng = np.random.default_rng(seed)
    scaler = StandardScaler().fit(rows.X_train)
    X_train, X_test = scaler.transform(rows.X_train), scaler.transform(rows.X_test)
    net = PixelNet(X_train.shape[1], 10, rng)
    n = len(rows.y_train)
    order, starts = rng.permutation(n), range(0, n, BATCH)
    points = {int(np.ceil(len(starts) * i / N_POINTS)) for i in range(1, N_POINTS + 1)}
    shares, accuracies = [], []
    for number, start in enumerate(starts):
        batch = order[start : start + BATCH]
        net.learn(X_train[batch], rows.y_train[batch], rate * (1 - number / len(starts)))
        if number + 1 in points:
            shares.append(min((number + 1) * BATCH / n, 1.0))
            accuracies.append(100 * float(np.mean(net.outputs(X_test).argmax(axis=1) == rows.y_test)))
    return np.array(shares), np.array(accuracies)


def best_rate(rows: Rows, tick: Callable[[], None]) -> float:
    """Return the rate with the best mean accuracy on held-out training rows."""
    total = dict.fromkeys(RATES, 0.0)
    for seed, fold in enumerate(folds_of(rows)):
        for rate in RATES:
            total[rate] += learn_from_pixels(fold, rate, seed)[1][-1]
            tick()
    return max(total, key=lambda rate: total[rate])


def curve_of(learn: Callable[[int], tuple[Numbers, Numbers]], rate: str, tick: Callable[[], None]) -> Curve:
    """Return the curve of all runs."""
    accuracies = []
    for seed in SEEDS:
        shares, accuracy = learn(seed)
        accuracies.append(accuracy)
        tick()
    return Curve(shares, np.array(accuracies), rate)


def table_of(curves: dict[str, Curve], n_train: int) -> Table:
    """Return the comparison along the pass."""
    table = Table(title=f"Test accuracy along one pass over {n_train} rows, %")
    table.add_column("net")
    for share in (0.1, 0.25, 0.5):
        table.add_column(f"at {share:g}", justify="right")
    for name in ("at the end", "+/-", "rate"):
        table.add_column(name, justify="right")
    for net, curve in curves.items():
        means = curve.accuracies.mean(axis=0)
        on_the_way = [f"{means[np.searchsorted(curve.shares, share)]:.1f}" for share in (0.1, 0.25, 0.5)]
        spread = curve.accuracies[:, -1].std(ddof=1)
        table.add_row(net, *on_the_way, f"{means[-1]:.1f}", f"{spread:.1f}", curve.rate)
    return table


def draw(curves: dict[str, Curve], path: Path) -> None:
    """Draw the learning curves, that of the original data dashed and black as in the paper."""
    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for (net, curve), style in zip(curves.items(), ("C3-o", "k--s"), strict=True):
        axes.plot(curve.shares, curve.accuracies.mean(axis=0), style, label=net, markersize=4, linewidth=1.3)
    axes.set(
        xlabel="share of the training rows seen, each once",
        ylabel="test accuracy, %",
        title=f"Digits, one pass, {HIDDEN} hidden units",
        ylim=(50, 100),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path, dpi=110)


def main() -> None:
    """Run, show the table, write the picture."""
    console = Console()
    rows = load_rows()
    shown = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*shown, console=console) as progress:
        task = progress.add_task("learning from codes", total=2 * len(SEEDS) + N_FOLDS * len(RATES))

        def tick() -> None:
            progress.advance(task)

        codes = curve_of(lambda seed: learn_from_codes(rows, seed), "default", tick)
        progress.update(task, description="learning from pixels")
        rate = best_rate(rows, tick)
        pixels = curve_of(lambda seed: learn_from_pixels(rows, rate, seed), f"{rate:g}", tick)
    curves = {f"GCWSNet, k={K}, b=8": codes, "original data": pixels}
    console.print(table_of(curves, len(rows.y_train)))
    console.print(
        f"Means over {len(SEEDS)} runs; +/- is the standard deviation of a run. "
        f"{len(rows.y_test)} test rows. The rate of the net on original data was chosen on training rows."
    )
    draw(curves, PICTURE)
    console.print(f"The learning curves are in {PICTURE.resolve()}", soft_wrap=True)


if __name__ == "__main__":
    main()
