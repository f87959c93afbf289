"""Theorems 1 to 5 of the paper, and what it says of hashes beside them, simulated with this package.

Codes are those of `GCWSHasher`, sketches have the bins and signs of `CountSketch`, features are those of
`RandomFourierFeatures`, and kernels those of `pgmm_kernel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.stats import norm

from gcwsnet import GCWSHasher, RandomFourierFeatures, gmm_kernel, pgmm_kernel, theory
from gcwsnet.hashing._count_sketch import bins_and_signs
from reproduction.settings import Settings

Floats = NDArray[np.float64]
Curve = dict[str, Any]
Panel = dict[str, Any]
Panels = tuple[tuple[Panel, ...], dict[str, Any]]
"""Curves that are drawn together, and what their numbers depend on."""
POWERS = (0.5, 1.0, 2.0, 20.0)
BITS = (1, 2, 4, 8)
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
COSINES = (-0.8, -0.5, 0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.99)


def curve(label: str, x: ArrayLike, simulated: ArrayLike, error: ArrayLike, formula: ArrayLike) -> Curve:
    """Return simulated numbers along x with their standard errors, beside those of a formula."""
    numbers = {"x": x, "simulated": simulated, "error": error, "formula": formula}
    return {"label": label, **{name: np.asarray(some, np.float64).tolist() for name, some in numbers.items()}}


def errors_off(one: Curve) -> list[float]:
    """Return the standard errors by which each number is off; infinite if it is off and its error is 0."""
    off = np.abs(np.subtract(one["simulated"], one["formula"]))
    off = np.where(off <= 1e-9, 0.0, off)  # what rounding does
    with np.errstate(divide="ignore", invalid="ignore"):
        errors: list[float] = np.where(off == 0, 0.0, off / np.asarray(one["error"])).tolist()
    return errors


def _panel(title: str, x_label: str, y_label: str, curves: Iterable[Curve], log: bool = False) -> Panel:
    return {"title": title, "x_label": x_label, "y_label": y_label, "curves": list(curves), "log": log}


def _pairs(n: int, n_columns: int, seed: int) -> tuple[Floats, Floats]:
    """Return pairs of rows u and v of lognormal numbers with signs, from nearly equal to independent ones."""
    rng = np.random.default_rng(seed)
    size, noise = rng.normal(size=(2, n, n_columns))
    sign = rng.choice([-1.0, 1.0], (n, n_columns))
    share = np.linspace(0.02, 1, n)[:, np.newaxis]
    other = np.where(rng.random((n, n_columns)) < share / 2, -sign, sign)
    return sign * np.exp(size), other * np.exp((1 - share) * size + share * noise)


def _similarities(U: Floats, V: Floats, p: float) -> Floats:
    return np.array([pgmm_kernel(u, v, p=p) for u, v in zip(U, V, strict=True)])


def _mean(values: Floats) -> tuple[Floats, Floats]:
    """Return means along the last axis, and their standard errors."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def _variance(values: Floats) -> tuple[Floats, Floats]:
    """Return variances along the last axis, and their standard errors."""
    return _mean((values - values.mean(axis=-1, keepdims=True)) ** 2)


def _theorem_1(size: int, seed: int) -> Panels:
    """Simulate that P[(i*, t*) of u = (i*, t*) of v] = pGMM(u, v)."""
    n, n_columns, n_hashes = 16, 40, 2_000 * size
    U, V = _pairs(n, n_columns, seed)
    curves = []
    for p in POWERS:
        i_star, t_star = GCWSHasher(n_hashes, p=p, random_state=seed).fit(U).samples(np.vstack([U, V]))
        share = np.mean((i_star[:n] == i_star[n:]) & (t_star[:n] == t_star[n:]), axis=1)
        J = _similarities(U, V, p)
        curves.append(curve(f"p = {p:g}", J, share, np.sqrt(J * (1 - J) / n_hashes), J))
    panel = _panel("Samples that agree", "pGMM(u, v; p)", "share of hashes with equal (i*, t*)", tuple(curves))
    return (panel,), {"pairs": n, "columns": n_columns, "hashes": n_hashes, "p": POWERS}


def _theorem_2(size: int, seed: int) -> Panels:
    """Simulate that P[codes of b bits agree] = J + (1 - J) / 2**b."""
    n, n_columns, n_hashes, p = 16, 40, 2_000 * size, 1.0
    U, V = _pairs(n, n_columns, seed)
    J = _similarities(U, V, p)
    curves = []
    for bits in BITS:
        codes = GCWSHasher(n_hashes, p=p, bits=bits, random_state=seed).fit_transform(np.vstack([U, V]))
        P = theory.collision_probability(J, bits)
        share = np.mean(np.asarray(codes[:n]) == np.asarray(codes[n:]), axis=1)
        curves.append(curve(f"b = {bits}", J, share, np.sqrt(P * (1 - P) / n_hashes), P))
    panel = _panel("Codes that agree", "J = pGMM(u, v)", "share of equal codes", tuple(curves))
    return (panel,), {"pairs": n, "columns": n_columns, "hashes": n_hashes, "p": p, "bits": BITS}


