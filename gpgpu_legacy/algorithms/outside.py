"""Algorithms in files, and those of other packages.

A file has a user's Python function, or a plan.json. A package has the entry point
`gpgpu_legacy.algorithms`.

    [project.entry-points."gpgpu_legacy.algorithms"]
    heat = "my_package.heat:heat"

The entry point names an Algorithm, or a function that returns a Pipeline. A function's algorithm
has the entry point's name, and the first line of the docstring as its summary; the function may
have the attributes year, field and source.
"""

from __future__ import annotations

import inspect
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.algorithm import Algorithm, in_one_line, module_of
from gpgpu_legacy.errors import GpgpuLegacyWarning, InputError, kind_of
from gpgpu_legacy.serial import Record

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "gpgpu_legacy.algorithms"


class Unavailable(Record):
    """An offer of a package that cannot be used.

    name: of the entry point. reason: in words. text: all of it, in one line.
    """

    name: str
    package: str
    reason: str
    text: str


@cache
def installed(
    shipped: tuple[Algorithm, ...],
) -> tuple[tuple[Algorithm, ...], tuple[Unavailable, ...]]:
    """The algorithms of other packages, and the unusable offers; loaded on the first call.

    If a package fails, all others stay available. shipped: our own, whose names are taken.
    """
    from importlib.metadata import entry_points

    taken = {name: one.package for one in shipped for name in (one.name, *one.aliases)}
    algorithms: list[Algorithm] = []
    unavailable: list[Unavailable] = []
    # sorted, so that of two with one name always the same is taken
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: (_package(entry), entry.name)):
        try:
            algorithm = _loaded(entry)
            _ = algorithm.parameters  # a callable need not have a readable signature
            if algorithm.name in taken:
                raise InputError(f"{taken[algorithm.name]} has an algorithm {algorithm.name}")
        except (Exception, SystemExit) as error:
            name, package, reason = entry.name, _package(entry), in_one_line(error)
            text = f"the algorithm {name} of {package} cannot be used: {reason}"
            warnings.warn(text, GpgpuLegacyWarning, stacklevel=3)
            unavailable.append(Unavailable(name=name, package=package, reason=reason, text=text))
            continue
        taken[algorithm.name] = algorithm.package
        algorithms.append(algorithm)
    return tuple(algorithms), tuple(unavailable)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _loaded(entry: EntryPoint) -> Algorithm:
    loaded = entry.load()
    package = _package(entry)
    if not isinstance(loaded, Algorithm):
        if not callable(loaded) or isinstance(loaded, type):
            raise InputError(
                f"{entry.value} is {kind_of(loaded)}; give an Algorithm, or a function that "
                "returns a Pipeline"
            )
        lines = (loaded.__doc__ or "").strip().splitlines()
        loaded = Algorithm(
            name=entry.name,
            year=getattr(loaded, "year", None),
            field=getattr(loaded, "field", "other"),
            source=getattr(loaded, "source", package),
            summary=lines[0].rstrip(".") if lines else "",
            build=loaded,
        )
    try:
        file = inspect.getsourcefile(loaded.build)
    except TypeError:  # a class without a file, or an instance
        file = None
    name = loaded.name.replace("_", "-")
    return replace(loaded, name=name, package=package, file=Path(file or package))


def from_plan(file: Path) -> Algorithm:
    """The one plan of a file, as an algorithm without parameters."""
    from gpgpu_legacy.plan.serialise import read_plan

    plan = read_plan(file)
    return Algorithm(str(file), lambda: plan)


def _makes_pipeline(function: object) -> bool:
    """Whether a function is annotated so."""
    returned = getattr(function, "__annotations__", {}).get("return")
    return getattr(returned, "__name__", str(returned)).rpartition(".")[2] == "Pipeline"


def from_python(file: Path, function: str = "") -> Algorithm:
    """The function of that name in a file: any callable; without a name, the file's own
    function: the only one, or the only one that is annotated to return a Pipeline.
    """
    module = module_of(file)
    own = {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_"
        and callable(value)
        and not isinstance(value, type)
        and getattr(value, "__module__", None) == module.__name__
    }
    if not function:
        meant = [name for name, one in own.items() if _makes_pipeline(one)] or [*own]
        function = meant[0] if len(meant) == 1 else file.stem.replace("-", "_")
    chosen = own.get(function) or vars(module).get(function)
    if callable(chosen):
        return Algorithm(f"{file}:{function}", chosen, file=file)
    if not own:
        raise InputError(f"{file} has no function; write one that returns a Pipeline")
    raise InputError(
        f"{file} has the functions {', '.join(own)}; name the one that returns a Pipeline, as in "
        f"{file}:{next(iter(own))}"
    )
