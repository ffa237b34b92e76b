"""The shaders of a plan's passes for WebGL2, with the data to set their uniforms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gpgpu_legacy.isa.fog import FOG_COLOR, FOG_COORDINATE, FOG_PARAMS
from gpgpu_legacy.isa.ir import AttributeKind, ParameterSpace, Program
from gpgpu_legacy.lower.analysis.fusion import Decisions, decide, undecided
from gpgpu_legacy.lower.emit.glsl import PARAMETERS, attribute_name
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL_ES, fragment_shader, size_name, vertex_shader
from gpgpu_legacy.lower.emit.text import identifier
from gpgpu_legacy.lower.fragments import ShaderKey, shader_key
from gpgpu_legacy.plan.expand import at_iteration, is_written_out
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import FragmentPass, Pass, Plan
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.serial import Record


class AttributeUniforms(Record, omit_defaults=True):
    """An attribute, whose planes are the uniforms `NAME_base`, `NAME_dx` and `NAME_dy`.

    kind: as plan.json has it. set: of texture coordinates. bent: whether the two triangles differ,
    so that the uniforms are arrays of two planes.
    """

    kind: AttributeKind
    set: int = 0
    bent: bool = False


class PageShader(Record, omit_defaults=True):
    """The texts of a vertex and a fragment shader, and the meanings of their uniforms, by name.

    These may include uniforms that the texts do not have. locals, env: the index of a parameter.
    state: a vector's canonical name. sizes: the unit of the texture. Others are `textureN`, of unit
    N; `origin` and `size`, the rectangle's corner and extent; `varyingN_corners`, which each pass
    has; and `zero`, which stays 0.
    """

    vertex: str
    fragment: str
    attributes: Mapping[str, AttributeUniforms] = {}
    locals: Mapping[str, int] = {}
    env: Mapping[str, int] = {}
    state: Mapping[str, str] = {}
    sizes: Mapping[str, int] = {}
    units: tuple[int, ...] = ()


class PassShader(Record, omit_defaults=True):
    """The shader that draws a pass, by its number.

    varyings: the corners of each, as fractions of a texture's extent, x and y at (0, 0), (W, 0),
    (W, H) and (0, H).
    """

    shader: int
    varyings: tuple[tuple[Affine, ...], ...] = ()


class Shaders(Record):
    """The shaders of a plan. passes: for each step the shader of each pass, or None."""

    texts: tuple[PageShader, ...]
    passes: tuple[tuple[PassShader | None, ...], ...]


def shaders_of(plan: Plan, *, sized: bool) -> Shaders:
    """The shaders of a plan's passes, each distinct one once.

    sized: whether the sizes of textures are constants of the texts, which is faster; otherwise the
    texts work for textures of any size.
    """
    known = _Known(plan, sized=sized)
    passes = tuple(
        tuple(known.pass_shader(pass_, step.count) for pass_ in step.body)
        for step in plan.repeats()
    )
    return Shaders(texts=tuple(known.texts.values()), passes=passes)


class _Known:
    """The shaders of the passes so far, by their texts."""

    def __init__(self, plan: Plan, *, sized: bool) -> None:
        self.plan, self.sized = plan, sized
        self.texts: dict[tuple[str, str], PageShader] = {}

    def pass_shader(self, pass_: Pass, count: int) -> PassShader | None:
        """The shader of a pass that runs that many times."""
        if not isinstance(pass_, FragmentPass) or not count:
            return None
        decisions = self.decisions(pass_)
        shader = _shader(self.key(pass_, decisions, count))
        texts = (shader.vertex, shader.fragment)
        self.texts.setdefault(texts, shader)
        varyings = decisions.varyings
        return PassShader(
            shader=list(self.texts).index(texts),
            varyings=tuple(varying.corners(constant_rect(pass_.rect)) for varying in varyings),
        )

    def decisions(self, pass_: FragmentPass) -> Decisions:
        """A lookup is folded if the code knows sizes, and only Affine numbers change."""
        if self.sized and not is_written_out(pass_):
            return decide(self.plan, pass_)
        return undecided(pass_.program)

    def key(self, pass_: FragmentPass, decisions: Decisions, count: int) -> ShaderKey:
        """An attribute that is bent in any iteration has two planes in all."""
        singles = (
            (at_iteration(pass_, i) for i in range(count)) if is_written_out(pass_) else (pass_,)
        )
        keys = [
            shader_key(self.plan, single, decisions, exact=True, sized=self.sized)
            for single in singles
            if isinstance(single, FragmentPass)
        ]
        bent = dict.fromkeys(attribute for key in keys for attribute in key.bent)
        return replace(keys[0], bent=tuple(bent))


def _shader(key: ShaderKey) -> PageShader:
    program = key.program
    fog = (FOG_COLOR, FOG_PARAMS) if program.fog else ()
    coordinate = (FOG_COORDINATE,) if program.fog else ()
    return PageShader(
        vertex=vertex_shader(key.varyings, GLSL_ES),
        fragment=fragment_shader(key, GLSL_ES),
        attributes={
            attribute_name(attribute): AttributeUniforms(
                kind=attribute.kind,
                set=attribute.index,
                bent=attribute in key.bent,
            )
            for attribute in dict.fromkeys((*program.attributes_read, *coordinate))
            if attribute.kind is not AttributeKind.POSITION
        },
        locals=_parameters(program, ParameterSpace.LOCAL),
        env=_parameters(program, ParameterSpace.ENV),
        state={identifier(b): b for b in (*program.state_bindings, *fog)},
        sizes={size_name(u.number): u.number for u in key.units if u.extent is None},
        units=tuple(unit.number for unit in key.units),
    )


def _parameters(program: Program, space: ParameterSpace) -> dict[str, int]:
    return {f"{PARAMETERS[space]}{index}": index for index in program.parameter_indices(space)}
