"""Commands about chips: list them, and find the largest block of a method that loads on one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import chip_names
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Argument
from gpgpu_legacy.cli.shared import ChipName
from gpgpu_legacy.cli.words import Job

if TYPE_CHECKING:
    from gpgpu_legacy.chips.catalogue import Chip, Chips
    from gpgpu_legacy.studies.largest_block import Fit


@answers("chips")
def chips_command(
    name: Annotated[
        str | None,
        Argument("[NAME]", "The name or alias of a chip or an API.", complete=chip_names),
    ] = None,
) -> Chip | Chips:
    """List the chips and APIs, or show everything known about one, with sources."""
    from gpgpu_legacy.chips import catalogue
    from gpgpu_legacy.chips.profile import calibrated, find_profile, profiles

    if name is not None:
        return catalogue.chip(find_profile(name))
    calibrated()  # to warn of those that cannot be read
    return catalogue.chips(profiles())


@answers("fit")
def fit_command(job: Job, chip: ChipName) -> Fit:
    """Find the largest block of a product that loads on a chip, and why the next does not."""
    from gpgpu_legacy.chips.profile import find_profile
    from gpgpu_legacy.studies.largest_block import fit

    return fit(job.algorithm, find_profile(chip), job.given)
