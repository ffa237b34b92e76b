"""The command that lists the algorithms."""

from __future__ import annotations

from typing import Annotated

from gpgpu_legacy.cli.options import Argument, Option
from gpgpu_legacy.cli.shared import Json, app, show
from gpgpu_legacy.errors import InputError


@app.command("algorithms")
def algorithms_command(
    name: Annotated[str | None, Argument("[NAME]", "An algorithm's name or alias.")] = None,
    field: Annotated[str | None, Option("FIELD", "Only those of a field, such as sorting.")] = None,
    as_json: Json = False,
) -> None:
    """List the algorithms by year and field, or show everything about one, with its parameters."""
    from gpgpu_legacy.algorithms import catalogue
    from gpgpu_legacy.algorithms.registry import (
        all_algorithms,
        find_algorithm,
        unavailable_algorithms,
    )

    if name is not None:
        if field is not None:
            raise InputError("give the name of an algorithm or a --field, not both")
        algorithm = find_algorithm(name)
        show(catalogue.algorithm_record(algorithm), catalogue.algorithm_grids(algorithm), as_json)
        return
    chosen, unavailable = all_algorithms(), unavailable_algorithms()
    if field is not None:
        fields = sorted({algorithm.field for algorithm in chosen})
        if field not in fields:
            raise InputError(f"there is no field {field}; choose from {', '.join(fields)}")
        chosen = tuple(algorithm for algorithm in chosen if algorithm.field == field)
    show(
        catalogue.algorithm_list(chosen, unavailable),
        catalogue.algorithms_grids(chosen, unavailable),
        as_json,
    )
