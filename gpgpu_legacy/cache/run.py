"""A plan through a cache: its trace, whatever it is of, and what becomes of that in a memory."""

from __future__ import annotations

from collections.abc import Callable

from gpgpu_legacy.cache.caches import Memory
from gpgpu_legacy.cache.fragments import trace_fragments
from gpgpu_legacy.cache.kernels import trace_kernels
from gpgpu_legacy.cache.layout import LINEAR, parse_layout
from gpgpu_legacy.cache.raster import SCAN, parse_raster
from gpgpu_legacy.cache.simulate import Result, Tally, simulate
from gpgpu_legacy.cache.trace import Trace
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import ComputePass, Plan


def plan_trace(
    plan: Plan, line_bytes: int, *, layout: str = LINEAR.name, raster: str = SCAN.name,
    quads: bool = False,
) -> Trace:  # fmt: skip
    """The accesses of a validated plan, in lines of so many bytes.

    A plan of dispatches has no raster order and no texture layout. Raises InputError for one that
    is given there, for spellings of none, and where the plan cannot be followed.
    """
    order, lies = parse_raster(raster), parse_layout(layout)
    if not dispatches(plan):
        return trace_fragments(plan, layout=lies, raster=order, quads=quads, line_bytes=line_bytes)
    if quads or order != SCAN or lies != LINEAR:
        raise InputError(
            f"{plan.name} dispatches kernels, which have neither a raster order nor quads nor a "
            "texture layout; leave --raster, --quads and --layout out"
        )
    return trace_kernels(plan, line_bytes=line_bytes)


def dispatches(plan: Plan) -> bool:
    """Whether a plan dispatches kernels; else it draws."""
    return any(isinstance(each, ComputePass) for _, each in plan.weighted_passes())


def cache_run(
    plan: Plan, memory: Memory, *, layout: str = LINEAR.name, raster: str = SCAN.name,
    quads: bool = False, every_pass: bool = False, budget_s: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> Result:  # fmt: skip
    """What becomes of a plan's accesses in a memory; see simulate for every_pass to progress.

    Raises InputError as plan_trace does.
    """
    trace = plan_trace(plan, memory.levels[0].line_bytes, layout=layout, raster=raster, quads=quads)
    return simulate(trace, memory, every_pass=every_pass, budget_s=budget_s, progress=progress)


def memory_bytes(result: Result) -> int:
    """Bytes to and from memory, in place of those that instructions ask for."""
    return result.bytes_from_memory + result.bytes_to_memory


def looked_up(plan: Plan, result: Result) -> tuple[Tally, ...]:
    """The tallies of the textures that hold the operands."""
    operands = {each.texture for each in plan.inputs}
    return tuple(each for each in result.regions if each.name in operands)