def _inner_products(x: Floats, y: Floats, bins: NDArray[Any], weights: Floats, n_bins: int) -> Floats:
    """Return <z, w> for each row of bins and weights."""
    n = len(bins)
    cell = (bins.astype(np.int64) + n_bins * np.arange(n)[:, np.newaxis]).ravel()
    z, w = (np.bincount(cell, (v * weights).ravel(), n * n_bins).reshape(n, n_bins) for v in (x, y))
    return np.asarray((z * w).sum(axis=1))


def _theorem_3(size: int, seed: int) -> Panels:
    """Simulate that count-sketch has no bias, and that only signs have a variance that vanishes with more bins."""
    d, n, some_bins = 64, 600 * size, 2 ** np.arange(1, 11)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, d))
    found: dict[str, list[Floats]] = {"signs, s = 1": [], "normal, s = 3": []}
    for step, n_bins in enumerate(some_bins.tolist()):
        positions = np.arange(n * d, dtype=np.uint64).reshape(n, d)
        bins, signs = bins_and_signs(seed + step, positions, n_bins)
        for values, weights in zip(found.values(), (signs.astype(np.float64), rng.normal(size=(n, d))), strict=True):
            values.append(_inner_products(x, y, bins, weights, n_bins))
    means, variances = [], []
    for (label, values), s in zip(found.items(), (1, 3), strict=True):
        expected = theory.inner_product_variance(x, y, some_bins, fourth_moment=s)
        means.append(curve(label, some_bins, *_mean(np.array(values)), np.full(len(some_bins), x @ y)))
        variances.append(curve(label, some_bins, *_variance(np.array(values)), expected))
    panels = (
        _panel("Mean", "B, number of bins", "mean of <z, w>", tuple(means)),
        _panel("Variance", "B, number of bins", "variance of <z, w>", tuple(variances), log=True),
    )
    return panels, {"dimension": d, "sketches": n}


def _theorem_4(size: int, seed: int) -> Panels:
    """Simulate the mean and the variance of the estimate of P_b from count-sketches of codes of b bits."""
    bits, k, n = 6, 32, 300 * size
    reductions = 2 ** np.arange(9)
    U, V = (rows[[1, 5, 11]] for rows in _pairs(12, 20, seed))
    codes = np.asarray(GCWSHasher(n * k, bits=bits, random_state=seed).fit_transform(np.vstack([U, V])), np.uint64)
    column = np.tile(np.arange(k, dtype=np.uint64) << np.uint64(bits), n)
    first = np.repeat(np.arange(n, dtype=np.uint64) * np.uint64(k << bits), k)
    means, variances = [], []
    for row, J in enumerate(_similarities(U, V, 1.0)):
        estimates = []
        for step, m in enumerate(reductions.tolist()):
            n_bins = (k << bits) // m
            z, w = (_sketches(codes[r] + column + first, n, n_bins, seed + step) for r in (row, row + 3))
            estimates.append((z * w).sum(axis=1) / k)
        P = theory.collision_probability(J, bits)
        label = f"J = {J:.2f}"
        expected = theory.count_sketch_variance(J, bits, k, (k << bits) / reductions)
        means.append(curve(label, reductions, *_mean(np.array(estimates)), np.full(len(reductions), P)))
        variances.append(curve(label, reductions, *_variance(np.array(estimates)), expected))
    panels = (
        _panel("Mean", "m, by how much vectors are shorter", "mean of the estimate of P_b", tuple(means)),
        _panel("Variance", "m, by how much vectors are shorter", "variance of the estimate", variances, log=True),
    )
    return panels, {"bits": bits, "hashes": k, "sketches": n}


