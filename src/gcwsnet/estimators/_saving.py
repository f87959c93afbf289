"""Models as files: tensors as safetensors, and all else as JSON in the header. Loading runs no code of the file."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

import gcwsnet
from gcwsnet.estimators._base import GCWSNetEstimator
from gcwsnet.estimators._describing import (
    Description,
    Tensors,
    coder_parts,
    net_parts,
    rebuild_net,
    rebuilt_coder,
)
from gcwsnet.hashing import HASH_VERSION

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
        coder_parts(estimator, timings=timings),
        net_parts(estimator, with_optimizer=with_optimizer, timings=timings),
        more,
    )
    tensors = {name: value for some, _ in parts for name, value in some.items()}
    description = {name: value for _, some in parts for name, value in some.items()}
    write_file(path, tensors, description)


def write_file(path: Path, tensors: Tensors, description: Description) -> None:
    """Write tensors and a description by way of a file beside `path`, which is replaced at the end or not at all."""
    tensors = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    versions = {
        "format_version": FORMAT_VERSION,
        "gcwsnet_version": gcwsnet.__version__,
        "hash_version": HASH_VERSION,
    }
    text = json.dumps(versions | description, allow_nan=False)
    metadata = {KEY: f"{_digest(text, tensors)} {text}"}
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file(tensors, beside, metadata=metadata)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    except SafetensorError as error:
        raise OSError(f"{path} could not be written, and is as it was before: {error}") from error
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
    tensors, description = read_file(path)
    if "history" not in description:
        raise ValueError(f"{path} tells how codes were made and holds no net; train one on the codes beside it")
    try:
        estimator = rebuilt_coder(tensors, description)
        rebuild_net(estimator, tensors, description)
    except NOT_WHOLE as error:
        raise ValueError(f"{path} does not hold a whole model: {type(error).__name__} {error}") from error
    return estimator


def read_file(path: Path) -> tuple[Tensors, Description]:
    """Tensors and description of a file that `write_file` wrote, once its checksum has been found right."""
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
