"""Mipmaps: levels by hand, and by GL 1.5, section 3.8.8 in float64; every executor, the driver."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from drawing import (
    EACH_EXECUTOR,
    F32,
    Image,
    assert_same_bits,
    corners,
    draw,
    draw_all,
    on,
    program,
    show,
)
from lookups import detailed_drawn

from gpgpu_legacy import Pipeline, run_program
from gpgpu_legacy.errors import AssemblyError, PlanError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.cg.compiler import compile_text as compile_cg
from gpgpu_legacy.languages.glsl.fragments import compile_text
from gpgpu_legacy.plan.plan import Binding, FragmentPass, Texcoords
from gpgpu_legacy.plan.textures import (
    FORMATS,
    RGBA32F,
    Compare,
    Extent,
    Filter,
    Rect,
    Sampler,
    Texture,
    TextureKind,
    Wrap,
    level_rect,
)
from gpgpu_legacy.runtime.executor import Executor, find_executor

T2D, T3D, CUBE = TextureKind.T2D, TextureKind.T3D, TextureKind.CUBE
TRILINEAR = Filter.LINEAR_MIPMAP_LINEAR
NEAREST_LEVEL = Filter.NEAREST_MIPMAP_NEAREST
SIZE = (6, 5)
Ready = Callable[[str], Executor]


def test_levels_lie_one_above_the_other() -> None:
    extent = Extent(5, 3, 1, 3)  # 5×3, 2×1 and 1×1
    texture = Texture("T", T2D, extent, RGBA32F)
    assert [level_rect(texture, n) for n in range(3)] == [
        Rect(0, 0, 5, 3), Rect(0, 3, 2, 1), Rect(0, 4, 1, 1)
    ]  # fmt: skip
    assert (extent.rows, extent.most_levels(T2D), texture.size_bytes) == (5, 3, 18 * 16)
    # Slices are halved, but have room for all; faces stay six.
    assert Extent(4, 4, 5, 3).level(1, T3D) == Extent(2, 2, 2)
    assert Extent(4, 4, 5, 3).first_row(2) == 5 * (4 + 2)
    assert Extent(4, 4, 6, 3).level(2, CUBE) == Extent(1, 1, 6)


def levels_image(width: int, height: int, sampler: Sampler, texels: F32 | None = None) -> Image:
    """A 2D mipmap down to one texel; if no texels are given, those of level n are all n."""
    extent = Extent(width, height)
    extent = replace(extent, levels=extent.most_levels(T2D))
    if texels is None:
        texels = np.zeros((extent.rows, width, 1), np.float32)
        for n in range(extent.levels):
            texels[extent.first_row(n) :] = n
    return Image(texels, T2D, 1, sampler, levels=extent.levels, height=height)


@pytest.mark.parametrize(
    ("filter_", "switch"),
    [(NEAREST_LEVEL, 0.5), (Filter.NEAREST_MIPMAP_LINEAR, 0.5), (Filter.NEAREST, 0.0),
     (Filter.LINEAR_MIPMAP_NEAREST, 0.0), (TRILINEAR, 0.0)],
)  # fmt: skip
def test_where_magnification_begins(filter_: Filter, switch: float) -> None:
    """GL's c: a sampler that magnifies by the other filter shows which one is used."""
    other = Filter.LINEAR if filter_.within is Filter.NEAREST else Filter.NEAREST
    texels = np.zeros((3, 2, 1), np.float32)
    texels[:2, 1], texels[2] = 8.0, 4.0  # halfway, linear reads 4, and nearest 0 or 8
    text = program("TXB result.color, fragment.texcoord[0], texture[0], 2D;")
    for bias in (switch - 0.01, switch + 0.01):
        base, dx, dy = (0.25, 0.5, 0, bias), (0.5, 0.0, 0, 0), (0.0, 0.5, 0, 0)
        places = Texcoords(0, corners(base, dx, dy, 1, 1))  # a texel a fragment: λ is the bias
        image = levels_image(2, 2, Sampler(filter_, magnify=other, max_level=0), texels)
        shown = draw(text, (1, 1), textures={0: image}, texcoords=[places])[0, 0, 0]
        used = other if bias < switch else filter_.within
        assert shown == (4.0 if used is Filter.LINEAR else 8.0)


# GL 1.5 in float64 ---------------------------------------------------------------------------


def wrapped(index: int, size: int, wrap: Wrap) -> int | None:
    """A texel's own index by table 3.20's wrap modes, None for the border."""
    if wrap is Wrap.REPEAT:
        return index % size
    if wrap is Wrap.MIRRORED_REPEAT:
        index %= 2 * size
        return index if index < size else 2 * size - 1 - index
    if wrap is Wrap.CLAMP_TO_EDGE:
        return min(max(index, 0), size - 1)
    return index if 0 <= index < size else None


