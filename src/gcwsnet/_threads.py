"""How many threads `n_jobs` means."""

from __future__ import annotations

import numbers

from joblib import effective_n_jobs

MOST_THREADS = 1024


def n_threads(n_jobs: int | None) -> int:
    """Number of threads for a scikit-learn `n_jobs`: None is 1 unless a joblib context says otherwise, -1 is all.

    Examples
    --------
    >>> n_threads(None), n_threads(3)
    (1, 3)
    """
    whole = isinstance(n_jobs, numbers.Integral) and not isinstance(n_jobs, bool)
    if n_jobs is not None and not whole:
        raise TypeError(f"n_jobs must be an integer or None, got n_jobs={n_jobs!r}")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: None or 1 is one thread, -1 is all processors, got n_jobs=0")
    return min(int(effective_n_jobs(n_jobs)), MOST_THREADS)
