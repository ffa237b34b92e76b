"""The `gl-compute` executor: compute kernels in the driver's own hands, and fragment plans lowered.

A plan that draws is carried out by runtime/gl_loops.py; the rest of this file is about kernels. A
texture of kind BUFFER is a shader storage buffer, a ComputePass is a dispatch, and the driver
gets the text of the kernel as it stands under shaders/. What GLSL leaves open stays open;
gl_limits.py says what that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np

from gpgpu_legacy.interp.numeric import pack, slices
from gpgpu_legacy.kernel.ir import Type
from gpgpu_legacy.plan.expand import at_iteration, passes
from gpgpu_legacy.plan.formats import R32F
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    Pass,
    Plan,
    Texture,
    constant_groups,
    constant_rect,
    constant_vector,
)
from gpgpu_legacy.runtime import gl
from gpgpu_legacy.runtime.executor import (
    ALL_PASSES,
    EVERY_ARITHMETIC,
    F32,
    Capabilities,
    Executor,
    Machine,
    Observer,
    Prepared,
    Result,
    Timings,
    Tuning,
)
from gpgpu_legacy.runtime.gl_limits import (
    LLVMPIPE_ITERATIONS,
    check_exact,
    check_kernels,
    is_llvmpipe,
    size_bytes,
)
from gpgpu_legacy.runtime.gl_loops import Device, run_fragments
from gpgpu_legacy.runtime.sessions import OneByOne
from gpgpu_legacy.runtime.transfers import read_back

_DTYPES: dict[Type, type[np.generic]] = {
    Type.INT: np.int32,
    Type.UINT: np.uint32,
    Type.FLOAT: np.float32,
    Type.DOUBLE: np.float64,
    Type.BOOL: np.int32,
}
_TEXEL_BYTES = R32F.texel_bytes


class GlComputeExecutor(Executor):
    """Runs on any OpenGL 4.3 driver, GPU or software, with no window."""

    name = "gl-compute"
    summary = "storage buffers and compute shaders, through OpenGL 4.3"
    capabilities = Capabilities(
        ALL_PASSES,
        EVERY_ARITHMETIC,
        fuses_passes=True,
        tuning=frozenset({"group"}),
        gpu_rank=1,
        cpu_rank=3,
    )

    def device(self) -> str:
        """The GL renderer and version; ExecutorUnavailableError where there is no OpenGL 4.3."""
        return gl.compute_context().device_name

    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU."""
        return gl.compute_context().is_hardware

    def _prepare(self, plan: Plan, machine: Machine) -> Prepared:
        def session(operands: Mapping[str, F32], observer: Observer | None) -> Result:
            return self._carry_out(plan, operands, machine, observer)

        return OneByOne(plan, machine, session)

    def _carry_out(
        self,
        plan: Plan,
        operands: Mapping[str, F32],
        machine: Machine,
        observer: Observer | None,
    ) -> Result:
        """Carry out a plan, of fragment passes or of kernels; see Executor.

        Raises PlanError for a texture that is no buffer of floats, for what exceeds a limit of the
        device, for loops that llvmpipe would not finish, and for an exact run where there is none.
        """
        shared = gl.compute_context()
        if not any(isinstance(each, ComputePass) for _, each in plan.weighted_passes()):
            with shared.current() as ctx:
                device = _device(shared.info, machine.tuning)
                return run_fragments(ctx, plan, operands, machine, observer=observer, device=device)
        if machine.exact:
            check_exact(plan, shared.info)
        check_kernels(plan, shared.info)
        with shared.current() as ctx:
            session = _Session(ctx, plan)
            try:
                return session.run(operands, observer)
            finally:
                session.release()


def _device(info: Mapping[str, Any], tuning: Tuning | None) -> Device:
    """What moderngl does not ask the driver for: 32 KiB of shared memory is what all have."""
    most = LLVMPIPE_ITERATIONS if is_llvmpipe(info) else None
    shared = 48 << 10 if "NVIDIA" in info["GL_VENDOR"] else 32 << 10
    return Device(shared, most, tuning.group if tuning else None)


