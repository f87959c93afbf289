"""The model file: arrays as safetensors, and all else as JSON in its header. Loading runs no code of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gcwsnet
from gcwsnet.estimators._format import SCALES, check_model
from gcwsnet.estimators._input import set_inputs
from gcwsnet.estimators._stream import WarmUp
from gcwsnet.estimators._tensor_file import Arrays, Description, read_file, write_file
from gcwsnet.net._trainer import Trainer
from gcwsnet.tables._coder import Coder

if TYPE_CHECKING:
    from gcwsnet.estimators._base import BaseTableModel
    from gcwsnet.estimators._gcwsnet import BaseGCWSNet
    from gcwsnet.estimators._pgmm import KernelMachine
    from gcwsnet.net._net import Net

FILE_IN_FOLDER = "model.safetensors"
NETS, KERNEL_MACHINES = ("GCWSNetClassifier", "GCWSNetRegressor"), ("PGMMClassifier", "PGMMRegressor")
INCOMPLETE = (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError)
TABLE = "layers.0.weight"


def save_model(
    estimator: BaseGCWSNet,
    path: Path,
    *,
    resumable: bool,
    timings: bool,
    dtype: str = "float32",
    more: Description | None = None,
    outdated: Sequence[Path] = (),
) -> None:
    """Write a fitted estimator to `path`, with more of a description if it is given, and remove what is outdated."""
    coder_arrays, coder = estimator.coder_.state(timings=timings)
    trainer_arrays, trainer = estimator.trainer_.state(resumable=resumable, timings=timings)
    description = _described(estimator) | {"coder": coder, "trainer": trainer}
    if resumable:
        description["stream"] = {"grows": estimator._grows}
    arrays = coder_arrays | rounded_tables(trainer_arrays, dtype)
    write_file(path, arrays, description | (more or {}), outdated=outdated)


def save_kernel_machine(estimator: KernelMachine, path: Path, *, timings: bool) -> None:
    """Write a fitted kernel machine to `path`."""
    coder_arrays, coder = estimator.coder_.state(timings=timings)
    machine_arrays, machine = estimator.machine_.state(timings=timings)
    write_file(path, coder_arrays | machine_arrays, _described(estimator) | {"coder": coder, "machine": machine})


def _described(estimator: BaseTableModel) -> Description:
    """Return what the files of all estimators say about them."""
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "estimator": type(estimator).__name__,
        "params": _plain_params(estimator._fitted_params),
        "feature_names_in": None if names is None else names.tolist(),
    }


def rounded_tables(arrays: Arrays, dtype: str) -> Arrays:
    """Return arrays with the table of each net's first layer in a smaller type; "int8" adds the scale of each row.

    Examples
    --------
    >>> arrays = {"net.layers.0.weight": np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32)}
    >>> rounded_tables(arrays, "int8")["net.layers.0.weight"]
    array([[  64, -127],
           [   0,    0]], dtype=int8)
    >>> restored_tables(rounded_tables(arrays, "int8"))["net.layers.0.weight"].round(3)
    array([[ 0.504, -1.   ],
           [ 0.   ,  0.   ]], dtype=float32)
    """
    if dtype == "float32":
        return arrays
    made = dict(arrays)
    for name in _tables(arrays):
        table = np.asarray(arrays[name])
        if dtype == "float16":
            most = np.finfo(np.float16).max
            made[name] = np.clip(table, -most, most).astype(np.float16)
            continue
        scales = np.abs(table).max(axis=1, keepdims=True) / np.float32(127)
        rounded = np.rint(np.divide(table, scales, out=np.zeros_like(table), where=scales > 0))
        made |= {name: rounded.astype(np.int8), name + SCALES: scales}
    return made


def restored_tables(arrays: Arrays) -> Arrays:
    """Return arrays with the tables of the first layers in float32, whatever type they were stored in."""
    made = dict(arrays)
    for name in _tables(arrays):
        table = arrays[name]
        made[name] = table.astype(np.float32, copy=False)
        if table.dtype == np.int8:
            made[name] = made[name] * made.pop(name + SCALES)
    return made


def _tables(arrays: Arrays) -> list[str]:
    """Return the names of the tables: ``net.layers.0.weight``, and with the number of the net in an ensemble."""
    return [name for name in arrays if name.startswith("net.") and name.endswith(TABLE)]


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
        It predicts the same bits as the saved one, unless `save` was given a smaller dtype, and goes on with
        `partial_fit`. Without a saved optimizer that starts with fresh averages of gradients. `callbacks`, `verbose`
        and `n_jobs` are not part of a file.

    Raises
    ------
    ValueError
        If the file is damaged, is not a model file of gcwsnet, or was written by a version that this one cannot read.
        A file may come from a stranger: it is checked before anything is made of it, takes no more memory than a few
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
    if is_kernel_machine(description):
        return kernel_machine_of(path, arrays, description), description
    return estimator_of(path, arrays, description, device=device), description


def is_kernel_machine(description: Description) -> bool:
    """Return whether a file holds a kernel machine, and no net."""
    return "machine" in description


def read_model(path: Path) -> tuple[Path, Arrays, Description]:
    """Return the file of a model, which may be in a folder, its arrays and its description."""
    if path.is_dir():
        path = path / FILE_IN_FOLDER
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no model at {path}; give the folder of a model, or the file that save() wrote"
        )
    arrays, description = read_file(path)
    with _sound(path):
        if description.keys() & {"trainer", "machine"}:
            check_model(arrays, description)
    return path, arrays, description


@contextmanager
def whole_model(path: Path, description: Description) -> Iterator[None]:
    """Turn errors about what is missing in a file into one that names the file."""
    if "trainer" not in description and not is_kernel_machine(description):
        raise ValueError(f"{path} says how codes were made and holds no net; train one on the codes beside it")
    with _complete(path):
        yield


@contextmanager
def _complete(path: Path) -> Iterator[None]:
    try:
        yield
    except INCOMPLETE as error:
        raise ValueError(f"{path} does not hold a whole model: {type(error).__name__} {error}") from error


@contextmanager
def _sound(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} is not a model that gcwsnet has written: {error}; take another copy") from error


def estimator_of(path: Path, arrays: Arrays, description: Description, *, device: str | None = None) -> BaseGCWSNet:
    """Return the estimator that was read from `path`, on a device; None is the one that it was saved on."""
    with whole_model(path, description):
        if device is not None:
            description = description | {"params": description["params"] | {"device": device}}
        with _sound(path):
            estimator: BaseGCWSNet = _with_coder(arrays, description, NETS)
        trainer = Trainer.from_state(restored_tables(arrays), description["trainer"], device=str(estimator.device))
        check_net_fits(estimator.coder_, trainer.net)
        estimator._use(trainer)
        estimator._grows = description.get("stream", {}).get("grows", True)
        estimator._stream = None if trainer.following is None else WarmUp()
    return estimator


def kernel_machine_of(path: Path, arrays: Arrays, description: Description) -> KernelMachine:
    """Return the kernel machine that was read from `path`."""
    from gcwsnet.estimators._machine import FittedMachine  # noqa: PLC0415 - not for those who load nets

    with whole_model(path, description):
        with _sound(path):
            estimator: KernelMachine = _with_coder(arrays, description, KERNEL_MACHINES)
        estimator._use(FittedMachine.from_state(arrays, description["machine"], estimator.coder_))
    return estimator


def _with_coder(arrays: Arrays, description: Description, names: tuple[str, ...]) -> Any:
    """Return an estimator of one of these names with its parameters and its coder, and nothing learned."""
    params = dict(description["params"])
    for name in ("hidden", "betas"):
        if isinstance(params.get(name), list):
            params[name] = tuple(params[name])
    if isinstance(params.get("class_weight"), list):
        params["class_weight"] = dict(params["class_weight"])
    if description["estimator"] not in names:
        raise KeyError(description["estimator"])
    estimator = getattr(gcwsnet, description["estimator"])(**params)
    estimator._freeze_parameters()
    estimator.coder_ = Coder.from_state(arrays, description["coder"])
    set_inputs(estimator, estimator.coder_.n_inputs, description["feature_names_in"])
    return estimator


def check_net_fits(coder: Coder, net: Net) -> None:
    """Raise an IndexError for a net that learned from other codes than the coder makes."""
    made = coder.n_codes, coder.code_bits
    learned = net.settings.members() * net.n_hashes, net.code_bits
    if made != learned:
        raise IndexError(f"{made[0]} codes of {made[1]} bits for a net of {learned[0]} of {learned[1]} bits")


def _plain_params(params: dict[str, Any]) -> Description:
    """Return the parameters of an estimator as JSON can hold them."""
    kept = dict(params)
    if not isinstance(kept["random_state"], int):
        kept["random_state"] = None
    if isinstance(kept.get("class_weight"), dict):
        kept["class_weight"] = [[key, float(value)] for key, value in kept["class_weight"].items()]
    return kept
