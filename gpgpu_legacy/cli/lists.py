"""Commands that list algorithms, chips, and the executors of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.api.command.options import Argument, algorithm_names, chip_names
from gpgpu_legacy.api.command.words import CHIP, Job, split
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.catalogue import AlgorithmFacts, Catalogue
    from gpgpu_legacy.api.doctor import Diagnosis
    from gpgpu_legacy.api.fit import Fit
    from gpgpu_legacy.chips.catalogue import Chip, Chips


@answers("algorithms")
def algorithms_command(
    name: Annotated[
        str | None, Argument("[NAME]", "An algorithm's name or alias.", algorithm_names)
    ] = None,
    field: Annotated[str | None, "FIELD", "Only algorithms of this field, such as sorting."] = None,
) -> AlgorithmFacts | Catalogue:
    """List the algorithms by year and field, or show everything about one, with its parameters."""
    from gpgpu_legacy.algorithms.catalogue import Catalogue, facts_of
    from gpgpu_legacy.algorithms.registry import (
        all_algorithms,
        find_algorithm,
        unavailable_algorithms,
    )

    if name is not None:
        if field is not None:
            raise InputError("give the name of an algorithm or a --field, not both")
        return facts_of(find_algorithm(name))
    algorithms = all_algorithms()
    if field is not None:
        fields = sorted({algorithm.field for algorithm in algorithms})
        if field not in fields:
            raise InputError(f"there is no field {field}; choose from {', '.join(fields)}")
        algorithms = tuple(algorithm for algorithm in algorithms if algorithm.field == field)
    listed = tuple(facts_of(algorithm, builds=False) for algorithm in algorithms)
    return Catalogue(algorithms=listed, unavailable=unavailable_algorithms())


@answers("chips")
def chips_command(
    name: Annotated[
        str | None,
        Argument("[NAME]", "The name or alias of a chip or an API.", chip_names),
    ] = None,
) -> Chip | Chips:
    """List the chips and APIs, or show everything known about one, with sources."""
    from gpgpu_legacy.chips import catalogue
    from gpgpu_legacy.chips.profile import calibrated, find_profile, profiles

    if name is not None:
        return catalogue.chip(find_profile(name))
    calibrated()  # to warn about profiles that cannot be read
    return catalogue.chips(profiles())


@answers("fit")
def fit_command(job: Job, chip: Annotated[str, CHIP]) -> Fit:
    """Find the largest block of a product that loads on a chip, and why the next does not."""
    from gpgpu_legacy.api.fit import fit
    from gpgpu_legacy.chips.profile import find_profile

    return fit(job.algorithm, find_profile(chip), split(job.words)[1])


@answers("doctor")
def doctor_command() -> Diagnosis:
    """Say which executors work here, and how to fix the others.

    --all also says what each verb promises: what is exact, and what is a bound.
    """
    from gpgpu_legacy.api.doctor import diagnose

    return diagnose()


@answers("examples", writes=True)
def examples_command(
    folder: Annotated[Path, Argument("FOLDER", "Where to copy them to; it may be new.")],
) -> Iterator[Path]:
    """Copy example programs and pipelines to a folder, and print the commands that run them.

    README.txt there has the commands, too. Nothing is overwritten.
    """
    from gpgpu_legacy.files import read_text, shader_folder, text_writer, write_folder

    listed = sorted((shader_folder() / "examples").iterdir())
    texts = {file.name: read_text(file) for file in listed if file.is_file()}
    if taken := next((name for name in texts if (folder / name).exists()), None):
        raise InputError(f"{folder / taken} is there already; give another folder")
    write_folder(folder, {name: text_writer(text) for name, text in texts.items()})
    yield from (folder / name for name in texts)
    print(f"\n{texts['README.txt']}", end="")
