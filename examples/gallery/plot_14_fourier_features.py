"""
Few hashes, many random Fourier features
========================================

Random Fourier features do for the RBF kernel what GCWS does for pGMM: a linear model on them approximates a kernel
machine. They have a parameter, gamma, that must be tuned, and it takes many of them. Which of seven exercises is it,
by two seconds of a smartwatch?
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from seglearn.datasets import load_watch
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from gcwsnet import GCWSHasher, RandomFourierFeatures

watch = load_watch()
rows: dict[str, list[np.ndarray]] = {"X_train": [], "y_train": [], "X_test": [], "y_test": []}
for recording, label in zip(watch["X"], watch["y"], strict=True):
    split = int(0.7 * len(recording))  # the later part of each recording is for testing
    for name, part in (("train", recording[:split:2]), ("test", recording[split::2])):
        windows = sliding_window_view(part, 50, axis=0)[::25]
        rows[f"X_{name}"].append(windows.reshape(len(windows), -1))
        rows[f"y_{name}"].append(np.full(len(windows), label))
X_train, y_train, X_test, y_test = (np.concatenate(rows[name]) for name in ("X_train", "y_train", "X_test", "y_test"))
deviation = X_train.std(axis=0)
X_train, X_test = X_train / deviation, X_test / deviation

# %%
# The same linear model learns from k hashes and from k Fourier features. The gamma of the features is the best of
# three on the test rows, which favours them.

sizes = (32, 128, 512)
hashed = []
fourier: dict[float, list[float]] = {1.0: [], 5.0: [], 20.0: []}
for k in sizes:
    linear = SGDClassifier(loss="log_loss", average=True, max_iter=10, tol=None, random_state=0)
    model = make_pipeline(GCWSHasher(k, output="onehot", random_state=0), linear)
    hashed.append(model.fit(X_train, y_train).score(X_test, y_test))
    for gamma, scores in fourier.items():
        model = make_pipeline(RandomFourierFeatures(k, gamma=gamma, random_state=0), linear)
        scores.append(model.fit(X_train, y_train).score(X_test, y_test))

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.semilogx(sizes, hashed, "C3-o", base=2, label="GCWS hashes")
axes.semilogx(
    sizes, np.max(list(fourier.values()), axis=0), "k--s", base=2, label="Fourier features, best of three gammas"
)
axes.set(xlabel="k", ylabel="test accuracy of a linear model")
axes.legend()
plt.show()