def by_the_book(image: Image, s: float, t: float, level: int, how: Filter) -> float:
    """Equation (3.24) for red; wraps of the table above."""
    extent = Extent(image.texels.shape[1], image.height, 1, image.levels)
    size, first = extent.level(level, T2D), extent.first_row(level)
    u, v = s * size.width, t * size.height

    def texel(i: int, j: int) -> float:
        at = (wrapped(i, size.width, image.sampler.wrap_s),
              wrapped(j, size.height, image.sampler.wrap_t))  # fmt: skip
        if at[0] is None or at[1] is None:
            return image.sampler.border[0]
        return float(image.texels[first + at[1], at[0], 0])

    if how is Filter.NEAREST:
        return texel(math.floor(u), math.floor(v))
    i, j = math.floor(u - 0.5), math.floor(v - 0.5)
    a, b = u - 0.5 - i, v - 0.5 - j
    return (
        (1 - a) * (1 - b) * texel(i, j) + a * (1 - b) * texel(i + 1, j)
        + (1 - a) * b * texel(i, j + 1) + a * b * texel(i + 1, j + 1)
    )  # fmt: skip


WRAPS = (Wrap.REPEAT, Wrap.MIRRORED_REPEAT, Wrap.CLAMP_TO_EDGE, Wrap.CLAMP_TO_BORDER)


@pytest.mark.parametrize("seed", range(12))
def test_trilinear_lookups_by_the_book(seed: int) -> None:
    """(3.19) to (3.27) for coordinates in a plane, whose derivatives are the same everywhere."""
    random, rng = Random(seed), np.random.default_rng(seed)
    width, height = random.choice(((16, 8), (5, 7), (32, 32), (1, 9)))
    wrap_s, wrap_t = random.choice(WRAPS), random.choice(WRAPS)
    sampler = Sampler(TRILINEAR, wrap_s, wrap_t, border=(3.0, 0, 0, 0), bias=random.uniform(-1, 1))
    plain = levels_image(width, height, sampler)
    image = replace(plain, texels=rng.uniform(-4, 4, plain.texels.shape).astype(np.float32))
    a, b, c, d, e, f = (random.uniform(-1, 1) for _ in range(6))
    places = Texcoords(0, corners((a, b, 0, 1), (c, d, 0, 0), (e, f, 0, 0), *SIZE))
    text = program("TEX result.color, fragment.texcoord[0], texture[0], 2D;")
    drawn = draw(text, SIZE, textures={0: image}, texcoords=[places])[..., 0]
    rho = max(math.hypot(c * width, d * height), math.hypot(e * width, f * height))
    lod = min(max(math.log2(rho) + sampler.bias, 0.0), image.levels - 1)
    low = math.floor(lod)
    for y in range(SIZE[1]):
        for x in range(SIZE[0]):
            s, t = (o + p * (x + 0.5) + q * (y + 0.5) for o, p, q in ((a, c, e), (b, d, f)))
            near, far = (
                by_the_book(image, s, t, min(n, image.levels - 1), Filter.LINEAR)
                for n in (low, low + 1)
            )
            assert drawn[y, x] == pytest.approx(near + (lod - low) * (far - near), abs=2e-3)


# Executors -----------------------------------------------------------------------------------


COMPILERS = {"arb": assemble, "glsl": compile_text, "cg": compile_cg}
GIVEN_LEVELS = {
    "arb": "!!ARBfp1.0\nOPTION NV_fragment_program2;\nTEMP r;\n"
    "MUL r, fragment.position.xyxx, 0.7; SUB r.w, r, 1;\n"
    "TXL result.color, r, texture[0], 2D;\nEND\n",
    "glsl": "uniform sampler2D i; void main() { vec2 p = gl_FragCoord.xy * 0.7; "
    "gl_FragColor = texture2DLod(i, p, p.x - 1.0); }",
    "cg": "float4 main(float2 p : WPOS, uniform sampler2D i) : COLOR "
    "{ p *= 0.7; return tex2Dlod(i, float4(p, 0, p.x - 1)); }",
}


