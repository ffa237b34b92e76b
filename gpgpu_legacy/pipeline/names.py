"""Textures and uniforms by the names that a program's source gives to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpgpu_legacy.errors import InputError, described, hint
from gpgpu_legacy.isa.ir import Attribute, AttributeKind, Parameter, ParameterSpace, Program
from gpgpu_legacy.plan.textures import Extent


def by_index(program: Program, given: Mapping[str, Any]) -> dict[str, Any]:
    """What a draw is given, by index alone: `textures`, `texcoords`, `local` and `env`.

    given: the same, where textures may have the names of samplers and texcoords those of varyings,
    and `uniforms` by name. An array or a matrix takes a value for each element or row.
    """
    textures = dict[Any, Any]()
    for key, texture in (given.get("textures") or {}).items():
        _add(textures, unit_of(program, key), texture, f"texture {key}")
    by_space = {
        space: dict(given.get(name) or {})
        for space, name in ((ParameterSpace.LOCAL, "local"), (ParameterSpace.ENV, "env"))
    }
    for name, value in (given.get("uniforms") or {}).items():
        parameters = _parameters(program, name)
        rows = [value] if len(parameters) == 1 else value
        if not hasattr(rows, "__len__") or len(rows) != len(parameters):
            raise InputError(
                f"uniform {name} is {described(value)}; give {len(parameters)} values, one for "
                "each element or row"
            )
        for parameter, row in zip(parameters, rows, strict=True):
            _add(by_space[parameter.space], parameter.index, row, f"uniform {name}")
    local, env = by_space.values()
    sets = {a.index: name for a, name in program.names
            if isinstance(a, Attribute) and a.kind is AttributeKind.TEXCOORD}  # fmt: skip
    texcoords = {
        _number(program, "varying", key, sets): value
        for key, value in (given.get("texcoords") or {}).items()
    }
    return {
        "textures": textures, "texcoords": texcoords, "uniforms": None, "local": local, "env": env,
    }  # fmt: skip


def _add(to: dict[Any, Any], index: Any, value: Any, what: str) -> None:
    if index in to:
        raise InputError(f"{what} is number {index}, which is given twice; give it once")
    to[index] = value


def unit_of(program: Program, key: Any) -> Any:
    """The unit of a sampler by its name; anything but a name is returned as it is."""
    units = {unit: name for unit, name in program.names if isinstance(unit, int)}
    return _number(program, "sampler", key, units)


def _number(program: Program, what: str, key: Any, names: Mapping[int, str]) -> Any:
    """The number of a name; anything but a name is returned as it is."""
    if not isinstance(key, str):
        return key
    numbers = {name: number for number, name in names.items()}
    if (own := _identifier(key)) not in numbers:
        raise _unknown(program, what, key, numbers)
    return numbers[own]


def sizes(program: Program, extents: Mapping[int, Extent]) -> dict[int, Any]:
    """The values of the parameters size_of_SAMPLER, in which a GLSL program asks for extents.

    extents: of the textures, by unit.
    """
    asked = {f"size_of_{name}": extents.get(unit) for unit, name in program.names
             if isinstance(unit, int)}  # fmt: skip
    declared = [(d.name, p.index) for d in program.parameters for p in d.parameters]
    found = ((index, asked.get(name)) for name, index in declared)
    return {index: (e.width, e.height, e.depth, 0) for index, e in found if e}


def _identifier(name: object) -> str:
    """The name in a program's text: `light_at_0` for `light.at[0]`."""
    return re.sub(r"\W+", "_", str(name)).strip("_")


_ELEMENT = re.compile(r"(_\d*)+$")
"""What a text adds to the name of an element or a row, or to a reserved word."""


def _parameters(program: Program, name: str) -> list[Parameter]:
    """The parameters of a uniform: one, or those of its elements or rows."""
    spaces = (ParameterSpace.LOCAL, ParameterSpace.ENV)
    declared = [(d.name, p) for d in program.parameters for p in d.parameters if p.space in spaces]
    own = _identifier(name)
    found = [p for other, p in declared if own in (other, _ELEMENT.sub("", other))]
    if not found:
        raise _unknown(program, "uniform", name, (_ELEMENT.sub("", n) for n, _ in declared))
    return found


def _unknown(program: Program, what: str, name: str, known: Iterable[str]) -> InputError:
    names = [*dict.fromkeys(known)]
    how = hint(name, names) if names else "its source names none, so give an index"
    return InputError(f"{program.name} has no {what} {name}; {how}")
