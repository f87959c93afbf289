"""Which of seven exercises is it, by two seconds of a smartwatch: GCWSNet in one pass, a net, and LightGBM.

The package seglearn carries what watches measured on the wrists of ten people who did seven shoulder exercises: three
accelerations and three turn rates, 50 times a second (Burns and others, arXiv:1802.01489). A row here is two seconds
of it, every second measurement, as it is: 300 numbers and no feature of anybody's design. The first 70% of each
recording are for training and the rest for testing, so that no row of the one overlaps a row of the other.

All learn from the same rows on one thread, with the same clock, which counts processor time and stands still while
test rows are predicted. GCWSNet sees each row once, with 256 hashes and with 1,024. scikit-learn's net has as many
hidden units and gets standardised columns, for five passes, with the rate that was best of three on the test rows
after the first one. LightGBM, where it is installed, has its defaults.

Run it with ``make demo``, or with ``python examples/demo.py`` where gcwsnet[demo] is installed. What it makes is in
``build/demo``: the picture, the model, and rows for the command.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from seglearn.datasets import load_watch
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from gcwsnet import GCWSNetClassifier

LENGTH = 50  # measurements of a row: two seconds, 25 a second
PASSES = 5  # of scikit-learn's net
RECORDS = 10  # points of a curve for each pass
RATES = (3e-4, 1e-3, 3e-3)
FOLDER = Path("build/demo")


class Rows(NamedTuple):
    """Training rows and later rows of the same recordings, with the names of the exercises."""

    X_train: NDArray[np.float32]
    y_train: NDArray[np.str_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.str_]


def load_rows(step: int) -> Rows:
    """Return windows of the recordings, one beginning at every `step`-th measurement."""
    watch = load_watch()
    parts: tuple[list[Any], ...] = ([], [], [], [])
    for recording, label in zip(watch["X"], watch["y"], strict=True):
        measured = recording[::2].astype(np.float32)
        split = int(0.7 * len(measured))
        for part, place in ((measured[:split], 0), (measured[split:], 2)):
            windows = sliding_window_view(part, LENGTH, axis=0)[::step]
            parts[place].append(windows.reshape(len(windows), -1))
            parts[place + 1].append(np.full(len(windows), watch["y_labels"][int(label)]))
    return Rows(*(np.concatenate(part) for part in parts))


class Curve:
    """The test accuracy of a learner along its training, by passes and by seconds."""

    def __init__(self, name: str, rows: Rows, progress: Progress, end: float = 1.0) -> None:
        self.name, self.rows, self.progress = name, rows, progress
        self.passes: list[float] = []
        self.seconds: list[float] = []
        self.accuracy: list[float] = []
        self.task = progress.add_task(name, total=end, accuracy="")
        self.begin = time.process_time()

    def look(self, done: float, predict: Any) -> None:
        """Add a point; the clock stands still meanwhile."""
        stopped = time.process_time()
        self.passes.append(done)
        self.seconds.append(stopped - self.begin)
        self.accuracy.append(100 * float(np.mean(predict(self.rows.X_test) == self.rows.y_test)))
        self.progress.update(self.task, completed=done, accuracy=f"{self.accuracy[-1]:.1f}% of test rows")
        self.begin += time.process_time() - stopped


def learn_gcwsnet(n_hashes: int, rows: Rows, progress: Progress) -> tuple[GCWSNetClassifier, Curve]:
    """Return a classifier that saw each row once, and its curve."""
    curve = Curve(f"GCWSNet, k = {n_hashes:,}, one pass", rows, progress)
    model = GCWSNetClassifier(
        n_hashes=n_hashes,
        epochs=1,
        records=RECORDS,
        callbacks=[lambda model, record: curve.look(record["epoch"], model.predict)],
        random_state=0,
    )
    return model.fit(rows.X_train, rows.y_train), curve


def learn_net(rate: float, passes: int, rows: Rows, progress: Progress) -> Curve:
    """Return the curve of scikit-learn's net on standardised columns, batch by batch in random order."""
    curve = Curve(f"scikit-learn's net, rate {rate:g}", rows, progress, end=passes)
    rng, scaler = np.random.default_rng(0), StandardScaler().fit(rows.X_train)
    X, classes = scaler.transform(rows.X_train), np.unique(rows.y_train)
    net = MLPClassifier(hidden_layer_sizes=200, batch_size=32, learning_rate_init=rate, random_state=0)
    for epoch in range(passes):
        for number, part in enumerate(np.array_split(rng.permutation(len(X)), RECORDS), start=1):
            net.partial_fit(X[part], rows.y_train[part], classes=classes)
            curve.look(epoch + number / RECORDS, lambda X: net.predict(scaler.transform(X)))
    return curve


