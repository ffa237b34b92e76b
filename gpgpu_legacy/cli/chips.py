"""Commands about chips: list them, and find the largest block of a method that loads on one."""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.completion import chip_names
from gpgpu_legacy.cli.options import Argument
from gpgpu_legacy.cli.shared import (
    ChipName,
    Json,
    MethodName,
    ProductOptions,
    app,
    show,
)


@app.command("chips")
def chips_command(
    name: Annotated[
        str | None,
        Argument("[NAME]", "The name or alias of a chip or an API.", complete=chip_names),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the chips and APIs, or show everything known about one, with sources."""
    from gpgpu_legacy.chips import table as chips
    from gpgpu_legacy.chips.profile import calibrated, find_profile, profiles

    if name is None:
        calibrated()  # to warn of those that cannot be read
        show(chips.chips_record(profiles()), [chips.chips_grid(profiles())], as_json)
    else:
        profile = find_profile(name)
        show(chips.chip_record(profile), chips.chip_grids(profile), as_json)


@app.command("fit")
def fit_command(
    method: MethodName, chip: ChipName, product: ProductOptions, as_json: Json = False
) -> None:
    """Find the largest block of a method that loads on a chip, and why the next does not."""
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.studies.largest_block import model, table

    profile = find_profile(chip)
    result = model.fit(find_method(method), profile, product.dimensions(), product.options())
    show(result, table.fit_grids(result, profile), as_json)
