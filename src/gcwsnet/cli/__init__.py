"""The command `gcwsnet`."""

from __future__ import annotations

from gcwsnet.cli._app import app, main

__all__ = ["app", "main"]
