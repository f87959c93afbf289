"""Nets by their settings: the native core on a CPU, torch on any other device, and ensembles of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gcwsnet._memory import require_memory
from gcwsnet.encoding import reduction_factor
from gcwsnet.training._ensemble import EnsembleNet, member_seeds
from gcwsnet.training._net import AVERAGE, Arrays, NativeNet, Net, starting_with
from gcwsnet.training._settings import TrainingSettings
from gcwsnet.training._targets import Targets

MOST_TABLE_ROWS = 2**31


def make_net(
    settings: TrainingSettings,
    targets: Targets,
    *,
    n_hashes: int,
    code_bits: int,
    seed: int,
    device: str = "cpu",
    initialize: bool = True,
) -> Net:
    """Return a net that has learned nothing.

    Parameters
    ----------
    settings, targets, n_hashes, code_bits, seed
        See `Net`.
    device : str, default="cpu"
        "cpu" is the native core; all else is a device of torch.
    initialize : bool, default=True
        Whether a native net draws its weights. False is for one that gets others next.
    """
    reduction = reduction_factor(1 if settings.reduction is None else settings.reduction, code_bits)
    n_rows = -(-(n_hashes << code_bits) // reduction)
    if n_rows > MOST_TABLE_ROWS:
        raise ValueError(
            f"the table of the first layer must have at most 2**31 rows, got {n_rows} with n_hashes={n_hashes}, codes "
            f"of {code_bits} bits and reduction={settings.reduction!r}; use a larger reduction, for example '8bit'"
        )
    n_outputs = (*settings.layers(), targets.n_outputs)[0]
    members = settings.members()
    has_first_moments = initialize and settings.betas[0] != 0
    tables = members * (3 if has_first_moments else 2)  # of weights and of the moments of Adam
    require_memory(
        4 * tables * n_rows * n_outputs,
        f"{tables} tables of {n_rows} rows and {n_outputs} columns, for weights and the moments of Adam,",
        "use a reduction, fewer bits, fewer hashes or a smaller ensemble"
        + (", or betas=(0.0, 0.999)" if has_first_moments else ""),
    )
    made = {"n_hashes": n_hashes, "code_bits": code_bits, "seed": seed}
    if members != 1:
        alone = replace(settings, ensemble=1)
        nets = [
            make_net(alone, targets, **made | {"seed": one}, device=device, initialize=initialize)
            for one in member_seeds(seed, members)
        ]
        return EnsembleNet(nets, settings, seed)
    if device == "cpu":
        return NativeNet(settings, targets, **made, initialize=initialize)
    try:
        from gcwsnet.training._torch_net import TorchNet  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(
            f"device={device!r} needs torch, which is not installed; pip install 'gcwsnet[torch]', or use device='cpu'"
        ) from error

    return TorchNet(settings, targets, **made, device=device)


def net_from_state(arrays: Arrays, description: dict[str, Any], *, device: str = "cpu", resumable: bool = True) -> Net:
    """Return the net of a trainer whose state this is.

    Parameters
    ----------
    arrays, description
        The state of a trainer.
    device : str, default="cpu"
    resumable : bool, default=True
        Whether the optimizer's state is taken too, if it is there; without it the optimizer begins again.
    """
    targets = Targets.from_state(arrays, description["targets"])
    settings = TrainingSettings.from_state(description["settings"])
    net = make_net(settings, targets, **description["net"], device=device, initialize=False)
    net.load(starting_with("net.", arrays), starting_with("optimizer.", arrays) if resumable else None)
    if "averages" in description:
        net.load_averages(starting_with("averages.", arrays), description["averages"])
        net.predicts_with = description.get("predicts_with", AVERAGE)
    return net
