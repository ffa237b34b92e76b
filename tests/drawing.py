"""Plans made by hand for tests: a few textures filled with arrays, some steps, one texture shown.

Arrays of texels are (rows, width, channels) float32, row 0 first; the layers of a texture that has
several lie one above the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gpgpu_legacy.isa.program import Program, Vec4
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.framebuffer import Blend
from gpgpu_legacy.plan.numbers import NumberVec4
from gpgpu_legacy.plan.plan import (
    AttributeCorners,
    Binding,
    FragmentPass,
    ParameterValue,
    Plan,
    StateValue,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    R32F,
    RGBA32F,
    Extent,
    Format,
    Matrix,
    Packing,
    Rect,
    Region,
    Sampler,
    Texture,
    TextureKind,
    Transfer,
    full_rect,
    level_rect,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor, executors, find_executor
from gpgpu_legacy.runtime.machine import Machine

F32 = NDArray[np.float32]
ZERO = (0.0, 0.0, 0.0, 0.0)
EXACT = Machine(exact=True, denormals=False)


@dataclass(frozen=True)
class Image:
    """Texels for a texture image unit, and the way they are looked up.

    depth: the number of layers. format: by default r32f or rgba32f, by the number of channels.
    height: of level 0, if it has levels.
    """

    texels: F32
    kind: TextureKind = TextureKind.RECT
    depth: int = 1
    sampler: Sampler = Sampler()  # noqa: RUF009 - frozen
    format: Format | None = None
    levels: int = 1
    height: int = 0

    def texture(self, name: str) -> Texture:
        rows, width, _ = self.texels.shape
        extent = Extent(width, self.height or rows // self.depth, self.depth, self.levels)
        texel_format = self.format or format_of(self.texels)
        initial = None if texel_format.is_depth else ZERO
        return Texture(name, self.kind, extent, texel_format, initial)


def on(*names: str) -> pytest.MarkDecorator:
    """A mark that runs a test with each of these executors, as `name`."""
    marks = {name: [pytest.mark.gl] if name.startswith("gl-") else [] for name in names}
    return pytest.mark.parametrize("name", [pytest.param(n, marks=m) for n, m in marks.items()])


EACH_EXECUTOR = on(*(executor.name for executor in executors()))


def program(*lines: str, temporaries: str = "TEMP R0, R1, R2, R3;") -> Program:
    return assemble("\n".join(["!!ARBfp1.0", temporaries, *lines, "END", ""]), name="test.fp")


def texture(
    name: str, width: int, height: int, texel_format: Format, initial: Vec4 | None = ZERO
) -> Texture:
    return Texture(name, TextureKind.RECT, Extent(width, height), texel_format, initial)


def corners(
    base: Vec4, dx: Vec4, dy: Vec4, width: int, height: int
) -> tuple[NumberVec4, NumberVec4, NumberVec4, NumberVec4]:
    """The corner values of the plane base + dx·x + dy·y over a width×height rectangle."""

    def at(x: int, y: int) -> NumberVec4:
        a, b, c, d = (o + p * x + q * y for o, p, q in zip(base, dx, dy, strict=True))
        return (a, b, c, d)

    return (at(0, 0), at(width, 0), at(width, height), at(0, height))


def fragment_texcoords(n: int, width: int, height: int) -> Texcoords:
    """Set n: the fragment's own place, (x + 0.5, y + 0.5, 0, 1) in fragment (x, y)."""
    base, dx, dy = (0.0, 0.0, 0.0, 1.0), (1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0)
    return Texcoords(n, corners(base, dx, dy, width, height))


def parameters(values: Mapping[int, Vec4]) -> tuple[ParameterValue, ...]:
    return tuple(ParameterValue(index, value) for index, value in values.items())


def format_of(texels: F32) -> Format:
    return R32F if texels.shape[2] == 1 else RGBA32F


def stacked(texels: F32) -> F32:
    """The channels of an array of texels as one matrix, one below the other."""
    return np.ascontiguousarray(np.concatenate(np.moveaxis(texels, 2, 0)))


@dataclass(frozen=True)
class Made:
    """A plan, and the texels that its textures are filled with."""

    plan: Plan
    given: Mapping[str, Image]

    @property
    def operands(self) -> dict[str, F32]:
        return {name: stacked(image.texels) for name, image in self.given.items()}


def unstacked(matrix: F32, channels: int) -> F32:
    return np.moveaxis(np.stack(np.split(matrix, channels)), 0, 2)


def show(
    steps: Sequence[Step],
    target: Texture,
    given: Mapping[str, F32 | Image] | None = None,
    others: Sequence[Texture] = (),
    formats: Mapping[str, Format] | None = None,
    *,
    also: Sequence[Texture] = (),
) -> Plan:
    """A validated plan of these steps that shows all of `target`, and of the textures in `also`.

    given: textures by name that are filled with texels first. others: further textures, not filled.
    formats: of the given ones; by default r32f or rgba32f, by the number of channels.
    """
    images = {name: _image(texels) for name, texels in (given or {}).items()}
    loaded = {name: image.texture(name) for name, image in images.items()}
    for name, texel_format in (formats or {}).items():
        loaded[name] = replace(loaded[name], format=texel_format)
    shown = (target, *also)
    textures = [
        *loaded.values(),
        *others,
        *(texture_ for texture_ in shown if texture_.name not in loaded),
    ]
    matrices = {name: _matrix(name, texture_) for name, texture_ in loaded.items()}
    plan = Plan(
        "made for a test",
        tuple(matrices.values()),
        tuple(_matrix(_result(n), texture_) for n, texture_ in enumerate(shown)),
        tuple(textures),
        tuple(
            Transfer(name, *_transfer(texture_, full_rect(texture_)))
            for name, texture_ in loaded.items()
        ),
        tuple(steps),
        tuple(
            Transfer(_result(n), *_transfer(texture_, level_rect(texture_, level)))
            for n, texture_ in enumerate(shown)
            for level in range(texture_.extent.levels)
        ),
    )
    validate(plan)
    return plan


