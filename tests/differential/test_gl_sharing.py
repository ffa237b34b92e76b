"""Many threads, processes and prepared plans on the OpenGL contexts of one process."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest
from drawing import F32, as_exact_as_it_can, assert_same_bits, corners, program, texture
from numpy.typing import NDArray
from products import plan_of, random_operands

from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.errors import ExecutorUnavailableError, InputError, PlanError
from gpgpu_legacy.plan.formats import R32F, RGBA32F
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import ONE_PER_TEXEL, Input, Matrix, Output, Packing, Rect, Region
from gpgpu_legacy.runtime import egl, gl, gl_arbfp_context, gl_prepared
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl_sharing import ContentCache, SharedContext
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.registry import find_executor

pytestmark = pytest.mark.gl

NUMPY = find_executor("numpy")
EXACT = Machine(exact=True, denormals=False)
THREADS = 8
SECONDS = 120  # after which a process is taken to hang

drawing = pytest.mark.parametrize("name", ["gl-raster", "gl-arbfp", "gl-compute"])
THREADED = [  # gl-raster and gl-compute have one context
    ["gl-raster", "gl-compute"], ["gl-arbfp"],
    ["gl-raster", "gl-arbfp", "gl-compute", "jit", "numpy"],
]  # fmt: skip
Ready = Callable[[str], Executor]


def whole_numbers(plan: Plan, seed: int) -> dict[str, NDArray[np.float32]]:
    """Operands whose products and sums are exact, and so the same bits on every device."""
    rng = np.random.default_rng(seed)
    return {
        m.name: rng.integers(-8, 9, (m.rows, m.columns)).astype(np.float32) for m in plan.operands
    }


def product(n: int = 24) -> Plan:
    method = find_method("hall-carr-hart-multi")
    return plan_of(method, (n, n + 7, n - 5), Options(accumulate=Accumulate.BLEND, block=4))


def context_of(name: str) -> SharedContext[Any]:
    return gl_arbfp_context.context() if name == "gl-arbfp" else gl.context()


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
    operands = [whole_numbers(plan, seed) for seed in range(THREADS)]
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


@drawing
def test_threads_share_a_prepared_plan(ready: Ready, name: str) -> None:
    plan = product()
    operands = [whole_numbers(plan, seed) for seed in range(THREADS)]
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
    return g.matmul(a, b, executor=name, method="hall-carr-hart-multi", machine=machine)
with ThreadPoolExecutor(8) as pool:
    found = list(pool.map(work, range(8)))
expected = g.matmul(a, b, executor="numpy", method="hall-carr-hart-multi", exact=True)
assert all(np.array_equal(each, expected) for each in found), found
print("done")
"""


def started(code: str, *arguments: str) -> str:
    """What a fresh process prints; it fails where the process does, or does not end."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("names", THREADED)
def test_a_fresh_process_whose_first_products_are_in_threads(
    ready: Ready, names: list[str]
) -> None:
    for name in names:
        ready(name)
    assert started(COLD, *names) == "done\n"


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
from gpgpu_legacy.algorithms.matmul.method import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.runtime.registry import find_executor
used, asked = sys.argv[1:3]
plan = find_method("larson-mcallister").plan(Shape(5, 5, 5))
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
        assert find_executor("auto").name == "jit"
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


@pytest.mark.parametrize(
    ("used", "asked", "during"),
    [
        ("gl-raster", "gl-raster", []),
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
from gpgpu_legacy.algorithms.matmul.method import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.runtime.registry import find_executor, executors
executors()
child = os.fork()
plan = find_method("larson-mcallister").plan(Shape(5, 5, 5))
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


def accumulating(steps: tuple[Step, ...]) -> Plan:
    """Steps on textures A, B (r32f, operand and scratch) and F, T (rgba32f), 6 by 5; F is shown."""
    rect, region = Rect(0, 0, 6, 5), Region(0, 0, 5, 6)
    channels = Packing(tuple((5 * c, 0) for c in range(4)))
    return Plan(
        "made for a test",
        (Matrix("A", 5, 6),),
        (Matrix("C", 20, 6),),
        (
            texture("A", 6, 5, R32F, None),
            texture("B", 6, 5, R32F, None),
            texture("F", 6, 5, RGBA32F, None),
            texture("T", 6, 5, RGBA32F, (0.5, -1.5, 2.0, 1e9)),
        ),
        (Input("A", region, "A", rect, ONE_PER_TEXEL),),
        steps,
        (Output("C", Region(0, 0, 20, 6), "F", rect, channels),),
    )


WHOLE, PART = Rect(0, 0, 6, 5), Rect(1, 1, 3, 2)
PLACE = Texcoords(0, corners((0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), 6, 5))
ADD_LOCAL = program(
    "TEX R0, fragment.texcoord[0], texture[0], RECT;",
    "MUL R0, R0, program.local[0];",
    "ADD result.color, R0, fragment.color.secondary;",
)
READ_F = program("TEX R0, fragment.texcoord[0], texture[0], RECT;", "MOV result.color, R0;")


def drawn(target: str, source: str, rect: Rect, **more: Any) -> FragmentPass:
    return FragmentPass(
        more.pop("code", ADD_LOCAL), (Binding(0, source),), (target,), rect, (PLACE,), **more
    )


PLANS: dict[str, tuple[Step, ...]] = {
    "a part of a texture without an initial value": (drawn("F", "A", PART),),
    "blending into what was cleared": (
        ClearPass("F", (0.25, 0.5, 0.0, -1.0)),
        Repeat(
            5,
            (
                drawn(
                    "F", "A", WHOLE, blend=Blend.ADD,
                    locals=(ParameterValue(0, (Affine(1.0, 0.5), 2.0, Affine(-1.0, 0.25), 0.5)),),
                ),
            ),
        ),
    ),
    "clears that differ in iterations": (
        Repeat(3, (ClearPass("T", (Affine(1.0, 1.0), Affine(0.0, -2.0), 0.0, 1.0)),
                   drawn("F", "T", WHOLE, locals=(ParameterValue(0, (1.0, 1.0, 1.0, 1.0)),)))),
    ),
    "copies of parts": (
        CopyPass("T", PART, "F", Rect(2, 3, 3, 2)),
        drawn("T", "F", WHOLE, code=READ_F),
        CopyPass("T", WHOLE, "F", WHOLE),
    ),
    "nothing but an output": (),
}  # fmt: skip


@pytest.mark.parametrize("steps", PLANS.values(), ids=PLANS)
@drawing
def test_a_second_run_gives_the_same_bits(ready: Ready, name: str, steps: tuple[Step, ...]) -> None:
    executor, plan = ready(name), accumulating(steps)
    if not steps:
        plan = replace(plan, outputs=(), results=(Matrix("C", 2, 2),))
    operands = [
        {"A": np.random.default_rng(n).standard_normal((5, 6)).astype(np.float32)} for n in range(2)
    ]
    expected = [NUMPY.run(plan, each).outputs["C"] for each in operands]
    with executor.prepare(plan) as prepared:
        for n in (0, 0, 1, 0):
            assert_same_bits(prepared.run(operands[n]).outputs["C"], expected[n])
            seen: list[int] = []
            found = prepared.run(operands[n], lambda number, *_, s=seen: s.append(number))
            assert_same_bits(found.outputs["C"], expected[n])
            assert seen == list(range(sum(times for times, _ in plan.weighted_passes())))


@drawing
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
    kept: list[Callable[[str], F32]] = []
    prepared.run(operands, lambda _n, _p, read: kept.append(read))
    with pytest.raises(InputError, match="while its observer runs"):
        kept[0](plan.textures[0].name)
    prepared.close()
    prepared.close()
    with pytest.raises(InputError, match="is closed and cannot be run"):
        prepared.run(operands)


@drawing
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


def kinds_alive(name: str) -> dict[str, int]:
    """How many objects of each kind the executor's context has, by names that a suite may reach."""
    with context_of(name).current():
        return egl.objects_alive(range(1, 1 << 15))


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


