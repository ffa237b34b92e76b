"""The commands `plan count`, `check` and `predict`: what a plan costs, not run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.plan.options import RecipeOptions, plan_app
from gpgpu_legacy.cli.predict import CacheOptions
from gpgpu_legacy.cli.shared import ChipName, Json, PredictedChip, show
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpgpu_legacy.api.recipes import Built, Recipe
    from gpgpu_legacy.count.formulas import Formulas


@plan_app.command("count")
def count_command(
    recipe: RecipeOptions,
    over: Annotated[
        Several[str],
        Option("NAME …", "Recover formulas in these parameters, as in n; log2 of them included."),
    ] = (),
    as_json: Json = False,
) -> None:
    """Count what a plan costs: passes, fragments, instructions and bytes.

    With --over, the plan is built and counted at several sizes, and a formula is solved for exactly
    and checked at sizes that took no part.
    """
    from gpgpu_legacy.api.plan_counts_table import plan_counts, plan_counts_grids

    family, settings = recipe.recipe(), recipe.given()
    built = family.build(settings)
    found = _formulas(family, settings, built, over) if over else None
    counts = plan_counts(built.plan, built.parameters, found)
    show(counts, plan_counts_grids(counts), as_json)


def _formulas(
    family: Recipe, settings: Mapping[str, str], built: Built, over: Several[str]
) -> Formulas:
    from gpgpu_legacy.count.formulas import formulas

    unknown = [name for name in over if name not in built.parameters]
    if unknown:
        has = ", ".join(built.parameters) or "none"
        raise InputError(f"{family.name} has no parameter {unknown[0]}; its parameters are {has}")
    values = [built.parameters[name] for name in over]
    sizes = [value for value in values if type(value) is int and value > 0]
    return formulas(
        lambda **values: family.build({**settings, **values}).plan,
        over,
        at=tuple(sizes) if len(sizes) == len(over) else None,
    )


@plan_app.command("check")
def check_command(recipe: RecipeOptions, chip: ChipName, as_json: Json = False) -> None:
    """Say whether a plan would have loaded on a chip of the time, and which passes would not.

    The exit code is 1 if it would not have.
    """
    from gpgpu_legacy.chips.check_plan import check_plan
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.chips.table import verdict_grids

    profile = find_profile(chip)
    verdict = check_plan(recipe.built().plan, profile)
    show(verdict, verdict_grids(verdict, profile), as_json)
    if verdict.exceeded:
        sys.exit(1)


@plan_app.command("predict")
def predict_command(
    recipe: RecipeOptions, through: CacheOptions, chip: PredictedChip, as_json: Json = False
) -> None:
    """Predict the least time that a plan can take on a chip, pass by pass, and what limits it.

    With --cache, memory serves the misses of that simulated cache; without it, memory serves each
    texel that a pass touches once per pass.
    """
    from gpgpu_legacy.predict.plans import predict_plan
    from gpgpu_legacy.predict.table import plan_prediction_grids, plan_prediction_record

    predicted = predict_plan(recipe.built().plan, chip, through.model())
    show(plan_prediction_record(predicted), plan_prediction_grids(predicted), as_json)
