"""What the file of a `FieldsClassifier` must hold, checked before anything is made of it."""

from __future__ import annotations

from typing import Any

from gcwsnet._memory import require_memory
from gcwsnet.coding._fields import Arrays, Fields, array_of, refuse_others, require_array
from gcwsnet.estimators._model_format import MOST, check_targets_state

PARAMS = ("pairs", "table_bits", "learning_rate", "min_count", "forget_after", "negatives_kept", "random_state")
MOST_CLASSES = 2**16
MAX_FIELD_WEIGHT = 1e15
LEAST_FACTOR, LARGEST_FACTOR = 0.1, 2.0  # of outputs, as `calibrate` in src/cpp/layer/field_table.cpp keeps it


def n_outputs_of(n_classes: int) -> int:
    """Return the outputs of a table: one for two classes, and else one for each."""
    return 1 if n_classes <= 2 else n_classes


def require_table(n_classes: int, params: dict[str, Any]) -> None:
    """Raise a MemoryError, before it is allocated, if the table of these parameters does not fit into memory."""
    of_slot = 8 * n_outputs_of(n_classes) + 4 * (params["min_count"] > 1) + 8 * (params["forget_after"] is not None)
    bits = params["table_bits"]
    require_memory(of_slot << bits, f"a table of 2**{bits} slots for {n_classes} classes", "use smaller table_bits")


def check_fields(arrays: Arrays, description: Any) -> None:
    """Raise a ValueError that names the first entry or array of a file that does not fit the others.

    - ``params``: the parameters of the classifier, with the seed as ``random_state``.
    - ``fields``: ``labels``, ``seed``, ``rows_seen`` and ``sum_of_losses``.
    - ``n_features_in``: null, or the number of columns; ``feature_names_in``: null, or a text for each.

    The arrays of a table with K outputs, of which n slots are in use: ``fields.slots`` (n,), ascending;
    ``fields.table`` (n, 2 K), weights and then sums of squares; ``fields.counts`` (n, 1) if `min_count` is above 1;
    ``fields.last`` (n, 1) if `forget_after` is set; ``fields.bias`` (1, 2 K); ``fields.calibration`` (1, 2).

    A file holds the slots that are in use, and the table has all. So it can be larger than the file, by what `params`
    says; that there is memory for it is checked with the rest.
    """
    model = Fields(description, "model")
    params, fields = model.part("params"), model.part("fields")
    _check_params(params)
    _check_columns(model)
    fields.only(("labels", "seed", "rows_seen", "sum_of_losses"))
    fields.integer("seed", 0, 2**64 - 1)
    fields.number("sum_of_losses", 0.0, 1e300)
    rows_seen = fields.integer("rows_seen", 0, MOST)
    labels = fields.part("labels")
    labels.items("classes")
    n_classes = check_targets_state(arrays, labels)
    labels.require(n_classes <= MOST_CLASSES, "classes", f"be at most {MOST_CLASSES}")
    _check_arrays(arrays, params.content, n_outputs_of(n_classes), rows_seen)
    require_table(n_classes, params.content)


def _check_params(params: Fields) -> None:
    params.only(PARAMS)
    params.choice("pairs", [True, False])
    params.integer("table_bits", 1, 30)
    params.number("learning_rate", 1e-6, 1e3)
    params.integer("min_count", 1, 2**31)
    if params.get("forget_after") is not None:
        params.integer("forget_after", 1, MOST)
    params.number("negatives_kept", 1e-9, 1.0)
    params.integer("random_state", 0, 2**64 - 1)


def _check_columns(model: Fields) -> None:
    n, names = model.get("n_features_in"), model.get("feature_names_in")
    if n is not None:
        model.integer("n_features_in", 0, MOST)
    if names is not None:
        texts = isinstance(names, list) and all(isinstance(name, str) for name in names)
        model.require(
            texts and len(names) == n, "feature_names_in", "be null or a text for each of n_features_in columns"
        )


def _check_arrays(arrays: Arrays, params: dict[str, Any], n_outputs: int, rows_seen: int) -> None:
    n_slots, width = 1 << params["table_bits"], 2 * n_outputs
    slots = array_of(arrays, "fields.slots", "int64", (None,))
    n = len(slots)
    ascending = not n or (slots[0] >= 0 and slots[-1] < n_slots and (slots[1:] > slots[:-1]).all())
    require_array(ascending, "fields.slots", f"hold numbers below {n_slots} in ascending order")
    for name, shape in (("fields.table", (n, width)), ("fields.bias", (1, width))):
        found = array_of(arrays, name, "float32", shape)
        small = (abs(found[:, :n_outputs]) <= MAX_FIELD_WEIGHT).all()
        require_array(small, name, f"hold weights up to {MAX_FIELD_WEIGHT:g}, so that outputs are finite")
        squares = found[:, n_outputs:]
        require_array(
            (squares >= 0).all(), name, f"hold sums of squares, from 0 on, behind the first {n_outputs} columns"
        )
    factor, information = array_of(arrays, "fields.calibration", "float64", (1, 2))[0]
    sound = LEAST_FACTOR <= factor <= LARGEST_FACTOR and information >= 0
    require_array(
        sound, "fields.calibration", f"hold a factor from {LEAST_FACTOR} to {LARGEST_FACTOR}, and a number above it"
    )
    known = {"fields.slots", "fields.table", "fields.bias", "fields.calibration"}
    if params["min_count"] > 1:
        counts = array_of(arrays, "fields.counts", "uint32", (n, 1))
        require_array((counts <= params["min_count"]).all(), "fields.counts", f"be at most {params['min_count']}")
        known.add("fields.counts")
    if params["forget_after"] is not None:
        last = array_of(arrays, "fields.last", "int64", (n, 1))
        within = (last >= 0).all() and (last <= rows_seen).all()
        require_array(within, "fields.last", f"hold numbers of rows up to {rows_seen}")
        known.add("fields.last")
    refuse_others(arrays, "", known)
