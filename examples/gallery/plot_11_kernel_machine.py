"""
A kernel machine without its matrix
===================================

A support vector machine with an exact kernel needs the matrix of all pairs of rows: 30,000 rows make 900 million
numbers. A linear model on hashed rows approximates it, and needs only k codes for each row. For tables of up to 10,000
rows there is also ``PGMMClassifier``, which has the exact kernel and tunes itself.
"""

import time

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from gcwsnet import GCWSHasher, PGMMClassifier, pgmm_kernel

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=500, random_state=0)
models = {
    "linear model": LinearSVC(),
    "linear model on 128 hashes": make_pipeline(GCWSHasher(128, output="onehot", random_state=0), LinearSVC(C=0.01)),
    "linear model on 512 hashes": make_pipeline(GCWSHasher(512, output="onehot", random_state=0), LinearSVC(C=0.01)),
    "SVC with the exact kernel": SVC(kernel=pgmm_kernel, C=10),
    "SVC with the RBF kernel": SVC(C=10),
    "PGMMClassifier, tunes itself": PGMMClassifier(random_state=0),
}
scores, seconds = {}, {}
for name, model in models.items():
    begin = time.process_time()
    scores[name] = model.fit(X_train, y_train).score(X_test, y_test)
    seconds[name] = time.process_time() - begin
    print(f"{name:30} accuracy {scores[name]:.3f}, {seconds[name]:.2f} s")

# %%
# On rows as few as these the matrix is small, and exact machines are quick. Their time grows with the square of the
# rows or faster, and that of the hashed ones in proportion.

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
bars = axes.barh(list(scores), list(scores.values()), color=["k", "C3", "C3", "C0", "C7", "C0"])
axes.bar_label(bars, labels=[f"{score:.3f}" for score in scores.values()], padding=3)
axes.set(xlim=(0.9, 1.0), xlabel="test accuracy")
axes.invert_yaxis()
plt.show()