@on("numpy", "jit", "gl-raster", "gl-compute")
@pytest.mark.parametrize("language", GIVEN_LEVELS)
def test_a_level_of_detail_that_is_given_takes_no_heed_of_slopes(
    ready: Ready, name: str, language: str
) -> None:
    """The levels of an image hold their numbers, so that a lookup shows λ, with the bias of 0.5."""
    image = levels_image(8, 4, Sampler(TRILINEAR, Wrap.REPEAT, Wrap.REPEAT, bias=0.5))
    text = GIVEN_LEVELS[language]
    compiled = COMPILERS[language](text, "lod")
    shown = draw(compiled, SIZE, textures={0: image}, executor=ready(name))[..., 0]
    x = np.arange(SIZE[0], dtype=np.float32) + np.float32(0.5)
    lod = np.clip(x * np.float32(0.7) - 1 + np.float32(0.5), 0, 3)
    np.testing.assert_allclose(shown, np.broadcast_to(lod, shown.shape), rtol=0, atol=1e-6)


@pytest.mark.parametrize("call", ["2D(i, p, 1.25)", "2DProj(i, vec3(p * 2.0, 2.0), 1.25)"])
def test_a_bias_of_glsl_is_added_to_the_level(call: str) -> None:
    text = "uniform sampler2D i; void main() { vec2 p = gl_FragCoord.xy / vec2(8.0, 4.0); "
    shader = compile_text(f"{text} gl_FragColor = texture{call}; }}", "bias")
    image = levels_image(8, 4, Sampler(TRILINEAR))
    assert (draw(shader, SIZE, textures={0: image})[..., 0] == 1.25).all()


SLOPES_OF = {
    "glsl": "uniform sampler2D i; void main() { vec2 p = gl_FragCoord.xy; gl_FragColor = "
    "texture2DGradARB(i, p * 0.7, vec2(0.25, 0.0), vec2(0.0, p.x * 0.5)); }",
    "cg": "float4 main(float2 p : WPOS, uniform sampler2D i) : COLOR "
    "{ return tex2D(i, p * 0.7, float2(0.25, 0), float2(0, p.x * 0.5)); }",
}
SLOPES = """!!ARBfp1.0
OPTION NV_fragment_program;
TEMP r, x, y;
MUL r, fragment.position, 0.7;
MOV x, {0.25, 0, 0, 9};
MUL y, fragment.position.yxyx, {0, 0.5, 0, 9};
TXD result.color, r, x, y, texture[0], 2D;
END
"""


@on("numpy", "jit", "gl-raster", "gl-compute")
@pytest.mark.parametrize("language", ["arb", *SLOPES_OF])
def test_slopes_that_are_given_choose_the_level_in_each_fragment(
    ready: Ready, name: str, language: str
) -> None:
    """Along x 2 texels, along y 2·column + 1 texels of 8×4: λ is the logarithm of the greater."""
    image = levels_image(8, 4, Sampler(TRILINEAR, Wrap.REPEAT, Wrap.REPEAT))
    compiled = COMPILERS[language](SLOPES_OF.get(language, SLOPES), "slopes")
    drawn = draw(compiled, SIZE, textures={0: image}, executor=ready(name))
    lod = np.log2([2, 3, 5, 7, 9, 11]).clip(max=3)
    assert (drawn[:, 0, 0] == 1.0).all()
    np.testing.assert_allclose(drawn[..., 0], np.tile(lod, (SIZE[1], 1)), rtol=0, atol=1e-5)


@on("jit", "gl-raster", "gl-compute")
@pytest.mark.parametrize("kind", [TextureKind.T1D, T2D, T3D, CUBE, TextureKind.RECT])
def test_lookups_with_slopes_have_the_bits_of_numpy(
    ready: Ready, name: str, kind: TextureKind
) -> None:
    """One feeds another, and that one the coordinates of a quad, whose corners have own levels."""
    once = f"TXD r, r, {{}}, texture[0], {kind.value};"
    lines = "MUL x, fragment.position.yxyx, 0.15;", once.format("x, -x.yzxw"), once.format("-r, x")
    text = SLOPES.splitlines()
    text[4:-1] = [*lines, f"TEX result.color, r, texture[0], {kind.value};"]
    sampler = Sampler({CUBE: NEAREST_LEVEL}.get(kind, TRILINEAR), Wrap.REPEAT, Wrap.REPEAT)
    extent = Extent(8, 1 if kind is TextureKind.T1D else 8, {T3D: 8, CUBE: 6}.get(kind, 1))
    if kind is TextureKind.RECT:
        sampler = Sampler(Filter.LINEAR, magnify=Filter.NEAREST)
    else:
        extent = replace(extent, levels=extent.most_levels(kind))
    texels = np.random.default_rng(1).random((extent.rows, 8, 4), np.float32)
    texels *= 8 if kind is TextureKind.RECT else 1
    image = Image(texels, kind, extent.depth, sampler, levels=extent.levels, height=extent.height)
    compiled, given = assemble("\n".join(text), "slopes"), {"textures": {0: image}}
    expected = draw(compiled, SIZE, **given)
    assert len(np.unique(expected)) > 8
    assert_same_bits(draw(compiled, SIZE, **given, executor=ready(name)), expected)


