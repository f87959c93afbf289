"""
A stream that changes
=====================

``partial_fit`` sees each row once, in its order, and the stream may change. Here scikit-learn's digits arrive one after
the other, and the question changes half way: first whether a digit is even, then whether it is below five. The model
predicts with recent weights, and learns the new question.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from gcwsnet import GCWSNetClassifier

X, digit = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(X))
X, digit = np.concatenate([X[order], X[order]]), np.concatenate([digit[order], digit[order]])
half = len(order)
y = np.where(np.arange(len(X)) < half, digit % 2 == 0, digit < 5)

model = GCWSNetClassifier(n_hashes=128, random_state=0)
right = []
for start in range(0, len(X), 16):
    batch = slice(start, start + 16)
    if start:
        right.extend(model.predict(X[batch]) == y[batch])
    model.partial_fit(X[batch], y[batch], classes=[False, True])

# %%
# Each row is predicted before it is learned.

window = 100
accuracy = np.convolve(right, np.full(window, 1 / window), mode="valid")
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(np.arange(len(accuracy)) + 16 + window, accuracy, label=f"accuracy, last {window} rows")
axes.axvline(half, color="k", linestyle=":", label="the question changes")
axes.set(xlabel="rows seen", ylabel="accuracy", ylim=(0, 1))
axes.legend(loc="lower right")
plt.show()
