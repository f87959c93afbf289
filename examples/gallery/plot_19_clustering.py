"""
Clusters from near neighbours
=============================

``GCWSIndex`` is a transformer: it gives the graph of near neighbours under the pGMM kernel, with 1 - J as the
distance, to any estimator of scikit-learn that takes a precomputed one. Here DBSCAN finds groups among the digits
without being told what they show.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from gcwsnet.neighbors import GCWSIndex

X, digit = load_digits(return_X_y=True)
pipeline = make_pipeline(GCWSIndex(n_neighbors=15), DBSCAN(metric="precomputed", eps=0.24, min_samples=10))
cluster = pipeline.fit_predict(X)
grouped = cluster >= 0
print(f"{cluster.max() + 1} clusters, {np.mean(~grouped):.0%} of the digits in none")
print(f"adjusted Rand index of the others: {adjusted_rand_score(digit[grouped], cluster[grouped]):.2f}")

# %%
# DBSCAN leaves rows alone that lie between groups. What is in the clusters? A row is one of the ten largest, and a
# column is a digit.

largest = np.argsort(-np.bincount(cluster[grouped]))[:10]
counts = np.array([np.bincount(digit[cluster == one], minlength=10) for one in largest])
figure, axes = plt.subplots(figsize=(5.4, 4.2), layout="constrained")
image = axes.imshow(counts, cmap="Blues")
for (row, column), count in np.ndenumerate(counts):
    if count:
        axes.text(column, row, str(count), ha="center", va="center", fontsize=8)
axes.set(xlabel="digit", ylabel="cluster, largest first", xticks=range(10), yticks=range(len(largest)))
figure.colorbar(image, label="rows")
plt.show()
