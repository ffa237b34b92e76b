"""Many threads, processes and prepared plans on one device, and on a process's OpenGL contexts."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ctypes import CDLL, c_ubyte, c_uint, c_void_p
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from drawing import EXACT, F32, as_exact_as_it_can, assert_same_bits, on, program, show, texture
from products import random_operands, whole_operands

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.isa.program import Program, Vec4
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    ComputePass,
    FragmentPass,
    Pass,
    Plan,
)
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Rect
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl import compatibility, core, egl
from gpgpu_legacy.runtime.gl.prepared import GlPrepared
from gpgpu_legacy.runtime.gl.sharing import ContentCache, SharedContext

NUMPY = find_executor("numpy")
THREADS = 8
SECONDS = 120  # after which a process is taken to hang

drawing = on("gl-raster", "gl-arbfp", "gl-compute")
everywhere = on("numpy", "jit", "gl-raster", "gl-arbfp", "gl-compute")
THREADED = [  # gl-raster and gl-compute have one context
    pytest.param(names, marks=[pytest.mark.gl] * (names[0] != "jit"))
    for names in (["jit", "numpy"], ["gl-raster", "gl-arbfp", "gl-compute", "jit", "numpy"])
]
Ready = Callable[[str], Executor]


def product(n: int = 24) -> Plan:
    multi = find_product("hall-carr-hart-multi")
    return multi.plan(m=n, l=n + 7, n=n - 5, accumulate="blend", block=4)


def context_of(name: str) -> SharedContext[Any]:
    return compatibility.context() if name == "gl-arbfp" else core.context()


# Threads -----------------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], object]) -> None:
    """Do work(0), work(1) and so on at once, and raise what any of them raises."""
    barrier = Barrier(count)

    def one(number: int) -> object:
        barrier.wait(SECONDS)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(one, range(count)))


@pytest.mark.parametrize("names", THREADED)
def test_threads_each_get_the_answer(ready: Ready, names: list[str]) -> None:
    executors = [ready(name) for name in names]
    plan = product()
    operands = [whole_operands(plan, seed) for seed in range(THREADS)]
    expected = [NUMPY.run(plan, each, EXACT).outputs["C"] for each in operands]

    def work(number: int) -> None:
        executor = executors[number % len(executors)]
        machine = as_exact_as_it_can(executor, plan)
        with executor.prepare(plan, machine) as prepared:
            for _ in range(5):
                found = prepared.run(operands[number]).outputs["C"]
                np.testing.assert_array_equal(found, expected[number])
        found = executor.run(plan, operands[number], machine).outputs["C"]
        np.testing.assert_array_equal(found, expected[number])

    in_threads(THREADS, work)


@everywhere
def test_threads_share_a_prepared_plan(ready: Ready, name: str) -> None:
    plan = product()
    operands = [whole_operands(plan, seed) for seed in range(THREADS)]
    expected = [NUMPY.run(plan, each, EXACT).outputs["C"] for each in operands]
    with ready(name).prepare(plan) as prepared:

        def work(number: int) -> None:
            for _ in range(5):
                found = prepared.run(operands[number]).outputs["C"]
                np.testing.assert_array_equal(found, expected[number])

        in_threads(THREADS, work)


COLD = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
import numpy as np
import gpgpu_legacy as g
barrier = Barrier(8)
a, b = (np.random.default_rng(n).integers(-8, 9, (9, 9)).astype(np.float32) for n in range(2))
def work(number):
    barrier.wait(60)
    name = sys.argv[1 + number % (len(sys.argv) - 1)]
    machine = g.Machine(exact=name != "gl-arbfp", denormals=False)
    method = "dobravec-bulic-shared" if name == "jit" else "hall-carr-hart-multi"
    g.matmul(a, b, executor=name, method=method, machine=machine)
    return g.matmul(a, b, executor=name, method="hall-carr-hart-multi", machine=machine)
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(work, range(8)))
expected = g.matmul(a, b, executor="numpy", method="hall-carr-hart-multi", exact=True)
assert all(np.array_equal(each, expected) for each in found), found
print("done")
"""


