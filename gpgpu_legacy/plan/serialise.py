"""A plan as JSON, for people and programs to read; nothing reads it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.plan.plan import Plan


def plan_as_json(plan: Plan, program_files: Mapping[Program, str]) -> str:
    """The plan's fields by name; a pass names its program by the file that holds it."""
    return json.dumps(_plain(plan, program_files), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any, files: Mapping[Program, str]) -> Any:
    if isinstance(value, Program):
        return files[value]
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value):
        kind = {"kind": type(value).__name__} if type(value).__name__ in _KINDS else {}
        return kind | {f.name: _plain(getattr(value, f.name), files) for f in fields(value)}
    if isinstance(value, tuple):
        return [_plain(each, files) for each in value]
    return value


_KINDS = {"Repeat", "FragmentPass", "CopyPass", "ClearPass"}
