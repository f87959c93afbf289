"""The model file: one table of what it holds, which is followed when it is written and when it is read; save and load.

`MODEL` is the table of the description, and `_arrays_of_model` that of the arrays. All of a file is compared with them
before anything is made of it, so nothing that is made is larger than the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import gcwsnet
from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.estimators._input import set_inputs
from gcwsnet.estimators._intervals import Residuals
from gcwsnet.estimators._machine import FittedMachine
from gcwsnet.estimators._stream import WarmUp
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    FLAG,
    NOT_NEGATIVE,
    NUMBER,
    POSITIVE,
    TEXT,
    Array,
    Arrays,
    Description,
    Rule,
    Rules,
    check_arrays,
    check_entries,
    choice,
    integer,
    is_number,
    number,
    or_null,
    read_file,
    require,
    write_file,
)
from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.net._history import AUC_BINS
from gcwsnet.net._net import AVERAGE, LAST, RECENT
from gcwsnet.net._packed import ROWS, SCALES, TABLE, WEIGHTS, rows_of_a_scale
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import LOSSES
from gcwsnet.net._trainer import METRICS_OF_A_RUN, Trainer
from gcwsnet.search import Candidate, selected_training, selection_state
from gcwsnet.tables._coder import MISSING_WHEN_READ, SEARCHES, Coder
from gcwsnet.tables._columns import DATE_ORDERS
from gcwsnet.tables._scaling import KINDS, KINDS_OF_COLUMNS, NUMERIC, SCALINGS, TermScaling, WiderScaling
from gcwsnet.tables._schema import KINDS as KINDS_OF_TABLES
from gcwsnet.tables._schema import NUMBERS

if TYPE_CHECKING:
    from gcwsnet.estimators._base import BaseTableModel

FILE_IN_FOLDER = "model.safetensors"
NETS, KERNEL_MACHINES = ("GCWSNetClassifier", "GCWSNetRegressor"), ("PGMMClassifier", "PGMMRegressor")
READ_WHEN_USED = frozenset({"callbacks", "verbose", "n_jobs"})
"""Parameters that change no model: they are read whenever they are needed, and are not part of a model file."""
MANY = integer(0, 2**62)
Expected = Iterator[tuple[str, Array]]

# The description

AUTO_OR_NUMBER = Rule("be 'auto' or a number", lambda one: one == "auto" or is_number(one))
TEMPERATURE = number(1e-3, 1e3)
RELEVANCE = Rule("be 'learned' or from 0 to 10", lambda one: one == "learned" or number(0, 10).fits(one))
CANDIDATE: Rules = {
    "relevance": RELEVANCE,
    **dict.fromkeys(("p", "loss", "error", "accuracy", "temperature", "seconds"), NUMBER),
    **dict.fromkeys(("epochs", "alpha"), or_null(NUMBER)),
    **dict.fromkeys(("indicators", "chosen"), FLAG),
    "stage": TEXT,
    "scale": or_null(TEXT),
}
PREPROCESSING: Rules = {
    "scale": choice(None, *KINDS),
    "relevance": RELEVANCE,
    "indicators": FLAG,
    "n_features": integer(0, MAX_COLUMNS),
}
COLUMN: Rules = {
    "name": or_null(TEXT),
    "number": integer(0, MAX_COLUMNS),
    "kind": choice(*KINDS_OF_TABLES),
    "width": integer(0, MAX_COLUMNS),
    "categories": Rule(
        "be distinct texts",
        lambda all_: (
            isinstance(all_, list) and all(isinstance(one, str) for one in all_) and len(set(all_)) == len(all_)
        ),
    ),
    "by_value?": choice(True),
    "words?": choice(True),
    "date_order?": choice(*DATE_ORDERS),
}
PLACE = Rule("be a name, a number or null", lambda one: one is None or type(one) in (str, int))
SCHEMA: Rules = {
    "version": choice(1),
    "n_features": integer(1, MAX_COLUMNS),
    "missing": choice("error", "zero", "nan"),
    "index_base": choice(None, 0, 1),
    "columns": [COLUMN],
    "n_file_columns": integer(0, MAX_COLUMNS),
    "hash_columns": integer(0, MAX_COLUMNS),
    "label": PLACE,
    "weight": PLACE,
    "label_number": or_null(integer(-(2**62), 2**62)),
    "weight_number": or_null(integer(-(2**62), 2**62)),
    "label_type": choice(None, "numbers", "strings"),
    "dense?": choice(True),
    "na_values?": [TEXT],
}
CODER: Rules = {
    "settings": {
        "n_hashes": integer(1, 2**31),
        "bits": integer(1, 32),
        "t_bits": Rule("be 'all' or a whole number from 0 to 8", lambda one: one == "all" or integer(0, 8).fits(one)),
        "p": AUTO_OR_NUMBER,
        "scale": choice(None, "auto", *KINDS),
        "relevance": AUTO_OR_NUMBER,
        "encoding": choice("mixed", "lowbits"),
        "missing": choice(*MISSING_WHEN_READ),
        "search": choice(*SEARCHES),
    },
    "seed": integer(0, 2**64 - 1),
    "n_features": integer(1, MAX_COLUMNS),
    "p": number(1e-6, 1e6),
    "ensemble": integer(1, 1024),
    "epochs": or_null(integer(1, 2**31)),
    "temperature": TEMPERATURE,
    "selection": [CANDIDATE],
    "schema": ANYTHING,  # null, or as SCHEMA
    "preprocessing": lambda one: (
        {"numbers": PREPROCESSING, "others": PREPROCESSING} if "numbers" in one else PREPROCESSING
    ),
}
LABEL_TYPE = Rule(
    "be a type of texts, numbers or booleans",
    lambda one: isinstance(one, str) and re.fullmatch(r"[<>|=]?[biufUO][0-9]{0,9}", one),
)
PLAIN = Rule(
    "be a text, a number, a flag or null", lambda one: one is None or isinstance(one, str | bool) or is_number(one)
)
COUNTS: Rules = {"rows": MANY, "loss": NUMBER, "success": NUMBER}


def _targets(targets: Description) -> Rules:
    if "n_labels" in targets:
        return {"n_labels": integer(1, 2**31), "temperature": TEMPERATURE}
    if "classes" in targets:
        return {"classes": [PLAIN], "dtype": LABEL_TYPE, "temperature": TEMPERATURE}
    return {"one_column": FLAG, "loss": choice(*LOSSES)}


IMPORTANCE = Rule(
    "be a name and two numbers",
    lambda one: isinstance(one, list) and len(one) == 3 and isinstance(one[0], str) and all(map(is_number, one[1:])),
)

MODEL: Rules = {
    "estimator": choice(*NETS, *KERNEL_MACHINES),
    "params": {"*": ANYTHING},  # which the estimator checks
    "feature_names_in": Rule(
        "be null or a list of texts",
        lambda one: one is None or (isinstance(one, list) and all(isinstance(name, str) for name in one)),
    ),
    "coder": CODER,
    "stream?": {"grows": FLAG},
    "trainer?": {
        "settings": dict.fromkeys(TrainingSettings.__dataclass_fields__, ANYTHING),  # which check themselves
        "net": {"n_hashes": integer(1, 2**31), "code_bits": integer(1, 40), "seed": integer(0, 2**64 - 1)},
        "targets": _targets,
        "history": {"*": [or_null(NUMBER)]},
        "rows_seen": MANY,
        "epochs_seen": MANY,
        "packed?": choice(None, *WEIGHTS),
        "averages?": [MANY],
        "predicts_with?": choice(LAST, RECENT, AVERAGE),
        "run?": {
            "epoch": MANY,
            "rows_of_epoch": MANY,
            "with_auc": FLAG,
            "totals?": {"*": NUMBER},
            **dict.fromkeys(METRICS_OF_A_RUN, COUNTS),
        },
        "following?": {
            "scores": {f"{name}?": number(0, np.finfo(np.float64).max) for name in (LAST, RECENT)},
            "events": [{"rows": MANY, "event": TEXT, "*": PLAIN}],
        },
    },
    "machine?": {"targets": _targets, "selection": [CANDIDATE]},
    "held_out?": {"rows": MANY, "rows_learned": MANY, "importances?": [IMPORTANCE], "*": or_null(NUMBER)},
    "*": ANYTHING,  # versions, and what a command notes about its run
}
FILE_CODER: Rules = {
    "coder": CODER,
    "targets": ANYTHING,  # null, or of one label for each row
    "*": ANYTHING,
}


def check_model(arrays: Arrays, model: Any) -> None:
    """Raise a ValueError that names the first entry or array of a model file that does not fit the table."""
    check_entries(model, MODEL, "model")
    _check_coder(model["coder"], "model.coder")
    names, schema = model["feature_names_in"], model["coder"]["schema"]
    if names is not None:
        columns = [] if schema is None else schema["columns"]
        n = len(columns) or model["coder"]["n_features"]
        require(len(names) == n, "model.feature_names_in", f"have {n} names, one for each column", names)
    for name in sorted(READ_WHEN_USED & model["params"].keys()):
        raise ValueError(f"model.params must not have {name}, which is no part of a model")
    is_net = model["estimator"] in NETS
    part = "trainer" if is_net else "machine"
    require(part in model, f"model.{part}", f"be there for a {model['estimator']}", None)
    _check_targets(model[part]["targets"], f"model.{part}.targets")
    if is_net:
        _check_trainer(model["trainer"], model["coder"])
    else:
        require(model["machine"]["selection"], "model.machine.selection", "hold at least one candidate", [])
    check_arrays(arrays, _arrays_of_model(arrays, model))


def check_file_coder(arrays: Arrays, description: Any) -> None:
    """Raise a ValueError that names the first entry of the state of a `FileCoder` that does not fit the others."""
    check_entries(description, FILE_CODER, "codes")
    _check_coder(description["coder"], "codes.coder")
    targets = description["targets"]
    if targets is not None:
        check_entries(targets, _targets, "codes.targets")
        require("n_labels" not in targets, "codes.targets.n_labels", "not be there: rows of files have one label", 1)
        _check_targets(targets, "codes.targets")

    def expected() -> Expected:
        yield from _arrays_of_coder(arrays, description["coder"])
        if targets is not None:
            yield from _arrays_of_targets(arrays, targets)

    check_arrays(arrays, expected())


def _check_coder(coder: Description, name: str) -> None:
    """Check that the columns of a coder fit its schema and its preprocessing."""
    schema, n = coder["schema"], coder["n_features"]
    if schema is not None:
        check_entries(schema, SCHEMA, f"{name}.schema")
        require(schema["n_features"] == n, f"{name}.schema.n_features", f"be {n}", schema["n_features"])
        columns = schema["columns"]
        for place, one in enumerate(columns):
            width = {"onehot": len(one["categories"]), "hashed": 0} | dict.fromkeys(NUMBERS, 1)
            expected = width.get(one["kind"], one["width"])
            require(one["width"] == expected, f"{name}.schema.columns[{place}].width", f"be {expected}", one["width"])
        width = schema["hash_columns"] + sum(one["width"] for one in columns)
        if columns and width != n:
            raise ValueError(f"the columns of {name}.schema must make up coder.n_features={n}, got {width}")
        n_file_columns = schema["n_file_columns"]
        fits = n_file_columns >= len(columns)
        require(fits, f"{name}.schema.n_file_columns", f"be at least {len(columns)}", n_file_columns)
    preprocessing = coder["preprocessing"]
    found = sum(
        one["n_features"] for one in (preprocessing.values() if "numbers" in preprocessing else [preprocessing])
    )
    require(found == n, f"{name}.preprocessing.n_features", f"be {n}", found)


def _check_targets(targets: Description, name: str) -> None:
    """Check that classes are distinct, ascending and all of the type that is given for them."""
    if "classes" not in targets:
        return
    classes, dtype = targets["classes"], targets["dtype"]
    kind = dtype.lstrip("<>|=")[0]
    types: dict[str, tuple[type, ...]] = {"b": (bool,), "i": (int,), "u": (int,), "f": (int, float), "U": (str,)}
    allowed = types.get(kind, (str, bool, int, float))
    of_one_kind = all(type(one) in allowed for one in classes) and (kind != "O" or len(set(map(type, classes))) == 1)
    require(classes, f"{name}.classes", "hold at least one class", classes)
    require(of_one_kind, f"{name}.classes", f"all be of the type {dtype}", classes)
    ascending = all(a < b for a, b in pairwise(classes))
    require(ascending, f"{name}.classes", "be distinct and ascending", classes)
    if kind in "biuf":
        try:
            same = np.array(classes, dtype=np.dtype(dtype)).tolist() == classes
        except (TypeError, ValueError, OverflowError):
            same = False
        require(same, f"{name}.dtype", "hold every class exactly", dtype)


def _check_trainer(trainer: Description, coder: Description) -> None:
    """Check that the settings of a net are sound, and fit the codes that it learns from."""
    name, settings = "model.trainer", TrainingSettings.from_state(trainer["settings"])
    try:
        settings.check()
        settings.layers()
        reduction_factor(settings.reduction, 8)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}.settings: {error}") from error
    fits = settings.ensemble == coder["ensemble"]
    require(fits, f"{name}.settings.ensemble", f"be {coder['ensemble']}", settings.ensemble)
    codes, net = coder["settings"], trainer["net"]
    made = codes["n_hashes"], codes["bits"] + (0 if codes["t_bits"] == "all" else codes["t_bits"])
    if made != (net["n_hashes"], net["code_bits"]):
        raise ValueError(
            f"{name}.net must have the codes that coder.settings makes, {made[0]} of {made[1]} bits, got "
            f"{net['n_hashes']} of {net['code_bits']} bits"
        )
    lengths = {len(records) for records in trainer["history"].values()}
    if len(lengths) > 1:
        raise ValueError(f"the lists of {name}.history must be equally long, got the lengths {sorted(lengths)}")
    rows = trainer["rows_seen"]
    together = {"run", "packed"} & trainer.keys()
    require(
        len(together) in (0, 2), f"{name}.packed", "be there if and only if the state of a run is", sorted(together)
    )
    for part in ("averages", "following", "predicts_with"):
        require("run" in trainer or part not in trainer, f"{name}.{part}", "belong to the state of a run", None)
    if "averages" in trainer:
        counts = trainer["averages"]
        # the last number counts rows of a stream that were learned twice, too
        sound = len(counts) == 5 and counts[4] >= rows and max(counts) == counts[4] and "predicts_with" in trainer
        require(sound, f"{name}.averages", f"be four numbers of rows up to a fifth, which is at least {rows}", counts)
    for place, event in enumerate(trainer.get("following", {"events": []})["events"]):
        seen = integer(0, rows)
        require(seen.fits(event["rows"]), f"{name}.following.events[{place}].rows", seen.text, event["rows"])


# The arrays


def _arrays_of_model(arrays: Arrays, model: Description) -> Expected:
    is_net = model["estimator"] in NETS
    targets = model["trainer" if is_net else "machine"]["targets"]
    yield from _arrays_of_coder(arrays, model["coder"])
    yield from _arrays_of_targets(arrays, targets)
    yield from _arrays_of_residuals(arrays, targets)
    if is_net:
        yield from _arrays_of_trainer(arrays, model["trainer"])
    else:
        yield from _arrays_of_machine(arrays, targets, _n_made(arrays, model["coder"]))


def _arrays_of_coder(arrays: Arrays, coder: Description) -> Expected:
    preprocessing = coder["preprocessing"]
    if "numbers" not in preprocessing:
        yield from _arrays_of_preprocessing(arrays, preprocessing, "preprocessing.")
        return
    n_numbers = preprocessing["numbers"]["n_features"]
    sums_up = Rule(f"hold 0 and 1, {n_numbers} of them 1", lambda one: (one <= 1).all() and one.sum() == n_numbers)
    yield "preprocessing.numeric", Array(("uint8",), (coder["n_features"],), sums_up)
    for part in ("numbers", "others"):
        yield from _arrays_of_preprocessing(arrays, preprocessing[part], f"preprocessing.{part}.")


def _arrays_of_preprocessing(arrays: Arrays, part: Description, prefix: str) -> Expected:
    n, scale = part["n_features"], part["scale"]
    floats, whole = ("float64",), ("int64",)
    columns = Rule(
        f"hold ascending columns below {n}",
        lambda one: (one >= 0).all() and (one < n).all() and (one[1:] > one[:-1]).all(),
    )
    yield f"{prefix}incomplete", Array(whole, (None,), columns)
    if f"{prefix}weight" in arrays:
        yield f"{prefix}weight", Array(floats, (n,), NOT_NEGATIVE)
    if scale is None:
        return
    own = f"{prefix}scaling."
    if SCALINGS[scale] is TermScaling:
        yield f"{own}weight", Array(floats, (n,), NOT_NEGATIVE)
        return
    standardised = f"{own}standardised." if issubclass(SCALINGS[scale], WiderScaling) else own
    kinds = len(KINDS_OF_COLUMNS)
    yield f"{standardised}kind", Array(("uint8",), (n,), Rule(f"be below {kinds}", lambda one: (one < kinds).all()))
    if scale != "quantile":
        above = Rule("hold numbers above 0, or infinity", POSITIVE.fits)
        yield f"{standardised}shift", Array(floats, (n,))
        yield f"{standardised}divisor", Array(floats, (n,), above, False)
    if scale == "levels":
        yield f"{own}columns", Array(whole, (None,), columns)
        yield f"{own}values", Array(floats, (None,))
        n_columns, n_values = len(arrays[f"{own}columns"]), len(arrays[f"{own}values"])
        sound = Rule(
            f"hold numbers above 0 that add up to {n_values}",
            lambda one: (one >= 1).all() and (one <= n_values).all() and one.sum() == n_values,
        )
        yield f"{own}counts", Array(whole, (n_columns,), sound)
    n_numeric = int(np.count_nonzero(arrays[f"{standardised}kind"] == NUMERIC))
    if scale in ("local", "quantile"):
        name, least = ("knots", 2) if scale == "local" else ("quantiles", 1)
        ascending = Rule(
            f"hold at least {least} finite, ascending numbers for each numeric column",
            lambda one: one.shape[1] >= least and not np.isinf(one).any() and not (one[:, 1:] < one[:, :-1]).any(),
        )
        yield f"{own}{name}", Array(floats, (n_numeric, None), ascending, False)


def _n_made(arrays: Arrays, coder: Description) -> int:
    """Return the columns of preprocessed rows: those of the rows, of indicators, of hat functions and of values."""
    added = [array.size for name, array in arrays.items() if name.endswith((".incomplete", ".knots", ".values"))]
    return int(coder["n_features"]) + sum(added)


def _arrays_of_targets(arrays: Arrays, targets: Description) -> Expected:
    if "loss" in targets:
        n = 1 if targets["one_column"] else None
        yield "targets.mean", Array(("float64",), (n,), Rule("hold a number for each output", len))
        yield "targets.deviation", Array(("float64",), arrays["targets.mean"].shape, POSITIVE)


def _arrays_of_residuals(arrays: Arrays, targets: Description) -> Expected:
    if "loss" in targets and "residuals.errors" in arrays:
        a_row = Rule("hold a row for each row that was left out", len)
        yield "residuals.errors", Array(("float32",), (None, _n_outputs(arrays, targets)), a_row)
        yield "residuals.predictions", Array(("float32",), arrays["residuals.errors"].shape)


def _n_outputs(arrays: Arrays, targets: Description) -> int:
    if "loss" not in targets:
        return int(targets["n_labels"]) if "n_labels" in targets else len(targets["classes"])
    return len(arrays["targets.mean"])


def _arrays_of_trainer(arrays: Arrays, trainer: Description) -> Expected:
    """Yield the arrays of nets with hidden layers of h1, h2, ... units.

    ``net.layers.0.rows``: a bit for each row of the table, whether it is held, lowest bits first;
    ``net.layers.0.weight``: the rows that are, in float32 or in four bits a weight, of which the lower half of a byte
    comes first; ``net.layers.0.scales``: of four bits, the upper halves of the floats that they are multiplied by;
    ``net.layers.0.bias`` (h1,); ``net.layers.2.weight`` (h2, h1) and so on to the outputs. With the state of training
    the table is whole, of shape (rows, h1) in float32. In an ensemble a number follows ``net.``. The same names follow
    ``optimizer.second_moments.``, ``averages.older.`` and others.
    """
    settings, net = TrainingSettings.from_state(trainer["settings"]), trainer["net"]
    n_rows = -(-(net["n_hashes"] << net["code_bits"]) // reduction_factor(settings.reduction, net["code_bits"]))
    units = (*settings.layers(), _n_outputs(arrays, trainer["targets"]))
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, n_out in enumerate(units):
        shapes[f"layers.{2 * layer}.weight"] = (n_out, units[layer - 1]) if layer else (n_rows, n_out)
        shapes[f"layers.{2 * layer}.bias"] = (n_out,)
    for place in range(settings.members()):
        yield from _arrays_of_member(arrays, trainer, "" if settings.members() == 1 else f"{place}.", shapes)
    if trainer.get("run", {}).get("with_auc"):
        for name in ("since_record", "first_epoch"):  # the predicted rows of a stream have none
            yield f"{name}.auc", Array(("int64",), (2, AUC_BINS))


def _arrays_of_member(
    arrays: Arrays, trainer: Description, member: str, shapes: dict[str, tuple[int, ...]]
) -> Expected:
    """Yield the arrays of one net, whose parameters have these shapes."""
    if "run" not in trainer:
        yield from _arrays_of_packed(arrays, f"net.{member}", shapes)
        return
    yield from _parameters(f"net.{member}", shapes)

    def has(start: str) -> bool:
        return any(name.startswith(start) for name in arrays)

    yield f"optimizer.{member}n_steps", Array(("int64",), (1,), NOT_NEGATIVE)
    for moments, rule in (("second_moments", NOT_NEGATIVE), ("first_moments", ANYTHING)):
        if has(f"optimizer.{member}{moments}."):
            yield from _parameters(f"optimizer.{member}{moments}.", shapes, rule)
    if has("momentum."):
        yield from _parameters(f"momentum.{member}", shapes)
    if "averages" not in trainer:
        return
    recent = trainer["predicts_with"] == RECENT or has(f"averages.{member}{RECENT}.")
    for which in (RECENT,) if recent else ("older", "newer"):
        yield from _parameters(f"averages.{member}{which}.", shapes)
    clock = trainer["averages"][4]
    up_to_clock = Rule(f"hold numbers of rows up to {clock}", lambda one: (one >= -1).all() and (one <= clock).all())
    for name in (f"averages.{member}taken", f"averages.{member}{RECENT}.taken"):
        if name in arrays:  # those of torch are up to date at every row
            yield name, Array(("int64",), (shapes[TABLE][0],), up_to_clock)


def _parameters(prefix: str, shapes: dict[str, tuple[int, ...]], rule: Rule = ANYTHING) -> Expected:
    for name, shape in shapes.items():
        yield prefix + name, Array(("float32",), shape, rule)


def _arrays_of_packed(arrays: Arrays, prefix: str, shapes: dict[str, tuple[int, ...]]) -> Expected:
    """Yield the arrays of one net that only predicts."""
    n_rows, width = shapes[TABLE]
    beyond = n_rows - 8 * (n_rows // 8)
    whole = Rule(f"have no bits beyond the {n_rows} rows of the table", lambda one: not (beyond and one[-1] >> beyond))
    yield prefix + ROWS, Array(("uint8",), (-(-n_rows // 8),), whole)
    n = int(np.unpackbits(arrays[prefix + ROWS]).sum())
    if prefix + TABLE in arrays and arrays[prefix + TABLE].dtype == np.float32:
        yield prefix + TABLE, Array(("float32",), (n, width))
    else:
        yield prefix + TABLE, Array(("uint8",), (-(-n * width // 2),))
        finite = Rule("hold the upper halves of finite floats that are not negative", lambda one: (one < 0x7F80).all())
        yield prefix + SCALES, Array(("uint16",), (-(-n // rows_of_a_scale(width)),), finite)
    yield from _parameters(prefix, {name: shape for name, shape in shapes.items() if name != TABLE})


def _arrays_of_machine(arrays: Arrays, targets: Description, n_columns: int) -> Expected:
    floats, n_outputs = ("float64",), _n_outputs(arrays, targets)
    n_columns_of_targets = 1 if n_outputs == 2 and "classes" in targets else n_outputs
    a_row = Rule("hold a row for each training row", len)
    yield "machine.coefficients", Array(floats, (None, n_columns_of_targets), a_row)
    yield "machine.bias", Array(floats, (n_columns_of_targets,))
    n = len(arrays["machine.coefficients"])
    if "classes" in targets:
        yield "machine.calibration.slopes", Array(floats, (2,))
        yield "machine.calibration.bias", Array(floats, (n_outputs,))
    if "machine.rows" in arrays:
        yield "machine.rows", Array(("float64", "float32"), (n, n_columns))
        return
    data, indices, indptr = (f"machine.rows.{name}" for name in ("data", "indices", "indptr"))
    yield data, Array(("float64", "float32"), (None,))
    n_stored = len(arrays[data])
    rises = Rule(
        f"rise from 0 to {n_stored}",
        lambda one: one[0] == 0 and one[-1] == n_stored and (one[1:] >= one[:-1]).all(),
    )
    yield indptr, Array(("int32", "int64"), (n + 1,), rises)

    def ascends(columns: Any) -> bool:
        starts = arrays[indptr][:-1]
        inner = np.ones(n_stored, dtype=bool)
        inner[starts[starts < n_stored]] = False  # the first entry of a row
        within = (columns >= 0).all() and (columns < n_columns).all()
        return bool(within and (columns[1:] > columns[:-1])[inner[1:]].all())

    in_order = Rule(f"hold the columns below {n_columns} of each row in ascending order", ascends)
    yield indices, Array(("int32", "int64"), (n_stored,), in_order)


# Save and load


def save_model(
    estimator: BaseTableModel,
    path: Path,
    *,
    weights: str = "int4",
    training_state: bool = False,
    timings: bool,
    more: Description | None = None,
) -> None:
    """Write a fitted estimator to `path`, with more of a description if it is given."""
    given: Any = estimator
    params = dict(estimator._fitted_params)
    if not isinstance(params["random_state"], int):
        params["random_state"] = None
    if isinstance(params.get("class_weight"), dict):
        params["class_weight"] = [[key, float(value)] for key, value in params["class_weight"].items()]
    names = getattr(estimator, "feature_names_in_", None)
    is_net = type(estimator).__name__ in NETS
    arrays, coder = coder_state(estimator.coder_, given.selection_ if is_net else (), timings=timings)
    description: Description = {
        "estimator": type(estimator).__name__,
        "params": params,
        "feature_names_in": None if names is None else names.tolist(),
        "coder": coder,
    }
    if not is_net:
        learned, machine = given.machine_.state()
        description["machine"] = machine | {"selection": selection_state(given.selection_, timings=timings)}
    else:
        kept = {"weights": weights, "training_state": training_state}
        learned, description["trainer"] = given.trainer_.state(**kept, timings=timings)
        if training_state:
            description["stream"] = {"grows": given._adds_classes}
    residuals = getattr(estimator, "residuals_", None)
    if residuals is not None:
        arrays |= {f"residuals.{name}": array for name, array in vars(residuals).items()}
    arrays, description = arrays | learned, description | (more or {})
    check_model(arrays, json.loads(json.dumps(description, allow_nan=False)))
    write_file(path, arrays, description)


def residuals_from(arrays: Arrays) -> Residuals | None:
    """Return the errors for rows that were not learned, where a file has them."""
    if "residuals.errors" not in arrays:
        return None
    return Residuals(arrays["residuals.predictions"], arrays["residuals.errors"])


def coder_state(coder: Coder, selection: Sequence[Candidate], *, timings: bool) -> tuple[Arrays, Description]:
    """Return the state of a coder, with the candidates of the search and what was selected by them."""
    arrays, description = coder.state()
    epochs, temperature = selected_training(selection)
    chosen = {"epochs": epochs, "temperature": temperature, "selection": selection_state(selection, timings=timings)}
    return arrays, description | chosen


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
    return estimator_of(path, arrays, description, device=device), description


def read_model(path: Path) -> tuple[Path, Arrays, Description]:
    """Return the file of a model, which may be in a folder, its arrays and its description, which have been checked."""
    if path.is_dir():
        path = path / FILE_IN_FOLDER
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no model at {path}; give the folder of a model, or the file that save() wrote"
        )
    arrays, description = read_file(path)
    if description.keys().isdisjoint({"trainer", "machine"}):
        raise ValueError(f"{path} says how codes were made and holds no net; train one on the codes beside it")
    with _named(path):
        check_model(arrays, description)
    return path, arrays, description


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Turn the errors about what a file holds into one that names the file."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path} is not a model that gcwsnet has written: {error}; take another copy") from error


def estimator_of(path: Path, arrays: Arrays, description: Description, *, device: str | None = None) -> Any:
    """Return the estimator of what `read_model` has read; a net is put on a device, None is the one it was saved on."""
    is_net = description["estimator"] in NETS
    params = dict(description["params"])
    for name in ("hidden", "betas"):
        if isinstance(params.get(name), list):
            params[name] = tuple(params[name])
    if device is not None and is_net:
        params["device"] = device
    with _named(path):
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
