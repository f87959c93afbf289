"""The model file: one table of what it holds, which is followed when it is written and when it is read.

`MODEL` is the table of the description, and `check_model` goes on with the arrays. All of a file is compared with them
before anything is made of it, so nothing that is made is larger than the file, and every prediction is finite.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gcwsnet._validation import MAX_COLUMNS
from gcwsnet.estimators._intervals import Residuals
from gcwsnet.estimators._tensor_file import (
    ANYTHING,
    DISTINCT_TEXTS,
    FLAG,
    NUMBER,
    OBJECT,
    PLACE,
    PLAIN,
    TEXT,
    TEXTS,
    Arrays,
    Description,
    Rules,
    UncheckedArrays,
    check_entries,
    choice,
    either,
    integer,
    number,
    or_null,
    read_file,
    require,
    require_array,
    text_like,
    write_file,
)
from gcwsnet.hashing._hasher import reduction_factor
from gcwsnet.net._history import AUC_BINS
from gcwsnet.net._net import AVERAGE, LAST, RECENT
from gcwsnet.net._packed import ROWS, SCALES, TABLE, WEIGHTS, rows_of_a_scale
from gcwsnet.net._settings import TrainingSettings
from gcwsnet.net._targets import LOSSES
from gcwsnet.net._trainer import METRICS_OF_A_RUN
from gcwsnet.search import Candidate, selected_training, selection_state
from gcwsnet.tables._bins import BIN_BITS, MAX_BINS
from gcwsnet.tables._coder import BINS, MISSING_WHEN_READ, SEARCHES, Coder
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
MAX_OUTPUT, MAX_SCORE = 1e34, 1e150
"""Of a net in float32 and of a kernel machine, so that they are finite when divided by the smallest temperature."""

# The description

AUTO_OR_NUMBER = either("auto", NUMBER)
TEMPERATURE = number(1e-3, 1e3)
RELEVANCE = either("learned", number(0, 10))
CANDIDATE: Rules = {
    "stage": TEXT,
    "scale": or_null(TEXT),
    "relevance": RELEVANCE,
    **dict.fromkeys(("p", "loss", "error", "accuracy", "temperature", "seconds"), NUMBER),
    **dict.fromkeys(("epochs", "alpha"), or_null(NUMBER)),
    **dict.fromkeys(("indicators", "chosen"), FLAG),
    "additive?": number(0, 1),
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
    "categories": DISTINCT_TEXTS,
    "by_value?": choice(True),
    "words?": choice(True),
    "date_order?": choice(*DATE_ORDERS),
}
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
        "t_bits": either("all", integer(0, 8)),
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
    "preprocessing": OBJECT,  # as PREPROCESSING, or such "numbers" and "others"
}
LABEL_TYPE = text_like(r"[<>|=]?[biufUO][0-9]{0,9}", "be a type of texts, numbers or booleans")
COUNTS: Rules = {"rows": MANY, "loss": NUMBER, "success": NUMBER}


MODEL: Rules = {
    "estimator": choice(*NETS, *KERNEL_MACHINES),
    "params": {"*": ANYTHING},  # which the estimator checks
    "feature_names_in": or_null(TEXTS),
    "coder": CODER,
    "stream?": {"grows": FLAG},
    "trainer?": {
        "settings": {  # which check themselves
            **dict.fromkeys(TrainingSettings.__dataclass_fields__.keys() - {"additive"}, ANYTHING),
            "additive?": ANYTHING,
        },
        "net": {
            "n_hashes": integer(1, 2**31),
            "code_bits": integer(1, 40),
            "seed": integer(0, 2**64 - 1),
            "n_bins?": integer(1, MAX_COLUMNS),
        },
        "targets": OBJECT,  # see `_check_targets`
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
    "machine?": {"targets": OBJECT, "selection": [CANDIDATE]},
    "held_out?": {"rows": MANY, "rows_learned": MANY, "importances?": [(TEXT, NUMBER, NUMBER)], "*": or_null(NUMBER)},
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
    unchecked = UncheckedArrays(arrays)
    n_columns = _check_coder(unchecked, model["coder"], "model.coder")
    names, schema = model["feature_names_in"], model["coder"]["schema"]
    if names is not None:
        columns = [] if schema is None else schema["columns"]
        n = len(columns) or model["coder"]["n_features"]
        require(len(names) == n, "model.feature_names_in", f"have {n} names, one for each column", names)
    for name in sorted(READ_WHEN_USED & model["params"].keys()):
        raise ValueError(f"model.params must not have {name}, which is no part of a model")
    part = "trainer" if model["estimator"] in NETS else "machine"
    require(part in model, f"model.{part}", f"be there for a {model['estimator']}", None)
    learned = model[part]
    n_outputs = _check_targets(unchecked, learned["targets"], f"model.{part}.targets")
    if "loss" in learned["targets"] and unchecked.has("residuals.errors"):
        errors = unchecked.take("residuals.errors", "float32", None, n_outputs)
        require_array(len(errors), "residuals.errors", "hold a row for each row that was left out")
        unchecked.take("residuals.predictions", "float32", *errors.shape)
    if part == "trainer":
        _check_trainer(unchecked, learned, model["coder"], n_outputs)
    else:
        require(learned["selection"], "model.machine.selection", "hold at least one candidate", [])
        _check_machine(unchecked, learned["targets"], n_outputs, n_columns)
    unchecked.finish()


def check_file_coder(arrays: Arrays, description: Any) -> None:
    """Raise a ValueError that names the first entry of the state of a `FileCoder` that does not fit the others."""
    check_entries(description, FILE_CODER, "codes")
    unchecked = UncheckedArrays(arrays)
    _check_coder(unchecked, description["coder"], "codes.coder")
    targets = description["targets"]
    if targets is not None:
        check_entries(targets, OBJECT, "codes.targets")
        require("n_labels" not in targets, "codes.targets.n_labels", "not be there: rows of files have one label", 1)
        _check_targets(unchecked, targets, "codes.targets")
    unchecked.finish()


def _check_coder(arrays: UncheckedArrays, coder: Description, name: str) -> int:
    """Check that the columns of a coder fit its schema and its preprocessing; return how many this makes."""
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
    preprocessing, name = coder["preprocessing"], f"{name}.preprocessing"
    if "numbers" not in preprocessing:
        check_entries(preprocessing, PREPROCESSING, name)
        require(preprocessing["n_features"] == n, f"{name}.n_features", f"be {n}", preprocessing["n_features"])
        return _check_preprocessing(arrays, preprocessing, "preprocessing.")
    check_entries(preprocessing, {"numbers": PREPROCESSING, "others": PREPROCESSING}, name)
    n_numbers, n_others = (preprocessing[part]["n_features"] for part in ("numbers", "others"))
    require(n_numbers + n_others == n, f"{name}.n_features", f"be {n}", n_numbers + n_others)
    numeric = arrays.take("preprocessing.numeric", "uint8", n)
    sums_up = (numeric <= 1).all() and numeric.sum() == n_numbers
    require_array(sums_up, "preprocessing.numeric", f"hold 0 and 1, {n_numbers} of them 1")
    return sum(_check_preprocessing(arrays, one, f"preprocessing.{part}.") for part, one in preprocessing.items())


def _check_preprocessing(arrays: UncheckedArrays, part: Description, prefix: str) -> int:
    """Check the arrays of a preprocessing; return the number of columns that it makes."""
    n, scale, own = part["n_features"], part["scale"], f"{prefix}scaling."
    n_columns = n + _check_columns(arrays, f"{prefix}incomplete", n)
    if arrays.has(f"{prefix}weight"):
        arrays.take(f"{prefix}weight", "float64", n, least=0)
    if scale is None:
        return n_columns
    if SCALINGS[scale] is TermScaling:
        arrays.take(f"{own}weight", "float64", n, least=0)
        return n_columns
    standardised = f"{own}standardised." if issubclass(SCALINGS[scale], WiderScaling) else own
    kind = arrays.take(f"{standardised}kind", "uint8", n)
    kinds = len(KINDS_OF_COLUMNS)
    require_array((kind < kinds).all(), f"{standardised}kind", f"be below {kinds}")
    if scale != "quantile":
        arrays.take(f"{standardised}shift", "float64", n)
        arrays.take(f"{standardised}divisor", "float64", n, above=0, finite=False)
    if scale == "levels":
        n_levels = _check_columns(arrays, f"{own}columns", n)
        n_values = len(arrays.take(f"{own}values", "float64", None))
        counts = arrays.take(f"{own}counts", "int64", n_levels, least=1)
        adds_up = (counts <= n_values).all() and counts.sum() == n_values
        require_array(adds_up, f"{own}counts", f"hold numbers that add up to {n_values}")
        return n_columns + n_values
    if scale in ("local", "quantile"):
        name, least = (f"{own}knots", 2) if scale == "local" else (f"{own}quantiles", 1)
        knots = arrays.take(name, "float64", int(np.count_nonzero(kind == NUMERIC)), None, finite=False)
        ascends = not np.isinf(knots).any() and not (knots[:, 1:] < knots[:, :-1]).any()
        rule = f"hold at least {least} finite, ascending numbers for each numeric column"
        require_array(knots.shape[1] >= least and ascends, name, rule)
        return n_columns + (knots.size if scale == "local" else 0)
    return n_columns


def _check_columns(arrays: UncheckedArrays, name: str, n: int) -> int:
    """Check an array of columns; return how many they are."""
    columns = arrays.take(name, "int64", None, least=0)
    fits = (columns < n).all() and (columns[1:] > columns[:-1]).all()
    require_array(fits, name, f"hold ascending columns below {n}")
    return len(columns)


def _check_targets(arrays: UncheckedArrays, targets: Description, name: str) -> int:
    """Check that classes are distinct, ascending and all of the type that is given; return the number of outputs."""
    if "n_labels" in targets:
        check_entries(targets, {"n_labels": integer(1, 2**31), "temperature": TEMPERATURE}, name)
        return int(targets["n_labels"])
    if "classes" not in targets:
        check_entries(targets, {"one_column": FLAG, "loss": choice(*LOSSES)}, name)
        mean = arrays.take("targets.mean", "float64", 1 if targets["one_column"] else None)
        require_array(len(mean), "targets.mean", "hold a number for each output")
        arrays.take("targets.deviation", "float64", len(mean), above=0)
        return len(mean)
    check_entries(targets, {"classes": [PLAIN], "dtype": LABEL_TYPE, "temperature": TEMPERATURE}, name)
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
    return len(classes)


def _check_trainer(arrays: UncheckedArrays, trainer: Description, coder: Description, n_outputs: int) -> None:
    """Check that the settings of nets are sound, and fit the codes that they learn from; and check the arrays.

    These are, of a net with hidden layers of h1, h2, ... units: ``net.layers.0.rows``: a bit for each row of the table,
    whether it is held, lowest bits first; ``net.layers.0.weight``: the rows that are, in float32 or in four bits a
    weight, of which the lower half of a byte comes first; ``net.layers.0.scales``: of four bits, the upper halves of
    the floats that they are multiplied by; ``net.layers.0.bias`` (h1,); ``net.layers.2.weight`` (h2, h1) and so on to
    the outputs. With the state of training the table is whole, of shape (rows, h1) in float32. In an ensemble a number
    follows ``net.``, and an additive model is the last net, without hidden layers. The same names follow
    ``optimizer.second_moments.``, ``averages.older.`` and others.
    """
    name, settings = "model.trainer", TrainingSettings.from_state(trainer["settings"])
    codes, net = coder["settings"], trainer["net"]
    try:
        settings.check()
        layers, reduction = settings.layers(), reduction_factor(settings.reduction, net["code_bits"])
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}.settings: {error}") from error
    fits = settings.ensemble == coder["ensemble"]
    require(fits, f"{name}.settings.ensemble", f"be {coder['ensemble']}", settings.ensemble)
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
    n_rows = -(-(net["n_hashes"] << net["code_bits"]) // reduction)
    parts = [_shapes(n_rows, (*layers, n_outputs))] * settings.members()
    if "n_bins" in net:
        n_bins = coder["n_features"]
        require(net["n_bins"] == n_bins, f"{name}.net.n_bins", f"be {n_bins}", net["n_bins"])
        _check_bins(arrays, n_bins)
        parts.append(_shapes(n_bins << BIN_BITS, (n_outputs,)))
    n_codes = max(net["n_hashes"], net.get("n_bins", 0))
    for place, shapes in enumerate(parts):
        member = "" if len(parts) == 1 else f"{place}."
        if "run" in trainer:
            _check_net_in_training(arrays, trainer, member, shapes, n_codes)
        else:
            _check_packed_net(arrays, f"net.{member}", shapes, n_codes)
    if trainer.get("run", {}).get("with_auc"):
        for part in ("since_record", "first_epoch"):  # the predicted rows of a stream have none
            arrays.take(f"{part}.auc", "int64", 2, AUC_BINS)


def _check_bins(arrays: UncheckedArrays, n: int) -> None:
    """Check the bins of n columns."""
    counts = arrays.take(f"{BINS}counts", "int64", n, least=0)
    require_array((counts < MAX_BINS).all(), f"{BINS}counts", f"hold numbers below {MAX_BINS}")
    arrays.take(f"{BINS}ends", "float64", int(counts.sum()))


def _shapes(n_rows: int, units: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the parameters of a net, whose table has that many rows."""
    shapes: dict[str, tuple[int, ...]] = {}
    for layer, n_out in enumerate(units):
        shapes[f"layers.{2 * layer}.weight"] = (n_out, units[layer - 1]) if layer else (n_rows, n_out)
        shapes[f"layers.{2 * layer}.bias"] = (n_out,)
    return shapes