def started(code: str, *arguments: str, **environment: str) -> str:
    """What a fresh process prints; it fails where the process does, or does not end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True,
        timeout=SECONDS, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("names", THREADED[1:])
def test_a_fresh_process_whose_first_products_are_in_threads(
    ready: Ready, names: list[str], tmp_path: Path
) -> None:
    """Nothing is compiled yet at first, nor on disk; then it is on disk alone."""
    for name in names:
        ready(name)
    for _ in range(2):
        assert started(COLD, *names, XDG_CACHE_HOME=str(tmp_path)) == "done\n"


@drawing
def test_the_context_goes_back_to_whom_it_was_taken_from(ready: Ready, name: str) -> None:
    ready(name)
    shared = context_of(name)
    current = egl.current_context()
    if current is None:
        pytest.skip("GL does not come through EGL here")
    before = current.handle()
    with shared.current():
        ours = current.handle()
        assert ours != before
        with shared.current():
            assert current.handle() == ours
        assert current.handle() == ours
        with shared.released():
            assert current.handle() == before
            with shared.current():
                assert current.handle() == ours
        assert current.handle() == ours
    assert current.handle() == before


@drawing
def test_a_thread_that_fails_lets_others_in(ready: Ready, name: str) -> None:
    ready(name)
    shared = context_of(name)

    def fail() -> None:
        with pytest.raises(ZeroDivisionError), shared.current(), shared.released():
            raise ZeroDivisionError

    thread = Thread(target=fail)
    thread.start()
    thread.join()
    with shared.current():
        shared.finish()


# Processes ---------------------------------------------------------------------------------------

FORK = """
import os, signal, sys, threading
import numpy as np
import gpgpu_legacy as g
from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.predict.auto import executor_for
from gpgpu_legacy.runtime.executor import find_executor
used, asked = sys.argv[1:3]
plan = find_product("larson-mcallister").plan(n=5)
a, b = (np.random.default_rng(n).integers(-8, 9, (5, 5)).astype(np.float32) for n in range(2))
prepared = find_executor(used).prepare(plan)
prepared.run({"A": a, "B": b})
held, fork = threading.Semaphore(0), threading.Event()
threads = []
if len(sys.argv) > 3:  # locks are held by other threads when the process is forked
    def wait(*_):
        held.release()
        fork.wait(60)
    def hold():
        with prepared.context.current():
            wait()
    def run():
        prepared.run({"A": a, "B": b}, wait)
    threads = [threading.Thread(target=each) for each in (run, hold)]
    for thread in threads:
        thread.start()
        held.acquire(timeout=60)
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        refusals = []
        def refused(work):
            try:
                work()
            except ExecutorUnavailableError as error:
                refusals.append(str(error))
        refused(lambda: prepared.run({"A": a, "B": b}))
        refused(lambda: find_executor(asked))
        refused(lambda: find_executor(asked).run(plan, {"A": a, "B": b}))
        prepared.close()
        assert len(refusals) == 3 and len(set(refusals)) == 1, refusals
        assert "forked" in refusals[0] and "\\n" not in refusals[0]
        large = find_product("larson-mcallister").plan(n=999)
        assert executor_for("auto", large).name == "jit"
        assert np.allclose(g.matmul(a, b), a @ b)
    except BaseException as error:
        print(repr(error), flush=True)
        os._exit(1)
    sys.exit(0)
fork.set()
status = os.waitpid(child, 0)[1]
assert status == 0, status
for thread in threads:
    thread.join()
