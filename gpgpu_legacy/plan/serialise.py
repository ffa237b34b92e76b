"""A plan as JSON, for people and programs to read; nothing reads it back.

Fields have their names, steps and passes a "kind". A number that is the same in all iterations of a
Repeat is a number; one that varies is an object, {"base", "step"} for an Affine and {"values"}, one
an iteration, for a Table. A MovingRect is a Rect ("x", "y", "width", "height") in which there are
such objects. What is no number in JSON is a string: "NaN", "Infinity", "-Infinity".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from math import isfinite, isnan
from numbers import Integral, Real
from typing import Any

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.plan.plan import FragmentPass, Plan, Repeat


def plan_as_json(plan: Plan, program_files: Mapping[Program, str]) -> str:
    """The plan's fields by name; a pass names its program by the file that holds it.

    program_files: of all programs that `written_programs` gives.
    """
    data = _plain(plan, program_files)
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def written_programs(plan: Plan) -> tuple[Program, ...]:
    """The different programs that a plan names, those of a Repeat of no iteration too."""
    bodies = (step.body if isinstance(step, Repeat) else (step,) for step in plan.steps)
    drawn = (each for body in bodies for each in body if isinstance(each, FragmentPass))
    return tuple(dict.fromkeys(each.program for each in drawn))


def _plain(value: Any, files: Mapping[Program, str]) -> Any:
    if isinstance(value, Program):
        return files[value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(each, files) for each in value]
    if is_dataclass(value):
        name = type(value).__name__
        kind = {"kind": name} if name in _KINDS else {}
        return kind | {f.name: _plain(getattr(value, f.name), files) for f in fields(value)}
    return _number(value) if isinstance(value, Real) else value


def _number(value: Real) -> float | str:
    """A number of Python or NumPy as JSON has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    if isfinite(number):
        return number
    return "NaN" if isnan(number) else "Infinity" if number > 0 else "-Infinity"


_KINDS = {"Repeat", "FragmentPass", "CopyPass", "ClearPass", "ComputePass"}
