"""The memory that is available, checked before a large array is allocated."""

from __future__ import annotations

import os
from pathlib import Path


def available_bytes() -> int | None:
    """Return the bytes of memory that a process can still get; None where the system does not say."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines() if ":" in line)
        kib = sum(int(fields.get(name, "0").split()[0]) for name in ("MemAvailable", "SwapFree"))
        return kib * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def readable(n_bytes: float) -> str:
    """Return a number of bytes as text with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if n_bytes < 1024:
            return f"{n_bytes:.0f} {unit}" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1024
    return f"{n_bytes:,.1f} PiB"


def require_columns(n_columns: int, bytes_of_one: int, what: str) -> None:
    """Raise a MemoryError if something that is kept for each column of sparse rows does not fit into memory."""
    require_memory(
        n_columns * bytes_of_one,
        f"{what} with {n_columns} columns",
        "use scale=None and relevance=0, which keep nothing for each column, or hash the columns to fewer",
    )


def require_names(n_columns: int) -> None:
    """Raise a MemoryError if names for this many columns, one by one, do not fit into memory."""
    require_memory(
        72 * n_columns,  # a short text of Python, and the pointer to it
        f"the names of {n_columns} columns",
        "columns without names of their own are known by their numbers",
    )


def require_memory(n_bytes: int, what: str, way_out: str) -> None:
    """Raise a MemoryError, before anything is allocated, if `n_bytes` are more than are available."""
    if n_bytes <= 1 << 24:
        return  # not worth a check
    available = available_bytes()
    if available is not None and n_bytes > available:
        raise MemoryError(
            f"{what} would take {readable(n_bytes)} of memory and {readable(available)} are available; {way_out}"
        )