np.testing.assert_array_equal(
    prepared.run({"A": a, "B": b}).outputs["C"],
    find_executor("numpy").run(plan, {"A": a, "B": b}).outputs["C"],
)
prepared.close()
print("done")
"""


@pytest.mark.gl
@pytest.mark.parametrize(
    ("used", "asked", "during"),
    [
        ("gl-raster", "gl-arbfp", ["locked"]),
        ("gl-arbfp", "gl-raster", ["locked"]),
        ("gl-arbfp", "gl-arbfp", []),
    ],
)
def test_a_forked_process_gets_one_clear_error(
    ready: Ready, used: str, asked: str, during: list[str]
) -> None:
    for name in (used, asked):
        ready(name)
    assert started(FORK, used, asked, *during).endswith("done\n")


FORK_BEFORE = """
import os, sys
import numpy as np
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.runtime.executor import find_executor, executors
executors()
child = os.fork()
plan = find_product("larson-mcallister").plan(n=5)
a = np.ones((5, 5), np.float32)
found = find_executor(sys.argv[1]).run(plan, {"A": a, "B": a}).outputs["C"]
assert (found == 5).all()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@drawing
def test_a_process_forked_before_opengl_was_used_has_its_own(ready: Ready, name: str) -> None:
    ready(name)
    assert started(FORK_BEFORE, name) == "done\n"


# Prepared plans ----------------------------------------------------------------------------------


def filling(*codes: Program) -> Plan:
    """Programs that each draw a column of F, which has no initial value."""
    steps = [FragmentPass(c, (), ("F",), Rect(n, 0, 1, 5)) for n, c in enumerate(codes)]
    return show(steps, texture("F", 6, 5, RGBA32F, None))


def halves(count: int) -> list[Program]:
    return [program(f"MOV result.color, {n}.5;") for n in range(count)]


@pytest.mark.parametrize("initial", [None, (0.5, 0.0, 0.0, 0.0)])
@everywhere
def test_a_run_finds_nothing_of_the_one_before(
    ready: Ready, name: str, initial: Vec4 | None
) -> None:
    """3 is written to a part, 1 added to all: else undefined, that is zero, or one half."""
    one, three = (program(f"MOV result.color, {n}.0;") for n in (1, 3))
    write = FragmentPass(three, (), ("P",), Rect(1, 1, 3, 2))
    add = FragmentPass(one, (), ("P",), Rect(0, 0, 5, 4), blend=ADD)
    expected = np.full((4, 5), 1.5 if initial else 1.0, np.float32)
    expected[1:3, 1:4] = 4.0
    with ready(name).prepare(show([write, add], texture("P", 5, 4, R32F, initial))) as prepared:
        for _ in range(3):
            assert_same_bits(prepared.run({}).outputs["result"], expected)


@everywhere
def test_what_a_closed_or_misused_plan_says(ready: Ready, name: str) -> None:
    plan = product()
    operands = random_operands(plan)
    prepared = ready(name).prepare(plan)
    inside: list[str] = []

    def again(*_: object) -> None:
        for work in (lambda: prepared.run(operands), prepared.close):
            with pytest.raises(InputError) as raised:
                work()
            inside.append(str(raised.value))

    prepared.run(operands, again)
    assert len(set(inside)) == 2
    assert all("by its own observer" in each and "\n" not in each for each in inside)
    with pytest.raises(InputError, match=r"operand A is 3×3, but plan .* needs 24×31"):
        prepared.run({**operands, "A": np.zeros((3, 3), np.float32)})
    if name.startswith("gl-"):
        kept: list[Callable[[str], F32]] = []
        prepared.run(operands, lambda _n, _p, read: kept.append(read))
        with pytest.raises(InputError, match="while its observer runs"):
            kept[0](plan.textures[0].name)
    prepared.close()
    prepared.close()
    with pytest.raises(InputError, match="is closed and cannot be run"):
        prepared.run(operands)


@everywhere
def test_observers_run_other_products(ready: Ready, name: str) -> None:
    executor, plan, other = ready(name), product(), product(9)
    operands, others = random_operands(plan), random_operands(other)
    alone, other_alone = (
        executor.run(p, o).outputs["C"] for p, o in ((plan, operands), (other, others))
    )
    with executor.prepare(other) as second, executor.prepare(plan) as prepared:

        def work() -> None:
            assert_same_bits(second.run(others).outputs["C"], other_alone)
            assert_same_bits(executor.run(other, others).outputs["C"], other_alone)

        def look(number: int, pass_: Pass, read: Callable[[str], F32]) -> None:
            assert not isinstance(pass_, ComputePass)
            before = read(pass_.target)
            if number % 2:
                work()
            else:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(work).result(SECONDS)
                    assert_same_bits(pool.submit(read, pass_.target).result(SECONDS), before)
            assert_same_bits(read(pass_.target), before)

        assert_same_bits(prepared.run(operands, look).outputs["C"], alone)