def _sketches(positions: NDArray[np.uint64], n: int, n_bins: int, seed: int) -> Floats:
    """Return sketches of n one-hot vectors from the positions of their ones; each has bins and signs of its own."""
    bins, signs = bins_and_signs(seed, positions, n_bins)
    cell = bins.astype(np.int64) + n_bins * np.repeat(np.arange(n), len(positions) // n)
    return np.asarray(np.bincount(cell, signs.astype(np.float64), n * n_bins).reshape(n, n_bins), dtype=np.float64)


def _theorem_5(size: int, seed: int) -> Panels:
    """Simulate the variances of random Fourier features, plain and normalized, and that the latter become normal."""
    k, n = 512, 100 * size
    rho = np.array(COSINES)
    X = np.vstack([[1.0, 0.0], np.column_stack([rho, np.sqrt(1 - rho**2)])])
    plain, normalized, normal = [], [], []
    for gamma in (0.5, 1.0, 4.0):
        features = RandomFourierFeatures(n * k, gamma=gamma, normalize=False, random_state=seed).fit(X)
        u, *others = np.sqrt(n) * features.transform(X).reshape(len(X), n, k)  # each part as if it were all
        products = np.array([(u * v).sum(axis=1) for v in others])
        cosines = products / (np.linalg.norm(u, axis=1) * np.linalg.norm(others, axis=2))
        label, variance = f"gamma = {gamma:g}", np.asarray(theory.nrff_variance(rho, gamma, k))
        plain.append(curve(label, rho, *_variance(products), theory.rff_variance(rho, gamma, k)))
        normalized.append(curve(label, rho, *_variance(cosines), variance))
        kernel = np.asarray(theory.rbf_kernel(rho, gamma))
        standard = (cosines - kernel[:, np.newaxis]) / np.sqrt(variance)[:, np.newaxis]
        shares = [curve(f"{100 * level:g}%", rho, *_share_below(standard, level)) for level in LEVELS]
        normal.append(_panel(f"NRFF, {label}", "rho", "share below a quantile of the limit", tuple(shares)))
    panels = (
        _panel("RFF", "rho", "variance", tuple(plain), log=True),
        _panel("NRFF", "rho", "variance", tuple(normalized), log=True),
        *normal,
    )
    return panels, {"features": k, "estimates": n}


def _share_below(standard: Floats, level: float) -> tuple[Floats, Floats, Floats]:
    """Return the share along the last axis that is below a quantile of the normal law, its error, and the level."""
    share = np.mean(standard < norm.ppf(level), axis=-1)
    error = np.sqrt(level * (1 - level) / standard.shape[-1])
    return share, np.full_like(share, error), np.full_like(share, level)


def _gmm_limit(size: int, seed: int) -> Panels:
    """Simulate that GMM(u, v) of many columns goes to (1 - s) / (1 + s), s = sqrt((1 - rho) / 2)."""
    n, rho = 30 + 3 * size, np.array([-0.9, *COSINES])
    panels = []
    for title, freedom in (("Normal distribution", None), ("t distribution, 4 degrees of freedom", 4)):
        curves = []
        for n_columns in (100, 10_000):
            rng = np.random.default_rng(seed)
            kernels = np.empty((len(rho), n))
            for i, correlation in enumerate(rho):
                u, noise = rng.normal(size=(2, n, n_columns))
                v = correlation * u + np.sqrt(1 - correlation**2) * noise
                scale = 1.0 if freedom is None else np.sqrt(freedom / rng.chisquare(freedom, (n, n_columns)))
                kernels[i] = [gmm_kernel(a, b) for a, b in zip(scale * u, scale * v, strict=True)]
            curves.append(curve(f"D = {n_columns:,}", rho, *_mean(kernels), theory.gmm_limit(rho)))
        panels.append(_panel(title, "rho", "mean of GMM(u, v)", tuple(curves)))
    return tuple(panels), {"pairs": n}


def _sets(n: int, n_columns: int, seed: int) -> tuple[list[sparse.csr_array], Floats, Floats]:
    """Return rows of 0 and 1 in triples, and the resemblances of the first two and of all three rows of each."""
    rng = np.random.default_rng(seed)
    groups = []
    for share in np.linspace(0.1, 0.95, n):
        common, *own = np.array_split(rng.choice(n_columns, 400, replace=False), [round(150 * share) + 1, 200, 300])
        groups.append([np.concatenate([common, some]) for some in own])
    pairs = [len(set(a) & set(b)) / len(set(a) | set(b)) for a, b, _ in groups]
    triples = [len(set(a) & set(b) & set(c)) / len(set(a) | set(b) | set(c)) for a, b, c in groups]
    rows = []
    for sets in zip(*groups, strict=True):
        ends = np.cumsum([0, *map(len, sets)])
        ones = np.ones(ends[-1])
        rows.append(sparse.csr_array((ones, np.concatenate(sets), ends), shape=(n, n_columns)))
    return rows, np.array(pairs), np.array(triples)


def _resemblance(size: int, seed: int) -> Panels:
    """Simulate that samples of rows of 0 and 1 agree with the probability of their resemblance, of 2 and of 3 rows."""
    n, n_hashes = 12, 500 * size
    pairs: list[Curve] = []
    triples: list[Curve] = []
    for n_columns in (1000, 2**30):
        rows, two, three = _sets(n, n_columns, seed)
        hasher = GCWSHasher(n_hashes, random_state=seed).fit(rows[0])
        a, b, c = (hasher.samples(some)[0] for some in rows)
        label = f"D = {n_columns:,}" if n_columns < 2**30 else "D = 2^30"
        for curves, R, agree in ((pairs, two, a == b), (triples, three, (a == b) & (b == c))):
            curves.append(curve(label, R, agree.mean(axis=1), np.sqrt(R * (1 - R) / n_hashes), R))
    panels = (
        _panel("Two rows", "resemblance", "share of hashes that agree", tuple(pairs)),
        _panel("Three rows", "resemblance", "share of hashes that agree", tuple(triples)),
    )
    return panels, {"rows": n, "hashes": n_hashes}


def _projections(size: int, seed: int) -> Panels:
    """Simulate the variances of inner products of count-sketches and of dense random projections."""
    d, n, some_bins = 8, 400 * size, 2 ** np.arange(9)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(2, d))
    sketched, projected = [], []
    for step, n_bins in enumerate(some_bins.tolist()):
        positions = np.arange(n * d, dtype=np.uint64).reshape(n, d)
        bins, signs = bins_and_signs(seed + step, positions, n_bins)
        sketched.append(_inner_products(x, y, bins, signs.astype(np.float64), n_bins))
        normal = rng.normal(size=(n, d, n_bins)) / np.sqrt(n_bins)
        projected.append(((x @ normal) * (y @ normal)).sum(axis=1))
    dense = (x @ x * (y @ y) + (x @ y) ** 2) / some_bins
    expected = theory.inner_product_variance(x, y, some_bins)
    curves = (
        curve("count-sketch", some_bins, *_variance(np.array(sketched)), expected),
        curve("dense projections", some_bins, *_variance(np.array(projected)), dense),
    )
    panel = _panel("Variance", "B, number of bins or of projections", "variance of <z, w>", curves, log=True)
    return (panel,), {"dimension": d, "sketches": n}


