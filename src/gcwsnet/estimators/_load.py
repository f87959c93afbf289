"""Estimators from model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gcwsnet
from gcwsnet.estimators._input import set_inputs
from gcwsnet.estimators._machine import FittedMachine
from gcwsnet.estimators._model_file import NETS, named, read_model, residuals_from
from gcwsnet.estimators._stream import WarmUp
from gcwsnet.estimators._tensor_file import Arrays, Description
from gcwsnet.net._trainer import Trainer
from gcwsnet.search import Candidate
from gcwsnet.tables._coder import Coder


def load(path: str | Path, *, device: str = "cpu") -> Any:
    """Return the estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file, or a folder with a file "model.safetensors" in it.
    device : str, default="cpu"
        The device that a net predicts and learns on from now on, whatever device it was on when it was saved: "cpu" is
        the native core, and all else is a device of torch. A kernel machine is always on the CPU.

    Returns
    -------
    estimator : GCWSNetClassifier, GCWSNetRegressor, PGMMClassifier or PGMMRegressor
        It predicts the same bits as a model that `fit` made. To learn further it must have been saved with
        ``training_state=True``. `callbacks`, `verbose` and `n_jobs` are not part of a file.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model file of gcwsnet, or was written by a version that this one cannot read.
        Files from untrusted sources are safe: a file is checked before it is used, takes no more memory than a few
        times its size, and none of its content is run.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import gcwsnet
    >>> X, y = np.eye(6), ["a", "b"] * 3
    >>> model = gcwsnet.GCWSNetClassifier(n_hashes=8, hidden=(4,), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/some.safetensors")
    ...     loaded = gcwsnet.load(f"{folder}/some.safetensors")
    >>> bool((loaded.predict_proba(X) == model.predict_proba(X)).all())
    True
    """
    return load_with_description(Path(path), device=device)[0]


def load_with_description(path: Path, *, device: str = "cpu") -> tuple[Any, Description]:
    """Return the estimator of a file and all that the file says."""
    path, arrays, description = read_model(path)
    return estimator_of(path, arrays, description, device=device), description


def estimator_of(path: Path, arrays: Arrays, description: Description, *, device: str | None = None) -> Any:
    """Return the estimator of what `read_model` has read; a net is put on a device, None is the one it was saved on."""
    is_net = description["estimator"] in NETS
    params = dict(description["params"])
    for name in ("hidden", "betas"):
        if isinstance(params.get(name), list):
            params[name] = tuple(params[name])
    if device is not None and is_net:
        params["device"] = device
    with named(path):
        if isinstance(params.get("class_weight"), list):
            params["class_weight"] = dict(params["class_weight"])
        estimator = getattr(gcwsnet, description["estimator"])(**params)
        estimator._freeze_parameters()
        estimator.coder_ = Coder.from_state(arrays, description["coder"])
        selection = description["coder" if is_net else "machine"]["selection"]
        estimator.selection_ = [Candidate(**one) for one in selection]
    set_inputs(estimator, estimator.coder_.n_inputs, description["feature_names_in"])
    if (residuals := residuals_from(arrays)) is not None:
        estimator.residuals_ = residuals
    if not is_net:
        estimator.machine_ = FittedMachine.from_state(arrays, description["machine"], estimator.coder_)
        return estimator
    trainer = Trainer.from_state(arrays, description["trainer"], device=str(estimator.device))
    estimator.trainer_ = trainer
    estimator._adds_classes = description.get("stream", {}).get("grows", True)
    estimator._stream = None if trainer.following is None else WarmUp()
    return estimator
