"""The `jit` executor: plans as native code on the CPU, fragment programs by LLVM, kernels by numba.

A Repeat whose passes chain (lower/chains.py) is one Loop: all of its iterations are carried out on
a tile of fragments before the next tile. What native code is not made for, or could not give to the
last bit where that is asked for, runs on the reference machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import sleep

import numpy as np

from gpgpu_legacy.interp.machine import run_fragment_pass
from gpgpu_legacy.lower.chains import Loop, carried_out, loops, loops_of
from gpgpu_legacy.lower.jit import DTYPES, compile_kernel
from gpgpu_legacy.plan.expand import at_iteration
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Pass, Plan, constant_groups
from gpgpu_legacy.runtime.devices import processor_name, thread_count
from gpgpu_legacy.runtime.executor import (
    ALL_PASSES,
    F32,
    Capabilities,
    Executor,
    Machine,
    Observer,
    Prepared,
    Result,
)
from gpgpu_legacy.runtime.host import Textures, copied_or_cleared, run_on_host
from gpgpu_legacy.runtime.sessions import OneByOne

_CHUNKS = 8  # a thread, so that a thread that is late leaves work to the others


class JitExecutor(Executor):
    """All the processor's cores; the numpy executor's results, bit for bit, where `exact`.

    What is undefined in GLSL is undefined here: kernels that reach outside of a buffer are to be
    tried on the numpy executor, which checks.
    """

    name = "jit"
    summary = "native code on all cores of the CPU, compiled by LLVM and numba"
    capabilities = Capabilities(
        ALL_PASSES, fuses_passes=True, tuning=frozenset({"tile"}), cpu_rank=1
    )

    def device(self) -> str:
        """The processor, as the operating system names it, and how many threads work."""
        threads = thread_count()
        return f"{processor_name()}, {threads} thread{'s' * (threads > 1)}"

    def is_hardware(self) -> bool:
        """Never a GPU."""
        return False

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
        """Carry out a plan; see Executor. Raises PlanError for a kernel that is not compiled."""
        for _, each in plan.weighted_passes():
            if isinstance(each, ComputePass):
                compile_kernel(each.kernel)
        with ThreadPoolExecutor(thread_count()) as pool:
            for _ in pool.map(_awake, range(thread_count())):
                pass  # the threads have started before the clock has
            session = _Session(plan, pool, machine, observed=observer is not None)
            return run_on_host(plan, operands, session.work, observer, session.make)


class _Session:
    """The Loops of a plan, compiled, and how to carry them out."""

    def __init__(
        self, plan: Plan, pool: ThreadPoolExecutor, machine: Machine, *, observed: bool
    ) -> None:
        from gpgpu_legacy.lower.content import UnsupportedError
        from gpgpu_legacy.lower.native import gathered_alone
        from gpgpu_legacy.runtime.native import Compiled, compile_loop, roomy

        self.pool = pool
        self.steps = list(loops(plan, apart=observed))
        interleaved = gathered_alone(loops_of(self.steps), plan)
        self.make = partial(roomy, interleaved=interleaved)
        self.compiled: dict[int, Compiled] = {}
        textures = {texture.name: texture for texture in plan.textures}
        tile = machine.tuning.tile if machine.tuning else None
        for loop in loops_of(self.steps):
            try:
                ready = compile_loop(loop, textures, machine.exact, tile, interleaved)
            except UnsupportedError:
                continue  # left to the reference machine
            self.compiled[id(loop)] = ready
            assert ready.table.size  # made here, before the clock starts

    def work(self, textures: Textures) -> Iterator[Pass]:
        """Carry out the plan; what is fused is not told of, and none of it is where observed."""
        for member, iterations, done in carried_out(self.steps):
            if isinstance(member, Loop):
                self.loop(member, iterations, textures)
            elif isinstance(done, ComputePass):
                _dispatch(done, textures, self.pool)
            elif done is not None:
                copied_or_cleared(done, textures)
            if done is not None:
                yield done

    def loop(self, loop: Loop, iterations: tuple[int, int], textures: Textures) -> None:
        ready = self.compiled.get(id(loop))
        if ready is not None:
            from gpgpu_legacy.runtime.native import run_loop

            run_loop(ready, textures, iterations, self.pool)
            return
        for iteration in range(*iterations):
            for each in loop.passes:
                now = at_iteration(each, iteration)
                if isinstance(now, FragmentPass):
                    run_fragment_pass(now, textures)
                else:
                    copied_or_cleared(now, textures)


def _awake(_: int) -> None:
    """What a thread does to be there, long enough that the next task starts another."""
    sleep(1e-3)


def _dispatch(each: ComputePass, textures: Textures, pool: ThreadPoolExecutor) -> None:
    """One dispatch, its work groups in chunks; a single chunk needs no other thread."""
    names = {b.binding: b.texture for b in each.buffers}
    buffers = [textures[names[b.binding]].planes[0].reshape(-1) for b in each.kernel.buffers]
    given = {u.name: u.value for u in each.uniforms}
    uniforms = [getattr(np, DTYPES[u.type])(given[u.name]) for u in each.kernel.uniforms]
    across, up = constant_groups(each.groups)
    groups, work_groups = across * up, compile_kernel(each.kernel)
    chunk = -(-groups // (thread_count() * _CHUNKS))

    def run(first: int) -> None:
        last = min(first + chunk, groups)
        work_groups(*buffers, *uniforms, each.kernel.local_size[0], across, first, last)

    chunks = range(0, groups, max(chunk, 1))
    if len(chunks) <= 1:
        for first in chunks:
            run(first)
        return
    for _ in pool.map(run, chunks):
        pass


EXECUTOR = JitExecutor()