# What is left behind -----------------------------------------------------------------------------


KINDS = ("Buffer", "Framebuffer", "Program", "ProgramARB", "Sampler", "Texture", "VertexArray")


def kinds_alive(name: str) -> dict[str, int]:
    """How many objects of each kind the executor's context has, by names that a suite may reach."""
    find = CDLL("libEGL.so.1").eglGetProcAddress
    find.restype, signatures = c_void_p, dict.fromkeys(KINDS, (c_ubyte, c_uint))
    with context_of(name).current():
        alive = egl.load_functions(lambda kind: find(f"glIs{kind}".encode()), signatures)
        return {kind: sum(map(bool, map(alive[kind], range(1, 1 << 15)))) for kind in KINDS}


@drawing
def test_cycles_leave_nothing_behind(ready: Ready, name: str) -> None:
    executor, plan = ready(name), product()
    operands = random_operands(plan)

    def cycle() -> None:
        with executor.prepare(plan) as prepared:
            prepared.run(operands)
            prepared.run(operands, lambda *_: None)

    cycle()
    before = kinds_alive(name)
    for _ in range(10):
        cycle()
    assert kinds_alive(name) == before


@drawing
def test_what_nobody_closes_goes_when_nobody_refers_to_it(ready: Ready, name: str) -> None:
    executor, plan = ready(name), product()
    executor.run(plan, random_operands(plan))
    before = kinds_alive(name)
    prepared = executor.prepare(plan)
    assert kinds_alive(name) != before
    del prepared
    gc.collect()
    assert kinds_alive(name) == before


@on("gl-raster", "gl-arbfp")
def test_what_cannot_be_prepared_leaves_nothing_behind(ready: Ready, name: str) -> None:
    executor = ready(name)
    plan = filling(*halves(1))
    large = replace(plan, textures=(*plan.textures, texture("L", 1 << 20, 1, R32F)))
    before = kinds_alive(name)
    with pytest.raises(PlanError, match="texture L is 1048576 by 1"):
        executor.prepare(large)
    assert kinds_alive(name) == before


@drawing
def test_an_open_plan_keeps_its_programs(
    ready: Ready, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, shared = ready(name), context_of(name)
    monkeypatch.setattr(shared, "programs", ContentCache(1))
    with executor.prepare(filling(*halves(4))) as prepared:
        for _ in range(3):
            executor.run(product(8), random_operands(product(8)))
            found = prepared.run({}).outputs["result"]
            assert found[0].tolist() == [0.5, 1.5, 2.5, 3.5, 0.0, 0.0]
            made = shared.programs.created
            prepared.run({})
            assert shared.programs.created == made


@drawing
def test_a_context_that_the_driver_gave_up_is_said_to_be_lost(
    ready: Ready, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run has the context asked whether it works."""
    executor, plan = ready(name), product(8)
    monkeypatch.setattr("gpgpu_legacy.runtime.gl.prepared.PATIENCE_S", -1.0)
    operands = whole_operands(plan, 1)
    with executor.prepare(plan) as prepared:
        assert isinstance(prepared, GlPrepared)
        context = prepared.context
        wanted = prepared.run(operands).outputs["C"]
        monkeypatch.setattr(context, "_lost", False)  # so that it is false again in the end
        monkeypatch.setattr(type(context), "_answers", lambda _: False)
        for _ in range(2):
            with pytest.raises(
                ExecutorUnavailableError, match="lost this process's OpenGL"
            ) as raised:
                prepared.run(operands)
            assert "\n" not in str(raised.value)
        with monkeypatch.context() as lost:  # closing has nothing to release, and says nothing
            lost.setattr(context, "_lost", True)
            prepared.close()
        monkeypatch.undo()
        np.testing.assert_array_equal(prepared.run(operands).outputs["C"], wanted)
