"""What a model file must hold. It is checked before anything is made of it, by `load`, `Predictor` and the command.

A file has arrays and a description, see `_tensor_file`. Its size bounds what is read of it. Here every
entry and every array is compared with the others, so that nothing that is made of them is larger than they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.net._history import AUC_BINS
from gcwsnet.net._net import AVERAGE, LAST, RECENT
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import LOSSES
from gcwsnet.tables._format import (
    LARGEST,
    Arrays,
    Fields,
    array_of,
    check_candidates,
    check_coder,
    check_csr,
    is_number,
    refuse_others,
    require_array,
)

MOST = 2**62

TABLE_DTYPES = ("float32", "float16", "int8")

SCALES = ".scales"

LABEL_TYPE = re.compile(r"[<>|=]?[biufUO][0-9]{0,9}")

READ_WHEN_USED = frozenset({"callbacks", "verbose", "n_jobs"})

"""Parameters that change no model: they are read whenever they are needed, and are not part of a model file."""

MAX_OUTPUT = 1e34

"""Of a net in float32, so that it is finite when it has been divided by the smallest temperature."""

MAX_SCORE = 1e150


def check_model(arrays: Arrays, description: Any) -> None:
    """Raise a ValueError that names the first entry or array of a model file that does not fit the others.

    - ``coder``: see `gcwsnet.tables._format.check_coder`.
    - ``feature_names_in``: null, or a text for each column.
    - ``params``: the parameters of the estimator, which checks them itself.
    - ``trainer`` of a net: ``settings`` as of `TrainingSettings`; ``net`` with ``n_hashes``, ``code_bits`` and
      ``seed``; ``targets``; ``history``; ``rows_seen`` and ``epochs_seen``; with an optimizer ``run``, while
      weights are averaged ``averages``, and of a stream ``following``.
    - ``machine`` of a kernel machine: ``targets`` and ``selection``.
    - ``stream`` of a net with an optimizer: ``grows``, whether labels that are new become classes.

    The arrays of a net with hidden layers of h1, h2, ... units: ``net.layers.0.weight`` (rows of the table, h1) in
    float32, in float16, or in int8 with ``net.layers.0.weight.scales``; ``net.layers.0.bias`` (h1,);
    ``net.layers.2.weight`` (h2, h1) and so on to the outputs, all finite. In an ensemble a number follows ``net.``. The
    same names follow ``optimizer.second_moments.``, ``optimizer.first_moments.``, ``averages.older.``,
    ``averages.newer.`` and, in the middle of a run in rounds, ``momentum.``. ``targets.mean`` and
    ``targets.deviation`` of numbers. ``machine.rows`` and the other arrays of kernel machines.
    """
    model = Fields(description, "model")
    n_columns = check_coder(arrays, model.get("coder"))
    coder = Fields(model.get("coder"), "coder")
    _check_names(model)
    params = model.part("params")
    if not params.content.keys().isdisjoint(READ_WHEN_USED):
        raise ValueError(
            f"{params.name} must not have {', '.join(sorted(READ_WHEN_USED))}, which are no part of a model"
        )
    stream = Fields(description.get("stream", {"grows": True}), "model.stream")
    stream.only({"grows"})
    stream.choice("grows", [True, False])
    if "machine" in description:
        _check_machine(arrays, Fields(description["machine"], "machine"), n_columns)
    else:
        _check_trainer(arrays, Fields(model.get("trainer"), "trainer"), coder)


def check_file_coder(arrays: Arrays, description: Any) -> None:
    """Raise a ValueError that names the first entry of the state of a `FileCoder` that does not fit the others."""
    state = Fields(description, "codes")
    check_coder(arrays, state.get("coder"))
    state.choice("label_type", [None, "integers", "numbers", "strings"])
    if state.get("n_rows") is not None:
        state.integer("n_rows", 0, MOST)
    if state.get("targets") is not None:
        targets = state.part("targets")
        targets.require("n_labels" not in targets.content, "n_labels", "not be there: rows of files have one label")
        check_targets_state(arrays, targets)


def _check_names(model: Fields) -> None:
    names = model.get("feature_names_in")
    if names is not None:
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        model.require(texts, "feature_names_in", "be null or a list of texts")
        schema = model.part("coder").get("schema")
        columns = schema["columns"] if schema is not None else []
        n = sum(1 + (one["values"] is not None) for one in columns) or model.part("coder").get("n_features")
        model.require(len(names) == n, "feature_names_in", f"have {n} names, one for each column")


@dataclass(frozen=True)
class Shapes:
    """The arrays of one net: its table, and its other layers.

    Attributes
    ----------
    n_rows : int
        Of the table.
    units : tuple of int
        The outputs of each layer.
    """

    n_rows: int
    units: tuple[int, ...]

    def of_parameters(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes by the names of the parameters; the table comes first."""
        shapes: dict[str, tuple[int, ...]] = {}
        for layer, n_out in enumerate(self.units):
            n_in = self.n_rows if layer == 0 else self.units[layer - 1]
            shapes[f"layers.{2 * layer}.weight"] = (n_in, n_out) if layer == 0 else (n_out, n_in)
            shapes[f"layers.{2 * layer}.bias"] = (n_out,)
        return shapes


