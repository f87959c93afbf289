"""
How many hashes, how many bits
==============================

A row becomes k codes of b bits. The share of codes that two rows have in common estimates their kernel. More hashes
make the estimate better, by the root of their number. More bits help less and less: from 8 bits on there is little to
gain.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gcwsnet import GCWSHasher, estimate_similarity, pgmm_kernel

X, _ = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
first, second = rng.integers(len(X), size=(2, 1000))
exact = np.diag(pgmm_kernel(X[first], X[second]))


def estimates(n_hashes: int, bits: int) -> np.ndarray:
    """Return the estimated kernel of the 1,000 pairs of digits."""
    codes = GCWSHasher(n_hashes, bits=bits, random_state=0).fit_transform(X)
    return np.array([estimate_similarity(codes[a], codes[b], bits=bits) for a, b in zip(first, second, strict=True)])


# %%
# Each dot is a pair of digits. On the line, the estimate would be the kernel itself.

figure, panels = plt.subplots(1, 3, sharex=True, sharey=True, figsize=(9, 3.3), layout="constrained")
for axes, (k, b) in zip(panels, ((64, 8), (1024, 1), (1024, 8)), strict=True):
    axes.plot([0, 1], [0, 1], "k-", linewidth=0.8)
    axes.scatter(exact, estimates(k, b), s=4, alpha=0.5)
    axes.set(title=f"k = {k}, b = {b}", xlabel="exact kernel")
panels[0].set_ylabel("estimate")
plt.show()

# %%
# Theorem 2 of the paper gives the error. A code agrees with the probability P = J + (1 - J) / 2^b, so the estimate
# from k codes has the standard error sqrt(P (1 - P) / k) / (1 - 2^-b).

sizes = (16, 64, 256, 1024)
figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for b, color in ((1, "C0"), (2, "C1"), (4, "C2"), (8, "C3")):
    P = exact + (1 - exact) / 2**b
    theory = [np.sqrt(np.mean(P * (1 - P)) / k) / (1 - 2.0**-b) for k in sizes]
    measured = [np.sqrt(np.mean((estimates(k, b) - exact) ** 2)) for k in sizes]
    axes.loglog(sizes, theory, f"{color}-", label=f"b = {b}")
    axes.loglog(sizes, measured, f"{color}o")
axes.set(xlabel="k", ylabel="root mean squared error", title="measured (dots) and by the theorem (lines)")
axes.legend()
plt.show()
