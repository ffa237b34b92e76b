"""The languages that programs are translated to: TARGETS of the files to_NAME.py beside this one.

A target is one row there; the command `translate` and its completion find it here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import gpgpu_legacy.lower.emit
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.program import Attribute, Parameter, Program


@frozen
class Input:
    """What the application gives a shader: its name and type there, and what it is in the program.

    width: its components. source: a parameter, an attribute, or a texture image unit. meaning: the
    source in words.
    """

    name: str
    type: str
    width: int
    source: Parameter | Attribute | int
    meaning: str


@frozen
class Translation:
    """A program in another language.

    header, inputs: a shader's first lines, and what the application gives it. exact: whether it
    computes attributes from planes.
    """

    program: Program
    text: str
    header: tuple[str, ...] = ()
    inputs: tuple[Input, ...] = ()
    exact: bool = False


@frozen
class TranslationTarget:
    """A language that programs are translated to.

    translate: takes a program, and whether its shader is to be exact. host: the library or page
    that draws the shader, by its name. Targets without a host have the program's own bits. draw:
    writes the host's code.
    """

    name: str
    summary: str
    translate: Callable[[Program, bool], Translation]
    host: str = ""
    draw: Callable[[Translation], str] | None = None


@cache
def targets() -> tuple[TranslationTarget, ...]:
    """All targets, by the names of their files."""
    room = gpgpu_legacy.lower.emit
    names = sorted(file.name for file in iter_modules(room.__path__) if file.name.startswith("to_"))
    modules = [import_module(f"{room.__name__}.{name}") for name in names]
    return tuple(target for module in modules for target in module.TARGETS)


def find_target(name: str, host: str | None = None) -> TranslationTarget:
    """The target of that name. host: what is to draw it, if anything.

    Raises InputError if there is none, or the host draws another target.
    """
    by_name = {target.name: target for target in targets()}
    if name not in by_name:
        raise InputError(f"there is no target {name}; choose from {', '.join(by_name)}")
    if host in {None, by_name[name].host}:
        return by_name[name]
    drawn = {target.host: target.name for target in targets() if target.host}
    if host not in drawn:
        raise InputError(f"there is no host {host}; choose from {', '.join(drawn)}")
    raise InputError(f"--host {host} draws with {drawn[host]}; give --to {drawn[host]}")
