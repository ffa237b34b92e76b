"""What the fixtures `run` and `run_json` of conftest.py are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Command = Callable[..., tuple[int, str, str]]
"""Runs a command line; its exit code, what it printed, and what it complained of."""

JsonCommand = Callable[..., dict[str, Any]]
"""Runs a command line with --json, and reads what it prints."""
