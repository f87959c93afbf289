"""The state of scalings as arrays, and scalings from such arrays."""

from __future__ import annotations

import numpy as np

from gcwsnet.estimators._files import Arrays
from gcwsnet.estimators._quantiles import QuantileScaling
from gcwsnet.estimators._scaling import KINDS_OF_COLUMNS, ColumnScaling, Scaling
from gcwsnet.estimators._terms import KINDS_OF_TERMS, TermScaling


def scaling_arrays(scaling: Scaling | None) -> Arrays:
    """Return the arrays of a scaling."""
    if scaling is None:
        return {}
    if isinstance(scaling, ColumnScaling):
        arrays: Arrays = {"shift": scaling.shift, "size": scaling.size}
    elif isinstance(scaling, TermScaling):
        return {"scaling.weight": scaling.weight}
    else:
        arrays = {"quantiles": scaling.quantiles}
    kind = np.array([KINDS_OF_COLUMNS.index(one) for one in scaling.kind], dtype=np.uint8)
    return {f"scaling.{name}": array for name, array in {**arrays, "kind": kind}.items()}


def scaling_from_arrays(scale: str | None, n_columns: int, arrays: Arrays) -> Scaling | None:
    """Return the scaling of this kind and number of columns from its arrays."""
    if scale is None:
        return None
    if scale in KINDS_OF_TERMS:
        weight = arrays["scaling.weight"]
        _check_columns(len(weight), n_columns)
        return TermScaling(scale, weight)
    kind = np.array(KINDS_OF_COLUMNS)[arrays["scaling.kind"]]
    _check_columns(len(kind), n_columns)
    if scale == "quantile":
        return QuantileScaling(kind, arrays["scaling.quantiles"])
    return ColumnScaling(scale, kind, arrays["scaling.shift"], arrays["scaling.size"])


def _check_columns(scaled: int, n_columns: int) -> None:
    if scaled != n_columns:
        raise IndexError(f"a scaling of {scaled} columns for rows of {n_columns}")
