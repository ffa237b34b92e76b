"""The command that lists the algorithms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.completion import algorithm_names
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Argument, Option
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.catalogue import AlgorithmFacts, Catalogue


@answers("algorithms")
def algorithms_command(
    name: Annotated[
        str | None, Argument("[NAME]", "An algorithm's name or alias.", complete=algorithm_names)
    ] = None,
    field: Annotated[str | None, Option("FIELD", "Only those of a field, such as sorting.")] = None,
) -> AlgorithmFacts | Catalogue:
    """List the algorithms by year and field, or show everything about one, with its parameters."""
    from gpgpu_legacy.algorithms.catalogue import catalogue, facts_of
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
    return catalogue(algorithms, unavailable_algorithms())
