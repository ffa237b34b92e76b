"""The group of commands `plan VERB`, and the options that the verbs share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import algorithm_names
from gpgpu_legacy.cli.options import Argument, Group, Option, Several
from gpgpu_legacy.cli.shared import app
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.recipes import Built, Recipe
    from gpgpu_legacy.isa.arithmetic import F32

VERBS = ("bench",)


plan_app = Group(
    "plan",
    sections={"Verbs": VERBS},
    help="Run, count, check, predict, trace and draw any algorithm in passes. WHAT is the name of "
    "an algorithm (see `gpgpu-legacy algorithms`), a recipe FILE.py[:function], which is your own "
    "Python and is executed as such, or a plan.json, which holds no code of Python.",
)
app.add_command(plan_app)

# Options that the verbs share -------------------------------------------------------------------

What = Annotated[
    str,
    Argument(
        "WHAT", "An algorithm's name, FILE.py[:function], or a plan.json.", complete=algorithm_names
    ),
]


@dataclass(frozen=True)
class RecipeOptions:
    """The plan: a recipe, and the parameters that it is built with."""

    what: What
    settings: Annotated[
        Several[str], Option("--set", "NAME=VALUE …", "Parameters of the recipe, as in n=512.")
    ] = ()

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


@dataclass(frozen=True)
class InputOptions:
    """The arrays that a plan runs on."""

    inputs: Annotated[
        Several[str],
        Option(
            "--input",
            "NAME=FILE …",
            "Inputs: .npy, .csv, .mtx or pictures. Without any, they are random samples.",
        ),
    ] = ()
    seed: Annotated[int, Option("SEED", "Seed of the random samples.")] = 0

    def arrays(self, built: Built) -> dict[str, F32]:
        """The inputs by name, checked."""
        from gpgpu_legacy.api.arrays import read_inputs
        from gpgpu_legacy.pipeline.inputs import as_operands, sample_inputs

        files = pairs("--input", self.inputs, "b=b.npy")
        if not files:
            return sample_inputs(built.plan, built.samples, self.seed)
        paths = {name: Path(file) for name, file in files.items()}
        return as_operands(built.plan, read_inputs(built.plan, paths))


def pairs(option: str, texts: Several[str], example: str) -> dict[str, str]:
    """Values by name, from NAME=VALUE; each name may be given once."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value:
            raise InputError(
                f"{option} is {text!r}; give a name and a value, as in {option} {example}"
            )
        if name.strip() in values:
            raise InputError(f"{option} gives {name.strip()} twice; give it once")
        values[name.strip()] = value
    return values
