"""Rows made to hurt a scan: ties, zeros, one entry far above the others, more features than the lists hold."""

import numpy as np

RNG = np.random.default_rng(0)
HURTFUL = {
    "uniform": RNG.random((70, 300)),
    "both signs": RNG.normal(size=(70, 300)),
    "all columns equal": np.ones((70, 300)),
    "equal columns, other rows": np.repeat(RNG.random((70, 1)), 300, axis=1),
    "one huge column": np.hstack([RNG.random((70, 299)), np.full((70, 1), 1e9)]),
    "one huge column each": RNG.random((70, 300)) + 1e6 * np.eye(70, 300),
    "steep": RNG.random((70, 300)) ** 80,
    "very steep": np.exp(RNG.normal(0, 100, (70, 300))),
    "mostly zeros": RNG.random((70, 300)) * (RNG.random((70, 300)) < 0.02),
    "one entry": np.eye(70, 300),
    "rows of zeros among others": RNG.random((70, 300)) * (np.arange(70) % 3 > 0)[:, np.newaxis],
    "longer than the lists": RNG.random((33, 2100)),
    "far longer than the lists and sparse": RNG.random((20, 9000)) * (RNG.random((20, 9000)) < 0.003),
    "one column": RNG.random((40, 1)),
    "0/1": (RNG.random((70, 300)) < 0.3).astype(float),
    "0/1, few ones and rows of zeros": (RNG.random((70, 300)) < 0.01).astype(float),
    "0, 1 and -1": RNG.choice([0.0, 1.0, -1.0], (70, 300), p=[0.8, 0.1, 0.1]),
}