def learn_trees(rows: Rows, progress: Progress) -> list[Curve]:
    """Return the curve of LightGBM along its trees, or nothing where it is not installed."""
    try:
        from lightgbm import LGBMClassifier  # noqa: PLC0415
    except ImportError:
        return []
    model = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    curve = Curve("LightGBM", rows, progress, end=model.n_estimators)
    classes = np.unique(rows.y_train)

    def look(state: Any) -> None:
        trees = state.iteration + 1
        if trees == 1 or trees % 10 == 0:
            curve.look(trees, lambda X: classes[state.model.predict(X, num_threads=1).argmax(axis=1)])

    with threadpool_limits(1):  # also of what LightGBM has loaded
        model.fit(rows.X_train, rows.y_train, callbacks=[look])
    return [curve]


def table_of(curves: list[Curve]) -> Table:
    """Return the comparison."""
    table = Table(title="Test accuracy, %, and processor time of the fit")
    for name in ("", "after 1/10 of a pass", "after 1 pass", "at the end", "seconds"):
        table.add_column(name, justify="right" if name else "left")
    for curve in curves:
        passes = "LightGBM" not in curve.name
        on_the_way = [f"{curve.accuracy[place]:.1f}" if passes else "" for place in (0, RECORDS - 1)]
        table.add_row(curve.name, *on_the_way, f"{curve.accuracy[-1]:.1f}", f"{curve.seconds[-1]:.1f}")
    return table


def draw(curves: list[Curve], path: Path) -> None:
    """Draw accuracy against the share of one pass, and against the time of the fit."""
    figure = Figure(figsize=(9.6, 3.9), layout="constrained")
    by_pass, by_time = figure.subplots(1, 2, sharey=True)
    for curve, style in zip(curves, ("C3-o", "C1-s", "k--", "C0-^"), strict=False):
        first = [done <= 1 for done in curve.passes]
        if "LightGBM" not in curve.name:
            by_pass.plot(np.array(curve.passes)[first], np.array(curve.accuracy)[first], style, markersize=3)
        by_time.plot(curve.seconds, curve.accuracy, style, label=curve.name, markersize=3)
    by_pass.set(xlabel="share of the training rows seen, each once", ylabel="test accuracy, %", ylim=(60, 100))
    by_time.set(xlabel="processor time of the fit, seconds", xscale="log")
    by_time.legend(loc="lower right", fontsize=8)
    for axes in (by_pass, by_time):
        axes.grid(alpha=0.3)
    figure.suptitle("Which of seven exercises? Two seconds of a smartwatch, 300 numbers, as they are", fontsize=11)
    figure.savefig(path, dpi=110)


def main(step: int = 7, folder: Path = FOLDER) -> None:
    """Learn, show the comparison and what was chosen, draw the picture, and predict with the command."""
    console = Console()
    rows = load_rows(step)
    console.print(
        f"{len(rows.y_train):,} rows of {rows.X_train.shape[1]} numbers to learn from, {len(rows.y_test):,} to test"
    )
    shown = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[accuracy]}"))
    with threadpool_limits(1), Progress(*shown, console=console) as progress:
        model, few_hashes = learn_gcwsnet(256, rows, progress)
        _, many_hashes = learn_gcwsnet(1024, rows, progress)
        rate = max(RATES, key=lambda rate: learn_net(rate, 1, rows, progress).accuracy[-1])
        curves = [few_hashes, many_hashes, learn_net(rate, PASSES, rows, progress), *learn_trees(rows, progress)]
    console.print(table_of(curves))
    history = model.history_
    progressive = np.average(history["accuracy"], weights=np.diff(history["rows"], prepend=0))
    console.print(f"Accuracy in the one pass, of each row before it was learned: {100 * progressive:.1f}%")
    if len(curves) < 4:
        console.print("LightGBM is not installed; pip install lightgbm to see it beside the others.")
    console.print(f"\nWhat GCWSNet chose for the columns, model.explain():\n{model.explain()}\n")

    folder.mkdir(parents=True, exist_ok=True)
    draw(curves, folder / "demo.png")
    model.save(folder / "watch.safetensors")
    np.save(folder / "rows.npy", rows.X_test[:: len(rows.X_test) // 5])
    command = ["gcwsnet", "predict", str(folder / "watch.safetensors"), str(folder / "rows.npy")]
    console.print("$", *command, soft_wrap=True)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", *command], check=True)  # noqa: S603
    console.print(f"\nThe picture is {(folder / 'demo.png').resolve()}", soft_wrap=True)


if __name__ == "__main__":
    main()
