"""
Missing values
==============

A missing number takes no part in the kernel, and an additional column tells the net where numbers were missing. How
much is lost when more and more of a table is missing? We delete pixels of scikit-learn's digits at random, in
training rows and in test rows, and compare with the usual way: fill in the mean, then fit a linear model.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSNetClassifier

X, y = load_digits(return_X_y=True)
shares = (0.0, 0.2, 0.4, 0.6, 0.8)
scores: dict[str, list[float]] = {"GCWSNetClassifier": [], "mean and linear model": []}
rng = np.random.default_rng(0)
for share in shares:
    holes = np.where(rng.random(X.shape) < share, np.nan, X)
    X_train, X_test, y_train, y_test = train_test_split(holes, y, test_size=0.5, random_state=0)
    models = (
        GCWSNetClassifier(n_hashes=128, scale="numeric", p=1, epochs=3, random_state=0),
        make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()),
    )
    for name, model in zip(scores, models, strict=True):
        scores[name].append(model.fit(X_train, y_train).score(X_test, y_test))

# %%
# Until half of the pixels are gone the net is somewhat ahead, and with a fifth of them left the linear model is. What
# the net saves is the step that fills holes in, and the question what to fill them with.

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
for (name, values), style in zip(scores.items(), ("C3-o", "k--s"), strict=True):
    axes.plot(shares, values, style, label=name)
axes.set(xlabel="share of the numbers that are missing", ylabel="test accuracy")
axes.legend()
plt.show()
