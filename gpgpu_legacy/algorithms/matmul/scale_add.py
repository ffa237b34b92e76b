"""α·AB + β·C by any method: a further pass over every rectangle that its plan reads back."""

from __future__ import annotations

from dataclasses import replace

from gpgpu_legacy.algorithms.matmul.dispatch import bindings, groups_for, uniforms
from gpgpu_legacy.algorithms.matmul.tiles import corners
from gpgpu_legacy.kernel.shaders import load_kernel
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.plan import Binding, ComputePass, FragmentPass, ParameterValue, Pass, Plan
from gpgpu_legacy.plan.textures import Input, Matrix, Rect, Texture, TextureKind


def with_scale_add(plan: Plan, addend: Matrix | None, alpha: float, beta: float) -> Plan:
    """The plan of alpha·P + beta·addend, where P is the result of `plan`.

    addend: None for alpha·P alone. It is packed into textures exactly as P is, so this works for
    every method.
    """
    textures, inputs, passes, outputs = [], [], [], []
    for output in plan.outputs:
        product = plan.texture(output.texture)
        scaled = replace(product, name=f"scaled {product.name}", initial=None)
        textures.append(scaled)
        added = None
        if addend is not None:
            added = replace(product, name=f"added {product.name}", initial=None)
            textures.append(added)
            rect = Rect(0, 0, product.extent.width, product.extent.height)
            inputs.append(Input(addend.name, output.region, added.name, rect, output.packing))
        passes.append(_pass(output.rect, (product, added, scaled), alpha, beta))
        outputs.append(replace(output, texture=scaled.name))
    return replace(
        plan,
        operands=plan.operands if addend is None else (*plan.operands, addend),
        textures=(*plan.textures, *textures),
        inputs=(*plan.inputs, *inputs),
        steps=(*plan.steps, *passes),
        outputs=tuple(outputs),
    )


_Textures = tuple[Texture, Texture | None, Texture]
"""The product, the addend or None, and the result."""


def _pass(rect: Rect, textures: _Textures, alpha: float, beta: float) -> Pass:
    product, added, scaled = textures
    if product.kind is TextureKind.BUFFER:
        return _dispatch(textures, alpha, beta)
    height, width = float(rect.height), float(rect.width)
    texels = corners(0, (0.0, 0.0), (0.0, width), (height, width), (height, 0.0))
    bound = [Binding(0, product.name)] + ([Binding(1, added.name)] if added else [])
    local = [ParameterValue(0, (alpha,) * 4)]
    if added is not None:
        local.append(ParameterValue(1, (beta,) * 4))
    program = load_program("gemm/scale_add.fp" if added else "gemm/scale.fp")
    return FragmentPass(program, tuple(bound), (scaled.name,), rect, (texels,), locals=tuple(local))


def _dispatch(textures: _Textures, alpha: float, beta: float) -> ComputePass:
    product, added, scaled = textures
    width, height = product.extent.width, product.extent.height
    if added is None:
        kernel = load_kernel("gemm/scale.comp")
        bound, given = bindings(product.name, scaled.name), uniforms(width=width, alpha=alpha)
    else:
        kernel = load_kernel("gemm/scale_add.comp")
        bound = bindings(product.name, added.name, scaled.name)
        given = uniforms(width=width, alpha=alpha, beta=beta)
    return ComputePass(kernel, bound, given, (groups_for(width, kernel.local_size[0]), height))