def _image(given: F32 | Image) -> Image:
    return given if isinstance(given, Image) else Image(given)


def _result(number: int) -> str:
    return f"result{number or ''}"


def _matrix(name: str, texture_: Texture) -> Matrix:
    return Matrix(name, texture_.format.channels * texture_.extent.rows, texture_.extent.width)


def _transfer(texture_: Texture, rect: Rect) -> tuple[Region, str, Rect, Packing]:
    rows, channels = texture_.extent.rows, texture_.format.channels
    packing = Packing(tuple((c * rows, 0) for c in range(channels)))
    region = Region(rect.y, 0, channels * rows - rect.y, rect.width)
    return region, texture_.name, rect, packing


def as_exact_as_it_can(executor: Executor, plan: Plan, machine: Machine = EXACT) -> Machine:
    """The machine; not exact if the executor leaves a part of the plan's results to the driver."""
    refused = machine.exact and executor.why_inexact(plan, machine)
    return replace(machine, exact=False) if refused else machine


def carry_out_all(
    plan: Plan,
    given: Mapping[str, F32 | Image] | None = None,
    executor: Executor | None = None,
    machine: Machine = EXACT,
) -> list[F32]:
    """The texels of each texture that the plan shows: (rows, width, channels).

    Drivers' own programs run as exactly as they can.
    """
    operands = {name: stacked(_image(texels).texels) for name, texels in (given or {}).items()}
    chosen = executor or find_executor("numpy")
    outputs = chosen.run(plan, operands, as_exact_as_it_can(chosen, plan, machine)).outputs
    textures = {output.matrix: plan.texture(output.texture) for output in plan.outputs}
    return [
        unstacked(outputs[name], texture_.format.channels) for name, texture_ in textures.items()
    ]


def execute(
    plan: Plan, given: Mapping[str, F32 | Image] | None = None, executor: Executor | None = None
) -> F32:
    """The texels of the first texture that the plan shows."""
    return carry_out_all(plan, given, executor)[0]


def draw_all(
    text: Program,
    size: tuple[int, int] = (4, 3),
    *,
    rect: Rect | None = None,
    textures: Mapping[int, F32 | Image] | None = None,
    formats: Mapping[int, Format] | None = None,
    texcoords: Sequence[Texcoords] = (),
    attributes: Sequence[AttributeCorners] = (),
    state: Mapping[str, Vec4] | None = None,
    local: Mapping[int, Vec4] | None = None,
    env: Mapping[int, Vec4] | None = None,
    targets: Sequence[Format] = (RGBA32F,),
    initial: Vec4 = ZERO,
    blend: Blend | None = None,
    executor: Executor | None = None,
    machine: Machine = EXACT,
) -> list[F32]:
    """One pass drawn to textures of that size (width, height), one for each format, as texels."""
    width, height = size
    given = {f"T{unit}": _image(texels) for unit, texels in (textures or {}).items()}
    target, *also = (
        texture(f"target{n or ''}", width, height, kept, initial) for n, kept in enumerate(targets)
    )
    pass_ = FragmentPass(
        text,
        tuple(Binding(unit, f"T{unit}", given[f"T{unit}"].sampler) for unit in textures or {}),
        (target.name, *(target_.name for target_ in also)),
        rect or Rect(0, 0, width, height),
        tuple(texcoords),
        parameters(local or {}),
        parameters(env or {}),
        blend,
        tuple(attributes),
        tuple(StateValue(binding, value) for binding, value in (state or {}).items()),
    )
    by_name = {f"T{unit}": kept for unit, kept in (formats or {}).items()}
    plan = show([pass_], target, given, formats=by_name, also=also)
    return carry_out_all(plan, given, executor, machine)


def draw(
    text: Program,
    size: tuple[int, int] = (4, 3),
    *,
    target: Format = RGBA32F,
    **given: Any,
) -> F32:
    """One pass drawn to one texture, as texels; the other arguments are those of draw_all."""
    return draw_all(text, size, targets=(target,), **given)[0]


def assert_same_bits(result: F32, expected: F32) -> None:
    """Assert that both are equal bit for bit; any NaN equals any other."""
    result, expected = np.asarray(result, np.float32), np.asarray(expected, np.float32)
    assert result.shape == expected.shape
    nan = np.float32(np.nan)
    mine = np.where(np.isnan(result), nan, result).view(np.uint32)
    theirs = np.where(np.isnan(expected), nan, expected).view(np.uint32)
    bad = np.argwhere(mine != theirs)
    if len(bad):
        at = tuple(bad[0])
        raise AssertionError(
            f"{len(bad)} of {mine.size} differ, first {at}: {result[at]!r}, not {expected[at]!r}"
        )
