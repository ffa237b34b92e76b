"""The commands by name, in the order and under the headings that `--help` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from gpgpu_legacy.cli.completion import PROGRAM
from gpgpu_legacy.errors import InputError, hint

SECTIONS: dict[str, dict[str, str]] = {
    "Verbs": {
        "run": "run",
        "count": "count",
        "check": "count",
        "predict": "count",
        "cache": "count",
        "bench": "bench",
        "trace": "run",
        "figure": "run",
        "page": "run",
        "dump": "run",
    },
    "Programs": dict.fromkeys(("exec", "translate", "disassemble"), "programs"),
    "Papers": dict.fromkeys(("tables", "audit", "report"), "papers"),
    "More": {
        "examples": "lists",
        "algorithms": "lists",
        "chips": "lists",
        "fit": "lists",
        "tune": "bench",
        "calibrate": "bench",
        "doctor": "lists",
        "study": "",
    },
}
"""The file of each command, by heading."""

STUDY = "study"
"""The group of the studies."""

STUDIES = (
    "lineage", "roofline", "cache-table", "tiles", "crossover", "infer-cache", "figure-2",
    "multichannel", "anomaly", "precision", "packing", "branching", "mispredictions",
)  # fmt: skip
"""All of them are in studies.py."""


class Commands(click.Group):
    """A group of commands: a call imports only the file of its own, `--help` all of them.

    The help lists each with its first sentence.
    """

    def __init__(self, name: str, sections: Mapping[str, Mapping[str, str]], **given: Any) -> None:
        """sections: the file of each command, by heading."""
        super().__init__(name, **given)
        self.sections = sections
        self.files = {name: file for section in sections.values() for name, file in section.items()}

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Show the help if no command is given."""
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in their order."""
        return list(self.files)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name; None if there is none."""
        if file := self.files.get(cmd_name):
            import_module(f"gpgpu_legacy.cli.{file}")
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called; an error for an unknown name suggests the nearest."""
        if args[0] not in self.files and not args[0].startswith("-"):
            raise InputError(f"there is no command {args[0]}; {hint(args[0], self.files)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        width = max(map(len, self.files))
        for heading, names in self.sections.items():
            rows = [
                (name.ljust(width), self.get_command(ctx, name).get_short_help_str(limit=1000))
                for name in names
            ]
            with formatter.section(heading):
                formatter.write_dl(rows)


app = Commands(
    PROGRAM,
    SECTIONS,
    params=[
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            help="Show the traceback of an error; it may be anywhere in a call.",
        ),
        click.Option(
            ["--lenient"],
            is_flag=True,
            expose_value=False,
            help="Take what a language forbids but drivers took: white space and comments before a "
            "program's header, GLSL ES without a precision for float. It, too, "
            "may be anywhere.",
        ),
        click.Option(
            ["--mathematics"],
            metavar="NAME",
            expose_value=False,
            help="What functions of Cg, HLSL and GLSL are where these languages differ: cg, "
            "direct3d9 or glsl (default: the text's own); anywhere, too.",
        ),
        click.Option(
            ["--profile"],
            metavar="NAME",
            expose_value=False,
            help="What Cg, HLSL and GLSL are compiled for: arbfp1 has no branches, fp40 and ps_3_0 "
            "branch as the text does (default: branches where a text needs them); anywhere, too.",
        ),
    ],
    context_settings={"max_content_width": 100},
    help="A historical GPGPU shader emulator: fragment programs and matrix products, from 2001 on."
    " `gpgpu-legacy COMMAND --help` explains a command.",
)
click.version_option(None, "--version", "-V", package_name=PROGRAM, message="%(prog)s %(version)s")(
    app
)

studies = Commands(
    STUDY,
    {"Studies": dict.fromkeys(STUDIES, "studies")},
    help="Answer a question beyond the verbs, with a table and a picture.",
)
app.add_command(studies)
