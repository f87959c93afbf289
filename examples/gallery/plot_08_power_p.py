"""
The power p of the kernel
=========================

The pGMM kernel of two rows without negative numbers raises all entries to the power p, and divides the sum of the
smaller entry of each column by the sum of the larger one. With a large p, the largest entries of a row decide. p is the
only parameter of the kernel.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from gcwsnet import pgmm_kernel

X, y = load_digits(return_X_y=True)
order = np.argsort(y[:200], kind="stable")  # zeros first, then ones, ...
powers = (0.25, 1.0, 4.0, 16.0)
figure, panels = plt.subplots(1, 4, figsize=(10, 2.9), layout="constrained")
for axes, p in zip(panels, powers, strict=True):
    image = axes.imshow(pgmm_kernel(X[:200][order], p=p), vmin=0, vmax=1)
    axes.set(title=f"p = {p:g}", xticks=[], yticks=[])
figure.colorbar(image, ax=panels, label="kernel")
plt.show()

# %%
# The kernel between 200 digits, sorted by what they show: squares on the diagonal are digits of one kind. With a
# large p a row is similar to itself and to little else. How well does a support vector machine learn with each p?

tried = 2.0 ** np.arange(-3, 7)
scores = []
for p in tried:
    machine = SVC(kernel="precomputed", C=10).fit(pgmm_kernel(X[:500], p=p), y[:500])
    scores.append(machine.score(pgmm_kernel(X[500:1500], X[:500], p=p), y[500:1500]))

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.semilogx(tried, scores, "C3-o", base=2)
axes.set(xlabel="p", ylabel="test accuracy, 500 training rows")
plt.show()
