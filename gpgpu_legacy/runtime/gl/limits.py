"""The limits of a device, checked before a kernel is compiled, and drivers' known faults.

The driver gets the unchanged text of a kernel. So it has GLSL's freedoms: it may contract a
multiply and an add into one rounding, and regroup a sum. llvmpipe contracts nothing, and regroups
only within an expression of three terms or more (it adds x + y + z + w as (x + y) + (z + w)).
Without such an expression, `Machine.exact` holds on llvmpipe without a change to the text; any
other exact run is refused.

llvmpipe silently leaves every loop once an invocation has executed 65536 iterations. A kernel that
would exceed this is refused there, because its result would be wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import CountingMachine
from gpgpu_legacy.isa.expressions import Element, Expression, Operation
from gpgpu_legacy.isa.kernel import Kernel, parts
from gpgpu_legacy.isa.statements import Loop, Statement
from gpgpu_legacy.isa.types import Operator
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import ComputePass, Plan, constant_groups
from gpgpu_legacy.plan.textures import Texture, TextureKind

# OpenGL 4.3, table 23.72: the minimum of every driver, for contexts that do not report their own
# limit; moderngl does not ask for the size of shared memory.
_AT_LEAST = {
    "GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS": 1024,
    "GL_MAX_COMPUTE_WORK_GROUP_SIZE": (1024, 1024, 64),
    "GL_MAX_COMPUTE_WORK_GROUP_COUNT": (65535, 65535, 65535),
    "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE": 32768,
    "GL_MAX_SHADER_STORAGE_BLOCK_SIZE": 1 << 24,
    "GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS": 8,
}

# Exactness -----------------------------------------------------------------------------------


def is_llvmpipe(info: Mapping[str, Any]) -> bool:
    """Whether the renderer is Mesa's llvmpipe. info: of a GlContext."""
    return "llvmpipe" in info["GL_RENDERER"]


def why_inexact(plan: Plan, info: Mapping[str, Any]) -> str:
    """Why the driver may round or add differently from a kernel's text, in words; empty if not."""
    kernels = plan.kernels()
    if kernels and not is_llvmpipe(info):
        return f"{info['GL_RENDERER']} may contract the multiply-adds of a kernel"
    chained = next((kernel for kernel in kernels if _has_chain(kernel)), None)
    return f"llvmpipe may regroup a sum or product of {chained.name}" if chained else ""


def _has_chain(kernel: Kernel) -> bool:
    """Whether three or more terms or factors, none of them integers, meet in one expression."""
    return any(map(_begins_chain, parts(*kernel.body)))


_ALIKE = ({Operator.ADD, Operator.SUBTRACT}, {Operator.MULTIPLY, Operator.DIVIDE})


def _begins_chain(part: Expression) -> bool:
    if not isinstance(part, Operation) or part.type.is_integer:
        return False
    alike = next((operators for operators in _ALIKE if part.operator in operators), ())
    operators = (o.operator for o in part.operands if isinstance(o, Operation))
    return any(operator in alike for operator in operators)


# Limits --------------------------------------------------------------------------------------


def check_limits(plan: Plan, info: Mapping[str, Any]) -> None:
    """Raise PlanError for the first limit that a texture or a dispatch exceeds.

    On llvmpipe, also for a kernel whose loops it would not finish. info: of a GlContext.
    """
    for name, axis, needed, problem, remedy in _needs_of(plan):
        allowed = limit(info, name, axis)
        if needed > allowed:
            raise PlanError(f"{problem} and {name} is {allowed} here; {remedy}")
    if is_llvmpipe(info):
        _check_loops(plan)


