"""Memory for tables of which a batch touches rows far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor


def zero_table(shape: tuple[int, ...], device: Any = None, dtype: Any = None) -> Tensor:
    """Zeros on a device; on a CPU in large pages where the system has them.

    NumPy asks the system for large pages and torch does not. With small ones nearly every row is on a page of its own,
    and the processor looks up as many addresses as it reads rows.
    """
    probe = torch.empty(0, device=device, dtype=dtype)
    if probe.device.type == "cpu" and probe.dtype == torch.float32:
        return torch.from_numpy(np.zeros(shape, dtype=np.float32))
    return torch.zeros(shape, device=device, dtype=dtype)
