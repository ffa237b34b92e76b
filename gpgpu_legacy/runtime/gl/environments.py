"""The driver's own texture environments, with which gl-arbfp draws instead of a program."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.combiners import Combiner, CombinerMode
from gpgpu_legacy.isa.ir import Attribute, FixedFunction, Program, TextureUnit
from gpgpu_legacy.plan.textures import TextureKind
from gpgpu_legacy.runtime.gl.compatibility import Context
from gpgpu_legacy.runtime.gl.headers import GL
from gpgpu_legacy.runtime.gl.surfaces import TARGETS

_INTEGERS = ("glTexEnvi", GL.TEXTURE_ENV)


class Environments:
    """The texture environments of a Program that implements them, as calls of OpenGL.

    They have the fields of a LoadedProgram: the attributes of a vertex, and no parameters.
    """

    locals: tuple[int, ...] = ()
    env: tuple[int, ...] = ()

    def __init__(self, context: Context, program: Program, state: FixedFunction) -> None:
        """Raises PlanError if the driver has fewer units."""
        self._is_clamped = state.clamped
        self.attributes: tuple[Attribute, ...] = program.attributes_read
        last = state.units[-1].number
        require_unit(context, last, f"{program.name or 'the state'} enables TEXTURE{last}")
        self._calls = [call for unit in state.units for call in _calls(unit)]

    def set(self, gl: SimpleNamespace) -> None:
        """Enable them instead of programs. The caller keeps OpenGL's state, and calls `reset`."""
        gl.glDisable(GL.FRAGMENT_PROGRAM)
        gl.glClampColor(GL.CLAMP_FRAGMENT_COLOR, int(self._is_clamped))
        for function, *arguments in self._calls:
            getattr(gl, function)(*arguments)

    @staticmethod
    def reset(gl: SimpleNamespace) -> None:
        """Clamp no colour: ENABLE_BIT has this state, but Mesa keeps it with the colour buffer."""
        gl.glClampColor(GL.CLAMP_FRAGMENT_COLOR, GL.FIXED_ONLY)


def require_unit(context: Context, number: int, use: str) -> None:
    """Raise PlanError if the driver lacks that unit of the fixed function. use: in words.

    They are fewer than the texture images that programs look up: 4 of NVIDIA's, 8 of Mesa's.
    """
    most = context.integer(GL.MAX_TEXTURE_UNITS)
    if number >= most:
        raise PlanError(
            f"{use}, and {context.renderer} has {most} texture environments "
            "(GL_MAX_TEXTURE_UNITS); choose another executor, which has them all"
        )


def _calls(unit: TextureUnit) -> Iterator[tuple[Any, ...]]:
    """The calls of OpenGL that set a unit, each with its function's name."""
    yield "glActiveTexture", GL.TEXTURE0 + unit.number
    yield "glEnable", TARGETS[TextureKind(unit.target.value)].name
    yield *_INTEGERS, GL.TEXTURE_ENV_MODE, getattr(GL, unit.mode.name)
    if unit.mode is CombinerMode.COMBINE:
        for part, combiner in (("RGB", unit.rgb), ("ALPHA", unit.alpha)):
            yield from _combine(part, combiner)
    if unit.color is not None:
        yield "glTexEnvfv", GL.TEXTURE_ENV, GL.TEXTURE_ENV_COLOR, unit.color


def _combine(part: str, combiner: Combiner) -> Iterator[tuple[Any, ...]]:
    yield *_INTEGERS, getattr(GL, f"COMBINE_{part}"), getattr(GL, combiner.function.name)
    yield "glTexEnvf", GL.TEXTURE_ENV, getattr(GL, f"{part}_SCALE"), float(combiner.scale)
    for index, argument in enumerate(combiner.arguments):
        unit = argument.source.value
        name = GL.TEXTURE0 + unit if isinstance(unit, int) else getattr(GL, unit)
        yield *_INTEGERS, getattr(GL, f"SOURCE0_{part}") + index, name
        operand = getattr(GL, argument.operand.name)
        yield *_INTEGERS, getattr(GL, f"OPERAND0_{part}") + index, operand
