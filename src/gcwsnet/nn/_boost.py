"""Trained networks with a new last layer: a net on the GCWS codes of what the last layer gets."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sized
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from gcwsnet import _core
from gcwsnet._validation import check_integer
from gcwsnet.nn._gcws_layer import GCWSLayer

BATCH_ROWS = 32


def boost(
    network: nn.Module,
    loader: Iterable[Any],
    layer: str | nn.Module | None = None,
    *,
    n_hashes: int = 256,
    bits: int = 8,
    p: float = 1.0,
    epochs: int = 1,
    learning_rate: float = 0.01,
    seed: int = 0,
) -> nn.Module:
    """Return a trained network with a new last layer, which learns from the codes of the layer before it.

    What the last layer gets is hashed by GCWS, and a logistic regression learns from the codes in one pass over the
    loader, by the native core: the last section of the paper. The network itself is not changed.

    Parameters
    ----------
    network : torch.nn.Module
        A classifier that is trained already, or that is being trained. It may be on any device.
    loader : iterable of pairs
        Inputs and class numbers of rows for training, such as a `DataLoader`. Inputs that are a tuple or a list are
        several arguments of the network, and a dict has arguments by their names. It is iterated `epochs` times.
    layer : str or Module, optional
        The layer to replace, by its name in `network.named_modules()` or itself. It takes a tensor whose last axis are
        embeddings, and has as many outputs as there are classes. By default the last `torch.nn.Linear` that is called.
    n_hashes, bits, p : default=256, 8, 1.0
        The hashes, as in `GCWSLayer`.
    epochs : int, default=1
        Passes over the loader.
    learning_rate : float, default=0.01
        The learning rate of the first step of Adam. It falls linearly to 0 if the loader has a length.
    seed : int, default=0
        The seed of the hashes and of the initial weights.

    Returns
    -------
    boosted : torch.nn.Module
        A copy of the network with a `GCWSLayer` in place of the layer. It shares all other weights with the network:
        training the network further changes what the boosted one hashes.

    Examples
    --------
    >>> import torch
    >>> from sklearn.datasets import load_digits
    >>> from gcwsnet.nn import boost
    >>> X, y = (torch.from_numpy(part) for part in load_digits(return_X_y=True))
    >>> X = X.to(torch.float32)
    >>> _ = torch.manual_seed(0)
    >>> network = torch.nn.Sequential(torch.nn.Linear(64, 100), torch.nn.ReLU(), torch.nn.Linear(100, 10))
    >>> loader = list(zip(X[:1500].split(100), y[:1500].split(100)))
    >>> boosted = boost(network, loader)
    >>> boosted[2]
    GCWSLayer(
      in_features=100, n_hashes=256, bits=8, p=1
      (linear): HashedLinear(n_hashes=256, bits=8, out_features=10)
    )
    >>> right, of_boosted = ((one(X[1500:]).argmax(1) == y[1500:]).float().mean() for one in (network, boosted))
    >>> bool(right < 0.2 < 0.8 < of_boosted)
    True
    """
    check_integer("epochs", epochs, 1, 2**31)
    place, replaced = _layer_of(network, layer, loader)
    n_classes = getattr(replaced, "out_features", None)
    if n_classes is None:
        raise ValueError(f"the layer to replace must have out_features, the number of classes, got {replaced}")
    n_batches = len(loader) if isinstance(loader, Sized) else None
    head = net = None
    for epoch in range(epochs):
        for number, (inputs, target) in enumerate(loader):
            embeddings = _embeddings(network, replaced, inputs)
            if head is None or net is None:
                with torch.random.fork_rng([]):  # the random numbers of a training that goes on stay the same
                    head = GCWSLayer(embeddings.shape[1], n_classes, n_hashes, bits=bits, p=p, seed=seed)
                net = _core.Net(n_hashes, head.linear.bits, [], n_classes, seed=seed)
            codes = np.ascontiguousarray(head.codes(embeddings).cpu().numpy())
            n_steps = -(-len(codes) // BATCH_ROWS)
            left = np.ones(n_steps)
            if n_batches is not None:
                done, share = (epoch * n_batches + number) / (epochs * n_batches), 1 / (epochs * n_batches)
                left = 1 - done - share * np.arange(n_steps) / n_steps
            net.train(
                codes,
                _labels(target, len(codes), n_classes),
                weights=None,
                batch_size=BATCH_ROWS,
                rates=learning_rate * left,
                losses=np.empty(n_steps),
                successes=np.empty(n_steps),
                outputs=np.empty((len(codes), n_classes), dtype=np.float32),
                loss="cross_entropy",
                betas=(0.0, 0.999),
                weight_decay=0.0,
                lazy=True,
                n_threads=torch.get_num_threads(),
            )
    if head is None or net is None:
        raise ValueError("the loader must have at least one batch of inputs and class numbers, got none")
    weights = net.weights()
    with torch.no_grad():
        head.linear.weight.copy_(torch.from_numpy(weights["layers.0.weight"]))
        head.linear.bias.copy_(torch.from_numpy(weights["layers.0.bias"]))
    placed = next(iter(replaced.parameters()), None)
    return _with_layer(network, place, head if placed is None else head.to(placed.device))


def _labels(target: Tensor, n: int, n_classes: int) -> NDArray[np.int64]:
    """Return class numbers as the native core takes them."""
    if target.is_floating_point() or target.numel() != n:
        raise ValueError(
            f"the loader must give one class number for each embedding, an integer, got {target.dtype} of shape "
            f"{tuple(target.shape)} for {n} embeddings"
        )
    labels = target.detach().reshape(-1).to("cpu", torch.int64).numpy()
    wrong = labels[(labels < 0) | (labels >= n_classes)]
    if len(wrong):
        raise ValueError(f"class numbers must be from 0 to {n_classes - 1}, the outputs of the layer, got {wrong[0]}")
    return np.ascontiguousarray(labels)


def _layer_of(network: nn.Module, layer: str | nn.Module | None, loader: Iterable[Any]) -> tuple[str, nn.Module]:
    """Return the name of the layer to replace, and the layer."""
    by_name = dict(network.named_modules())
    if isinstance(layer, str):
        if layer not in by_name:
            raise ValueError(f"layer must be one of the network's, {', '.join(filter(None, by_name))}; got {layer!r}")
        return layer, by_name[layer]
    if layer is None:
        linear = [module for module in network.modules() if isinstance(module, nn.Linear)]
        called = [one for inputs, _ in itertools.islice(loader, 1) for one, _ in _calls(network, linear, inputs)]
        if not called:
            raise ValueError("no torch.nn.Linear of the network is called; give the layer to replace, by its name")
        layer = called[-1]
    for name, module in by_name.items():
        if module is layer:
            return name, module
    raise ValueError(f"layer must be a module of the network, got {layer}; give its name")


def _embeddings(network: nn.Module, layer: nn.Module, inputs: Any) -> Tensor:
    """Return what a layer gets for a batch, as rows."""
    calls = _calls(network, [layer], inputs)
    if len(calls) != 1:
        raise ValueError(f"the layer must be called once for a batch, it was called {len(calls)} times")
    embeddings: Tensor = calls[0][1][0].detach()
    return embeddings.reshape(-1, embeddings.shape[-1])


def _calls(network: nn.Module, layers: Iterable[nn.Module], inputs: Any) -> list[tuple[nn.Module, Any]]:
    """Return which of some layers a network calls for a batch, in order, and the arguments."""
    calls: list[tuple[nn.Module, Any]] = []
    hooks = [layer.register_forward_pre_hook(lambda layer, given: calls.append((layer, given))) for layer in layers]
    try:
        with _as_for_predictions(network):
            _called_with(network, inputs)
    finally:
        for hook in hooks:
            hook.remove()
    return calls


@contextmanager
def _as_for_predictions(network: nn.Module) -> Iterator[None]:
    """Let a network predict: no gradients, no dropout, no statistics of batches learned; modules go back after it."""
    training = [module for module in network.modules() if module.training]
    network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module in training:
            module.training = True


def _called_with(network: nn.Module, inputs: Any) -> Any:
    if isinstance(inputs, Mapping):
        return network(**inputs)
    return network(*inputs) if isinstance(inputs, tuple | list) else network(inputs)


def _with_layer(network: nn.Module, place: str, layer: nn.Module) -> nn.Module:
    """Return a copy of a network with another layer in one place; all tensors of the rest are shared."""
    if not place:
        return layer
    shared = {id(tensor): tensor for tensor in [*network.parameters(), *network.buffers()]}
    made = copy.deepcopy(network, shared)
    parent, _, name = place.rpartition(".")
    setattr(made.get_submodule(parent), name, layer)
    return made
