"""α·AB + β·C by any method: a further pass over every rectangle that its plan reads back."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.kernel.shaders import load_kernel
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Rect, Texture, TextureKind


def with_scale_add(plan: Plan, alpha: float, beta: float | None) -> PlanBuilder:
    """The builder of alpha·P + beta·C0, where P is the result of `plan`; without beta, alpha·P.

    C0 is packed into textures exactly as P is, so this works for every method.
    """
    p, [result] = PlanBuilder.continuing(replace(plan, outputs=())), plan.results
    addend = None if beta is None else p.operand("C0", result.rows, result.columns)
    for output in plan.outputs:
        textures = [product := plan.texture(output.texture)]
        scaled = _like(p, product, "scaled")
        if addend is not None:
            textures.append(_like(p, product, "added"))
            p.upload(addend, textures[1], region=output.region, packing=output.packing)
        _scale(p, textures, scaled, output.rect, (alpha,) if beta is None else (alpha, beta))
        p.read_back(scaled, result, region=output.region, rect=output.rect, packing=output.packing)
    return p


def _like(p: PlanBuilder, texture: Texture, name: str) -> Texture:
    extent, form = texture.extent, texture.format.name
    name = f"{name} {texture.name}"
    return p.texture(name, extent.width, extent.height, format=form, kind=texture.kind.value)


def _scale(
    p: PlanBuilder,
    textures: list[Texture],
    scaled: Texture,
    rect: Rect,
    factors: tuple[float, ...],
) -> None:
    """The pass over the product and, if it is among the textures, the addend."""
    name = "gemm/scale_add" if len(textures) == 2 else "gemm/scale"
    if scaled.kind is not TextureKind.BUFFER:
        units, local = dict(enumerate(textures)), dict(enumerate(factors))
        p.draw(load_program(f"{name}.fp"), units, into=scaled, rect=rect, local=local)
        return
    kernel, extent = load_kernel(f"{name}.comp"), scaled.extent
    uniforms = dict(zip(("alpha", "beta"), factors, strict=False))
    groups = -(-extent.width // kernel.local_size[0]), extent.height
    p.dispatch(kernel, [*textures, scaled], groups, uniforms={"width": extent.width} | uniforms)
