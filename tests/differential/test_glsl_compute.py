"""Fragment programs emitted as compute shaders, dispatched, against the reference machine."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawing import (
    F32,
    Image,
    carry_out_all,
    fragment_texcoords,
    parameters,
    program,
    show,
    texture,
)
from hypothesis import given, settings
from strategies import SMALL_NUMBER, Scene, whole_scenes
from uniforms import uniform_rows

from gpgpu_legacy.interp.numeric import decode, encode
from gpgpu_legacy.isa.ir import Attribute
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.analysis.folding import undecided
from gpgpu_legacy.lower.emit.glsl_compute import GROUP, compute_shader
from gpgpu_legacy.lower.shader_key import program_key, shader_key
from gpgpu_legacy.plan.formats import FORMATS, RGBA32F, Format
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    FragmentPass,
    Plan,
    StateValue,
    Texcoords,
)
from gpgpu_legacy.plan.textures import Filter, Rect, Sampler, TextureKind, Wrap
from gpgpu_legacy.runtime import gl
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.gl

# On llvmpipe these have a few units in the last place (test_gl_raster.py: INEXACT).
INEXACT = {"COS", "EX2", "LG2", "LIT", "POW", "SCS", "SIN"}
EXACT_ROWS = [mnemonic for mnemonic in OPCODES if mnemonic not in INEXACT]
NOTHING = (0.0, 0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def context(ready: Callable[[str], Executor]) -> gl.GlContext:
    """The process's OpenGL context, with compute shaders."""
    ready("gl-compute")
    return gl.compute_context()


def dispatched(context: gl.GlContext, plan: Plan, images: dict[str, Image]) -> list[F32]:
    """The targets of the plan's one pass, after the compute shader of it has run once."""
    [each] = plan.steps
    assert isinstance(each, FragmentPass)
    key = shader_key(plan, each, undecided(each.program), exact=True)
    bound = [images[binding.texture].texels for binding in each.bindings]
    targets = [initial(plan, name) for name in each.targets]
    with context.current() as ctx:
        shader = ctx.compute_shader(compute_shader(key, each.blend))
        arrays = [np.ascontiguousarray(array, np.float32) for array in bound + targets]
        buffers = [ctx.buffer(array.tobytes()) for array in arrays]
        for binding, buffer in enumerate(buffers):
            buffer.bind_to_storage_buffer(binding)
        set_uniforms(shader, plan, each, key.bent)
        across, up = GROUP
        shader.run(-(-each.rect.width // across), -(-each.rect.height // up))
        found = [
            np.frombuffer(buffer.read(), np.float32).reshape(target.shape)
            for buffer, target in zip(buffers[len(bound) :], targets, strict=True)
        ]
        for made in (*buffers, shader):
            made.release()
    return found


def initial(plan: Plan, name: str) -> F32:
    target = plan.texture(name)
    stored = encode(np.array(target.initial, np.float32), target.format)
    value = decode(stored, target.format)[: target.format.channels]
    shape = (target.extent.rows, target.extent.width, target.format.channels)
    return np.broadcast_to(value, shape)


def set_uniforms(shader: Any, plan: Plan, each: FragmentPass, bent: tuple[Attribute, ...]) -> None:
    values = {name: rows.tobytes() for name, rows in uniform_rows(each, bent).items()}
    values["target_width"] = struct.pack("i", plan.texture(each.target).extent.width)
    for name in shader:
        if hasattr(shader[name], "array_length") and name in values:
            shader[name].write(values[name])


def reference(plan: Plan, images: dict[str, Image]) -> list[F32]:
    return carry_out_all(plan, images, find_executor("numpy"))


@given(scene=whole_scenes(SMALL_NUMBER, SMALL_NUMBER, EXACT_ROWS, most=8))
@settings(max_examples=40)
def test_random_programs_of_the_whole_language(context: gl.GlContext, scene: Scene) -> None:
    images = {f"T{n}": i if isinstance(i, Image) else Image(i) for n, i in scene.textures.items()}
    names = ["target", "also"][: scene.targets]
    each = FragmentPass(
        assemble(scene.text),
        tuple(Binding(n, f"T{n}", images[f"T{n}"].sampler) for n in scene.textures),
        tuple(names),
        scene.rect,
        scene.texcoords,
        parameters(scene.local),
        parameters(scene.env),
        attributes=scene.attributes,
        state=tuple(StateValue(*item) for item in scene.state.items()),
    )
    target, *also = (texture(name, *scene.size, RGBA32F, (9.0, 0.5, 1.0, 2.0)) for name in names)
    plan = show([each], target, images, also=also)
    found = dispatched(context, plan, images)
    for mine, theirs in zip(found, reference(plan, images), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("blend", Blend)
@pytest.mark.parametrize("texel_format", FORMATS.values(), ids=FORMATS.keys())
def test_targets_of_every_format_with_discarded_fragments(
    context: gl.GlContext, texel_format: Format, blend: Blend
) -> None:
    """More than one group, beside the target's edges; a bent set, a filtered 3D texture."""
    text = program(
        "TEX R0, fragment.texcoord[1], texture[0], 3D;",
        "TEX R1, fragment.texcoord[0], texture[2], RECT;",
        "KIL R1.x;", "MAD R0, R0, R1, fragment.position;", "MAX result.color, R0, -R1;",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    sampler = Sampler(Filter.LINEAR, Wrap.REPEAT, Wrap.CLAMP, Wrap.CLAMP_TO_EDGE)
    volume = rng.normal(0, 1, (12, 5, 4)).astype(np.float32)
    images = {
        "V": Image(volume, TextureKind.T3D, 3, sampler),
        "R": Image(rng.normal(0.5, 1, (9, 12, 1)).astype(np.float32)),
    }
    bent = tuple(tuple(corner) for corner in rng.normal(0, 2, (4, 4)).tolist())
    sets = (fragment_texcoords(0, 12, 9), Texcoords(1, bent))  # type: ignore[arg-type]
    each = FragmentPass(
        text, (Binding(0, "V", sampler), Binding(2, "R")), ("target",), Rect(2, 1, 12, 9), sets,
        blend=blend,
    )  # fmt: skip
    target = texture("target", 15, 11, texel_format, (0.5, -0.25, 0.75, 2.0))
    plan = show([each], target, images)
    [found], [expected] = dispatched(context, plan, images), reference(plan, images)
    np.testing.assert_array_equal(found, expected)


def test_a_program_alone_compiles(context: gl.GlContext) -> None:
    """With every opcode, and textures of sizes that are assumed."""
    lines = ["MOV R0, fragment.texcoord[0];"]
    shapes = {
        "VECTOR_OP": "{0} R0, R0;", "SCALAR_OP": "{0} R0, R0.x;", "KILL_OP": "{0} R0;",
        "BINARY_SCALAR_OP": "{0} R0, R0.x, R0.y;", "BINARY_OP": "{0} R0, R0, R0;",
        "TERNARY_OP": "{0} R0, R0, R0, R0;", "SWIZZLE_OP": "{0} R0, R0, x, -y, 0, 1;",
        "SAMPLE_OP": "{0} R0, R0, texture[0], CUBE;",
    }  # fmt: skip
    lines += [shapes[row.shape.name].format(row.mnemonic) for row in OPCODES.values()]
    key = program_key(program(*lines, "MOV result.color, R0;"))
    with context.current() as ctx:
        ctx.compute_shader(compute_shader(key)).release()
