"""The state of an estimator as tensors and as a description for JSON, and estimators from such a state."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gcwsnet.estimators._averaging import Averages, Mean
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._classifier import GCWSNetClassifier
from gcwsnet.estimators._files import Description
from gcwsnet.estimators._regressor import GCWSNetRegressor
from gcwsnet.estimators._scaling_arrays import scaling_arrays, scaling_from_arrays
from gcwsnet.estimators._selection import Candidate
from gcwsnet.estimators._targets import Labels, Numbers, Targets
from gcwsnet.nn import GCWSNet, LazyAdam

ESTIMATORS = {cls.__name__: cls for cls in (GCWSNetClassifier, GCWSNetRegressor)}

Tensors = dict[str, Tensor]


def coder_state(estimator: GCWSNetEstimator, *, timings: bool) -> tuple[Tensors, Description]:
    """Return how rows become codes, and labels or numbers become targets."""
    scaling = estimator.scaling_
    scaling_tensors = {name: torch.from_numpy(array) for name, array in scaling_arrays(scaling).items()}
    targets, target_tensors = _targets_state(estimator._targets)
    names = getattr(estimator, "feature_names_in_", None)
    selection = [one if timings else replace(one, seconds=0.0) for one in estimator.selection_]
    description = {
        "estimator": type(estimator).__name__,
        "settings": _settings(estimator),
        "seed": estimator.seed_,
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "scaling": scaling.scale if scaling is not None else None,
        "p": estimator.p_,
        "selection": [asdict(candidate) for candidate in selection],
        "targets": targets,
    }
    return scaling_tensors | target_tensors, description


def net_state(estimator: GCWSNetEstimator, *, with_optimizer: bool, timings: bool) -> tuple[Tensors, Description]:
    """Return the net, its optimizer and its history."""
    tensors = {f"net.{name}": value for name, value in estimator.net_.state_dict().items()}
    if with_optimizer:
        for number, state in estimator.optimizer_.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    means: Description = {}
    if estimator.averages_ is not None:
        kept = {"older": estimator.averages_.older}
        if with_optimizer:
            kept["newer"] = estimator.averages_.newer
        for which, mean in kept.items():
            tensors |= {f"{which}.{name}": value for name, value in mean.net.state_dict().items()}
            means[which] = {"rows": mean.rows, "start": mean.start}
    history = dict(estimator.history_)
    if not timings and "seconds" in history:
        history["seconds"] = [0.0] * len(history["seconds"])
    description = {
        "averages": means,
        "history": {name: [_or_none(value) for value in values] for name, values in history.items()},
        "n_rows_seen": estimator.n_rows_seen_,
        "n_epochs_seen": estimator.n_epochs_seen_,
    }
    return tensors, description


def _settings(estimator: GCWSNetEstimator) -> Description:
    settings = dict(estimator._settings)
    if not isinstance(settings["random_state"], int | np.integer):
        settings["random_state"] = None
    if isinstance(settings.get("class_weight"), dict):
        settings["class_weight"] = [[_plain(key), float(value)] for key, value in settings["class_weight"].items()]
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    """Return a setting as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _targets_state(targets: Targets) -> tuple[Description, Tensors]:
    if isinstance(targets, Numbers):
        tensors = {"targets.mean": torch.from_numpy(targets.mean), "targets.size": torch.from_numpy(targets.size)}
        return {"one_column": targets.one_column}, tensors
    classes = targets.classes  # type: ignore[attr-defined]
    values = classes.tolist()
    odd = [value for value in values if not isinstance(value, str | bool | int | float)]
    if odd:
        raise ValueError(f"labels must be strings, numbers or bools to be saved, got {odd[0]!r}; use other labels")
    return {"classes": values, "dtype": classes.dtype.str}, {}


def coder_from_state(tensors: Tensors, description: Description) -> GCWSNetEstimator:
    """Return an estimator without a net, which makes codes and knows its targets."""
    settings = dict(description["settings"])
    if isinstance(settings.get("class_weight"), list):
        settings["class_weight"] = dict(settings["class_weight"])
    settings |= {name: tuple(value) for name, value in settings.items() if isinstance(value, list)}
    estimator: GCWSNetEstimator = ESTIMATORS[description["estimator"]](**settings)
    estimator._freeze_parameters()
    estimator.seed_ = description["seed"]
    estimator.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    arrays = {name: value.numpy() for name, value in tensors.items() if name.startswith("scaling.")}
    estimator.scaling_ = scaling_from_arrays(description["scaling"], estimator.n_features_in_, arrays)
    estimator.p_ = description["p"]
    estimator.selection_ = [Candidate(**candidate) for candidate in description["selection"]]
    estimator._make_hasher(estimator.n_features_in_)
    estimator._targets = _targets_from_state(estimator, description["targets"], tensors)
    return estimator


def restore_net(estimator: GCWSNetEstimator, tensors: Tensors, description: Description) -> None:
    """Give an estimator that makes codes its net, its optimizer and its history."""
    estimator._make_net(estimator._targets)
    estimator.net_.load_state_dict(_starting_with("net.", tensors))
    _restore_optimizer(estimator.optimizer_, _starting_with("optimizer.", tensors))
    estimator.averages_ = _averages_from_state(estimator.net_, description, tensors)
    estimator.history_ = {
        name: [math.nan if value is None else value for value in values]
        for name, values in description["history"].items()
    }
    estimator.n_rows_seen_ = description["n_rows_seen"]
    estimator.n_epochs_seen_ = description["n_epochs_seen"]


def _averages_from_state(net: GCWSNet, description: Description, tensors: Tensors) -> Averages | None:
    if not description["averages"]:
        return None
    averages = Averages(net, description["n_rows_seen"])
    for which, described in description["averages"].items():
        mean: Mean = getattr(averages, which)
        mean.net.load_state_dict(_starting_with(f"{which}.", tensors))
        mean.rows, mean.start = described["rows"], described["start"]
    return averages


def _targets_from_state(estimator: Any, described: Description, tensors: Tensors) -> Targets:
    if isinstance(estimator, GCWSNetClassifier):
        return Labels(np.array(described["classes"], dtype=np.dtype(described["dtype"])))
    mean, size = tensors["targets.mean"].numpy(), tensors["targets.size"].numpy()
    return Numbers(mean, size, described["one_column"], estimator._settings.loss)


def _starting_with(prefix: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        number, what = name.split(".")
        plain = isinstance(optimizer, LazyAdam) and value.ndim == 0
        state.setdefault(int(number), {})[what] = value.item() if plain else value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
