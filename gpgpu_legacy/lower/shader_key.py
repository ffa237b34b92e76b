"""What the code of a pass that is drawn by itself depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.fog import FOG_COORDINATE
from gpgpu_legacy.isa.ir import Attribute, Program, TextureTarget
from gpgpu_legacy.lower.analysis.folding import Decisions, Folded, undecided
from gpgpu_legacy.lower.sampling import Unit
from gpgpu_legacy.lower.values import given_corners, iterations_of
from gpgpu_legacy.plan.expand import corners_at
from gpgpu_legacy.plan.formats import RGBA32F, Format
from gpgpu_legacy.plan.interpolation import is_planar
from gpgpu_legacy.plan.plan import Corners, FragmentPass, Plan
from gpgpu_legacy.plan.textures import Extent, Sampler, TextureKind


@dataclass(frozen=True, slots=True)
class ShaderKey:
    """What a pass's shader depends on; passes with equal keys share one.

    lookups, live: see Decisions. varyings: how many the folded lookups refer to.
    units: the textures and samplers bound. Their sizes are constants of the code, as drivers do
    better with these than with what a run hands over; but where one shader is to serve textures of
    any size, no lookup is folded, and no unit has an extent.
    targets: the formats of the targets. A colour is rounded to an 8-bit or a 16-bit one here, since
    drivers differ in how they do it.
    bent: the attributes that the program reads, or its fog, whose corner values do not lie in a
    plane; each triangle has its own.
    exact: a multiply-add is rounded twice, and operations on 0 and 1 are done as on any number;
    otherwise a multiply-add may be rounded once, and a product with a constant 0 be 0. Either way
    no sum is reordered.
    """

    program: Program
    lookups: tuple[Folded | None, ...]
    live: tuple[tuple[int, ...], ...]
    varyings: int
    units: tuple[Unit, ...]
    targets: tuple[Format, ...]
    bent: tuple[Attribute, ...]
    exact: bool
    arithmetic: Arithmetic = FP32


def shader_key(
    plan: Plan,
    pass_: FragmentPass,
    decisions: Decisions,
    *,
    exact: bool,
    arithmetic: Arithmetic = FP32,
    sized: bool = True,
) -> ShaderKey:
    """The key of a pass as its plan writes it, and of what was decided on it.

    sized: whether the sizes of textures are constants of the code; else nothing may be folded.
    """
    units = []
    for binding in pass_.bindings:
        texture = plan.texture(binding.texture)
        extent = texture.extent if sized else None
        units.append(Unit(binding.unit, texture.kind, extent, binding.sampler, texture.format))
    read = {*pass_.program.attributes_read, *([FOG_COORDINATE] if pass_.program.fog else [])}
    given = {a: corners for a, corners in given_corners(pass_).items() if a in read}
    iterations = iterations_of(plan, pass_)
    return ShaderKey(
        pass_.program,
        decisions.lookups,
        decisions.live,
        len(decisions.varyings),
        tuple(units),
        tuple(plan.texture(name).format for name in pass_.targets),
        tuple(a for a, corners in given.items() if _is_bent(corners, iterations)),
        exact,
        arithmetic,
    )


_ASSUMED_WIDTH = 256


def program_key(
    program: Program,
    units: Mapping[int, tuple[Extent, Sampler]] | None = None,
    *,
    exact: bool = True,
    arithmetic: Arithmetic = FP32,
) -> ShaderKey:
    """The key of a program alone, with no plan around it: for reading, not for running.

    units: extents and samplers of textures; one that is not given is 256 texels in each direction,
    nearest, clamped to its edge. Targets are rgba32f.
    """
    decisions = undecided(program)
    textures = []
    for number, target in sorted(program.texture_units.items()):
        extent, sampler = (units or {}).get(number) or (_assumed_extent(target), Sampler())
        kind = TextureKind(target.value)
        textures.append(Unit(number, kind, extent, sampler, RGBA32F))
    targets = (RGBA32F,) * program.color_outputs
    return ShaderKey(
        program,
        decisions.lookups,
        decisions.live,
        0,
        tuple(textures),
        targets,
        (),
        exact,
        arithmetic,
    )


def _assumed_extent(target: TextureTarget) -> Extent:
    n = _ASSUMED_WIDTH
    other = {
        TextureTarget.T1D: Extent(n, 1),
        TextureTarget.T3D: Extent(n, n, n),
        TextureTarget.CUBE: Extent(n, n, 6),
    }
    return other.get(target, Extent(n, n))


def _is_bent(corners: Corners, iterations: int) -> bool:
    """Whether corner values leave the plane in the first iteration or the last.

    How far they are from it is affine in the iteration, so it is greatest in one of these.
    """
    return not all(is_planar(corners_at(corners, i)) for i in {0, iterations - 1})
