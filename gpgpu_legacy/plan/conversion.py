"""A plan as the records of plan.json, and back: one walk each way.

A record has the fields of the plan's class of the same name, so both walks go field by field. What
differs has a case of its own: texts are named, the default sampler is left out, and a number that
JSON lacks is a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from functools import cache
from math import inf, isfinite, isnan, nan
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.kernel.ir import Kernel
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.registry import language_of
from gpgpu_legacy.plan import numbers, plan, records, textures
from gpgpu_legacy.plan.formats import FORMATS, Format
from gpgpu_legacy.plan.limits import MOST_KERNEL_TEXT, MOST_PROGRAM_TEXT
from gpgpu_legacy.plan.numbers import Affine, Table
from gpgpu_legacy.plan.pass_names import passes_of
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import DEFAULT_SAMPLER, Input, MovingRect, Output, Rect, Texture
from gpgpu_legacy.serial import Record

_Text = TypeVar("_Text", Program, Kernel)
_Read = TypeVar("_Read")


# The names of texts ------------------------------------------------------------------------------


def program_names(plan: Plan) -> dict[Program, str]:
    """The distinct programs of a plan, those in Repeats of no iteration too, and a name for each.

    A name is the program's own without its folder, and could be that of a file.
    """
    drawn = (pass_.program for pass_ in _passes(plan) if isinstance(pass_, FragmentPass))
    return _named(drawn, ".fp")


def kernel_names(plan: Plan) -> dict[Kernel, str]:
    """The distinct kernels of a plan and a name for each, as `program_names` gives them."""
    dispatched = (pass_.kernel for pass_ in _passes(plan) if isinstance(pass_, ComputePass))
    return _named(dispatched, ".comp")


def _passes(plan: Plan) -> Iterator[Pass]:
    return (pass_ for step in plan.steps for pass_ in passes_of(step))


_LONGEST_STEM = 60


def _named(texts: Iterable[_Text], suffix: str) -> dict[_Text, str]:
    names: dict[_Text, str] = {}
    taken: set[str] = set()
    for text in dict.fromkeys(texts):
        file = re.split(r"[/\\]", text.name)[-1].partition(suffix)[0][:_LONGEST_STEM]
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", file).strip("-") or "program"
        name, number = stem + suffix, 1
        while name.lower() in taken:  # where files' names do not tell letters' cases apart
            number += 1
            name = f"{stem}-{number}{suffix}"
        taken.add(name.lower())
        names[text] = name
    return names


# To records --------------------------------------------------------------------------------------


def plan_record(plan: Plan) -> records.Plan:
    """The plan as data. Raises InputError for a texture of a format that is none of FORMATS."""
    programs, kernels = program_names(plan), kernel_names(plan)
    names: dict[Any, str] = {**programs, **kernels}
    return records.Plan(
        schema="gpgpu_legacy.plan",
        version=1,
        programs={name: disassemble(program) for program, name in programs.items()},
        kernels={name: kernel.text for kernel, name in kernels.items()},
        **{field.name: _recorded(getattr(plan, field.name), names) for field in fields(plan)},
    )


def _recorded(value: Any, names: Mapping[Any, str]) -> Any:  # noqa: PLR0911 - one for each kind
    """A part of a plan as its record. names: of programs and kernels."""
    match value:
        case tuple():
            return tuple([_recorded(item, names) for item in value])
        case None | bool() | str():
            return value
        case int() | float():
            return constant_record(value)
        case Program() | Kernel():
            return names[value]
        case Table():
            return [_recorded(number, names) for number in value.values]
        case Texture() if FORMATS.get(value.format.name) != value.format:
            raise InputError(
                f"texture {value.name} has the format {value.format}, which plan.json lacks; "
                f"choose from {', '.join(FORMATS)}"
            )
        case Format():
            return value.name
        case _ if value == DEFAULT_SAMPLER:
            return None
        case Enum():
            return value
        case np.generic():
            return constant_record(value.item())
    kind, fields_ = _layout(value.__class__)
    given = {field: _recorded(getattr(value, field), names) for field in fields_}
    if isinstance(value, MovingRect):
        given["moving"] = all(isinstance(number, int) for number in given.values())
    return kind(**given)


@cache
def _layout(kind: Any) -> tuple[type[Record], tuple[str, ...]]:
    """The record of a class of the plan, and the fields that both have."""
    name = _RECORDS.get(kind.__name__, kind.__name__)
    return getattr(records, name), tuple(field.name for field in fields(kind))


_RECORDS = {
    "Input": "Transfer", "Output": "Transfer", "MovingRect": "Rect"
}  # fmt: skip
"""The records whose names are not those of the plan's classes."""


