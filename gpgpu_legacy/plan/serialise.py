"""Plans as files: writes plan.json and reads it back.

docs/reference/plan-json.md explains the format. A file holds everything that its plan needs, the
texts of its programs included; reading it opens no other file and runs no code. The plan that is
read equals the plan that was written, except that NaN equals nothing.

Every class of the plan has a record with the same fields, made from the class's annotations. The
class's docstring is its description in plan.schema.json. So writer and reader go field by field.
Only the differences have cases of their own: texts are named, the default sampler is left out, and
a number that JSON lacks is a string.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from functools import cache, reduce
from itertools import chain
from math import inf, isfinite, isnan, nan
from numbers import Integral
from operator import or_
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from gpgpu_legacy.decorators import frozen, public
from gpgpu_legacy.errors import AssemblyError, InputError, PlanError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.isa.kernel import Kernel
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.registry import disassemble, kernel_of, own_language, program_of
from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend, alpha_test_of, blend_of
from gpgpu_legacy.plan.limits import (
    MOST_DEPTH,
    MOST_FILE_BYTES,
    MOST_KERNEL_TEXT,
    MOST_PROGRAM_TEXT,
    check_limits,
)
from gpgpu_legacy.plan.numbers import Affine, Exact, Finite, Integer, Number, NumberVec4, Table
from gpgpu_legacy.plan.plan import ComputePass, Corners, FragmentPass, Pass, Plan, Step, passes_of
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    FORMATS,
    Format,
    Matrix,
    MovingRect,
    Rect,
    Texture,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.serial import (
    Index,
    Meta,
    OneLine,
    Record,
    Size,
    define_record,
    from_json,
    json_fitted_text,
    json_schema,
)

_Text = TypeVar("_Text", Program, Kernel, Matrix)

SCHEMA_FILE = Path(__file__).parent / "plan.schema.json"
"""The JSON Schema of plan.json."""

VERSION = 1
"""Raise it when old files would no longer be read, or would mean something else."""


# The records -------------------------------------------------------------------------------------

Name = Annotated[OneLine, Meta(max_length=200)]
"""One line, since messages quote it."""

Constant = Finite | Literal["NaN", "Infinity", "-Infinity"]

_MORE: Mapping[Any, tuple[tuple[str, Any, Any], ...]] = {
    Plan: (
        ("schema", Literal["gpgpu_legacy.plan"], MISSING),
        ("version", Literal[1], MISSING),
        ("programs", Mapping[Name, str], {}),
        ("kernels", Mapping[Name, str], {}),
    ),
    MovingRect: (("moving", bool, False),),
}
"""The fields that a record has besides those of its class."""

_MISSING = {"bindings": (), "buffers": (), "uniforms": (), "value": MISSING, "sampler": None}
"""The values of fields that are left out, where they differ from the defaults of the plan's
class."""

_NAMES = {"Rect": "Rectangle", "MovingRect": "Rect"}
"""The records whose names are not those of the plan's classes."""


@cache
def _record(kind: Any) -> Any:
    """The record of a class of the plan; fields that may be left out are last."""
    hints = get_type_hints(kind, localns={"Kernel": Kernel}, include_extras=True)
    given = [*_MORE.get(kind, ())]
    for field in fields(kind):
        missing = _MISSING.get(field.name, field.default)
        stored = _stored(hints[field.name])
        given.append((field.name, stored | None if missing is None else stored, missing))
    given.sort(key=lambda field: field[2] is not MISSING)
    name = _NAMES.get(kind.__name__, kind.__name__)
    return define_record(
        name,
        [field[:2] if field[2] is MISSING else field for field in given],
        bases=(Record,),
        module=__name__,
        namespace={"__doc__": kind.__doc__, "of": kind},
        omit_defaults=True,
        tag_field="kind" if kind in get_args(Step) else None,
        tag=name if kind in get_args(Step) else None,
    )


def _stored(kind: Any) -> Any:
    """The type in a file for this type in a plan."""
    hint: Any = _STORED.get(kind, kind)
    if isinstance(hint, str):
        return hint
    if hasattr(hint, "__dataclass_fields__"):
        return _record(hint)
    if hint in _STORED.values() or get_origin(hint) is Annotated or not get_args(hint):
        return hint
    parts = [part if part is ... else _stored(part) for part in get_args(hint)]
    return GenericAlias(tuple, tuple(parts)) if get_origin(hint) is tuple else reduce(or_, parts)


_STORED: dict[Any, Any] = {
    str: Name,
    Program: Name,
    Kernel: Name,
    Format: Literal[tuple(FORMATS)],
    float: Constant,
    Finite: Finite,
    Rect | MovingRect: MovingRect,
    Rect | MovingRect | None: MovingRect,
    Blend: Name,
    AlphaTest: Name,
    tuple[Step, ...]: "tuple[StoredStep, ...]",  # since an Until's rounds hold steps in their turn
}
_STORED |= {
    Number: Constant | _record(Affine) | list[Constant],
    bool | Number: bool | Constant | _record(Affine) | list[bool | Constant],
    Integer: Exact | _record(Affine) | list[Finite],
}  # a list, not a tuple, so that reading tells it from a vector