def _check_net_in_training(
    arrays: UncheckedArrays, trainer: Description, member: str, shapes: dict[str, tuple[int, ...]], n_codes: int
) -> None:
    """Check the arrays of one net with the state of its training."""
    prefix = f"net.{member}"
    _require_finite_outputs(prefix, n_codes, _take_parameters(arrays, prefix, shapes))
    arrays.take(f"optimizer.{member}n_steps", "int64", 1, least=0)
    for moments, least in (("second_moments", 0), ("first_moments", None)):
        if arrays.has(f"optimizer.{member}{moments}."):
            _take_parameters(arrays, f"optimizer.{member}{moments}.", shapes, least)
    if arrays.has(f"momentum.{member}"):
        _take_parameters(arrays, f"momentum.{member}", shapes)
    if "averages" not in trainer:
        return
    averages = f"averages.{member}"
    recent = trainer["predicts_with"] == RECENT or arrays.has(f"{averages}{RECENT}.")
    for which in (RECENT,) if recent else ("older", "newer"):
        prefix = f"{averages}{which}."
        _require_finite_outputs(prefix, n_codes, _take_parameters(arrays, prefix, shapes))
    clock = trainer["averages"][4]
    for name in (f"{averages}taken", f"{averages}{RECENT}.taken"):
        if arrays.has(name):  # those of torch are up to date at every row
            taken = arrays.take(name, "int64", shapes[TABLE][0], least=-1)
            require_array((taken <= clock).all(), name, f"hold numbers of rows up to {clock}")