def constant_record(number: float) -> records.Constant:
    """A number of Python or NumPy as a number of Python; one that JSON lacks as a string."""
    value = int(number) if isinstance(number, Integral) else float(number)
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


# From records ------------------------------------------------------------------------------------


def plan_of_record(record: records.Plan, file: str) -> Plan:
    """The plan, not yet validated. file: what messages call the file.

    Raises InputError for a name that stands for nothing in the file, and AssemblyError for a
    program or a kernel that its language does not allow.
    """
    _refuse_long(record.programs, MOST_PROGRAM_TEXT, f"{file}, programs")
    _refuse_long(record.kernels, MOST_KERNEL_TEXT, f"{file}, kernels")
    programs = _assembled(
        record.programs, lambda text, name: language_of(text).assemble(text, name),
        f"{file}, programs",
    )  # fmt: skip
    reader = _Reader(
        file,
        {"program": programs, "kernel": _assembled(record.kernels, _kernel, f"{file}, kernels")},
    )
    return Plan(**{f.name: reader.value(getattr(record, f.name), f.name) for f in fields(Plan)})


def _refuse_long(texts: Mapping[str, str], most: int, where: str) -> None:
    length = sum(map(len, texts.values()))
    if length > most:
        raise InputError(f"{where} have {length} characters together; {most} are the most allowed")


def _kernel(text: str, name: str) -> Kernel:
    from gpgpu_legacy.kernel.parser import parse_kernel

    return parse_kernel(text, name)


def _assembled(
    texts: Mapping[str, str], assemble: Callable[[str, str], _Read], where: str
) -> dict[str, _Read]:
    assembled: dict[str, _Read] = {}
    for name, text in texts.items():
        try:
            assembled[name] = assemble(text, name)
        except AssemblyError as error:
            raise AssemblyError(
                error.problem,
                text,
                error.line,
                error.column,
                f"{where}.{name}",
                diagnostics=error.diagnostics,
            ) from None
    return assembled


_NOT_IN_JSON = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
"""NaN is always the same object, so that two readings of a file are equal."""

_OF_NUMBERS = {"corners", "initial", "value"}
"""The fields in which such a string is a number, and no name."""


@dataclass(frozen=True)
class _Reader:
    """Reads the parts of a plan. texts: programs and kernels by name, by the field that names."""

    file: str
    texts: Mapping[str, Mapping[str, Any]]

    def value(self, value: Any, field: str, place: str = "") -> Any:  # noqa: PLR0911
        """A part of a plan. field: in which its record stands. place: the step that it is of."""
        match value:
            case tuple() if field in {"steps", "body"}:
                inner = f"{place}.{field}".lstrip(".")
                return tuple(
                    [self.value(step, "", f"{inner}[{n}]") for n, step in enumerate(value)]
                )
            case tuple():
                return tuple([self.value(item, field, place) for item in value])
            case list():
                return Table(tuple([self.value(number, "value") for number in value]))
            case str() if field in _OF_NUMBERS:
                return _NOT_IN_JSON[value]
            case str() if field in self.texts:
                return self.text(value, field, place)
            case str() if field == "format":
                return FORMATS[value]
            case None if field == "sampler":
                return DEFAULT_SAMPLER
            case Record():
                return self.part(value, field, place)
        return value

    def part(self, record: Record, field: str, place: str) -> Any:
        """What a record stands for."""
        given = {
            name: self.value(getattr(record, name), name, place)
            for name in record.__struct_fields__
        }
        if isinstance(record, records.Transfer):
            return (Input if field == "inputs" else Output)(**given)
        if isinstance(record, records.Rectangle):
            return Rect(**given)
        if isinstance(record, records.Rect):
            moves = given.pop("moving") or not {Affine, Table}.isdisjoint(map(type, given.values()))
            return MovingRect(**given) if moves else Rect(**given)
        return _CLASSES[type(record).__name__](**given)

    def text(self, name: str, field: str, place: str) -> Any:
        """The program or the kernel of a name."""
        texts = self.texts[field]
        if name in texts:
            return texts[name]
        raise InputError(
            f"{self.file}, {place}.{field}: there is no {field} {name}; the file has "
            f"{', '.join(texts) or 'none'} in {field}s"
        )


_CLASSES: Mapping[str, Callable[..., Any]] = {**vars(numbers), **vars(textures), **vars(plan)}
"""The plan's classes by name."""