StoredStep: Any = _stored(Step)
"""The records of steps."""


# The names of texts ------------------------------------------------------------------------------


def program_names(plan: Plan) -> dict[Program, str]:
    """The distinct programs of a plan, also in Repeats without iterations, and a name for each.

    A name is the program's own without its folder, and is a valid file name.
    """
    drawn = (pass_.program for pass_ in _passes(plan) if isinstance(pass_, FragmentPass))
    return _named((program, own_language(program).suffixes[0]) for program in drawn)


def kernel_names(plan: Plan) -> dict[Kernel, str]:
    """The distinct kernels of a plan and a name for each, as `program_names` gives them."""
    dispatched = (pass_.kernel for pass_ in _passes(plan) if isinstance(pass_, ComputePass))
    return _named((kernel, ".comp") for kernel in dispatched)


def operand_names(operands: Iterable[Matrix]) -> dict[Matrix, str]:
    """A name for the file of each matrix, as `program_names` gives them."""
    return _named((matrix, ".npy") for matrix in operands)


def _passes(plan: Plan) -> Iterable[Pass]:
    return chain.from_iterable(map(passes_of, plan.steps))


_LONGEST_STEM = 60


def _named(texts: Iterable[tuple[_Text, str]]) -> dict[_Text, str]:
    """A name for each distinct text. texts: each with the suffix of its name."""
    names: dict[_Text, str] = {}
    taken: set[str] = set()
    for text, suffix in dict.fromkeys(texts):
        file = re.split(r"[/\\]", text.name)[-1].partition(suffix)[0][:_LONGEST_STEM]
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", file).strip("-") or "program"
        name, number = stem + suffix, 1
        while name.lower() in taken:  # some file systems do not distinguish upper and lower case
            number += 1
            name = f"{stem}-{number}{suffix}"
        taken.add(name.lower())
        names[text] = name
    return names


# To records --------------------------------------------------------------------------------------


def plan_record(plan: Plan) -> Any:
    """The plan as data. Raises InputError for a texture whose format is not one of FORMATS."""
    programs, kernels = program_names(plan), kernel_names(plan)
    names: dict[Any, str] = {**programs, **kernels}
    return _record(Plan)(
        schema="gpgpu_legacy.plan",
        version=VERSION,
        programs={name: disassemble(program) for program, name in programs.items()},
        kernels={name: kernel.text for kernel, name in kernels.items()},
        **{field.name: _recorded(getattr(plan, field.name), names) for field in fields(plan)},
    )


def _recorded(value: Any, names: Mapping[Any, str]) -> Any:  # noqa: PLR0911 - one for each kind
    """A part of a plan as its record. names: of programs and kernels."""
    match value:
        case tuple():
            return tuple([_recorded(item, names) for item in value])
        case None | bool() | str() | Enum():
            return value
        case int() | float():
            return constant_record(value)
        case np.generic():
            return constant_record(value.item())
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
        case Blend() | AlphaTest():
            return value.text
        case _ if value == DEFAULT_SAMPLER:
            return None
    given = {name: _recorded(getattr(value, name), names) for name in value.__slots__}
    if isinstance(value, MovingRect):
        given["moving"] = all(isinstance(number, int) for number in given.values())
    return _record(value.__class__)(**given)


def constant_record(number: float) -> float | str:
    """A number as a Python number, or as a string if JSON lacks it."""
    value = int(number) if isinstance(number, Integral) else float(number)
    if isfinite(value):
        return value
    return "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"


# From records ------------------------------------------------------------------------------------


def plan_of_record(record: Any, file: str) -> Plan:
    """The plan, not yet validated. file: its name in messages.

    Raises InputError for a name that the file does not define, and AssemblyError for a program or a
    kernel that is not valid in its language.
    """
    texts = {
        "program": _assembled(record.programs, MOST_PROGRAM_TEXT, program_of, f"{file}, programs"),
        "kernel": _assembled(record.kernels, MOST_KERNEL_TEXT, kernel_of, f"{file}, kernels"),
    }
    reader = _PlanReader(file, texts)
    return Plan(**{f.name: reader.value(getattr(record, f.name), f.name) for f in fields(Plan)})


def _assembled(
    texts: Mapping[str, str], most: int, assemble: Callable[[str, str], Any], where: str
) -> dict[str, Any]:
    length = sum(map(len, texts.values()))
    if length > most:
        raise InputError(f"{where} have {length} characters together; {most} are the most allowed")
    assembled = {}
    for name, text in texts.items():
        try:
            assembled[name] = assemble(text, name)
        except AssemblyError as error:
            raise AssemblyError(
                error.problem, text, error.line, error.column, f"{where}.{name}",
                diagnostics=error.diagnostics,
            ) from None  # fmt: skip
    return assembled