@EACH_EXECUTOR
@pytest.mark.parametrize("bent", [False, True])
def test_every_executor(ready: Ready, name: str, bent: bool) -> None:
    """Dependent coordinates, a bias, fragments that die, quads cut by the rectangle and by the
    diagonal: exactly alike; the driver's own programs within a quarter of a level of detail, whose
    texels differ by 1.
    """
    image = levels_image(32, 16, Sampler(TRILINEAR, Wrap.REPEAT, Wrap.MIRRORED_REPEAT))
    text = program(
        "TXB R0, fragment.texcoord[0], texture[0], 2D;",
        "MOV result.color[0], R0;",
        "MAD R1, R0, 0.03, fragment.texcoord[0];",
        "SLT R2, fragment.position, 3;",
        "KIL -R2.x;",
        "TEX result.color[1], R1, texture[0], 2D;",
        temporaries="OPTION ARB_draw_buffers; TEMP R0, R1, R2;",
    )
    last = (0.9, 0.3 if bent else 0.8, 0, 0.25)
    given = {
        "size": (9, 7),
        "rect": Rect(1, 1, 7, 5),
        "textures": {0: image},
        "texcoords": [
            Texcoords(0, ((0.1, 0.2, 0, 0.25), (0.8, 0.5, 0, 0.25), last, (0.2, 0.5, 0, 0.25)))
        ],
        "targets": [RGBA32F] * 2,
    }
    expected = draw_all(text, **given, executor=find_executor("numpy"))
    executor = ready(name)
    found = draw_all(text, **given, executor=executor)
    assert len({*expected[0][..., 0].flat}) > 2
    for ours, theirs in zip(expected, found, strict=True):
        if executor.capabilities.runs_driver_programs:
            np.testing.assert_allclose(theirs, ours, rtol=0, atol=0.25)
        else:
            assert_same_bits(theirs, ours)


@on("jit", "gl-raster", "gl-compute")
@pytest.mark.parametrize("seed", range(8))
def test_random_lookups(ready: Ready, name: str, seed: int) -> None:
    drawn = detailed_drawn(seed)
    expected, found = (draw_all(**drawn, executor=ready(each)) for each in ("numpy", name))
    for ours, theirs in zip(expected, found, strict=True):
        assert_same_bits(theirs, ours)


# Bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "extent", "sampler", "words"),
    [
        (T2D, Extent(8, 8, 1, 3), Sampler(TRILINEAR), "levels 0 to 3, and it has 3; give"),
        (T2D, Extent(8, 8), Sampler(Filter.NEAREST, base_level=1), "levels 1 to 1, and it has 1"),
        (T2D, Extent(8, 8, 1, 5), Sampler(), "has 5 levels; give it 1 to 4"),
        (TextureKind.RECT, Extent(8, 8, 1, 2), Sampler(), "RECT texture T has 2 levels; give it 1"),
    ],
)
def test_a_mipmap_that_is_none(
    kind: TextureKind, extent: Extent, sampler: Sampler, words: str
) -> None:
    text = program(f"TEX result.color, fragment.texcoord[0], texture[0], {kind.value};")
    pass_ = FragmentPass(text, (Binding(0, "T", sampler),), ("P",), Rect(0, 0, 1, 1))
    shown, read = (
        Texture("P", TextureKind.RECT, Extent(1, 1), RGBA32F, (0.0,) * 4),
        Texture("T", kind, extent, RGBA32F, (0.0,) * 4),
    )
    with pytest.raises(PlanError, match=words):
        show([pass_], shown, others=[read])


# Pipelines and single programs ---------------------------------------------------------------


@EACH_EXECUTOR
def test_a_pipeline_generates_levels(ready: Ready, name: str) -> None:
    """Means of 2×2 texels of 5×4 texels: of 2×2 texels, whose mean is the last level."""
    p = Pipeline("generated")
    read = p.input("T", 4, 5, kind="2D", levels=3)
    p.generate_mipmap(read)
    shown = p.texture("P", 2, 1)
    text = "!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[0], 2D; END"
    for level, rect in ((1, (0, 0, 1, 1)), (2, (1, 0, 1, 1))):
        sampler = Sampler(base_level=level)
        p.draw(text, {0: (read, sampler)}, into=shown, rect=rect, texcoords={0: (0.9, 0.1, 0, 1)})
    p.output("P", shown)
    texels = np.arange(20, dtype=np.float32).reshape(4, 5) ** 2
    quarters = [texels[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].mean() for y in (0, 1) for x in (0, 1)]
    executor = ready(name)
    [result] = executor.run(p.plan(), {"T": texels}).outputs.values()
    assert result.tolist() == [[quarters[1], np.mean(quarters)]]


