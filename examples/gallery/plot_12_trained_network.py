"""
More out of a trained network
=============================

The last layer of a network is a linear function of the layer before it. ``gcwsnet.nn.boost`` replaces it by a layer
on GCWS codes of the same numbers, which learns in one pass. The network itself is not changed. It helps most if the
network was trained for a short time.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from gcwsnet.nn import boost

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = (torch.from_numpy(part) for part in train_test_split(X / 16, y, random_state=0))
X_train, X_test = X_train.float(), X_test.float()
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
optimizer = torch.optim.Adam(network.parameters())
loader = list(zip(X_train.split(32), y_train.split(32), strict=True))


def accuracy(model: nn.Module) -> float:
    """Return the share of test rows whose class has the largest output."""
    with torch.no_grad():
        return float((model(X_test).argmax(1) == y_test).float().mean())


# %%
# We train the network for twelve epochs, and look after each what it would be with another last layer.

plain, boosted = [], []
for _ in range(12):
    for rows, labels in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(network(rows), labels).backward()
        optimizer.step()
    plain.append(accuracy(network))
    boosted.append(accuracy(boost(network, loader)))

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
epochs = range(1, len(plain) + 1)
axes.plot(epochs, plain, "k--s", label="the network")
axes.plot(epochs, boosted, "C3-o", label="with a last layer on GCWS codes")
axes.set(xlabel="epochs of the network", ylabel="test accuracy")
axes.legend()
plt.show()
