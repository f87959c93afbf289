"""How often i* alone collides: the 0-bit approximation, equation (7) of the paper, on rows of datasets."""

from __future__ import annotations

from typing import Any

import numpy as np

from gcwsnet.hashing import GCWSHasher
from gcwsnet.kernels import pgmm_kernel
from reproduction.settings import Settings

CANDIDATES = 400


def run_zero_bit(settings: Settings, data: Any) -> dict[str, Any]:
    """Exact kernels of pairs of rows, and the shares of hashes with equal i* and with equal (i*, t*).

    Of some rows for testing, those pairs are taken whose kernels are spread most evenly, as most pairs of rows are
    hardly similar.
    """
    rows = data.X_test[:CANDIDATES]
    K = pgmm_kernel(rows, p=settings["p"], n_jobs=1)
    first, second = np.triu_indices(len(rows), 1)
    kernels = K[first, second]
    order = np.argsort(kernels)
    wanted = np.linspace(kernels[order[0]], kernels[order[-1]], settings["pairs"])
    taken = np.unique(order[np.clip(np.searchsorted(kernels[order], wanted), 0, len(order) - 1)])
    hasher = GCWSHasher(settings["k"], p=settings["p"], random_state=settings["seed"], n_jobs=1).fit(rows)
    i_star, t_star = hasher.samples(rows)
    same = i_star[first[taken]] == i_star[second[taken]]
    both = same & (t_star[first[taken]] == t_star[second[taken]])
    return {"J": kernels[taken].tolist(), "i": same.mean(axis=1).tolist(), "i_and_t": both.mean(axis=1).tolist()}
