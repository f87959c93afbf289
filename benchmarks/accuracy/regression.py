"""The regression part of the suite: R2 of GCWSNetRegressor, a linear model and LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.linear_model import LinearRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.subject import log, markdown_table
from gcwsnet import GCWSNetRegressor

Floats = NDArray[np.float64]


def regression_datasets() -> dict[str, tuple[Floats, Floats]]:
    """Return bundled and generated rows with numbers to predict."""
    rng = np.random.default_rng(0)
    houses = rng.normal(size=(20_000, 8)) @ rng.normal(size=(8, 8)) * np.exp(rng.normal(size=8))
    z = (houses - houses.mean(0)) / houses.std(0)
    price = (
        np.exp(0.5 * z[:, 0]) + np.sin(2 * z[:, 1]) * z[:, 2] + (z[:, 3] > 0) * z[:, 4] + 0.3 * rng.normal(size=20_000)
    )
    return {
        "diabetes": load_diabetes(return_X_y=True),
        "generated, 20,000 rows of 8 columns": (houses, price),
        "Friedman's function of 10 variables, 10,000 rows": make_friedman1(10_000, 10, noise=1.0, random_state=0),
    }


def regressors(n_rows: int, seed: int) -> dict[str, Any]:
    """Return the models, by the heads of their columns."""
    from lightgbm import LGBMRegressor

    linear = RidgeCV(np.logspace(-2, 4, 13)) if n_rows < 1000 else LinearRegression()
    return {
        "linear model": make_pipeline(StandardScaler(), linear),
        "LightGBM": LGBMRegressor(n_jobs=1, random_state=seed, verbose=-1),
        "GCWSNetRegressor": GCWSNetRegressor(random_state=seed),
        "5 epochs": GCWSNetRegressor(epochs=5, random_state=seed),
        "20 epochs": GCWSNetRegressor(epochs=20, random_state=seed),
    }


def regression_table(seeds: int) -> str:
    """Return a table of R2 on a third of the rows, means over seeds and splits."""
    rows, scores = [], dict[str, list[float]]()
    for name, (X, y) in regression_datasets().items():
        scores = {}
        for seed in range(seeds):
            X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
            for model_name, model in regressors(len(X), seed).items():
                scores.setdefault(model_name, []).append(model.fit(X_train, y_train).score(X_test, y_test))
        log(name, scores)
        rows.append([name, *(f"{np.mean(found):.3f}" for found in scores.values())])
    return markdown_table(["rows", *scores], rows)
