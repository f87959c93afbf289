"""Models as files: tensors as safetensors, and all else as JSON in the header. Loading runs no code of the file."""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import gcwsnet
from gcwsnet.estimators._averaging import Averages, Mean
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._classifier import GCWSNetClassifier
from gcwsnet.estimators._quantiles import QuantileScaling
from gcwsnet.estimators._regressor import GCWSNetRegressor
from gcwsnet.estimators._scaling import BINARY, CONSTANT, NUMERIC, ColumnScaling
from gcwsnet.estimators._selection import Tried
from gcwsnet.estimators._targets import Labels, Numbers, Targets
from gcwsnet.estimators._terms import KINDS_OF_TERMS, TermScaling
from gcwsnet.hashing import HASH_VERSION
from gcwsnet.nn import GCWSNet, LazyAdam

try:
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save_file
except ModuleNotFoundError as _error:
    if _error.name != "safetensors":
        raise
    raise ImportError(
        "saving and loading models needs safetensors, which is not installed; pip install 'gcwsnet[torch]'"
    ) from _error

FORMAT_VERSION = 1
KEY = "gcwsnet"  # in the header: a checksum, a space and the description
FILE_IN_FOLDER = "model.safetensors"
ESTIMATORS = {cls.__name__: cls for cls in (GCWSNetClassifier, GCWSNetRegressor)}
KINDS_OF_COLUMNS = (NUMERIC, BINARY, CONSTANT)
NOT_SAVED = {"callbacks", "verbose"}

Tensors = dict[str, Tensor]
Description = dict[str, Any]


def save_model(estimator: GCWSNetEstimator, path: Path, *, with_optimizer: bool) -> None:
    """Write a fitted estimator to `path`, by way of a file beside it."""
    tensors, description = _parts(estimator, with_optimizer)
    text = json.dumps(description, allow_nan=False)
    metadata = {KEY: f"{_digest(text, tensors)} {text}"}
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file(tensors, beside, metadata=metadata)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def load(path: str | Path) -> Any:
    """The estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file, or a folder with a file "model.safetensors" in it.

    Returns
    -------
    estimator : GCWSNetClassifier or GCWSNetRegressor
        It predicts the same bits as the saved one, and goes on with `partial_fit`. Without a saved optimizer that
        starts with fresh averages of gradients. `callbacks` and `verbose` are not part of a file.

    Raises
    ------
    ValueError
        If the file is damaged, is none of gcwsnet, or was written by a newer version.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import gcwsnet
    >>> X, y = np.eye(6), ["a", "b"] * 3
    >>> model = gcwsnet.GCWSNetClassifier(n_hashes=8, hidden=(4,), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/some.safetensors")
    ...     again = gcwsnet.load(f"{folder}/some.safetensors")
    >>> bool((again.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    path = Path(path)
    if path.is_dir():
        path = path / FILE_IN_FOLDER
    if not path.is_file():
        raise FileNotFoundError(f"there is no model at {path}; give the file that save() wrote")
    tensors, description = _read(path)
    try:
        return _rebuilt(tensors, description)
    except (KeyError, TypeError, RuntimeError, AttributeError, IndexError) as error:
        raise ValueError(f"{path} does not hold a whole model: {type(error).__name__} {error}") from error


def _read(path: Path) -> tuple[Tensors, Description]:
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} is damaged, cut off or not a model of gcwsnet: {error}") from error
    if KEY not in metadata:
        raise ValueError(f"{path} is a safetensors file, but not a model of gcwsnet: it was not written by save()")
    digest, _, text = metadata[KEY].partition(" ")
    try:
        description = json.loads(text)
        version = description["format_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: its description cannot be read") from error
    if version != FORMAT_VERSION or description.get("hash_version") != HASH_VERSION:
        raise ValueError(
            f"{path} was written by gcwsnet {description.get('gcwsnet_version')} in format {version} with hash version "
            f"{description.get('hash_version')}; this is gcwsnet {gcwsnet.__version__}, which reads format "
            f"{FORMAT_VERSION} with hash version {HASH_VERSION}: use the version that wrote it, or a newer one"
        )
    if digest != _digest(text, tensors):
        raise ValueError(f"{path} is damaged: its content does not fit its checksum; take another copy")
    return tensors, description


def _digest(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name].numpy()
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _parts(estimator: GCWSNetEstimator, with_optimizer: bool) -> tuple[Tensors, Description]:
    """What is to be saved."""
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
    scaling = estimator.scaling_
    tensors |= _scaling_parts(scaling)
    targets, target_tensors = _targets_parts(estimator._targets)
    tensors |= target_tensors
    names = getattr(estimator, "feature_names_in_", None)
    description = {
        "format_version": FORMAT_VERSION,
        "gcwsnet_version": gcwsnet.__version__,
        "hash_version": HASH_VERSION,
        "estimator": type(estimator).__name__,
        "settings": _settings(estimator),
        "seed": estimator.seed_,
        "n_features_in": estimator.n_features_in_,
        "feature_names_in": None if names is None else names.tolist(),
        "scaling": scaling.scale if scaling is not None else None,
        "p": estimator.p_,
        "hash_numbers": None if estimator.hash_numbers_ is None else estimator.hash_numbers_.tolist(),
        "selection": [asdict(tried) for tried in estimator.selection_],
        "targets": targets,
        "averages": means,
        "history": {name: [_or_none(value) for value in values] for name, values in estimator.history_.items()},
        "n_rows_seen": estimator.n_rows_seen_,
        "n_epochs_seen": estimator.n_epochs_seen_,
    }
    return {name: value.detach().cpu().contiguous() for name, value in tensors.items()}, description


def _scaling_parts(scaling: Any) -> Tensors:
    if scaling is None:
        return {}
    if isinstance(scaling, ColumnScaling):
        arrays = {"shift": scaling.shift, "size": scaling.size}
    elif isinstance(scaling, TermScaling):
        return {"scaling.weight": torch.from_numpy(scaling.weight)}
    elif isinstance(scaling, QuantileScaling):
        arrays = {"quantiles": scaling.quantiles}
    else:
        raise ValueError(
            f"a transformer of type {type(scaling).__name__} given as scale cannot be saved with the model; save it in "
            "its own way, transform rows with it first and use scale=None"
        )
    kind = np.array([KINDS_OF_COLUMNS.index(one) for one in scaling.kind], dtype=np.uint8)
    return {f"scaling.{name}": torch.from_numpy(array) for name, array in {**arrays, "kind": kind}.items()}


def _settings(estimator: GCWSNetEstimator) -> Description:
    settings = estimator.get_params(deep=False)
    for name in NOT_SAVED:
        del settings[name]
    settings["device"] = str(settings["device"])
    if not isinstance(settings["random_state"], int | np.integer):
        settings["random_state"] = None
    if isinstance(settings.get("class_weight"), dict):
        settings["class_weight"] = [[_plain(key), float(value)] for key, value in settings["class_weight"].items()]
    return {name: _plain(value) for name, value in settings.items()}


def _plain(value: Any) -> Any:
    """A setting as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _targets_parts(targets: Targets) -> tuple[Description, Tensors]:
    if isinstance(targets, Numbers):
        tensors = {"targets.mean": torch.from_numpy(targets.mean), "targets.size": torch.from_numpy(targets.size)}
        return {"one_column": targets.one_column}, tensors
    classes = targets.classes  # type: ignore[attr-defined]
    values = classes.tolist()
    odd = [value for value in values if not isinstance(value, str | bool | int | float)]
    if odd:
        raise ValueError(f"labels must be strings, numbers or bools to be saved, got {odd[0]!r}; use other labels")
    return {"classes": values, "dtype": classes.dtype.str}, {}