# Runs ----------------------------------------------------------------------------------------

_SPARE: list[Any] = []  # buffers of the last run, for the next
_STAGING: list[Any] = []  # none or one


class _Session:
    """The buffers of one run."""

    def __init__(self, ctx: Any, plan: Plan) -> None:
        self.ctx, self.plan = ctx, plan
        self.buffers: dict[str, Any] = {}

    def release(self) -> None:
        """Leave the buffers to the next run."""
        _SPARE.extend(self.buffers.values())

    def make_buffers(self) -> None:
        """A buffer for each texture: one that the run before has left, where the size is right.

        So runs that are repeated for their times find the same memory, and make none.
        """
        spare, _SPARE[:] = list(_SPARE), []
        for texture in self.plan.textures:
            size = size_bytes(texture)
            fitting = next((buffer for buffer in spare if buffer.size == size), None)
            if fitting is not None:
                spare.remove(fitting)
            self.buffers[texture.name] = fitting or self.ctx.buffer(reserve=size)
        for buffer in spare:
            buffer.release()

    def run(self, operands: Mapping[str, F32], observer: Observer | None) -> Result:
        self.make_buffers()
        self.warm_up()
        steps = [(each, self.job(each)) for each in passes(self.plan)]
        started = perf_counter()
        self.upload(operands)
        self.ctx.finish()
        uploaded = perf_counter()
        for number, (each, job) in enumerate(steps):
            # What a kernel has stored is seen by nothing after it without a barrier.
            if not (isinstance(each, ComputePass) and each.independent):
                self.ctx.memory_barrier()
            self.carry_out(each, job)
            if observer is not None:
                self.ctx.memory_barrier()
                with gl.context().released():
                    observer(number, each, self.read_for_observer)
        self.ctx.memory_barrier()  # for the transfers back
        self.ctx.finish()
        computed = perf_counter()
        outputs = read_back(self.plan, lambda name, rect: self.read(name)[slices(rect)])
        finished = perf_counter()
        timings = Timings(uploaded - started, computed - uploaded, finished - computed)
        return Result(outputs, timings)

    # Buffers ------------------------------------------------------------------------------

    def upload(self, operands: Mapping[str, F32]) -> None:
        """Fill the buffers: initial values, then the operands, in one transfer a buffer."""
        filled: dict[str, F32] = {}
        for texture in self.plan.textures:
            if texture.initial is not None:
                filled[texture.name] = _plane(texture, texture.initial[0])
        for each in self.plan.inputs:
            if each.texture not in filled:
                filled[each.texture] = _plane(self.plan.texture(each.texture), 0.0)
            texels = pack(operands[each.matrix], each.region, each.rect, each.packing)
            filled[each.texture][slices(each.rect)] = texels[..., 0]
        for name, plane in filled.items():
            self.write(name, plane)

    def write(self, name: str, plane: F32) -> None:
        """Fill a whole buffer."""
        staging = self.staging(plane.nbytes)
        staging.write(plane)
        self.ctx.copy_buffer(self.buffers[name], staging, plane.nbytes)

    def staging(self, size: int) -> Any:
        """The buffer through which everything goes to the device and back, grown as needed.

        A driver may place a buffer by how the host uses it; this one the host uses, and no kernel.
        """
        if not _STAGING or _STAGING[0].size < size:
            for outgrown in _STAGING:
                outgrown.release()
            _STAGING[:] = [self.ctx.buffer(reserve=size, dynamic=True)]
        return _STAGING[0]

    def read_for_observer(self, name: str) -> F32:
        """A whole buffer, for one who does not have the context."""
        with gl.context().current():
            return self.read(name)

    def read(self, name: str) -> F32:
        """A whole buffer: (H, W, 1) float32."""
        extent, buffer = self.plan.texture(name).extent, self.buffers[name]
        staging = self.staging(buffer.size)
        self.ctx.copy_buffer(staging, buffer, buffer.size)
        stored = np.frombuffer(staging.read(buffer.size), np.float32)
        return stored.reshape(extent.height, extent.width, 1)

    # Passes -------------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Dispatch one work group of every kernel that has not run in this process yet.

        Drivers finish compiling at a kernel's first dispatch, and that is no part of a run's time.
        The uniforms are the pass's own, so that the kernel ends and stays inside its buffers, as
        it does in the run. Nothing has been uploaded yet, so what is written here is overwritten
        or undefined anyway.
        """
        for _, written in self.plan.weighted_passes():
            if isinstance(written, ComputePass):
                shader = _compiled(self.ctx, written.kernel.text)
                if not shader.has_run:
                    job = self.job(replace(written, groups=(1, 1)))
                    self.carry_out(written, job)
        self.ctx.memory_barrier()  # before the transfers that follow
        self.ctx.finish()

    def job(self, each: Pass) -> _Job | None:
        """A dispatch made ready, so that no more than GL calls are left to be timed."""
        if not isinstance(each, ComputePass):
            return None
        first = at_iteration(each, 0)
        assert isinstance(first, ComputePass)
        types = {uniform.name: uniform.type for uniform in each.kernel.uniforms}
        return _Job(
            _compiled(self.ctx, each.kernel.text),
            tuple(
                (u.name, np.array(u.value, _DTYPES[types[u.name]]).tobytes())
                for u in first.uniforms
            ),
            tuple((self.buffers[b.texture], b.binding) for b in each.buffers),
            constant_groups(each.groups),
        )

    def carry_out(self, each: Pass, job: _Job | None) -> None:
        if isinstance(each, ClearPass):
            self.write(
                each.target, _plane(self.plan.texture(each.target), constant_vector(each.value)[0])
            )
        elif isinstance(each, CopyPass):
            self.copy(each)
        elif job is not None:
            for name, value in job.uniforms:
                job.shader.set(name, value)
            for buffer, binding in job.buffers:
                buffer.bind_to_storage_buffer(binding)
            job.shader.run(job.groups)

    def copy(self, each: CopyPass) -> None:
        """Row by row, for the rows of a rectangle do not lie side by side."""
        there, here = constant_rect(each.source_rect), constant_rect(each.target_rect)
        source, target = self.plan.texture(each.source), self.plan.texture(each.target)
        for row in range(here.height):
            self.ctx.copy_buffer(
                self.buffers[each.target],
                self.buffers[each.source],
                here.width * _TEXEL_BYTES,
                ((there.y + row) * source.extent.width + there.x) * _TEXEL_BYTES,
                ((here.y + row) * target.extent.width + here.x) * _TEXEL_BYTES,
            )


class _Shader:
    """A compiled kernel with its uniforms, as far as the driver has kept them."""

    def __init__(self, program: Any) -> None:
        self._program = program
        self._uniforms = {name: program[name] for name in program}
        self.has_run = False

    def set(self, name: str, value: bytes) -> None:
        """Set a uniform to a scalar of its type. One that the driver dropped is passed over."""
        uniform = self._uniforms.get(name)
        if uniform is not None:
            uniform.write(value)

    def run(self, groups: tuple[int, int]) -> None:
        """Dispatch so many work groups along x and y."""
        self._program.run(*groups, 1)
        self.has_run = True


@dataclass(frozen=True, slots=True)
class _Job:
    """A dispatch: its shader, uniforms as bytes, buffers with their binding points, work groups."""

    shader: _Shader
    uniforms: tuple[tuple[str, bytes], ...]
    buffers: tuple[tuple[Any, int], ...]
    groups: tuple[int, int]


def _plane(texture: Texture, value: float) -> F32:
    return np.full((texture.extent.height, texture.extent.width), value, np.float32)


@lru_cache(maxsize=256)
def _compiled(ctx: Any, text: str) -> _Shader:
    """A kernel of the context, compiled once a process."""
    return _Shader(ctx.compute_shader(text))


EXECUTOR = GlComputeExecutor()
