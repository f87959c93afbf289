"""n_jobs: what scikit-learn users expect, and no more threads than there are."""

import joblib
import pytest

from gcwsnet._threads import MOST_THREADS, n_threads


def test_none_is_one_and_minus_one_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == joblib.cpu_count()


def test_a_joblib_context_counts_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with joblib.parallel_config("threading", n_jobs=2):
        assert n_threads(None) == 2
        assert n_threads(1) == 1


@pytest.mark.parametrize("value", ["1", "1,4", " 1 "])
def test_all_is_at_most_omp_num_threads(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert n_threads(-1) == 1
    assert n_threads(2) == 2


@pytest.mark.parametrize("value", ["", "0", "many", "-3"])
def test_a_limit_that_is_none_limits_nothing(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert n_threads(-1) == joblib.cpu_count()


def test_workers_of_joblib_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = max(2, joblib.cpu_count())
    found = joblib.Parallel(n_jobs=workers, backend="loky")(joblib.delayed(n_threads)(-1) for _ in range(workers))
    assert max(found) == 1


def test_an_absurd_number_is_cut() -> None:
    assert n_threads(10**12) == MOST_THREADS
