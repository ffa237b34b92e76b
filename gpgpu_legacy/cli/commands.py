"""The commands by name, in the order and under the headings that `--help` gives them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from gpgpu_legacy.cli.options import Group
from gpgpu_legacy.errors import InputError

SECTIONS: dict[str, dict[str, str]] = {
    "Verbs": {
        "run": "run",
        "count": "count",
        "check": "count",
        "predict": "predict",
        "cache": "cache",
        "bench": "bench",
        "trace": "look",
        "figure": "look",
        "page": "look",
        "dump": "run",
    },
    "Programs": {
        "exec": "programs",
        "translate": "programs",
        "disassemble": "programs",
    },
    "Papers": {
        "tables": "papers",
        "audit": "papers",
        "report": "papers",
    },
    "More": {
        "algorithms": "algorithms",
        "chips": "chips",
        "fit": "chips",
        "tune": "tune",
        "calibrate": "calibrate",
        "doctor": "machines",
        "study": "",
    },
}
"""The file of each command, by heading."""

STUDY = "study"
"""The group of the studies."""

STUDIES = (
    "lineage", "roofline", "cache-table", "tiles", "figure-2",
    "multichannel", "anomaly", "precision", "sdk-example", "mispredictions",
)  # fmt: skip
"""All of them are in studies.py."""

INTERRUPTED = 130
"""The exit code where the user interrupts a command."""


class Commands(Group):
    """A group of commands: a call imports only the file of its own, `--help` all of them."""

    def __init__(self, name: str, sections: Mapping[str, Mapping[str, str]], **given: Any) -> None:
        """sections: the file of each command, by heading."""
        super().__init__(name, sections, **given)
        self.files = {name: file for section in sections.values() for name, file in section.items()}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None where there is none."""
        if file := self.files.get(cmd_name):
            import_module(f"gpgpu_legacy.cli.{file}")
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; an unknown one gets the nearest, or the list."""
        if args[0] not in self.files and not args[0].startswith("-"):
            close = get_close_matches(args[0], self.files, n=1)
            hint = f"did you mean {close[0]}?" if close else f"choose from {', '.join(self.files)}"
            raise InputError(f"there is no command {args[0]}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command; an interrupt has an exit code, where click would write an empty line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
