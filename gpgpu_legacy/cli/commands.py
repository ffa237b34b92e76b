"""The commands by name, in the order and under the headings that `--help` gives them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from typer.core import TyperGroup

from gpgpu_legacy.present.plain import spelled_plainly

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

COMMANDS = {name: file for section in SECTIONS.values() for name, file in section.items()}
"""The file of each command; a test compares them with the commands that are registered."""


def printable(text: str) -> str:
    """A text in characters that stdout has: the option parser would write UTF-8 to an ASCII one."""
    return spelled_plainly(text, getattr(sys.stdout, "encoding", None) or "utf-8")


class Group(TyperGroup):
    """A group of commands, whose help lists each with its first sentence."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; its help names arguments without their Python types."""
        command = super().get_command(ctx, cmd_name)
        for parameter in getattr(command, "params", ()):
            if parameter.param_type_name == "argument" and hasattr(parameter, "display_type_rich"):
                parameter.display_type_rich = lambda **_: ""
        return command

    def get_help(self, ctx: Any) -> str:
        """The help, in characters that stdout has."""
        return printable(super().get_help(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands under their headings."""
        sections = self.sections(ctx)
        width = max(len(name) for names in sections.values() for name in names)
        for heading, names in sections.items():
            commands = ((name, self.get_command(ctx, name)) for name in names)
            rows = [
                (name.ljust(width), command.get_short_help_str(limit=1000))
                for name, command in commands
                if command is not None
            ]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)

    def sections(self, ctx: Any) -> Mapping[str, Iterable[str]]:
        """The names of the commands by heading."""
        return {"Commands": self.list_commands(ctx)}


class Commands(Group):
    """The group of all commands, whose help lists them by subject."""

    def sections(self, ctx: Any) -> Mapping[str, Iterable[str]]:
        """The names of all commands by subject."""
        return SECTIONS
