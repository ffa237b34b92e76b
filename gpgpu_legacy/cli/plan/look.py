"""The commands `plan trace` and `plan figure`: what happens in the passes."""

from __future__ import annotations

from typing import Annotated

import typer

from gpgpu_legacy.cli.draw_options import parse_texel
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.plan.options import InputOptions, RecipeOptions, plan_app
from gpgpu_legacy.cli.shared import Json, Lists, MachineOptions, print_json


@plan_app.command("trace", cls=Lists)
@grouped
def trace_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    machine: MachineOptions,
    at: Annotated[
        str, typer.Option("--at", metavar="X,Y", help="The texel's column and row, from 0.")
    ],
    texture: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Its texture (default: those behind the first output).",
        ),
    ] = None,
    instructions: Annotated[
        bool, typer.Option("--instructions", help="Show each instruction that its fragment runs.")
    ] = False,
    every_pass: Annotated[
        bool, typer.Option("--every-pass", help="Show the passes that leave its value alone, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Follow one texel through the passes: what each fragment looked up there, and wrote."""
    from gpgpu_legacy.api.plan_trace import trace_plan
    from gpgpu_legacy.api.plan_trace_table import plan_trace_record, plan_trace_text

    x, y = parse_texel("--at", at)
    built = recipe.built()
    trace = trace_plan(
        built.plan,
        inputs.arrays(built),
        x,
        y,
        texture,
        executor=machine.executor,
        machine=machine.machine(),
        instructions=instructions,
        every=every_pass,
    )
    if as_json:
        print_json(plan_trace_record(trace))
    else:
        print(plan_trace_text(trace), end="")