def _needs_of(plan: Plan) -> Iterator[tuple[str, int, int, str, str]]:
    """Of each limit the name and the axis, the plan's need, this need in words, and a remedy."""
    for texture in plan.textures:
        noun = "buffer" if texture.kind is TextureKind.BUFFER else "texture"
        size = size_bytes(texture)
        takes = f"{noun} {texture.name} takes {size} bytes"
        remedy = "multiply smaller matrices, or use the numpy executor"
        yield "GL_MAX_SHADER_STORAGE_BLOCK_SIZE", 0, size, takes, remedy
    for pass_ in plan.only(ComputePass):
        kernel, smaller = pass_.kernel, "choose a smaller block"
        work_group, has = "GL_MAX_COMPUTE_WORK_GROUP", f"{kernel.name} has work groups of"
        threads = kernel.threads
        yield f"{work_group}_INVOCATIONS", 0, threads, f"{has} {threads} invocations", smaller
        for axis, size in enumerate(kernel.local_size):
            yield f"{work_group}_SIZE", axis, size, f"{has} {size} along {'xy'[axis]}", smaller
        shared = sum(array.element.size_bytes * prod(array.extents) for array in kernel.shared)
        shares = f"{kernel.name} shares {shared} bytes in a work group"
        yield "GL_MAX_COMPUTE_SHARED_MEMORY_SIZE", 0, shared, shares, smaller
        for axis, groups in enumerate(constant_groups(pass_.groups)):
            takes = f"{kernel.name} takes {groups} work groups along {'xy'[axis]}"
            remedy = "choose a larger block or smaller matrices"
            yield f"{work_group}_COUNT", axis, groups, takes, remedy


def limit(info: Mapping[str, Any], name: str, axis: int = 0) -> int:
    """A limit of the device by its name, or the minimum of every driver.

    axis: 0, 1 or 2, for a limit that has a number for each of x, y and z.
    """
    values: int | tuple[int, ...] = info.get(name, _AT_LEAST[name])
    return values[axis] if isinstance(values, tuple) else values


# Mesa's LP_MAX_TGSI_LOOP_ITERATIONS, of all loops of an invocation together.
LLVMPIPE_ITERATIONS = 65535


def _check_loops(plan: Plan) -> None:
    """Raise PlanError if llvmpipe would leave a loop before its end.

    Numbers that vary are Affine here, so loops grow or shrink from one end of a Repeat to the
    other. Its first and its last iteration stand for all.
    """
    for times, pass_ in plan.weighted_passes():
        for iteration in dict.fromkeys((0, times - 1)):
            now = at_iteration(pass_, iteration)
            if isinstance(now, ComputePass) and not _loops_end(now):
                raise PlanError(
                    f"an invocation of {now.kernel.name} executes more than "
                    f"{LLVMPIPE_ITERATIONS} iterations of its loops, which is where llvmpipe "
                    "leaves them; multiply smaller matrices, or use the numpy executor"
                )


@lru_cache(maxsize=256)
def _loops_end(pass_: ComputePass) -> bool:
    """Whether the first invocation finishes its loops within llvmpipe's limit.

    It represents the others. A loop that the driver unrolls is counted as written.
    """
    alone = replace(pass_.kernel, local_size=(1, 1))
    try:
        _LoopCounter(replace(pass_, kernel=alone, groups=(1, 1))).run()
    except _TooLongError:
        return False
    return True


class _TooLongError(Exception):
    """Raised when a kernel exceeds the allowed iterations."""


class _LoopCounter(CountingMachine):
    """Counts the iterations of all loops, and stops at the most allowed."""

    def __init__(self, pass_: ComputePass) -> None:
        super().__init__(pass_)
        self.iterations, self.bodies = 0, set[int]()

    def loop(self, statement: Loop) -> None:
        self.bodies.add(id(statement.body))
        self.iterations += self.weight  # the one in which the condition no longer holds
        super().loop(statement)

    def statements(self, statements: tuple[Statement, ...]) -> None:
        self.iterations += self.weight * (id(statements) in self.bodies)
        if self.iterations > LLVMPIPE_ITERATIONS:
            raise _TooLongError
        super().statements(statements)

    def access(self, element: Element, *, store: bool) -> None:
        pass


def size_bytes(texture: Texture) -> int:
    """The size of a texture's storage buffer: its channels as float32, row after row."""
    return texture.extent.rows * texture.extent.width * texture.format.channels * 4
