"""The key of a program's shader, without a plan."""

from __future__ import annotations

from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.program import Program, TextureTarget
from gpgpu_legacy.lower.analysis.fusion import undecided
from gpgpu_legacy.lower.fragments import ShaderKey
from gpgpu_legacy.lower.sampling import SampledUnit
from gpgpu_legacy.plan.textures import RGBA32F, Extent, Sampler, TextureKind


def program_key(
    program: Program, *, exact: bool = True, arithmetic: Arithmetic = FP32
) -> ShaderKey:
    """The key, for textures and targets of one kind.

    Textures are 256 texels in each direction, nearest, clamped to the edge; targets are rgba32f.
    """
    decisions, n = undecided(program), 256
    extents = {
        TextureTarget.T1D: Extent(n, 1),
        TextureTarget.T3D: Extent(n, n, n),
        TextureTarget.CUBE: Extent(n, n, 6),
    }
    units = tuple(
        SampledUnit(
            number, TextureKind(t.kind.value), extents.get(t.kind, Extent(n, n)), Sampler(), RGBA32F
        )
        for number, t in sorted(program.texture_units.items())
    )
    targets = (RGBA32F,) * program.color_outputs
    lookups, live = decisions.lookups, decisions.live
    return ShaderKey(program, lookups, live, 0, units, targets, (), exact, arithmetic)
