"""
A model where there is no gcwsnet: ONNX
=======================================

A fitted model becomes one file that any program with an ONNX runtime can run: scaling, hashing and the net, in
standard operators. The codes and the outputs of the net are the same to the last bit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import gcwsnet

wine = load_wine()
X_train, X_test, y_train, y_test = train_test_split(wine.data, wine.target, test_size=0.5, random_state=0)
model = gcwsnet.GCWSNetClassifier(n_hashes=64, ensemble=1, hidden=48, random_state=0).fit(X_train, y_train)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wine.onnx"
    gcwsnet.export_onnx(model, path)
    print(f"{path.name} has {path.stat().st_size / 1e6:.1f} MB")
    session = onnxruntime.InferenceSession(path.read_bytes())

# %%
# The session gets the rows as they are, and gives labels and probabilities.

labels, probabilities = session.run(None, {"X": X_test})
difference = np.abs(probabilities - model.predict_proba(X_test)).max()
print(
    f"labels equal: {np.array_equal(labels, model.predict(X_test))}, probabilities differ by at most {difference:.1g}"
)

figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
for number, name in enumerate(wine.target_names):
    axes.scatter(model.predict_proba(X_test)[:, number], probabilities[:, number], s=12, label=name)
axes.set(xlabel="probability, gcwsnet", ylabel="probability, onnxruntime")
axes.legend(title="wine")
plt.show()