def _rebuilt(tensors: Tensors, description: Description) -> GCWSNetEstimator:
    settings = dict(description["settings"])
    for name in ("hidden", "betas"):
        settings[name] = tuple(settings[name])
    if isinstance(settings.get("class_weight"), list):
        settings["class_weight"] = dict(settings["class_weight"])
    estimator: GCWSNetEstimator = ESTIMATORS[description["estimator"]](**settings)
    estimator._check_parameters()
    estimator.seed_ = description["seed"]
    estimator.n_features_in_ = description["n_features_in"]
    if description["feature_names_in"] is not None:
        estimator.feature_names_in_ = np.array(description["feature_names_in"], dtype=object)
    estimator.scaling_ = _rebuilt_scaling(description["scaling"], estimator.n_features_in_, tensors)
    estimator.p_ = description["p"]
    estimator.selection_ = [Tried(**tried) for tried in description["selection"]]
    numbers = description["hash_numbers"]
    estimator._make_hasher(estimator.n_features_in_, None if numbers is None else np.array(numbers, dtype=np.int64))
    targets = _rebuilt_targets(estimator, description["targets"], tensors)
    estimator._set_targets(targets)
    estimator._make_learner(targets)
    estimator.net_.load_state_dict(_starting_with("net.", tensors))
    _restore_optimizer(estimator.optimizer_, _starting_with("optimizer.", tensors))
    estimator.averages_ = _rebuilt_averages(estimator.net_, description, tensors)
    estimator.history_ = {
        name: [math.nan if value is None else value for value in values]
        for name, values in description["history"].items()
    }
    estimator.n_rows_seen_ = description["n_rows_seen"]
    estimator.n_epochs_seen_ = description["n_epochs_seen"]
    return estimator


def _rebuilt_scaling(scale: str | None, n_columns: int, tensors: Tensors) -> Any:
    if scale is None:
        return None
    if scale in KINDS_OF_TERMS:
        weight = tensors["scaling.weight"].numpy()
        _check_columns(len(weight), n_columns)
        return TermScaling(scale, weight)
    kind = np.array(KINDS_OF_COLUMNS)[tensors["scaling.kind"].numpy()]
    _check_columns(len(kind), n_columns)
    if scale == "quantile":
        return QuantileScaling(kind, tensors["scaling.quantiles"].numpy())
    return ColumnScaling(scale, kind, tensors["scaling.shift"].numpy(), tensors["scaling.size"].numpy())


def _check_columns(scaled: int, n_columns: int) -> None:
    if scaled != n_columns:
        raise IndexError(f"a scaling of {scaled} columns for rows of {n_columns}")


def _rebuilt_averages(net: GCWSNet, description: Description, tensors: Tensors) -> Averages | None:
    if not description["averages"]:
        return None
    averages = Averages(net, description["n_rows_seen"])
    for which, described in description["averages"].items():
        mean: Mean = getattr(averages, which)
        mean.net.load_state_dict(_starting_with(f"{which}.", tensors))
        mean.rows, mean.start = described["rows"], described["start"]
    return averages


def _rebuilt_targets(estimator: Any, described: Description, tensors: Tensors) -> Targets:
    if isinstance(estimator, GCWSNetClassifier):
        return Labels(np.array(described["classes"], dtype=np.dtype(described["dtype"])))
    mean, size = tensors["targets.mean"].numpy(), tensors["targets.size"].numpy()
    return Numbers(mean, size, described["one_column"], estimator.loss)


def _starting_with(prefix: str, tensors: Tensors) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Tensors) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, value in tensors.items():
        number, what = name.split(".")
        plain = isinstance(optimizer, LazyAdam) and value.ndim == 0
        state.setdefault(int(number), {})[what] = value.item() if plain else value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
