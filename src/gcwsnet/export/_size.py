"""The size of a graph, checked before it is built."""

from __future__ import annotations

from gcwsnet._memory import readable
from gcwsnet.encoding import reduction_factor
from gcwsnet.export._net import members_of
from gcwsnet.training import Net

MOST_BYTES = 2**31 - 2**20
"""A file of protocol buffers has less than 2 GiB."""
BYTES_OF_PARAMETERS = 12
"""r, ln c and beta of a feature and a hash."""


def check_size(n_features: int, n_codes: int, net: Net | None) -> None:
    """Raise a ValueError for a graph that no ONNX file can hold.

    Parameters
    ----------
    n_features : int
        The columns of `gmm_transform` that are hashed.
    n_codes : int
        The hashes of a row.
    net : Net or None
    """
    of_hashes, of_net = BYTES_OF_PARAMETERS * n_features * n_codes, 0 if net is None else _bytes_of_net(net)
    if of_hashes + of_net <= MOST_BYTES:
        return
    smaller = "fewer columns" if of_hashes > of_net else "a larger reduction, fewer bits, fewer hidden units"
    raise ValueError(
        f"an ONNX file has less than 2 GiB, and this one would have {readable(of_hashes + of_net)}: "
        f"{readable(of_hashes)} for the parameters of {n_codes} hashes of {n_features} features, and "
        f"{readable(of_net)} for the weights of nets; fit with {smaller} or fewer hashes (n_hashes times ensemble)"
    )


def _bytes_of_net(net: Net) -> int:
    """Return the bytes of all weights, and of the rows that a count-sketch picks for codes."""
    n_bytes = sum(array.nbytes for array in net.predicting_weights().values())
    factor = reduction_factor(1 if net.settings.reduction is None else net.settings.reduction, net.code_bits)
    return n_bytes + (len(members_of(net)) * 4 * (net.n_hashes << net.code_bits) if factor != 1 else 0)