def _chances(u: Floats, p: float) -> Floats:
    """Return how likely each entry of a row is to be picked as i*: in proportion to its size to the power of p."""
    weights = np.abs(u) ** p
    return np.asarray(weights / weights.sum())


def _picked(size: int, seed: int) -> Panels:
    """Simulate that i* is i with the probability |u_i|^p / sum |u|^p, so that larger entries are likelier."""
    n_hashes, sizes = 5_000 * size, 1.03 ** np.arange(12)
    u = np.random.default_rng(seed).permutation(sizes * np.resize([1.0, -1.0], sizes.shape))
    order = np.argsort(np.abs(u))
    curves = []
    for p in POWERS:
        i_star, _ = GCWSHasher(n_hashes, p=p, random_state=seed).fit(u[np.newaxis]).samples(u[np.newaxis])
        share = np.bincount(np.ravel(i_star) // 2, minlength=len(u)) / n_hashes
        P = _chances(u, p)
        error = np.sqrt(P * (1 - P) / n_hashes)
        curves.append(curve(f"p = {p:g}", *(numbers[order] for numbers in (np.abs(u), share, error, P))))
    panel = _panel("Entries that are picked", "|u_i|", "share of hashes with i* = i", tuple(curves), log=True)
    return (panel,), {"columns": len(u), "hashes": n_hashes, "p": POWERS}


THEOREMS: dict[str, tuple[str, Callable[[int, int], Panels]]] = {
    "theorem1": ("Theorem 1: samples that agree", _theorem_1),
    "theorem2": ("Theorem 2: codes of b bits that agree", _theorem_2),
    "theorem3": ("Theorem 3: inner products of count-sketches", _theorem_3),
    "theorem4": ("Theorem 4: similarity from count-sketches of codes", _theorem_4),
    "theorem5": ("Theorem 5: random Fourier features, plain and normalized", _theorem_5),
    "gmm-limit": ("Section 1: the limit of the GMM kernel", _gmm_limit),
    "resemblance": ("Section 1.4: rows of 0 and 1, two and three of them", _resemblance),
    "projections": ("Section 4: count-sketch beside dense random projections", _projections),
    "picked": ("Section 5: larger entries are picked more often", _picked),
}


def run_theorem(settings: Settings, _: None = None) -> dict[str, Any]:
    """Return the panels of a simulation, and what their numbers depend on.

    Standard errors fall with the square root of the size, which is from 1 to 20.
    """
    title, simulation = THEOREMS[settings["name"]]
    panels, details = simulation(settings["size"], settings["seed"])
    return {"name": settings["name"], "title": title, "panels": list(panels), "settings": details}
