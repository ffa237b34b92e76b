"""Hall, Carr & Hart 2003: b iterations of the inner loop in each pass, in one channel or in four.

Listing (5) is the single-channel method, with one element per texel. Listing (11) is the
multichannel method, with the four quadrants of a matrix in r, g, b and a. They differ in packing
and in the fragment program; the passes are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.matrices import product_operands, result_matrix
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.matmul.tiles import (
    Layout,
    Tile,
    Tiling,
    coordinate_steps,
    coordinates_of_a,
    coordinates_of_b,
    coordinates_of_c,
    full_rect,
    operands,
    tile_product,
)
from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.plan.numbers import Affine, Number
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    ClearPass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
    Step,
)
from gpgpu_legacy.plan.textures import Texture

DEFAULT_BLOCK = 32  # "For our tests we have chosen b = 32" (Section 3)


def load_listing(name: str, options: Options, **more: bool) -> Program:
    """The program of a listing, as printed or with coordinates computed first.

    name: `single` or `multi`. options: with all defaults. more: further template variables.
    """
    assert options.block is not None and options.accumulate is not None
    folder, accumulate = "hall_carr_hart_2003", options.accumulate.value
    if options.coordinates_first is None:
        path = f"{folder}/{name}.fp.j2"
        return load_program(path, block=options.block, accumulate=accumulate, **more)
    return load_program(
        f"{folder}/{name}_coordinates_first.fp.j2",
        block=options.block,
        accumulate=accumulate,
        group=options.coordinates_first,
        **more,
    )


def build(name: str, program: Program, layout: Layout, shape: Shape, options: Options) -> Plan:
    """The plan of either method.

    name: of the method. program: from `load_listing`, for the same options. shape: not empty.
    """
    assert options.accumulate is not None
    tiling = tile_product(shape, layout)
    textures, inputs = operands(tiling, layout)
    steps: list[Step] = []
    outputs = []
    for tile in tiling.tiles():
        draw = _Draw(program, tiling, tile, layout)
        targets, passes, result = _ACCUMULATE[options.accumulate](draw)
        textures += targets
        steps += passes
        outputs.append(layout.output(result, tile.rows, tile.columns))
    return Plan(
        name,
        product_operands(shape, options),
        (result_matrix(shape),),
        tuple(textures),
        tuple(inputs),
        tuple(steps),
        tuple(outputs),
    )


@dataclass(frozen=True, slots=True)
class _Draw:
    """Draws one tile of C."""

    program: Program
    tiling: Tiling
    tile: Tile
    layout: Layout

    def texture(self, name: str, *, zero: bool = False) -> Texture:
        rows, columns = self.tile.rows.texels, self.tile.columns.texels
        return self.layout.texture(name + self.tile.suffix, rows, columns, zero=zero)

    def passes_of_segment(self, k: int) -> int:
        return self.tiling.inner[k].texels // self.layout.block

    def one(
        self, k: int, m: Number, target: Texture, partial: Texture | None, blend: Blend = Blend.NONE
    ) -> FragmentPass:
        """The pass that adds b iterations, from m on, in segment k of the inner dimension.

        partial: the texture of the sum so far, the paper's F; None if the framebuffer adds up.
        """
        options, tile = self.layout.options, self.tile
        texcoords = [
            coordinates_of_a(0, float(tile.rows.texels), m, transposed=options.transpose_a),
            coordinates_of_b(1, float(tile.columns.texels), m, transposed=options.transpose_b),
        ]
        bindings = [
            Binding(0, self.tiling.name("A", tile.row, k)),
            Binding(1, self.tiling.name("B", k, tile.column)),
        ]
        if partial is not None:
            texcoords.append(coordinates_of_c(2, tile))
            bindings.append(Binding(2, partial.name))
        return FragmentPass(
            self.program,
            tuple(bindings),
            (target.name,),
            full_rect(target),
            tuple(texcoords),
            locals=(ParameterValue(0, coordinate_steps(options)),),
            blend=blend,
        )


_Drawn = tuple[list[Texture], list[Step], Texture]
"""The textures drawn to, the steps, and the texture that holds the result."""


def _copy(draw: _Draw) -> _Drawn:
    """Listing (5): draw to the framebuffer, then copy the framebuffer to the texture F."""
    framebuffer, f = draw.texture("C"), draw.texture("F", zero=True)
    m = Affine(0.5, draw.layout.block)
    copy = CopyPass(framebuffer.name, full_rect(framebuffer), f.name, full_rect(f))
    steps: list[Step] = [
        Repeat(draw.passes_of_segment(k), (draw.one(k, m, framebuffer, f), copy))
        for k in range(len(draw.tiling.inner))
    ]
    return [framebuffer, f], steps, framebuffer


def _ping_pong(draw: _Draw) -> _Drawn:
    """Two textures alternate as framebuffer and as F, so nothing is copied."""
    source, target = draw.texture("F", zero=True), draw.texture("C")
    textures, steps, block = [target, source], list[Step](), draw.layout.block
    for k in range(len(draw.tiling.inner)):
        pairs, rest = divmod(draw.passes_of_segment(k), 2)
        if pairs:
            even = draw.one(k, Affine(0.5, 2 * block), target, source)
            odd = draw.one(k, Affine(0.5 + block, 2 * block), source, target)
            steps.append(Repeat(pairs, (even, odd)))
        if rest:
            steps.append(draw.one(k, 0.5 + 2 * block * pairs, target, source))
            source, target = target, source
    return textures, steps, source


def _blend(draw: _Draw) -> _Drawn:
    """The framebuffer blends, "eliminating the need for the temporary texture F" (Section 3)."""
    framebuffer = draw.texture("C")
    m = Affine(0.5, draw.layout.block)
    steps: list[Step] = [ClearPass(framebuffer.name)]
    steps += [
        Repeat(draw.passes_of_segment(k), (draw.one(k, m, framebuffer, None, Blend.ADD),))
        for k in range(len(draw.tiling.inner))
    ]
    return [framebuffer], steps, framebuffer


_ACCUMULATE: dict[Accumulate, Callable[[_Draw], _Drawn]] = {
    Accumulate.COPY: _copy,
    Accumulate.PING_PONG: _ping_pong,
    Accumulate.BLEND: _blend,
}