_NOT_IN_JSON = {"NaN": nan, "Infinity": inf, "-Infinity": -inf}
"""The numbers of strings. NaN is always one object, so that a file read twice gives equal plans."""

_OF_STEPS = {"steps", "body", "rounds", "end", "restore"}
"""The fields whose items have places in messages."""

_OF_TEXT: Mapping[str, Callable[[str], Any]] = {"blend": blend_of, "alpha_test": alpha_test_of}
"""The fields that a text stands for, and the functions that read the text."""

_OF_NUMBERS = {"border", "corners", "initial", "value"}
"""The fields whose strings are numbers, not names."""


@frozen
class _PlanReader:
    """A reader of the parts of a plan. texts: programs and kernels, by field and by name."""

    file: str
    texts: Mapping[str, Mapping[str, Any]]

    def value(self, value: Any, field: str, place: str = "") -> Any:  # noqa: PLR0911
        """A part of a plan from its record. field: that holds it. place: the step that has it."""
        match value:
            case tuple() if field in _OF_STEPS:
                inner = f"{place}.{field}".lstrip(".")
                if inner.count(".rounds") + inner.count(".end") > MOST_DEPTH:
                    raise InputError(
                        f"{self.file}, {inner[:60]}…: more than {MOST_DEPTH} Untils are in one "
                        "another"
                    )
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
            case str() if field in _OF_TEXT:
                try:
                    return _OF_TEXT[field](value)
                except InputError as error:
                    raise InputError(f"{self.file}, {place}.{field}: {error}") from None
            case str() if field == "format":
                return FORMATS[value]
            case None if field == "sampler":
                return DEFAULT_SAMPLER
            case Record():
                return self.part(value, place)
        return value

    def part(self, record: Any, place: str) -> Any:
        """The object that a record describes."""
        given = {
            name: self.value(getattr(record, name), name, place)
            for name in record.__struct_fields__
        }
        if given.pop("moving", None) is False and {Affine, Table}.isdisjoint(
            map(type, given.values())
        ):
            return Rect(**given)
        return record.of(**given)

    def text(self, name: str, field: str, place: str) -> Any:
        """The program or the kernel of a name."""
        texts = self.texts[field]
        if name in texts:
            return texts[name]
        raise InputError(
            f"{self.file}, {place}.{field}: there is no {field} {name}; the file has "
            f"{', '.join(texts) or 'none'} in {field}s"
        )


# Files -------------------------------------------------------------------------------------------


@public
def plan_as_json(plan: Plan) -> str:
    """The text of plan.json.

    plan: the one to write. Raises InputError for a texture with a format of the caller's own.
    """
    return json_fitted_text(plan_record(plan))


@public
def read_plan(path: Path | str) -> Plan:
    """The valid plan in a file that `plan_as_json` or anyone else wrote.

    path: of the file. Raises InputError, in one line with the place in the file, for anything else
    and for a plan beyond the limits of plan/limits.py; AssemblyError, with line and column, for a
    program that is not valid in its language. Reading takes seconds and about 100 MB at most.
    """
    return plan_from_json(read_text(Path(path), MOST_FILE_BYTES), str(path))


def plan_from_json(text: str, name: str = "plan.json") -> Plan:
    """The plan in the text of a plan.json; raises as `read_plan` does.

    name: of the text, in messages.
    """
    if len(text) > MOST_FILE_BYTES:
        raise InputError(f"{name} has more than {MOST_FILE_BYTES} characters; no plan has")
    header = from_json(text, _Header, name)
    if header.schema != "gpgpu_legacy.plan":
        raise InputError(
            f'{name} is not a plan; expected a file with "schema": "gpgpu_legacy.plan"'
        )
    if header.version != VERSION:
        raise InputError(
            f"{name} has version {header.version} of its format, and only {VERSION} is known here; "
            "read it with the gpgpu_legacy that wrote it, or write it again"
        )
    plan = plan_of_record(from_json(text, _record(Plan), name, once=True), name)
    try:
        check_limits(plan)
        validate(plan)
    except PlanError as error:
        place = f", {error.place}" if error.place else ""
        raise InputError(f"{name}{place}: {error.problem}") from None
    return plan


class _Header(Record, forbid_unknown_fields=False):
    """The format and the version of a file, whatever its other fields."""

    schema: Any = None
    version: Any = None


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plan.json, as SCHEMA_FILE holds it."""
    named = {
        "Name": Name,
        "Size": Size,
        "Index": Index,
        "Finite": Finite,
        "Constant": Constant,
        "Number": _stored(Number),
        "Integer": _stored(Integer),
        "Vector": _stored(NumberVec4),
        "Corners": _stored(Corners),
    }  # the types other than records that have a definition of their own
    return json_schema(_record(Plan), f"urn:gpgpu_legacy:plan:{VERSION}", named)
