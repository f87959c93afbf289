"""The kernel in scikit-learn: as a callable, precomputed, and pair by pair."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from gcwsnet import pgmm_kernel

from .matrices import random_rows

X, y = load_iris(return_X_y=True)
X_TRAIN, X_TEST, Y_TRAIN, Y_TEST = train_test_split(StandardScaler().fit_transform(X), y, random_state=0)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_svc_with_the_kernel_equals_svc_with_the_matrix(form: Any) -> None:
    called = SVC(kernel=partial(pgmm_kernel, p=2)).fit(form(X_TRAIN), Y_TRAIN)
    precomputed = SVC(kernel="precomputed").fit(pgmm_kernel(X_TRAIN, p=2), Y_TRAIN)
    K = pgmm_kernel(X_TEST, X_TRAIN, p=2)
    np.testing.assert_array_equal(called.support_, precomputed.support_)
    np.testing.assert_allclose(called.decision_function(form(X_TEST)), precomputed.decision_function(K), rtol=1e-9)
    assert called.score(form(X_TEST), Y_TEST) > 0.9


@pytest.mark.parametrize("p", [1, 2])
def test_pairwise_kernels_pair_by_pair(p: int) -> None:
    A, B = random_rows(12, 7), random_rows(5, 7, seed=1)
    np.testing.assert_allclose(pairwise_kernels(A, metric=pgmm_kernel, p=p), pgmm_kernel(A, p=p), rtol=1e-14)
    np.testing.assert_allclose(pairwise_kernels(A, B, metric=pgmm_kernel, p=p), pgmm_kernel(A, B, p=p), rtol=1e-14)
    np.testing.assert_allclose(
        pairwise_kernels(A, B, metric=pgmm_kernel, p=p, n_jobs=2), pgmm_kernel(A, B, p=p), rtol=1e-14
    )
