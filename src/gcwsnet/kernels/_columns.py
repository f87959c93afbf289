"""Weights of columns, learned by the gradient of the leave-one-out loss of regularised least squares.

Rows are S = sign(Z) |Z|**p exp(theta), with a theta for each column. With T the sum of the L1 norms of two rows and D
their L1 distance, their kernel is (T - D) / (T + D). Let P be the inverse of K + alpha / w, bordered by ones (see
`_ridge`), c = P Y and e = c / diag P the errors of rows that are left out. The gradient of L = sum(w e**2) / n is

    dL/dK = P diag(q) P - (r c' + c r') / 2  with  t = 2 w e / n,  r = P (t / diag P),  q = sum(t e) / diag P.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gcwsnet import _core
from gcwsnet._threads import one_blas_thread
from gcwsnet.kernels._exact import kernel_of_checked
from gcwsnet.kernels._ridge import bordered_inverse

TAU = 2.0
"""What holds the parameters at their start, next to the sum of the rows' losses."""
STEPS = 10
MAX_THETA, ALPHA_RANGE, P_RANGE = (-8.0, 4.0), (1e-4, 100.0), (0.2, 20.0)

Floats = NDArray[np.float64]


class Learned(NamedTuple):
    """What the gradient has found: theta of each column, the power, the regularisation, and what was minimised."""

    theta: Floats
    p: float
    alpha: float
    objective: float = 0.0


class Gradient(NamedTuple):
    """The leave-one-out loss, and its derivatives by the entries of the rows and by the logarithm of alpha."""

    loss: float
    by_rows: Floats
    by_log_alpha: float


def left_out_loss(S: Floats, targets: Floats, weight: Floats, alpha: float, threads: int = 1) -> Gradient:
    """Return the weighted mean squared error of rows that are left out, and its derivatives.

    Parameters
    ----------
    S : array of shape (n, d)
        The signed powers of rows.
    targets : array of shape (n, m)
    weight : array of shape (n,)
        Weights whose mean is 1.
    alpha : float
    threads : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S, y = rng.normal(size=(20, 3)), rng.normal(size=(20, 1))
    >>> moved = S.copy()
    >>> moved[4, 1] += 1e-6
    >>> before, after = (left_out_loss(rows, y, np.ones(20), 0.1) for rows in (S, moved))
    >>> bool(np.isclose(after.loss - before.loss, 1e-6 * before.by_rows[4, 1], rtol=1e-3))
    True
    """
    n = len(S)
    K = kernel_of_checked(S, S, p=1.0, threads=threads)
    penalty = alpha / weight
    with one_blas_thread():
        P = bordered_inverse(K, penalty)
        c, diagonal = P @ targets, P.diagonal()[:, np.newaxis]
        errors = c / diagonal
        t = 2.0 / n * weight[:, np.newaxis] * errors
        r = P @ (t / diagonal)
        q = (t * errors).sum(axis=1) / diagonal[:, 0]
        half = P * np.sqrt(q)
        by_kernel = half @ half.T
        both = np.hstack([r, c]) @ np.hstack([c, r]).T  # r c' + c r'
        both /= 2
        by_kernel -= both
    norms = np.maximum(np.abs(S).sum(axis=1), 1e-300)
    # dK = 2 (D dT - T dD) / (T + D)**2 where T + D = 2 T / (1 + K) and D / T = (1 - K) / (1 + K)
    near = 1 + K
    by_distance = by_kernel * near
    by_distance /= 2 * (norms[:, np.newaxis] + norms)
    by_norm = np.einsum("ab,ab->a", by_distance, 1 - K)
    by_distance *= near
    signs = np.empty_like(S)
    _core.sum_signs(by_distance, np.ascontiguousarray(S.T), signs, threads)
    by_rows = 2 * (by_norm[:, np.newaxis] * np.sign(S) - signs)
    return Gradient(max(float((t * errors).sum() / 2), 1e-300), by_rows, float((by_kernel.diagonal() * penalty).sum()))


def signed_powers(Z: Floats, p: float) -> Floats:
    """Return sign(Z) |Z|**p, which may be infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return np.copysign(np.abs(Z) ** p, Z)


def learn_columns(
    Z: Floats,
    source: NDArray[np.int64],
    targets: Floats,
    weight: Floats,
    start: Learned,
    *,
    fixed: tuple[bool, bool] = (False, False),
    threads: int = 1,
) -> Learned:
    """Return what lowers the leave-one-out loss of rows Z, with a penalty for what is far from the start.

    It minimises log(L) / 2 + tau / 2n (|theta|**2 + log(p / p_0)**2) by ten steps of L-BFGS.

    Parameters
    ----------
    Z : array of shape (n, d)
        Preprocessed rows.
    source : array of int64, shape (d,)
        The parameter of `start.theta` that each column of Z has: columns that were made of one share it.
    targets : array of shape (n, m)
    weight : array of shape (n,)
    start : Learned
    fixed : (bool, bool)
        Whether p, and whether alpha, stays as it is.
    threads : int
    """
    from scipy.optimize import minimize  # noqa: PLC0415 - it takes long to import

    n_theta, n = len(start.theta), len(Z)
    log_sizes = np.log(np.maximum(np.abs(Z), 1e-12))
    center = np.concatenate([start.theta, np.log([start.p, start.alpha])])

    def objective(parameters: Floats) -> tuple[float, Floats]:
        theta, p, alpha = parameters[:n_theta], np.exp(parameters[-2]), np.exp(parameters[-1])
        S = signed_powers(Z, p) * np.exp(theta[source])
        if not np.isfinite(S).all():
            return np.inf, np.zeros_like(parameters)
        found = left_out_loss(S, targets, weight, alpha, threads)
        by_logarithm = found.by_rows * S
        by_theta = np.bincount(source, by_logarithm.sum(axis=0), n_theta)
        by_log_p = p * float((by_logarithm * log_sizes).sum())
        moved = parameters - center
        moved[-1] = 0.0
        gradient = np.concatenate([by_theta, [by_log_p, found.by_log_alpha]]) / (2 * found.loss) + TAU / n * moved
        return 0.5 * float(np.log(found.loss)) + TAU / (2 * n) * float(moved @ moved), gradient

    ranges = [(np.log(least), np.log(most)) for least, most in (P_RANGE, ALPHA_RANGE)]
    ends = [(at, at) if fix else one for at, fix, one in zip(center[-2:], fixed, ranges, strict=True)]
    bounds = [*((at + MAX_THETA[0], at + MAX_THETA[1]) for at in start.theta), *ends]
    options = {"maxiter": STEPS, "maxfun": STEPS + STEPS // 2}
    first = np.clip(center, *np.transpose(bounds))
    best = minimize(objective, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return Learned(best.x[:n_theta], float(np.exp(best.x[-2])), float(np.exp(best.x[-1])), float(best.fun))
