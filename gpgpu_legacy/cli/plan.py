"""The commands `plan VERB`: what can be done with anyone's algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpgpu_legacy.cli.cache import (
    AccessOptions,
    CacheCommand,
    CacheOutput,
    MemoryOptions,
    simulate_cases,
)
from gpgpu_legacy.cli.draw_options import parse_texel
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.shared import Json, Lists, MachineOptions, app, console, print_json
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.recipes import Built, Recipe
    from gpgpu_legacy.isa.arithmetic import F32

plan_app = typer.Typer(
    help="Run, count, check, predict, trace and draw any algorithm in passes. WHAT is the name of "
    "an algorithm (see `gpgpu-legacy algorithms`), a recipe FILE.py[:function], which is your own "
    "Python and is executed as such, or a plan.json, which holds no code of Python.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(plan_app, name="plan")

# Options that the verbs share -------------------------------------------------------------------

What = Annotated[
    str,
    typer.Argument(metavar="WHAT", help="An algorithm's name, FILE.py[:function], or a plan.json."),
]


@dataclass(frozen=True, slots=True)
class RecipeOptions:
    """The plan: a recipe, and the parameters that it is built with."""

    what: What
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE …", help="Parameters of the recipe, as in n=512."
        ),
    ] = None

    def recipe(self) -> Recipe:
        """The recipe."""
        from gpgpu_legacy.api.recipes import find_recipe

        return find_recipe(self.what)

    def given(self) -> dict[str, str]:
        """The parameters as text, by name."""
        return pairs("--set", self.settings, "n=512")

    def built(self) -> Built:
        """The plan, and what it was built with."""
        return self.recipe().build(self.given())


@dataclass(frozen=True, slots=True)
class InputOptions:
    """The arrays that a plan runs on."""

    inputs: Annotated[
        list[str] | None,
        typer.Option(
            "--input",
            metavar="NAME=FILE …",
            help="Inputs: .npy, .csv, .mtx or pictures. Without any, they are random samples.",
        ),
    ] = None
    seed: Annotated[int, typer.Option(metavar="SEED", help="Seed of the random samples.")] = 0

    def arrays(self, built: Built) -> dict[str, F32]:
        """The inputs by name, checked."""
        from gpgpu_legacy.api.plan_files import read_inputs
        from gpgpu_legacy.api.plan_run import as_operands, sample_inputs

        files = pairs("--input", self.inputs, "b=b.npy")
        if not files:
            return sample_inputs(built.plan, built.samples, self.seed)
        paths = {name: Path(file) for name, file in files.items()}
        return as_operands(built.plan, read_inputs(built.plan, paths))


def pairs(option: str, texts: list[str] | None, example: str) -> dict[str, str]:
    """Values by name, from NAME=VALUE; each name may be given once."""
    values: dict[str, str] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value:
            raise InputError(
                f"{option} is {text!r}; give a name and a value, as in {option} {example}"
            )
        if name.strip() in values:
            raise InputError(f"{option} gives {name.strip()} twice; give it once")
        values[name.strip()] = value
    return values


# Verbs ------------------------------------------------------------------------------------------


@plan_app.command("run", cls=Lists)
@grouped
def run_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    machine: MachineOptions,
    repeat: Annotated[
        int, typer.Option(metavar="N", help="Run it N times, and print the medians of the times.")
    ] = 1,
    output: Annotated[
        list[str] | None,
        typer.Option(
            "-o",
            "--output",
            metavar="NAME=FILE …",
            help="Write outputs: .npy, .csv, .mtx or .png (row 0 at the bottom).",
        ),
    ] = None,
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
    from gpgpu_legacy.present.grid import print_text

    built = recipe.built()
    files = {n: Path(f) for n, f in pairs("--output", output, "x=x.npy").items()}
    write = output_writers(built.plan, files)
    arrays = inputs.arrays(built)
    run = run_plan(
        built.plan, arrays, executor=machine.executor, machine=machine.machine(), repeat=repeat
    )
    run = replace(run, reference=built.reference, parameters=built.parameters)
    record = run.record()
    written = write(run.outputs)
    if as_json:
        print_json(record)
        return
    print_text(run_grids(record, caption(built)), console())
    for path in written:
        print(f"wrote {path}")


@plan_app.command("dump", cls=Lists)
@grouped
def dump_command(
    recipe: RecipeOptions,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Write the files here.")
    ],
    exact: Annotated[
        bool, typer.Option("--exact", help="Generate GLSL that contracts no multiply-add.")
    ] = False,
) -> None:
    """Write a plan as files: plan.json, its programs, and the code that is generated from them.

    Every `plan` command reads the plan.json again.
    """
    from gpgpu_legacy.api.dump import dump

    for path in dump(recipe.built().plan, output, exact=exact):
        print(f"wrote {path}")


@plan_app.command("cache", cls=CacheCommand)
@grouped
def cache_command(
    recipe: RecipeOptions,
    memories: MemoryOptions,
    accesses: AccessOptions,
    report: CacheOutput,
) -> None:
    """Simulate a plan's lookups and writes through a cache: hits, misses, bytes from memory.

    --cache, --raster and --layout take several values; every combination is simulated.
    """
    from gpgpu_legacy.studies.cache_sweep.model import Planned, plan_cases

    report.check(memories)
    built = recipe.built()
    planned = Planned(built.plan, tuple(built.parameters.items()))
    simulate_cases(plan_cases(planned, memories.memories(), accesses.orders()), report)


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
