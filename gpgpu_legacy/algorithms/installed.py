"""Algorithms of other packages, by the entry point `gpgpu_legacy.algorithms`.

    [project.entry-points."gpgpu_legacy.algorithms"]
    heat = "my_package.heat:heat"

The entry point names an Algorithm, or a function that returns a Pipeline. A function's algorithm
is called by the entry point's name; its summary is the first line of the docstring; it may have the
attributes year, field and source.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.arguments import kind_of
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "gpgpu_legacy.algorithms"


@dataclass(frozen=True)
class Unavailable:
    """What a package offers and cannot be used.

    name: of the entry point. reason: in words.
    """

    name: str
    package: str
    reason: str

    @property
    def text(self) -> str:
        """All of it in one line."""
        return f"the algorithm {self.name} of {self.package} cannot be used: {self.reason}"


@dataclass(frozen=True)
class Installed:
    """The algorithms of other packages, and what cannot be used."""

    algorithms: tuple[Algorithm, ...]
    unavailable: tuple[Unavailable, ...]


@cache
def installed(shipped: tuple[Algorithm, ...]) -> Installed:
    """What other packages offer, loaded when this is first called.

    A package that fails makes nothing else unavailable. shipped: our own, whose names are taken.
    """
    from importlib.metadata import entry_points

    taken = {one.name: one.package for one in shipped}
    taken.update((alias, one.package) for one in shipped for alias in one.aliases)
    algorithms: list[Algorithm] = []
    unavailable: list[Unavailable] = []
    for entry in _in_order(entry_points(group=GROUP)):
        try:
            algorithm = _loaded(entry)
            _ = algorithm.parameters  # what is callable need not have a signature that can be read
            if algorithm.name in taken:
                raise InputError(f"{taken[algorithm.name]} has an algorithm {algorithm.name}")
        except (Exception, SystemExit) as error:
            unavailable.append(Unavailable(entry.name, _package(entry), _reason(error)))
            continue
        taken[algorithm.name] = algorithm.package
        algorithms.append(algorithm)
    return Installed(tuple(algorithms), tuple(unavailable))


def _in_order(entries: Iterable[EntryPoint]) -> list[EntryPoint]:
    """By package and name, so that of two with one name it is always the same that is taken."""
    return sorted(entries, key=lambda entry: (_package(entry), entry.name))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _loaded(entry: EntryPoint) -> Algorithm:
    loaded = entry.load()
    package = _package(entry)
    if isinstance(loaded, Algorithm):
        name = loaded.name.replace("_", "-")
        return replace(loaded, name=name, package=package, file=_file(loaded.build, package))
    if not callable(loaded) or isinstance(loaded, type):
        raise InputError(
            f"{entry.value} is {kind_of(loaded)}; give an Algorithm, or a function that returns a "
            "Pipeline"
        )
    lines = (loaded.__doc__ or "").strip().splitlines()
    return Algorithm(
        name=entry.name.replace("_", "-"),
        year=getattr(loaded, "year", None),
        field=getattr(loaded, "field", "other"),
        source=getattr(loaded, "source", package),
        summary=lines[0].rstrip(".") if lines else "",
        build=loaded,
        package=package,
        file=_file(loaded, package),
    )


def _file(build: Callable[..., object], package: str) -> Path:
    """The file of an algorithm's function."""
    try:
        return Path(inspect.getsourcefile(build) or package)
    except TypeError:  # a class without a file, or an instance
        return Path(package)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, InputError):
        return text
    return f"{type(error).__name__}{': ' * bool(text)}{text}"
