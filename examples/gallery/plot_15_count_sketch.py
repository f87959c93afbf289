"""
Smaller models by count-sketch
==============================

Codes of b bits make one-hot vectors of 2^b k places, and the first layer of a net has a row for each. A count-sketch
adds up places with random signs: the layer becomes m times smaller, and little accuracy is lost until m is large. The
parameter of the classifier is ``reduction``.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from gcwsnet import GCWSNetClassifier

X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
reductions = (1, 4, 16, 64, 256)
scores, sizes = [], []
for m in reductions:
    model = GCWSNetClassifier(scale="numeric", p=1, epochs=5, hidden=64, ensemble=1, reduction=m, random_state=0)
    scores.append(model.fit(X_train, y_train).score(X_test, y_test))
    sizes.append(sum(np.asarray(weights).nbytes for weights in model.trainer_.net.weights().values()))
    print(f"reduction {m:3}: accuracy {scores[-1]:.3f}, weights {sizes[-1] / 1e6:.2f} MB")

# %%
# The size of the model and its accuracy, side by side.

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
axes.semilogx(np.array(sizes) / 1e6, scores, "C3-o")
for m, size, score in zip(reductions, sizes, scores, strict=True):
    axes.annotate(f"m = {m}", (size / 1e6, score), textcoords="offset points", xytext=(4, -12))
axes.set(xlabel="weights, MB", ylabel="test accuracy")
axes.margins(0.15)
plt.show()
