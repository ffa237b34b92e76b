"""Find algorithms: our own, in the folders here, those of other packages, and those in files.

A module of a folder offers the functions that it marks with `@algorithm`; modules without any are
shared code. Another package offers its algorithms by entry points. To add an algorithm, add
a module.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import gpgpu_legacy.algorithms
from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.languages.brook import SUFFIX as BROOK
from gpgpu_legacy.languages.language import is_text
from gpgpu_legacy.languages.registry import is_program_file

if TYPE_CHECKING:
    from gpgpu_legacy.algorithms.algorithm import Algorithm, Unavailable

DEFAULT_PRODUCT = "hall-carr-hart-multi"

PYTHON, PLAN = ".py", ".json"


def is_program(what: str) -> bool:
    """Whether this is a program's text or file: by its suffix, or a file of no other kind."""
    if is_text(what) or is_program_file(what):
        return True
    path = Path(what)
    return path.suffix not in {"", PYTHON, PLAN, BROOK} and path.is_file()


@cache
def shipped_algorithms() -> tuple[Algorithm, ...]:
    """The algorithms of this package, oldest first."""
    from gpgpu_legacy.algorithms.algorithm import Algorithm

    entries = walk_packages(gpgpu_legacy.algorithms.__path__, "gpgpu_legacy.algorithms.")
    modules = [import_module(entry.name) for entry in entries if entry.name.count(".") == 3]
    every = (value for module in modules for value in vars(module).values())
    known = {value.name: value for value in every if isinstance(value, Algorithm)}
    return _by_year(known.values())


@cache
def products() -> tuple[Algorithm, ...]:
    """The algorithms of this package that multiply matrices, oldest first."""
    from gpgpu_legacy.algorithms.matmul.product import FIELD

    return tuple(algorithm for algorithm in shipped_algorithms() if algorithm.field == FIELD)


def all_algorithms() -> tuple[Algorithm, ...]:
    """The algorithms of this package and of all others that are installed, oldest first.

    An unusable offer of another package is a GpgpuLegacyWarning, once per process.
    """
    from gpgpu_legacy.algorithms.algorithm import installed

    return _by_year([*shipped_algorithms(), *installed(shipped_algorithms())[0]])


def unavailable_algorithms() -> tuple[Unavailable, ...]:
    """The unusable offers of other packages, with the reasons."""
    from gpgpu_legacy.algorithms.algorithm import installed

    return installed(shipped_algorithms())[1]


def find_algorithm(what: str) -> Algorithm:
    """The algorithm of that name or alias, or in a file.

    what: a name such as `jacobi`, with hyphens or underscores; a function of a Python file, such as
    `FILE.py:function`, whose code is executed; or a `plan.json`, which holds no code. The function
    may be left out if the file has only one, or one with the file's name.

    Our own algorithms come first; other packages are only searched if none of ours has the name.
    Raises InputError, with the nearest name, if there is none.
    """
    from gpgpu_legacy.algorithms.algorithm import from_plan, from_python

    name, colon, function = what.partition(f"{PYTHON}:")
    path = Path(name + PYTHON if colon else what)
    if path.suffix == PYTHON:
        return from_python(path, function)
    if path.suffix == PLAN:
        return from_plan(path)
    if path.suffix == BROOK:
        raise InputError(
            f"{what} is a Brook program, whose kernel calls are no one plan; write them with "
            f"`gpgpu-legacy dump {what} -o FOLDER`, and give FOLDER/plan.json"
        )
    if is_program(what):
        raise InputError(
            f"{what} is a program, and a plan is needed here; run it with `gpgpu-legacy exec "
            f"{what}`, or draw with it in a recipe, FILE.py"
        )
    if "/" in what or "\\" in what:
        raise InputError(f"{what} is neither a {PYTHON} nor a {PLAN}; give a recipe or a plan.json")
    return _named(what)


def _named(name: str) -> Algorithm:
    wanted = name.replace("_", "-")
    for algorithms in (shipped_algorithms, all_algorithms):
        names = _names(algorithms())
        if wanted in names:
            return names[wanted]
    for one in unavailable_algorithms():
        if wanted == one.name:
            raise InputError(one.text)
    raise InputError(f"there is no algorithm {name}; {hint(wanted, names)}")


def find_product(name: str) -> Algorithm:
    """The algorithm of that name, which multiplies matrices; InputError for any other."""
    algorithm = _named(name)
    if algorithm not in products():
        known = ", ".join(one.name for one in products())
        raise InputError(f"{algorithm.name} multiplies no matrices; choose from {known}")
    return algorithm


def _by_year(algorithms: Iterable[Algorithm]) -> tuple[Algorithm, ...]:
    """The algorithms by year, those without one last."""
    return tuple(sorted(algorithms, key=lambda a: (a.year is None, a.year or 0, a.source, a.name)))


def _names(algorithms: tuple[Algorithm, ...]) -> dict[str, Algorithm]:
    """The algorithms by name and by alias; an alias never hides a name."""
    names = {alias: one for one in reversed(algorithms) for alias in one.aliases}
    names.update((one.name, one) for one in algorithms)
    return {name.replace("_", "-"): algorithm for name, algorithm in names.items()}
