"""Model files: tensors as safetensors, and all else as JSON in the header. Loading runs no code of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._files import Description, read_file, write_file
from gcwsnet.estimators._state import Tensors, coder_from_state, coder_state, net_state, restore_net

FILE_IN_FOLDER = "model.safetensors"
NOT_WHOLE = (KeyError, TypeError, RuntimeError, AttributeError, IndexError)


def save_model(
    estimator: GCWSNetEstimator,
    path: Path,
    *,
    with_optimizer: bool,
    timings: bool,
    more: tuple[Tensors, Description] = ({}, {}),
) -> None:
    """Write a fitted estimator to `path`, with more tensors and more of a description if they are given."""
    parts = (
        coder_state(estimator, timings=timings),
        net_state(estimator, with_optimizer=with_optimizer, timings=timings),
        more,
    )
    tensors = {name: value for some, _ in parts for name, value in some.items()}
    description = {name: value for _, some in parts for name, value in some.items()}
    write_file(path, {name: value.detach().cpu().contiguous().numpy() for name, value in tensors.items()}, description)


def read_model(path: Path) -> tuple[Tensors, Description]:
    """Read the tensors and the description of a file."""
    arrays, description = read_file(path)
    return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, description


def load(path: str | Path) -> Any:
    """Load the estimator that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file, or a folder with a file "model.safetensors" in it.

    Returns
    -------
    estimator : GCWSNetClassifier or GCWSNetRegressor
        It predicts the same bits as the saved one, and continues with `partial_fit`. Without a saved optimizer,
        `partial_fit` starts with new averages of gradients. `get_params()` gives the parameters of the fit, except for
        `callbacks`, `verbose` and `n_jobs`, which are not part of a file.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model of gcwsnet, or has another version of the format.

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
    return model_from_state(path, *read_model(path))


def model_from_state(path: Path, tensors: Tensors, description: Description) -> GCWSNetEstimator:
    """Return the estimator whose state was read from `path`."""
    if "history" not in description:
        raise ValueError(f"{path} is the coder of a folder of codes and no model; run gcwsnet train on that folder")
    try:
        estimator = coder_from_state(tensors, description)
        restore_net(estimator, tensors, description)
    except NOT_WHOLE as error:
        raise ValueError(f"{path} does not hold a whole model: {type(error).__name__} {error}") from error
    return estimator