# ARB_fragment_program_shadow ----------------------------------------------------------------------

DEPTHS = np.array([[0.25, 0.75]], np.float32)


def shadow(target: str, place: str) -> str:
    return (
        "!!ARBfp1.0 OPTION ARB_fragment_program_shadow; "
        f"TEX result.color, {{{place}}}, texture[0], {target}; END"
    )


@EACH_EXECUTOR
@pytest.mark.parametrize(
    ("words", "place", "result"),
    [
        ("", "0.1, 0.5, 0.2", 1), ("", "0.1, 0.5, 0.25", 1), ("", "0.1, 0.5, 0.3", 0),
        ("GL_GEQUAL", "0.9, 0.5, 0.75", 1), ("less", "0.9, 0.5, 0.75", 0),
        ("greater", "0.9, 0.5, 9", 1), ("equal", "0.1, 0.5, 0.25", 1),
        ("notequal", "0.1, 0.5, 0.25", 0), ("always", "0.1, 0.5, 1", 1),
        ("never", "0.1, 0.5, 0", 0), ("greater border=-3 clamp-to-border", "-1, 0.5, -2", 1),
        ("linear", "0.375, 0.5, 0.5", 0.25), ("linear gequal", "0.375, 0.5, 0.5", 0.75),
        ("linear-mipmap-nearest", "0.375, 0.5, 0.5", 0.25),
        ("nearest-mipmap-nearest min-lod=1", "0.1, 0.5, 0.4", 1),  # of their mean, 0.5
    ],
)  # fmt: skip
def test_comparisons(ready: Ready, name: str, words: str, place: str, result: float) -> None:
    executor = ready(name).name
    for target, depths in (("SHADOW2D", DEPTHS), ("SHADOW1D", DEPTHS[0])):
        texture = (target.removeprefix("SHADOW"), depths, words)
        drawn = run_program(shadow(target, place), 1, 1, {0: texture}, executor=executor)
        assert drawn[0, 0].tolist() == [result, result, result, 1]


def test_rectangles_have_texels_for_coordinates() -> None:
    text = shadow("SHADOWRECT", "1.5, 0.5, 0.5")
    assert run_program(text, 1, 1, {0: ("RECT", DEPTHS)})[0, 0, 0] == 1


def test_a_depth_is_grey_elsewhere() -> None:
    image = Image(DEPTHS[..., None], TextureKind.T2D, format=FORMATS["depth16"])
    text = assemble("!!ARBfp1.0 TEX result.color, {0.1, 0.5}, texture[0], 2D; END", name="grey")
    grey = 16384 / 65535  # the nearest of 16 bits to 0.25
    assert draw(text, (1, 1), textures={0: image})[0, 0].tolist() == [np.float32(grey)] * 3 + [1]


@pytest.mark.parametrize(
    ("target", "sampler", "texel_format"),
    [
        ("2D", Sampler(compare=Compare.LESS), "depth32f"),
        ("SHADOW2D", Sampler(Filter.LINEAR), "depth32f"),
        ("SHADOW2D", Sampler(compare=Compare.LESS), "r32f"),
    ],
)
def test_what_does_not_compare(target: str, sampler: Sampler, texel_format: str) -> None:
    image = Image(DEPTHS[..., None], TextureKind.T2D, sampler=sampler, format=FORMATS[texel_format])
    with pytest.raises(PlanError, match="shadow targets need a depth format"):
        draw(assemble(shadow(target, "0, 0"), name="s"), (1, 1), textures={0: image})


def test_depths_have_no_layers() -> None:
    """GL 1.5, 3.8.1: DEPTH_COMPONENT is for "TEXTURE_1D, TEXTURE_2D" and their proxies."""
    with pytest.raises(PlanError, match="1D, 2D and RECT textures alone"):
        Pipeline("deep").texture("T", 2, 2, depth=2, kind="3D", format="depth16")


def test_a_shadow_needs_its_option() -> None:
    text = "!!ARBfp1.0 TEX result.color, fragment.position, texture[0], SHADOW2D; END"
    with pytest.raises(AssemblyError, match="SHADOW2D needs OPTION ARB_fragment_program_shadow"):
        assemble(text, name="shadow")
