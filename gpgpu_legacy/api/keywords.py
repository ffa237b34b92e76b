"""The keywords that the functions of the Python API take in place of a value object.

A function takes `options`, `arguments` or `machine` whole, any of their fields as keywords, or
both: then the keywords count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict

from gpgpu_legacy.isa.arithmetic import find_arithmetic
from gpgpu_legacy.runtime.machine import Machine

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gpgpu_legacy.algorithms.matmul.options import Accumulate
    from gpgpu_legacy.plan.plan import Blend


class MachineKeywords(TypedDict, total=False):
    """Fields of a Machine; its arithmetic by name."""

    exact: bool
    arithmetic: str


class ProductKeywords(MachineKeywords, total=False):
    """Fields of Options, which follow the method's defaults where they are left out."""

    block: int | None
    accumulate: Accumulate | str | None
    texture_format: str | None
    transpose_a: bool
    transpose_b: bool
    as_printed: bool
    largest_texture: int
    dynamic: bool
    alpha: float
    beta: float
    coordinates_first: int | None
    tile: int | None


class DrawKeywords(TypedDict, total=False):
    """Fields of DrawArguments but `textures`, which is a parameter of its own."""

    local: Mapping[int, ArrayLike]
    env: Mapping[int, ArrayLike]
    texcoords: Mapping[int, ArrayLike]
    color: ArrayLike | None
    secondary_color: ArrayLike | None
    fogcoord: ArrayLike | None
    state: Mapping[str, Any]
    clear: ArrayLike
    blend: Blend | str
    draw_buffers: int | None
    passes: int | None
    feedback: int | None


class ProgramKeywords(DrawKeywords, MachineKeywords, total=False):
    """Fields of DrawArguments, and of a Machine."""


MACHINE_KEYWORDS = frozenset(MachineKeywords.__annotations__)


def as_machine(machine: Machine | None, keywords: Mapping[str, Any]) -> Machine:
    """The machine with `exact` and `arithmetic` filled in, where they are among the keywords."""
    given = {key: keywords[key] for key in MACHINE_KEYWORDS & keywords.keys()}
    if "arithmetic" in given:
        given["arithmetic"] = find_arithmetic(given["arithmetic"])
    return replace(machine or Machine(), **given)


def without_machine(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that are not a Machine's."""
    return {key: value for key, value in keywords.items() if key not in MACHINE_KEYWORDS}
