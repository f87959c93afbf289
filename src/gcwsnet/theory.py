"""The formulas of the paper as functions on arrays.

Every argument may be a number or an array; arrays are broadcast against each other as in NumPy. The result is a float64
array, or a float if all arguments are numbers. The letters of the paper, and what they are called here:

- J, the pGMM similarity of two rows, and rho, their cosine or correlation
- b, the `bits` of a code; k, the `n_hashes` of a row; P_b, the collision probability of codes of b bits
- B, the `n_bins` of count-sketch, and m = 2**b k / B, by how much it makes the one-hot vector shorter
- gamma, the parameter of the RBF kernel, twice that of scikit-learn; there k is the number of random features,
  `n_components`
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "collision_probability",
    "count_sketch_ratio",
    "count_sketch_variance",
    "gmm_limit",
    "inner_product_variance",
    "nrff_variance",
    "rbf_kernel",
    "rff_variance",
    "similarity_variance",
]

Floats = NDArray[np.float64]


def collision_probability(J: ArrayLike, bits: ArrayLike) -> Any:
    """Return P_b, the probability that the codes of two rows agree: J + (1 - J) / 2**b (Theorem 2).

    Parameters
    ----------
    J : float or array
        The pGMM similarity, from 0 to 1.
    bits : int or array of int
        b, from 1 to 32.

    Examples
    --------
    >>> from gcwsnet.theory import collision_probability
    >>> collision_probability(0.5, bits=2)
    0.625
    >>> collision_probability([0.0, 0.5, 1.0], bits=[[1], [8]])
    array([[0.5       , 0.75      , 1.        ],
           [0.00390625, 0.50195312, 1.        ]])
    """
    agree, _ = _collision(*_checked(J=J, bits=bits))
    return _result(agree)


def similarity_variance(J: ArrayLike, bits: ArrayLike, n_hashes: ArrayLike) -> Any:
    """Return the variance of the estimate of J from the codes of two rows, as `estimate_similarity` makes it.

    The number of hashes on which k codes agree is binomial, Bin(k, P_b). The estimate is Theorem 2 solved for J, so
    that its variance is P_b (1 - P_b) / (k (1 - 2**-b)**2). For many bits this is J (1 - J) / k, the variance that
    follows from Theorem 1.

    Parameters
    ----------
    J : float or array
        The pGMM similarity, from 0 to 1.
    bits : int or array of int
        b, from 1 to 32.
    n_hashes : int or array of int
        k, at least 1.

    Examples
    --------
    >>> from gcwsnet.theory import similarity_variance
    >>> similarity_variance(0.5, bits=[1, 2, 8, 32], n_hashes=256).round(6)
    array([0.00293 , 0.001628, 0.000984, 0.000977])
    """
    J, b, k = _checked(J=J, bits=bits, n_hashes=n_hashes)
    agree, _ = _collision(J, b)
    return _result(agree * (1.0 - J) / (k * (1.0 - np.exp2(-b))))


def inner_product_variance(x: ArrayLike, y: ArrayLike, n_bins: ArrayLike, *, fourth_moment: ArrayLike = 1.0) -> Any:
    """Return the variance of the inner product of two count-sketches, <z, w> (Theorem 3).

    Its mean is <x, y>. The variance is ::

        (s - 1) sum(x**2 y**2) + (sum(x**2) sum(y**2) + sum(x y)**2 - 2 sum(x**2 y**2)) / B

    so that only signs, for which s = 1, have a variance that vanishes with the number of bins.

    Parameters
    ----------
    x, y : arrays of shape (..., d)
        The vectors that are sketched, along the last axis.
    n_bins : float or array
        B, at least 1.
    fourth_moment : float or array, default=1.0
        s, the fourth moment of the random weights, whose mean is 0 and whose variance is 1; at least 1. Signs -1 and 1
        of equal probability have 1, the standard normal distribution has 3.

    Returns
    -------
    variance : float or float64 array
        The leading axes of x and y, broadcast against `n_bins` and `fourth_moment`.

    Examples
    --------
    >>> from gcwsnet.theory import inner_product_variance
    >>> inner_product_variance([1.0, 2.0, 0.0], [3.0, 1.0, 1.0], n_bins=10)
    5.4
    >>> inner_product_variance([1.0, 2.0, 0.0], [3.0, 1.0, 1.0], n_bins=10, fourth_moment=3)
    31.4
    """
    x, y, B, s = _checked(x=x, y=y, n_bins=n_bins, fourth_moment=fourth_moment)
    if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-1]:
        raise ValueError(f"x and y must be vectors of one length, got the shapes {x.shape} and {y.shape}")
    both = np.sum(x**2 * y**2, axis=-1)
    pairs = np.sum(x**2, axis=-1) * np.sum(y**2, axis=-1) + np.sum(x * y, axis=-1) ** 2 - 2.0 * both
    return _result((s - 1.0) * both + np.maximum(pairs, 0.0) / B)


def count_sketch_variance(J: ArrayLike, bits: ArrayLike, n_hashes: ArrayLike, n_bins: ArrayLike) -> Any:
    """Return the variance of the estimate of P_b from count-sketches of one-hot codes (Theorem 4).

    The estimate is <z, w> / k. It has no bias, and its variance is ::

        P_b (1 - P_b) / k + (1 + P_b**2 - P_b**2 / k - P_b / k) / B

    The first term is that of the codes; the second one is what count-sketch adds. An estimate of J follows from
    Theorem 2, and has this variance divided by (1 - 2**-b)**2.

    Parameters
    ----------
    J : float or array
        The pGMM similarity, from 0 to 1.
    bits : int or array of int
        b, from 1 to 32.
    n_hashes : int or array of int
        k, at least 1.
    n_bins : float or array
        B, at least 1: 2**b k / m, where count-sketch makes the one-hot vector m times shorter.

    Examples
    --------
    With 8 bits and m = 16:

    >>> from gcwsnet.theory import count_sketch_variance
    >>> count_sketch_variance([0.0, 0.5, 1.0], bits=8, n_hashes=256, n_bins=256 * 256 / 16).round(6)
    array([0.000259, 0.001281, 0.000486])
    """
    J, b, k, B = _checked(J=J, bits=bits, n_hashes=n_hashes, n_bins=n_bins)
    agree, differ = _collision(J, b)
    sketch = (1.0 - agree / k) + agree**2 * (1.0 - 1.0 / k)
    return _result(agree * differ / k + sketch / B)


def count_sketch_ratio(bits: ArrayLike, J: ArrayLike, m: ArrayLike) -> Any:
    """Return R(b, J, m), the variance that count-sketch adds over the variance without it, for many hashes.

    R = m / 2**b (1 + P_b**2) / (P_b (1 - P_b)), equation (21): Theorem 4 without the terms that vanish with k. It is
    small where count-sketch costs little.

    Parameters
    ----------
    bits : int or array of int
        b, from 1 to 32.
    J : float or array
        The pGMM similarity, from 0 to 1.
    m : float or array
        By how much count-sketch makes the one-hot vector shorter, above 0. The paper tries half of the bits,
        m = 2**(b / 2), and recommends 8 bits, m = 2**(b - 8).

    Returns
    -------
    R : float or float64 array
        Infinite at J = 1, where the codes always agree and have no variance.

    Examples
    --------
    >>> from gcwsnet.theory import count_sketch_ratio
    >>> count_sketch_ratio(8, [0.1, 0.5, 0.9, 1.0], m=1).round(4)
    array([0.0425, 0.0196, 0.0789,    inf])
    >>> count_sketch_ratio(16, 0.5, m=[1, 2**8, 1000]).round(4)
    array([0.0001, 0.0195, 0.0763])
    """
    b, J, m = _checked(bits=bits, J=J, m=m)
    agree, differ = _collision(J, b)
    with np.errstate(divide="ignore"):
        return _result(m * np.exp2(-b) / (agree * differ / (1.0 + agree**2)))


def rbf_kernel(rho: ArrayLike, gamma: ArrayLike) -> Any:
    """Return the RBF kernel of two rows of length one, exp(-gamma (1 - rho)), which random Fourier features estimate.

    gamma is that of the paper, twice the gamma of scikit-learn's `rbf_kernel`: for rows u and v of length one
    ||u - v||**2 = 2 (1 - rho), so that exp(-gamma (1 - rho)) = exp(-(gamma / 2) ||u - v||**2).

    Parameters
    ----------
    rho : float or array
        The cosine of the rows, from -1 to 1.
    gamma : float or array
        At least 0.

    Examples
    --------
    >>> from gcwsnet.theory import rbf_kernel
    >>> rbf_kernel([-1.0, 0.0, 0.9, 1.0], gamma=1.0).round(4)
    array([0.1353, 0.3679, 0.9048, 1.    ])

    The same kernel in scikit-learn, with half the gamma:

    >>> from sklearn.metrics.pairwise import rbf_kernel as kernel_of_rows
    >>> u, v = [[0.6, 0.8]], [[0.8, 0.6]]  # rho = 0.96
    >>> bool(np.isclose(kernel_of_rows(u, v, gamma=2.5).item(), rbf_kernel(0.96, gamma=5.0)))
    True
    """
    rho, gamma = _checked(rho=rho, gamma=gamma)
    return _result(np.exp(-gamma * (1.0 - rho)))


def rff_variance(rho: ArrayLike, gamma: ArrayLike, n_components: ArrayLike = 1) -> Any:
    """Return the variance of an estimate of the RBF kernel from random Fourier features (RFF; Theorem 5).

    It is V / k, V = 1/2 + (1 - exp(-2 gamma (1 - rho)))**2 / 2, for every k.

    Parameters
    ----------
    rho : float or array
        The cosine of the rows, from -1 to 1.
    gamma : float or array
        At least 0; twice the gamma of scikit-learn, as for `rbf_kernel`.
    n_components : int or array of int, default=1
        k, the number of features, at least 1. With 1 the result is the V of the paper.

    Examples
    --------
    >>> from gcwsnet.theory import rff_variance
    >>> rff_variance([-1.0, 0.0, 0.9, 1.0], gamma=1.0).round(4)
    array([0.9819, 0.8738, 0.5164, 0.5   ])
    """
    rho, gamma, k = _checked(rho=rho, gamma=gamma, n_components=n_components)
    rest = -np.expm1(-2.0 * gamma * (1.0 - rho))
    return _result((0.5 + 0.5 * rest**2) / k)


def nrff_variance(rho: ArrayLike, gamma: ArrayLike, n_components: ArrayLike = 1) -> Any:
    """Return the variance of an estimate of the RBF kernel from normalized random Fourier features (NRFF; Theorem 5).

    It is V_n / k, V_n = V - q (3 - q**2) / 4 with q = exp(-2 gamma (1 - rho)) and the V of `rff_variance`: always less
    than V / k. It holds in the limit of many features.

    Parameters
    ----------
    rho : float or array
        The cosine of the rows, from -1 to 1.
    gamma : float or array
        At least 0; twice the gamma of scikit-learn, as for `rbf_kernel`.
    n_components : int or array of int, default=1
        k, the number of features, at least 1. With 1 the result is the V_n of the paper.

    Returns
    -------
    variance : float or float64 array
        0 at rho = 1 and at gamma = 0, where the estimate is always 1.

    Examples
    --------
    >>> from gcwsnet.theory import nrff_variance
    >>> nrff_variance([-1.0, 0.0, 0.9, 1.0], gamma=1.0).round(4)
    array([0.9681, 0.7729, 0.0396, 0.    ])
    """
    rho, gamma, k = _checked(rho=rho, gamma=gamma, n_components=n_components)
    # V_n factors into (1 - q)**2 (1 + q / 4), which has no digits to lose where q is near 1.
    log_q = -2.0 * gamma * (1.0 - rho)
    rest, q = -np.expm1(log_q), np.exp(log_q)
    return _result(rest**2 * (1.0 + q / 4.0) / k)


def gmm_limit(rho: ArrayLike) -> Any:
    """Return the limit of the GMM kernel of two rows of correlation rho, as their columns become many (equation (3)).

    (1 - s) / (1 + s), s = sqrt((1 - rho) / 2). The pairs of entries (u_i, v_i) are independent draws from a bivariate
    elliptical distribution that has mean zero, equal scales and correlation parameter rho: the normal distribution, or
    t with more than one degree of freedom, so that the mean of absolute values is finite.

    Parameters
    ----------
    rho : float or array
        The correlation, from -1 to 1.

    Returns
    -------
    limit : float or float64 array
        From 0 at rho = -1 to 1 at rho = 1.

    Examples
    --------
    >>> from gcwsnet.theory import gmm_limit
    >>> gmm_limit([-1.0, 0.0, 0.5, 0.9, 1.0]).round(4)
    array([0.    , 0.1716, 0.3333, 0.6345, 1.    ])
    """
    (rho,) = _checked(rho=rho)
    # 1 - s is (1 + rho) / (2 (1 + s)), which has no digits to lose where rho is near -1.
    return _result((1.0 + rho) / (2.0 * (1.0 + np.sqrt((1.0 - rho) / 2.0)) ** 2))


def _collision(J: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return P_b and 1 - P_b, the latter without cancellation."""
    chance = np.exp2(-b)
    return J + (1.0 - J) * chance, (1.0 - J) * (1.0 - chance)


