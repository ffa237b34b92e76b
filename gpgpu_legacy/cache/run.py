"""A plan through a cache: makes its trace and simulates it in a memory."""

from __future__ import annotations

from gpgpu_legacy.cache.access import DEFAULT_ACCESS, Access
from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.cache.simulate import Progress, RegionTally, Simulated, simulate
from gpgpu_legacy.cache.trace import AccessTrace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan


def plan_trace(plan: Plan, line_bytes: int, access: Access = DEFAULT_ACCESS) -> AccessTrace:
    """The accesses of a validated plan, in lines of `line_bytes` bytes.

    A plan of dispatches has no raster order, no texture layout and no fragments in flight. Raises
    InputError if `access` chooses any for such a plan, and if the plan's accesses depend on data.
    """
    if not plan.dispatches:
        return trace_fragments(plan, access, line_bytes=line_bytes)
    if access != DEFAULT_ACCESS:
        raise InputError(
            f"{plan.name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout, and no fragments in flight; leave --raster, --quads, --in-flight and "
            "--layout out"
        )
    return trace_kernels(plan, line_bytes=line_bytes)


def cache_run(
    plan: Plan,
    memory: Memory,
    access: Access = DEFAULT_ACCESS,
    *,
    every_pass: bool = False,
    progress: Progress = lambda _: None,
) -> Simulated:
    """Simulate a plan's accesses in a memory; see `simulate` for every_pass and progress.

    Raises InputError as plan_trace does.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, access)
    return simulate(trace, memory, every_pass=every_pass, progress=progress)


def memory_bytes(result: Simulated) -> int:
    """Bytes to and from memory, as opposed to bytes that instructions request."""
    return result.bytes_from_memory + result.bytes_to_memory


def operand_tallies(plan: Plan, result: Simulated) -> tuple[RegionTally, ...]:
    """The tallies of the textures that hold the operands."""
    operands = {source.texture for source in plan.inputs}
    return tuple(tally for tally in result.regions if tally.name in operands)