def _check_trainer(arrays: Arrays, trainer: Fields, coder: Fields) -> None:
    settings = _settings_of(trainer)
    n_outputs = check_targets_state(arrays, trainer.part("targets"))
    net, codes = trainer.part("net"), coder.part("settings")
    net.only(("n_hashes", "code_bits", "seed"))
    n_hashes = net.integer("n_hashes", 1, 2**31)
    appended = 0 if codes.get("t_bits") == "all" else codes.integer("t_bits", 0, 8)
    made = codes.integer("n_hashes", 1, 2**31), codes.integer("bits", 1, 32) + appended
    if made != (n_hashes, net.integer("code_bits", 1, 40)):
        raise ValueError(
            f"trainer.net must have the codes that coder.settings makes, {made[0]} of {made[1]} bits, got {n_hashes} "
            f"of {net.get('code_bits')} bits"
        )
    net.integer("seed", 0, 2**64 - 1)
    members = coder.integer("ensemble", 1, 1024)
    trainer.part("settings").choice("ensemble", [members])
    factor = reduction_factor(settings.reduction, made[1])
    shapes = Shapes(-(-(n_hashes << made[1]) // factor), (*settings.layers(), n_outputs))
    first = ("",) if members == 1 else tuple(f"{number}." for number in range(members))
    for prefix in first:
        _check_net(arrays, f"net.{prefix}", shapes)
        _check_outputs(arrays, f"net.{prefix}", shapes, n_hashes)
    refuse_others(arrays, "net.", _names("net.", first, shapes, tables=True, arrays=arrays))
    _check_optimizer(arrays, first, shapes)
    trainer.integer("epochs_seen", 0, MOST)
    rows_seen = trainer.integer("rows_seen", 0, MOST)
    _check_averages(arrays, trainer, first, shapes, n_hashes, rows_seen)
    _check_momentum(arrays, first, shapes)
    _check_history(trainer.part("history"))
    if "run" in trainer.content:
        _check_run(arrays, trainer.part("run"))
    if "following" in trainer.content:
        _check_following(trainer.part("following"), rows_seen)


def _settings_of(trainer: Fields) -> TrainingSettings:
    """Return the settings of a training, which are known to be sound."""
    part = trainer.part("settings")
    part.only(TrainingSettings.__dataclass_fields__)
    settings = TrainingSettings.from_state(part.content)
    try:
        settings.check()
        settings.layers()
        reduction_factor(settings.reduction, 8)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{part.name}: {error}") from error
    part.require(isinstance(settings.average, bool), "average", "be true or false")
    return settings


def check_targets_state(arrays: Arrays, targets: Fields) -> int:
    """Return the number of outputs for targets, whose state has been checked."""
    if "n_labels" in targets.content:
        targets.only(("n_labels", "temperature"))
        targets.number("temperature", 1e-3, 1e3)
        return targets.integer("n_labels", 1, 2**31)
    if "classes" in targets.content:
        targets.only(("classes", "dtype", "temperature"))
        targets.number("temperature", 1e-3, 1e3)
        return _checked_classes(targets)
    targets.only(("one_column", "loss"))
    targets.choice("loss", LOSSES)
    mean = array_of(arrays, "targets.mean", "float64", (None,))
    deviation = array_of(arrays, "targets.deviation", "float64", mean.shape)
    require_array(len(mean) >= 1, "targets.mean", "hold a number for each output")
    require_array((deviation > 0).all(), "targets.deviation", "hold numbers above 0")
    targets.choice("one_column", [True] if len(mean) == 1 and targets.get("one_column") is True else [False])
    return len(mean)


def _checked_classes(targets: Fields) -> int:
    """Return the number of classes: distinct, ascending and all of the type that is given for them."""
    classes, dtype = targets.items("classes"), targets.text("dtype")
    targets.require(bool(classes), "classes", "hold at least one class")
    targets.require(LABEL_TYPE.fullmatch(dtype) is not None, "dtype", "be a type of texts, numbers or booleans")
    kind = dtype.lstrip("<>|=")[0]
    types: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}
    allowed = types.get(kind, (str, bool, int, float))
    of_one_kind = all(type(one) in allowed for one in classes) and (kind != "O" or len(set(map(type, classes))) == 1)
    targets.require(of_one_kind, "classes", f"all be of the type {dtype}")
    targets.require(
        all(isinstance(one, str) or is_number(one) or isinstance(one, bool) for one in classes), "classes", "be finite"
    )
    ascending = all(a < b for a, b in pairwise(classes))
    targets.require(ascending, "classes", "be distinct and ascending")
    if kind in "biuf":
        try:
            same = np.array(classes, dtype=np.dtype(dtype)).tolist() == classes
        except (TypeError, ValueError, OverflowError):
            same = False
        targets.require(same, "dtype", "hold every class exactly")
    return len(classes)


def _names(
    prefix: str, first: tuple[str, ...], shapes: Shapes, *, tables: bool = False, arrays: Arrays | None = None
) -> set[str]:
    """Return the names of all parameters of all members; with `tables` those of the scales of tables in int8 too."""
    names = {f"{prefix}{member}{name}" for member in first for name in shapes.of_parameters()}
    if tables and arrays is not None:
        scales = {f"{prefix}{member}layers.0.weight{SCALES}" for member in first}
        names |= {name for name in scales if arrays[name.removesuffix(SCALES)].dtype == np.int8}
    return names


def _check_net(arrays: Arrays, prefix: str, shapes: Shapes) -> None:
    for number, (name, shape) in enumerate(shapes.of_parameters().items()):
        found = array_of(arrays, prefix + name, TABLE_DTYPES if number == 0 else "float32", shape)
        if found.dtype == np.int8:
            array_of(arrays, f"{prefix}{name}{SCALES}", "float32", (shape[0], 1))


def _check_outputs(arrays: Arrays, prefix: str, shapes: Shapes, n_hashes: int) -> None:
    """Raise a ValueError if there may be codes for which an output of a net is not finite in float32."""
    bound = 1.0
    for number, name in enumerate(shapes.of_parameters()):
        found = arrays[prefix + name]
        if name.endswith("bias"):
            bound += _largest(found)
        elif number == 0:
            scales = _largest(arrays[f"{prefix}{name}{SCALES}"]) if found.dtype == np.int8 else 1.0
            bound = n_hashes * _largest(found) * scales
        else:
            bound *= found.shape[1] * _largest(found)
        require_array(bound < MAX_OUTPUT, prefix + name, f"be so small that outputs stay below {MAX_OUTPUT:g}")


def _largest(array: Any) -> float:
    """Return the largest absolute value."""
    return max(float(array.max(initial=0)), -float(array.min(initial=0)))


def _check_optimizer(arrays: Arrays, first: tuple[str, ...], shapes: Shapes) -> None:
    if not any(name.startswith("optimizer.") for name in arrays):
        return
    known = set()
    for member in first:
        name = f"optimizer.{member}n_steps"
        n_steps = array_of(arrays, name, "int64", (1,))
        require_array(0 <= n_steps[0] <= MOST, name, "hold the steps that were taken")
        known.add(name)
        for moments in ("second_moments", "first_moments"):
            prefix = f"optimizer.{member}{moments}."
            if not any(one.startswith(prefix) for one in arrays):
                continue
            for parameter, shape in shapes.of_parameters().items():
                found = array_of(arrays, prefix + parameter, "float32", shape)
                if moments == "second_moments":
                    require_array((found >= 0).all(), prefix + parameter, "hold no number below 0")
                known.add(prefix + parameter)
    refuse_others(arrays, "optimizer.", known)


def _check_momentum(arrays: Arrays, first: tuple[str, ...], shapes: Shapes) -> None:
    if not any(name.startswith("momentum.") for name in arrays):
        return
    for member in first:
        for parameter, shape in shapes.of_parameters().items():
            array_of(arrays, f"momentum.{member}{parameter}", "float32", shape)
    refuse_others(arrays, "momentum.", _names("momentum.", first, shapes))


def _check_averages(
    arrays: Arrays, trainer: Fields, first: tuple[str, ...], shapes: Shapes, n_hashes: int, rows_seen: int
) -> None:
    if "averages" not in trainer.content:
        refuse_others(arrays, "averages.", ())
        return
    rows = trainer.items("averages")
    counts = len(rows) == 5 and all(type(one) is int and 0 <= one <= MOST for one in rows)
    clock = rows[4] if counts else 0  # it also counts rows of a stream that were learned again
    counts = counts and clock >= rows_seen and all(one <= clock for one in rows)
    trainer.require(counts, "averages", f"be four numbers of rows up to a fifth, which is at least {rows_seen}")
    recent = (RECENT,) * any(name.startswith(f"averages.{first[0]}{RECENT}.") for name in arrays)
    trainer.choice("predicts_with", [LAST, *recent, AVERAGE])
    known = set()
    for member in first:
        for which in ("older", "newer", *recent):
            for parameter, shape in shapes.of_parameters().items():
                name = f"averages.{member}{which}.{parameter}"
                array_of(arrays, name, "float32", shape)
                known.add(name)
            _check_outputs(arrays, f"averages.{member}{which}.", shapes, n_hashes)
        for name in (f"averages.{member}taken", f"averages.{member}recent.taken"):
            if name in arrays:  # those of torch are up to date at every row
                taken = array_of(arrays, name, "int64", (shapes.n_rows,))
                sound = (taken >= -1).all() and (taken <= clock).all()
                require_array(sound, name, f"hold numbers of rows up to {clock}")
                known.add(name)
    refuse_others(arrays, "averages.", known)


def _check_following(following: Fields, rows_seen: int) -> None:
    following.only(("scores", "events"))
    scores = following.part("scores")
    for name in scores.content:
        scores.require(name in (LAST, RECENT, AVERAGE), name, f"not be there beside {LAST}, {RECENT} and {AVERAGE}")
        scores.number(name, 0.0, LARGEST)
    for event in following.parts("events"):
        event.integer("rows", 0, rows_seen)
        event.text("event")
        for name, value in event.content.items():
            plain = value is None or isinstance(value, str | bool) or is_number(value)
            event.require(plain, name, "be a text, a number, a flag or null")


def _check_history(history: Fields) -> None:
    lengths = {len(history.items(key)) for key in history.content}
    if len(lengths) > 1:
        raise ValueError(f"the lists of {history.name} must be equally long, got the lengths {sorted(lengths)}")
    for key in history.content:
        numbers = all(one is None or is_number(one) for one in history.items(key))
        history.require(numbers, key, "hold numbers and null")


def _check_run(arrays: Arrays, run: Fields) -> None:
    for key in ("epoch", "rows_of_epoch"):
        run.integer(key, 0, MOST)
    with_auc = run.choice("with_auc", [True, False])
    totals = run.part("totals").content if "totals" in run.content else {}
    run.require(all(map(is_number, totals.values())), "totals", "hold numbers")
    for key in run.content.keys() & {"since_record", "first_epoch", "predicted"}:
        part = run.part(key)
        part.integer("rows", 0, MOST)
        for name in ("loss", "success"):
            part.require(is_number(part.get(name)), name, "be a number")
        if with_auc and f"{key}.auc" in arrays:
            array_of(arrays, f"{key}.auc", "int64", (2, AUC_BINS))


def _check_machine(arrays: Arrays, machine: Fields, n_columns: int) -> None:
    n_targets = check_targets_state(arrays, machine.part("targets"))
    machine.require(bool(machine.items("selection")), "selection", "hold at least one candidate")
    check_candidates(machine)
    coefficients = array_of(arrays, "machine.coefficients", "float64", (None, None))
    n, n_outputs = coefficients.shape
    require_array(n >= 1, "machine.coefficients", "hold a row for each training row")
    bias = array_of(arrays, "machine.bias", "float64", (n_outputs,))
    bound = n * _largest(coefficients) + _largest(bias)  # a kernel is at most 1
    require_array(bound < MAX_SCORE, "machine.coefficients", f"be so small that scores stay below {MAX_SCORE:g}")
    known = {"machine.coefficients", "machine.bias"}
    if "classes" in machine.part("targets").content:
        for name, shape in (("machine.calibration.slopes", (2,)), ("machine.calibration.bias", (n_targets,))):
            calibration = array_of(arrays, name, "float64", shape)
            require_array(_largest(calibration) < MAX_SCORE, name, f"hold numbers below {MAX_SCORE:g}")
            known.add(name)
        n_targets = 1 if n_targets == 2 else n_targets
    if n_outputs != n_targets:
        raise ValueError(f"the array machine.coefficients must have {n_targets} columns, got {n_outputs}")
    floats = ("float64", "float32")
    if "machine.rows" in arrays:
        array_of(arrays, "machine.rows", floats, (n, n_columns))
        known.add("machine.rows")
    else:
        known |= check_csr(arrays, "machine.rows.", floats, n, n_columns)
    refuse_others(arrays, "machine.", known)