def _result(values: Any) -> Any:
    return values if np.ndim(values) else float(values)


LIMITS = {
    "J": (0, 1),
    "rho": (-1, 1),
    "bits": (1, 32),
    "n_hashes": (1, np.inf),
    "n_components": (1, np.inf),
    "n_bins": (1, np.inf),
    "fourth_moment": (1, np.inf),
    "gamma": (0, np.inf),
    "m": (0, np.inf),  # above 0
    "x": (-np.inf, np.inf),
    "y": (-np.inf, np.inf),
}
WHOLE = ("bits", "n_hashes", "n_components")


def _checked(**arguments: ArrayLike) -> list[Floats]:
    """Return the arguments as float64 arrays, if their entries are finite, of the right kind and within the limits."""
    return [_check(name, value, *LIMITS[name]) for name, value in arguments.items()]


def _check(name: str, value: ArrayLike, least: float, most: float) -> Floats:
    array = np.asarray(value)
    whole = name in WHOLE
    if array.dtype.kind not in ("iu" if whole else "iuf"):
        got = f"{name}={value!r}" if array.ndim == 0 else f"an array of the type {array.dtype}"
        raise TypeError(f"{name} must be {'an integer' if whole else 'a number'} or an array of such, got {got}")
    numbers = array.astype(np.float64)
    fine = np.isfinite(numbers) & (numbers > least if name == "m" else numbers >= least) & (numbers <= most)
    if fine.all():
        return numbers
    rule, way_out = "finite", ""
    if np.isfinite(most):
        rule = f"from {least:g} to {most:g}"
        way_out = "" if whole else "; clip an estimate to this range first"
    elif np.isfinite(least):
        rule = f"finite and {'above' if name == 'm' else 'at least'} {least:g}"
    index = tuple(int(i) for i in np.argwhere(~fine)[0])
    place = f"{name}{list(index)}" if index else name
    raise ValueError(f"{name} must be {rule}, got {place}={array[index]}{way_out}")
