"""
Texts that are nearly the same
==============================

Which documents of a collection are copies of each other, except for some words? The documents here are the docstrings
of NumPy and SciPy. A text becomes the counts of its shingles, which are runs of three words. ``GCWSIndex`` finds all
pairs above a similarity without comparing each text with every other one.
"""

import inspect
from importlib import import_module

import matplotlib.pyplot as plt
from sklearn.feature_extraction.text import HashingVectorizer

from gcwsnet.neighbors import Deduplicator, GCWSIndex

texts: dict[str, str] = {}
for module in ("numpy", "numpy.linalg", "scipy.fft", "scipy.linalg", "scipy.signal", "scipy.special", "scipy.stats"):
    for name, thing in inspect.getmembers(import_module(module), callable):
        text = inspect.getdoc(thing) or ""
        if len(text.split()) > 30:
            texts[f"{module}.{name}"] = text
names = list(texts)
shingles = HashingVectorizer(ngram_range=(3, 3), norm=None, alternate_sign=False).transform(texts.values())
print(f"{len(names)} texts")

# %%
# The index holds 256 codes of 8 bits for each text. ``pairs`` gives all pairs from a similarity on.

pairs = GCWSIndex(threshold=0.5).add(shingles).pairs(0.5)
for a, b, similarity in sorted(zip(*pairs, strict=True), key=lambda one: -one[2])[:200:20]:
    print(f"{similarity:.2f}  {names[a]}  {names[b]}")

# %%
# Where only one of each group of near-duplicates is to be kept, ``Deduplicator`` goes over a stream and remembers
# what it has kept, by codes alone.

thresholds = (0.3, 0.5, 0.7, 0.9)
kept = [int(Deduplicator(threshold)(shingles).kept.sum()) for threshold in thresholds]
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
left.hist(pairs[2], bins=25)
left.set(xlabel="similarity of a pair, from 0.5 on", ylabel="pairs")
right.plot(thresholds, kept, "C3-o")
right.axhline(len(names), color="k", linestyle=":", label="all texts")
right.set(xlabel="threshold", ylabel="texts kept")
right.legend()
plt.show()