@pytest.mark.parametrize("name", ["gl-raster", "gl-arbfp"])
def test_what_cannot_be_prepared_leaves_nothing_behind(ready: Ready, name: str) -> None:
    executor = ready(name)
    plan = accumulating((ClearPass("F"),))
    large = replace(plan, textures=(*plan.textures, texture("L", 1 << 20, 1, R32F)))
    before = kinds_alive(name)
    with pytest.raises(PlanError, match="texture L is 1048576 by 1"):
        executor.prepare(large)
    assert kinds_alive(name) == before


@drawing
def test_many_programs_are_forgotten_but_for_the_last(
    ready: Ready, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, shared = ready(name), context_of(name)
    programs = ContentCache(3)
    monkeypatch.setattr(shared, "programs", programs)
    before: dict[str, int] | None = None
    for n in range(12):
        code = program(f"MOV result.color, {n}.5;")
        plan = accumulating((FragmentPass(code, (), ("F",), WHOLE),))
        found = executor.run(plan, {"A": np.zeros((5, 6), np.float32)}).outputs["C"]
        assert (found == n + 0.5).all()
        if n == 5:
            before = kinds_alive(name)
    assert kinds_alive(name) == before
    assert len(programs) == 3


@drawing
def test_an_open_plan_keeps_its_programs(
    ready: Ready, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    executor, shared = ready(name), context_of(name)
    monkeypatch.setattr(shared, "programs", ContentCache(1))
    codes = [program(f"MOV result.color, {n}.5;") for n in range(4)]
    steps = tuple(FragmentPass(c, (), ("F",), Rect(n, 0, 1, 5)) for n, c in enumerate(codes))
    plan = accumulating(steps)
    operands = {"A": np.zeros((5, 6), np.float32)}
    with executor.prepare(plan) as prepared:
        for _ in range(3):
            executor.run(product(8), random_operands(product(8)))
            found = prepared.run(operands).outputs["C"]
            assert found[0].tolist() == [0.5, 1.5, 2.5, 3.5, 0.0, 0.0]


def test_a_cache_keeps_what_is_referred_to_and_the_last_few() -> None:
    class Value:
        pass

    cache = ContentCache(2)
    held = cache.get("held", Value)
    for n in range(5):
        cache.get(n, Value)
    assert len(cache) == 3
    assert cache.get("held", Value) is held
    assert cache.created == 6
    del held
    cache.get(0, Value)
    cache.get(1, Value)
    assert len(cache) == 2
    assert cache.created == 8


@drawing
def test_a_context_that_the_driver_gave_up_is_said_to_be_lost(
    ready: Ready, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run has the context asked whether it works."""
    executor, plan = ready(name), product(8)
    monkeypatch.setattr(gl_prepared, "PATIENCE_S", -1.0)
    operands = whole_numbers(plan, 1)
    with executor.prepare(plan) as prepared:
        assert isinstance(prepared, gl_prepared.GlPrepared)
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
