"""
One pass, and the learning curve
================================

GCWSNet is made for data that are seen once. This example recognises seven exercises by two seconds of a smartwatch, 300
numbers as they were measured. It draws how good the net is along the way: on test rows, and on each row before it is
learned, which needs no test rows at all.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from seglearn.datasets import load_watch

from gcwsnet import GCWSNetClassifier

watch = load_watch()
rows: dict[str, list[np.ndarray]] = {"X_train": [], "y_train": [], "X_test": [], "y_test": []}
for recording, label in zip(watch["X"], watch["y"], strict=True):
    split = int(0.7 * len(recording))  # the later part of each recording is for testing
    for name, part in (("train", recording[:split:2]), ("test", recording[split::2])):
        windows = sliding_window_view(part, 50, axis=0)[::20]
        rows[f"X_{name}"].append(windows.reshape(len(windows), -1))
        rows[f"y_{name}"].append(np.full(len(windows), watch["y_labels"][int(label)]))
X_train, y_train, X_test, y_test = (np.concatenate(rows[name]) for name in ("X_train", "y_train", "X_test", "y_test"))
print(f"{len(y_train)} rows of {X_train.shape[1]} numbers for training, {len(y_test)} for testing")

# %%
# ``records=20`` writes a record into ``history_`` after each twentieth of the pass. With ``eval_set`` a record has the
# accuracy on test rows, too.

model = GCWSNetClassifier(epochs=1, hidden=200, scale="numeric", p=1, records=20, random_state=0)
model.fit(X_train, y_train, eval_set=(X_test, y_test))
history = model.history_

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.plot(history["epoch"], history["eval_accuracy"], "C3-o", markersize=4, label="on test rows")
axes.plot(history["epoch"], history["accuracy"], "C0--s", markersize=4, label="on each row before it is learned")
axes.set(xlabel="share of the training rows seen, each once", ylabel="accuracy")
axes.legend()
plt.show()
