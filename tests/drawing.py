"""Plans made by hand for tests: a few textures filled with arrays, some steps, one texture shown.

Arrays of texels are (height, width, channels) float32, row 0 first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.asm.parser import assemble
from gpgpu_legacy.isa.ir import Program, Vec4
from gpgpu_legacy.plan.formats import R32F, RGBA32F, Format
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    Extent,
    FragmentPass,
    Input,
    Matrix,
    NumberVec4,
    Output,
    Packing,
    ParameterValue,
    Plan,
    Rect,
    Region,
    Step,
    Texcoords,
    Texture,
    TextureKind,
)
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import Executor, Machine, find_executor

F32 = NDArray[np.float32]
ZERO = (0.0, 0.0, 0.0, 0.0)
EXACT = Machine(exact=True)


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


def unstacked(matrix: F32, channels: int) -> F32:
    return np.moveaxis(np.stack(np.split(matrix, channels)), 0, 2)


def show(
    steps: Sequence[Step],
    target: Texture,
    given: Mapping[str, F32] | None = None,
    others: Sequence[Texture] = (),
    formats: Mapping[str, Format] | None = None,
) -> Plan:
    """A validated plan of these steps that shows all of `target`.

    given: textures by name that are filled with texels first; others: textures that are not.
    formats: of the given ones, where it is not r32f or rgba32f by the number of channels.
    """
    loaded = {
        name: texture(
            name, texels.shape[1], texels.shape[0], (formats or {}).get(name, format_of(texels))
        )
        for name, texels in (given or {}).items()
    }
    textures = [*loaded.values(), *others]
    if target.name not in loaded:
        textures.append(target)
    matrices = {name: _matrix(name, each) for name, each in loaded.items()}
    plan = Plan(
        "made for a test",
        tuple(matrices.values()),
        (_matrix("result", target),),
        tuple(textures),
        tuple(Input(name, *_transfer(loaded[name])) for name in loaded),
        tuple(steps),
        (Output("result", *_transfer(target)),),
    )
    validate(plan)
    return plan


def _matrix(name: str, each: Texture) -> Matrix:
    return Matrix(name, each.format.channels * each.extent.height, each.extent.width)


def _transfer(each: Texture) -> tuple[Region, str, Rect, Packing]:
    width, height, channels = each.extent.width, each.extent.height, each.format.channels
    packing = Packing(tuple((c * height, 0) for c in range(channels)))
    region = Region(0, 0, channels * height, width)
    return region, each.name, Rect(0, 0, width, height), packing


def carry_out(
    plan: Plan, given: Mapping[str, F32] | None = None, executor: Executor | None = None
) -> F32:
    """The texels that the plan shows: (height, width, channels)."""
    machine = executor or find_executor("numpy")
    operands = {name: stacked(texels) for name, texels in (given or {}).items()}
    matrix = machine.run(plan, operands, EXACT).outputs["result"]
    return unstacked(matrix, plan.texture(plan.outputs[0].texture).format.channels)


def draw(
    text: Program,
    size: tuple[int, int] = (4, 3),
    *,
    rect: Rect | None = None,
    textures: Mapping[int, F32] | None = None,
    formats: Mapping[int, Format] | None = None,
    texcoords: Sequence[Texcoords] = (),
    local: Mapping[int, Vec4] | None = None,
    env: Mapping[int, Vec4] | None = None,
    target: Format = RGBA32F,
    initial: Vec4 = ZERO,
    blend: Blend = Blend.NONE,
    executor: Executor | None = None,
) -> F32:
    """One pass drawn to a texture of that size (width, height), as texels."""
    width, height = size
    given = {f"T{unit}": texels for unit, texels in (textures or {}).items()}
    each = FragmentPass(
        text,
        tuple(Binding(unit, f"T{unit}") for unit in textures or {}),
        "target",
        rect or Rect(0, 0, width, height),
        tuple(texcoords),
        parameters(local or {}),
        parameters(env or {}),
        blend,
    )
    plan = show(
        [each],
        texture("target", width, height, target, initial),
        given,
        formats={f"T{unit}": each for unit, each in (formats or {}).items()},
    )
    return carry_out(plan, given, executor)


def assert_same_bits(found: F32, expected: F32) -> None:
    """Equal bit for bit, save that one NaN is as good as another."""
    found, expected = np.asarray(found, np.float32), np.asarray(expected, np.float32)
    assert found.shape == expected.shape
    nan = np.float32(np.nan)
    mine = np.where(np.isnan(found), nan, found).view(np.uint32)
    theirs = np.where(np.isnan(expected), nan, expected).view(np.uint32)
    bad = np.argwhere(mine != theirs)
    if len(bad):
        at = tuple(bad[0])
        raise AssertionError(
            f"{len(bad)} of {mine.size} differ, first {at}: {found[at]!r}, not {expected[at]!r}"
        )