def _check_packed_net(arrays: UncheckedArrays, prefix: str, shapes: dict[str, tuple[int, ...]], n_codes: int) -> None:
    """Check the arrays of one net that only predicts."""
    n_rows, width = shapes[TABLE]
    held = arrays.take(prefix + ROWS, "uint8", -(-n_rows // 8))
    beyond = n_rows % 8
    whole = not (beyond and held[-1] >> beyond)
    require_array(whole, prefix + ROWS, f"have no bits beyond the {n_rows} rows of the table")
    n = int(np.unpackbits(held).sum())
    if arrays.has(prefix + SCALES):
        arrays.take(prefix + TABLE, "uint8", -(-n * width // 2))
        scales = arrays.take(prefix + SCALES, "uint16", -(-n // rows_of_a_scale(width)))
        finite = "hold the upper halves of finite floats that are not negative"
        require_array((scales < 0x7F80).all(), prefix + SCALES, finite)
        largest = np.array([scales.max(initial=0)], dtype=np.uint32) << np.uint32(16)
        table = 8 * largest.view(np.float32)
    else:
        table = arrays.take(prefix + TABLE, "float32", n, width)
    others = {name: shape for name, shape in shapes.items() if name != TABLE}
    _require_finite_outputs(prefix, n_codes, {TABLE: table} | _take_parameters(arrays, prefix, others))


def _take_parameters(
    arrays: UncheckedArrays, prefix: str, shapes: dict[str, tuple[int, ...]], least: float | None = None
) -> Arrays:
    return {name: arrays.take(prefix + name, "float32", *shape, least=least) for name, shape in shapes.items()}


def _require_finite_outputs(prefix: str, n_codes: int, parameters: Arrays) -> None:
    """Raise a ValueError if there may be codes for which an output of a net is not finite in float32."""
    bound = 0.0
    for name, array in parameters.items():
        if name == TABLE:
            bound = n_codes * _largest(array)
        elif name.endswith("bias"):
            bound += _largest(array)
        else:
            bound *= array.shape[1] * _largest(array)
        require_array(bound < MAX_OUTPUT, prefix + name, f"be so small that outputs stay below {MAX_OUTPUT:g}")


def _largest(array: NDArray[Any]) -> float:
    """Return the largest absolute value."""
    return max(float(array.max(initial=0)), -float(array.min(initial=0)))


def _check_machine(arrays: UncheckedArrays, targets: Description, n_outputs: int, n_columns: int) -> None:
    """Check the arrays of a kernel machine."""
    n_columns_of_targets = 1 if n_outputs == 2 and "classes" in targets else n_outputs
    coefficients = arrays.take("machine.coefficients", "float64", None, n_columns_of_targets)
    n = len(coefficients)
    require_array(n, "machine.coefficients", "hold a row for each training row")
    bias = arrays.take("machine.bias", "float64", n_columns_of_targets)
    small = f"be so small that scores stay below {MAX_SCORE:g}"
    bound = n * _largest(coefficients) + _largest(bias)  # a kernel is at most 1
    require_array(bound < MAX_SCORE, "machine.coefficients", small)
    if "classes" in targets:
        for part, length in (("slopes", 2), ("bias", n_outputs)):
            name = f"machine.calibration.{part}"
            require_array(_largest(arrays.take(name, "float64", length)) < MAX_SCORE, name, small)
    if not arrays.has("machine.rows."):
        arrays.take("machine.rows", "float64 float32", n, n_columns)
        return
    n_stored = len(arrays.take("machine.rows.data", "float64 float32", None))
    indptr = arrays.take("machine.rows.indptr", "int32 int64", n + 1)
    rises = indptr[0] == 0 and indptr[-1] == n_stored and (indptr[1:] >= indptr[:-1]).all()
    require_array(rises, "machine.rows.indptr", f"rise from 0 to {n_stored}")
    columns = arrays.take("machine.rows.indices", "int32 int64", n_stored)
    inner = np.ones(n_stored, dtype=bool)
    inner[indptr[:-1][indptr[:-1] < n_stored]] = False  # the first entry of a row
    within = (columns >= 0).all() and (columns < n_columns).all()
    ascends = within and (columns[1:] > columns[:-1])[inner[1:]].all()
    require_array(ascends, "machine.rows.indices", f"hold the columns below {n_columns} of each row in ascending order")


# Write and read


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
    epochs, temperature, _ = selected_training(selection)
    chosen = {"epochs": epochs, "temperature": temperature, "selection": selection_state(selection, timings=timings)}
    return arrays, description | chosen


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
    with named(path):
        check_model(arrays, description)
    return path, arrays, description


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Turn the errors about what a file holds into one that names the file."""
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"{path} is not a model that gcwsnet has written: {error}; take another copy") from error
