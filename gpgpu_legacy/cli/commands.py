"""The commands by name, in the order and under the headings that `--help` gives them."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from gpgpu_legacy.cli.options import Group

SECTIONS: dict[str, dict[str, str]] = {
    "Run": {
        "methods": "products",
        "run": "products",
        "figure": "figures",
        "doctor": "machines",
    },
    "Programs": {
        "check": "programs",
        "exec": "programs",
        "count": "programs",
        "translate": "programs",
        "disassemble": "programs",
    },
    "Plans": {
        "algorithms": "algorithms",
        "plan": "plan",
    },
    "Chips": {
        "chips": "chips",
        "fit": "chips",
        "predict": "predict",
        "roofline": "predict",
        "mispredictions": "predict",
        "cache": "cache",
    },
    "Papers": {
        "tables": "tables",
        "audit": "audit",
        "report": "tables",
        "page": "tables",
        "cache-table": "cache_table",
        "tiles": "tiles",
        "anomaly": "anomaly",
    },
    "Measure": {
        "bench": "bench",
        "lineage": "lineage",
        "precision": "precision",
        "tune": "bench",
        "calibrate": "calibrate",
    },
}
"""The file of each command, by heading."""

INTERRUPTED = 130
"""The exit code where the user interrupts a command."""

COMMANDS = {name: file for section in SECTIONS.values() for name, file in section.items()}
"""The file of each command."""


class Commands(Group):
    """The group of all commands: a call imports only the file of its own, `--help` all of them."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None where there is none."""
        if cmd_name in COMMANDS:
            import_module(f"gpgpu_legacy.cli.{COMMANDS[cmd_name]}")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interrupt has an exit code, where click would write an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
