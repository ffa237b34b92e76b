"""Fragment plans on compute shaders: the session behind gl-compute for plans that draw.

Every texture is a storage buffer of float32 channels, row after row, an 8-bit one as numbers of
[0, 1]. A Loop (lower/chains.py) is one dispatch over its tiles; a pass that makes no Loop that
lower/workgroups.py prints is drawn one invocation a fragment (lower/compute.py).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.interp.numeric import Storage, decode, encode, pack, slices
from gpgpu_legacy.isa.ir import AttributeKind, ParameterSpace, Vec4
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.body import PARAMETERS, attribute_name, state_name
from gpgpu_legacy.lower.chains import Loop, carried_out, loops, loops_of
from gpgpu_legacy.lower.compute import GROUP, compute_shader
from gpgpu_legacy.lower.content import Arguments, UnsupportedError, group_content
from gpgpu_legacy.lower.glsl import (
    FOG_COLOR,
    FOG_COORDINATE,
    FOG_PARAMS,
    shader_key,
)
from gpgpu_legacy.lower.lookups import undecided
from gpgpu_legacy.lower.values import given_corners
from gpgpu_legacy.lower.workgroups import (
    ITERATIONS,
    GroupCode,
    GroupShape,
    emit_groups,
    group_shape,
    uniform_blocks,
)
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import (
    ATTRIBUTE_DEFAULTS,
    ClearPass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Texture,
    constant_rect,
    constant_vector,
    is_planar,
    plane,
    state_values,
    triangle_planes,
)
from gpgpu_legacy.runtime import gl
from gpgpu_legacy.runtime.executor import F32, Machine, Observer, Result, Timings
from gpgpu_legacy.runtime.transfers import read_back

_FLOAT_BYTES = 4
_BLOCK_ALIGNMENT = 256  # of what is bound as a uniform block; no device asks for more
_NO_PARAMETER = (0.0, 0.0, 0.0, 0.0)


# moderngl's own way to clear a buffer takes it to the host and leaves it there.
_CLEAR = """#version 430 core
layout(local_size_x = 8, local_size_y = 8) in;
layout(std430, binding = 0) buffer Texture { float texels[]; };
uniform vec4 value;
uniform int channels, width, height;
void main() {
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (texel.x >= width || texel.y >= height) return;
    for (int c = 0; c < channels; c++) {
        texels[(texel.y * width + texel.x) * channels + c] = value[c];
    }
}
"""


@dataclass(frozen=True, slots=True)
class Device:
    """What of the device decides how Loops are printed.

    shared_bytes: of a work group. most_iterations: of all loops of an invocation together, where a
    driver ends them in silence; None where there is no such end.
    """

    shared_bytes: int
    most_iterations: int | None = None
    shape: GroupShape | None = None


def run_fragments(
    ctx: Any,
    plan: Plan,
    operands: Mapping[str, F32],
    machine: Machine,
    *,
    observer: Observer | None,
    device: Device,
) -> Result:
    """Carry out a plan of fragment passes, copies and clears; see Executor."""
    session = _Session(ctx, plan, machine, device, apart=observer is not None)
    try:
        return session.run(operands, observer)
    finally:
        session.release()


class _Session:
    """The buffers and shaders of one run."""

    def __init__(
        self, ctx: Any, plan: Plan, machine: Machine, device: Device, *, apart: bool
    ) -> None:
        self.ctx, self.plan, self.machine, self.device = ctx, plan, machine, device
        self.textures = {texture.name: texture for texture in plan.textures}
        self.buffers: dict[str, Any] = {}
        self._staging: Any = None
        fused = machine.arithmetic.name == "fp32"
        self.steps = list(loops(plan, apart=apart or not fused))
        self.tiled: dict[Loop, _Tiled] = {}
        for loop in dict.fromkeys(loops_of(self.steps)) if fused else ():
            tiled = self.tile(loop)
            if tiled is not None:
                self.tiled[loop] = tiled

    def tile(self, loop: Loop) -> _Tiled | None:
        """The Loop on work groups; None where it is drawn in another way."""
        content, arguments = group_content(loop, self.textures)
        shape = self.device.shape or group_shape(content)
        shared_bytes = self.device.shared_bytes
        try:
            code = emit_groups(content, shape, shared_bytes, exact=self.machine.exact)
        except UnsupportedError:
            return None
        blocks = uniform_blocks(code, arguments)
        if len(blocks) > 1 and not loop.alternates:
            return None
        stride = -(-code.block_bytes // _BLOCK_ALIGNMENT) * _BLOCK_ALIGNMENT
        padded = np.zeros((len(blocks), stride), np.uint8)
        padded[:, : code.block_bytes] = blocks
        return _Tiled(code, arguments, self.ctx.buffer(padded), stride)

    def release(self) -> None:
        blocks = (tiled.blocks for tiled in self.tiled.values())
        for buffer in (*self.buffers.values(), *blocks, self._staging):
            if buffer is not None:
                buffer.release()

    def run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        for name, texture in self.textures.items():
            self.buffers[name] = self.ctx.buffer(reserve=_size_bytes(texture))
        self.warm_up()
        started = perf_counter()
        self.upload(operands)
        self.ctx.finish()
        uploaded = perf_counter()
        for number, done in enumerate(self.work()):
            if observer is not None:
                observer(number, done, self.read)
                gl.make_current(self.ctx)
        self.ctx.memory_barrier()
        self.ctx.finish()
        computed = perf_counter()
        outputs = read_back(self.plan, lambda name, rect: self.read(name)[slices(rect)])
        finished = perf_counter()
        timings = Timings(uploaded - started, computed - uploaded, finished - computed)
        return Result(outputs, timings)

    # Buffers ------------------------------------------------------------------------------

    def upload(self, operands: Mapping[str, F32]) -> None:
        filled = {t.name: Storage(t) for t in self.plan.textures if t.initial is not None}
        for each in self.plan.inputs:
            texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
            storage = filled.setdefault(each.texture, Storage(self.textures[each.texture]))
            for channel in range(texels.shape[2]):
                storage.write(channel, slices(each.rect), texels[..., channel])
        for name, storage in filled.items():
            channels = [storage.decoded(c) for c in range(len(storage.planes))]
            texels = np.ascontiguousarray(np.stack(channels, axis=-1))
            staging = self.staging(texels.nbytes)
            staging.write(texels)
            self.ctx.copy_buffer(self.buffers[name], staging, texels.nbytes)

    def staging(self, size: int) -> Any:
        """The buffer through which everything goes to the device and back.

        A driver places a buffer by how the host uses it; this one the host uses, and no shader.
        """
        if self._staging is None or self._staging.size < size:
            if self._staging is not None:
                self._staging.release()
            self._staging = self.ctx.buffer(reserve=size, dynamic=True)
        return self._staging

    def read(self, name: str) -> F32:
        """A whole texture: (rows, W, channels) float32."""
        gl.make_current(self.ctx)
        self.ctx.memory_barrier()
        extent, channels = self.textures[name].extent, self.textures[name].format.channels
        buffer = self.buffers[name]
        staging = self.staging(buffer.size)
        self.ctx.copy_buffer(staging, buffer, buffer.size)
        stored = np.frombuffer(staging.read(buffer.size), np.float32)
        return stored.reshape(extent.rows, extent.width, channels)

    def clear(self, each: ClearPass) -> None:
        texture = self.textures[each.target]
        channels = texture.format.channels
        value = np.array(each.value[:channels], np.float32)
        texel = decode(encode(value, texture.format), texture.format).tolist()
        shader = _compiled(self.ctx, _CLEAR)
        shader.set_vectors("value", [(*texel, *_NO_PARAMETER[channels:])])
        shader.set("channels", "i", channels)
        shader.set("width", "i", texture.extent.width)
        shader.set("height", "i", texture.extent.rows)
        self.buffers[each.target].bind_to_storage_buffer(0)
        shader.program.run(-(-texture.extent.width // 8), -(-texture.extent.rows // 8), 1)

    def copy(self, each: CopyPass) -> None:
        """Row by row, for the rows of a rectangle do not lie side by side."""
        there, here = constant_rect(each.source_rect), constant_rect(each.target_rect)
        source, target = self.textures[each.source], self.textures[each.target]
        texel = source.format.channels * _FLOAT_BYTES
        for row in range(here.height):
            self.ctx.copy_buffer(
                self.buffers[each.target],
                self.buffers[each.source],
                here.width * texel,
                ((there.y + row) * source.extent.width + there.x) * texel,
                ((here.y + row) * target.extent.width + here.x) * texel,
            )

    # Work ---------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Carry out one iteration with every shader on one group: drivers compile only then.

        Nothing has been uploaded yet, so what is drawn here is overwritten or undefined anyway.
        """
        for loop in loops_of(self.steps):
            self.loop(loop, (0, min(1, loop.count)), groups=(1, 1))
        self.ctx.memory_barrier()
        self.ctx.finish()

    def work(self) -> Iterator[Pass]:
        """Carry out the plan; where nothing is fused, yields pass by pass."""
        for member, iterations, done in carried_out(self.steps):
            self.ctx.memory_barrier()
            if isinstance(member, Loop):
                self.loop(member, iterations)
            elif isinstance(done, CopyPass):
                self.copy(done)
            elif isinstance(done, ClearPass):
                self.clear(done)
            if done is not None:
                yield done

    def loop(
        self, loop: Loop, iterations: tuple[int, int], groups: tuple[int, int] | None = None
    ) -> None:
        tiled = self.tiled.get(loop)
        if tiled is not None:
            self.dispatch(tiled, iterations, groups)
            return
        for iteration in range(*iterations):
            for each in loop.passes:
                now = at_iteration(each, iteration)
                if isinstance(now, FragmentPass) and isinstance(each, FragmentPass):
                    self.draw(each, now, groups)
                elif isinstance(now, CopyPass) and groups is None:
                    self.copy(now)
                self.ctx.memory_barrier()

    def dispatch(
        self, tiled: _Tiled, iterations: tuple[int, int], groups: tuple[int, int] | None
    ) -> None:
        """All of a Loop's tiles; as many iterations at a time as the driver carries out."""
        code, arguments = tiled.code, tiled.arguments
        shader = _compiled(self.ctx, code.text)
        for number, name in enumerate(arguments.textures):
            self.buffers[name].bind_to_storage_buffer(number)
        row = iterations[0] * tiled.stride % tiled.blocks.size
        tiled.blocks.bind_to_uniform_block(0, offset=row, size=code.block_bytes)
        across, up = code.shape.tile
        size = groups or (-(-arguments.width // across), -(-arguments.height // up))
        together = iterations[1] - iterations[0]
        if self.device.most_iterations is not None:
            together = max(1, min(together, self.device.most_iterations // (code.turns + 2)))
        for first in range(*iterations, together):
            shader.set(ITERATIONS, "2i", first, min(first + together, iterations[1]))
            shader.program.run(*size, 1)
            self.ctx.memory_barrier()

    def draw(
        self, written: FragmentPass, each: FragmentPass, groups: tuple[int, int] | None
    ) -> None:
        """One pass, one invocation a fragment."""
        key = shader_key(
            self.plan,
            written,
            undecided(each.program),
            exact=self.machine.exact,
            arithmetic=self.machine.arithmetic,
        )
        shader = _compiled(self.ctx, compute_shader(key, each.blend))
        names = [binding.texture for binding in each.bindings]
        for number, name in enumerate([*names, *each.targets]):
            self.buffers[name].bind_to_storage_buffer(number)
        rect = constant_rect(each.rect)
        self.give(shader, each)
        shader.set("origin", "2f", rect.x, rect.y)
        shader.set("size", "2f", rect.width, rect.height)
        shader.set("target_width", "i", self.textures[each.target].extent.width)
        size = groups or (-(-rect.width // GROUP[0]), -(-rect.height // GROUP[1]))
        shader.program.run(*size, 1)

    def give(self, shader: _Shader, each: Pass) -> None:
        """Attributes, parameters and state of an expanded pass to a shader that reads them."""
        assert isinstance(each, FragmentPass)
        given, has_fog = given_corners(each), each.program.fog is not None
        fog_coordinate = (FOG_COORDINATE,) if has_fog else ()
        for attribute in dict.fromkeys((*each.program.attributes_read, *fog_coordinate)):
            if attribute.kind is AttributeKind.POSITION:
                continue
            corners = given.get(attribute) or (ATTRIBUTE_DEFAULTS[attribute.kind],) * 4
            name = attribute_name(attribute)
            planes = (
                [plane(corners, constant_rect(each.rect))]
                if is_planar(corners)
                else list(triangle_planes(corners, constant_rect(each.rect)))
            )
            for part in ("base", "dx", "dy"):
                shader.set_vectors(f"{name}_{part}", [getattr(p, part) for p in planes])
        for space, values in ((ParameterSpace.LOCAL, each.locals), (ParameterSpace.ENV, each.env)):
            vectors = {p.index: constant_vector(p.value) for p in values}
            for index in each.program.parameter_indices(space):
                vector = vectors.get(index, _NO_PARAMETER)
                shader.set_vectors(f"{PARAMETERS[space]}{index}", [vector])
        state = state_values(each)
        fog_state = (FOG_COLOR, FOG_PARAMS) if has_fog else ()
        for binding in (*each.program.state_bindings, *fog_state):
            shader.set_vectors(state_name(binding), [state_vector(binding, state)])


class _Shader:
    """A compiled shader with its uniforms, as far as the driver has kept them."""

    def __init__(self, program: Any) -> None:
        self.program = program
        self._uniforms = {name: program[name] for name in program}

    def set(self, name: str, layout: str, *values: float) -> None:
        """Set a uniform; `layout` is struct's. One that the driver dropped is passed over."""
        uniform = self._uniforms.get(name)
        if uniform is not None:
            uniform.write(struct.pack(layout, *values))

    def set_vectors(self, name: str, vectors: list[Vec4]) -> None:
        """Set a vec4, or an array of them."""
        uniform = self._uniforms.get(name)
        if uniform is not None:
            vectors = vectors * uniform.array_length if len(vectors) == 1 else vectors
            uniform.write(np.array(vectors, np.float32).tobytes())


@dataclass(frozen=True, slots=True)
class _Tiled:
    """A Loop's shader, what it is handed, and a buffer of uniform blocks, one a row of `stride`."""

    code: GroupCode
    arguments: Arguments
    blocks: Any
    stride: int


@lru_cache(maxsize=256)
def _compiled(ctx: Any, text: str) -> _Shader:
    """A shader of the context, compiled once a process."""
    return _Shader(ctx.compute_shader(text))


def _size_bytes(texture: Texture) -> int:
    return texture.extent.rows * texture.extent.width * texture.format.channels * _FLOAT_BYTES
