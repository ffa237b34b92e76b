"""The types of the fixtures `run` and `run_json` of conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Command = Callable[..., tuple[int, str, str]]
"""Runs a command line; returns its exit code, its output and its error output."""

JsonCommand = Callable[..., dict[str, Any]]
"""Runs a command line with --json; returns what it prints, parsed."""
