"""The datasets of the suite that are read from the folder that GCWSNET_DATA names: those of the paper, and tables."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.accuracy.split import Split, SuiteDataset, Task, same_for_all_seeds
from reproduction import datasets

OF_THE_PAPER = {
    "semg": "derived",
    "pendigits": "exact",
    "m-noise1": "rebuilt",
    "m-image": "rebuilt",
    "dailysports": "rounded",
    "mnist": "exact",
    "covtype": "exact",
}
CLASSIFICATIONS = (
    "adult banana churn cmc connect_4 diabetes_pima dna german hill_valley_with_noise hypothyroid kr_vs_kp krkopt "
    "led24 letter magic page_blocks phoneme saheart satimage segmentation sleep spambase splice vehicle "
    "waveform_40 wine_quality_red wine_quality_white yeast"
)
REGRESSIONS = "bodyfat cpu_small echo_months house_16H kin40k parkinsons pol pollen puma8NH pumadyn32nm tecator wind"


def _of_the_paper(name: str) -> Callable[[], Split]:
    def load() -> Split:
        data = datasets.load(name, download=False)
        return Split(data.X_train, data.y_train, data.X_test, data.y_test)

    return load


def _table(name: str) -> Callable[[], Split]:
    """Return a loader of ``NAME.npz`` in the folder that GCWSNET_DATA names, or in its subfolder ``tables``."""

    def load() -> Split:
        folder = Path(os.environ.get("GCWSNET_DATA", "."))
        for path in (folder / "tables" / f"{name}.npz", folder / f"{name}.npz"):
            if path.exists():
                with np.load(path) as file:
                    X_train, X_test = (file[part].astype(np.float64) for part in ("X_train", "X_test"))
                    return Split(X_train, file["y_train"], X_test, file["y_test"])
        raise FileNotFoundError(
            f"there is no {name}.npz in {folder} or in its folder tables: let GCWSNET_DATA name the folder that has it"
        )

    return load


def file_datasets() -> list[SuiteDataset]:
    """Return the datasets of the paper, and the tables that defaults are developed on."""
    found = [
        SuiteDataset(name, "paper", origin, same_for_all_seeds(_of_the_paper(name)))
        for name, origin in OF_THE_PAPER.items()
    ]
    tasks: list[tuple[str, Task]] = [(name, "classification") for name in CLASSIFICATIONS.split()]
    tasks += [(name, "regression") for name in REGRESSIONS.split()]
    return found + [
        SuiteDataset(name, "tables", "PMLB", same_for_all_seeds(_table(name)), task) for name, task in tasks
    ]
