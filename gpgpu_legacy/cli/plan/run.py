"""The commands `plan run` and `plan dump`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.plan.options import InputOptions, RecipeOptions, pairs, plan_app
from gpgpu_legacy.cli.shared import Json, MachineOptions, show


@plan_app.command("run")
def run_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    machine: MachineOptions,
    repeat: Annotated[int, Option("N", "Run it N times, and print the medians of the times.")] = 1,
    output: Annotated[
        Several[str],
        Option(
            "-o",
            "--output",
            "NAME=FILE …",
            "Write outputs: .npy, .csv, .mtx or .png (row 0 at the bottom).",
        ),
    ] = (),
    check: Annotated[
        bool, Option("Compare the outputs with the recipe's reference function.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Run a plan: its outputs, times and counts, and its error where the recipe has a reference.

    Random samples stand in for inputs if none is given.
    """
    from dataclasses import replace

    from gpgpu_legacy.api.plan_files import output_writers
    from gpgpu_legacy.api.plan_run import run_plan
    from gpgpu_legacy.api.plan_run_table import run_grids
    from gpgpu_legacy.api.recipes import caption

    built = recipe.built()
    files = {n: Path(f) for n, f in pairs("--output", output, "x=x.npy").items()}
    write = output_writers(built.plan, files)
    arrays = inputs.arrays(built)
    run = run_plan(
        built.plan, arrays, executor=machine.executor, machine=machine.machine(), repeat=repeat
    )
    run = replace(run, reference=built.reference, parameters=built.parameters)
    record = run.record(check=check)
    written = write(run.outputs)
    show(record, run_grids(record, caption(built)), as_json)
    for path in written if not as_json else ():
        print(f"wrote {path}")


@plan_app.command("dump")
def dump_command(
    recipe: RecipeOptions,
    output: Annotated[Path, Option("-o", "--output", "FOLDER", "Write the files here.")],
    exact: Annotated[bool, Option("Generate GLSL that contracts no multiply-add.")] = False,
) -> None:
    """Write a plan as files: plan.json, its programs, and the code that is generated from them.

    Every `plan` command reads the plan.json again.
    """
    from gpgpu_legacy.api.dump import dump

    for path in dump(recipe.built().plan, output, exact=exact):
        print(f"wrote {path}")
