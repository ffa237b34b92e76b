"""Plans prepared on numpy and jit: made once, run often, in forked processes too."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from functools import lru_cache
from weakref import ref

import numpy as np
import pytest
from drawing import EXACT, assert_same_bits, program, show, texture
from sorting import in_order, shuffled, sort_plan

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.lower.machine_code import TargetProcessor
from gpgpu_legacy.plan.plan import (
    FragmentPass,
)
from gpgpu_legacy.plan.textures import RGBA32F, Rect
from gpgpu_legacy.runtime import native
from gpgpu_legacy.runtime.executor import Executor, find_executor

JIT, NUMPY = find_executor("jit"), find_executor("numpy")
HOST = pytest.mark.parametrize("executor", [NUMPY, JIT], ids=["numpy", "jit"])
TABLES = pytest.mark.parametrize("tables", [False, True], ids=["passes", "tables"])


# Sorting -----------------------------------------------------------------------------------------


@TABLES
@HOST
def test_a_sort_prepared_once_sorts_whatever_it_is_given(executor: Executor, tables: bool) -> None:
    plan = sort_plan(32, 16, tables=tables)
    with executor.prepare(plan, EXACT) as prepared:
        for seed in range(3):
            values = shuffled(32, 16, seed)
            found = prepared.run({"values": values}).outputs["sorted"]
            np.testing.assert_array_equal(found, in_order(values))


@TABLES
def test_passes_that_differ_in_parameters_are_compiled_once(
    tables: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []
    load = TargetProcessor.load

    def counted(self: TargetProcessor, text: str, **options: bool) -> object:
        loads.append(text)
        return load(self, text, **options)

    native.schedule_code()
    monkeypatch.setattr(TargetProcessor, "load", counted)
    width, height = (64, 4) if tables else (128, 2)  # programs that no other test has
    with JIT.prepare(sort_plan(width, height, tables=tables)) as prepared:
        assert len(loads) == 1
        monkeypatch.setattr(
            native, "emit_fused_passes", lambda *_, **__: pytest.fail("emitted in a run")
        )
        values = shuffled(width, height)
        found = prepared.run({"values": values}).outputs["sorted"]
    np.testing.assert_array_equal(found, in_order(values))
    assert len(loads) == 1


@pytest.mark.parametrize("name", ["numpy", "jit", "gl-compute", "gl-raster"])
def test_padding_is_zero_and_results_are_arrays_of_their_own(
    ready: Callable[[str], Executor], name: str
) -> None:
    """Quadrants of odd matrices: textures have texels that hold no element."""
    executor = ready(name)
    plan = find_product("hall-carr-hart-multi").plan(m=5, l=7, n=3, block=2)
    ones = {m.name: np.ones((m.rows, m.columns), np.float32) / 8 for m in plan.operands}
    twos = {matrix: 2 * values for matrix, values in ones.items()}
    with executor.prepare(plan, EXACT) as prepared:
        first = prepared.run(ones).outputs["C"]
        kept = first.copy()
        second = prepared.run(twos).outputs["C"]
        assert_same_bits(first, kept)
        assert_same_bits(second, NUMPY.run(plan, twos).outputs["C"])
        assert_same_bits(prepared.run(ones).outputs["C"], kept)
        part, first = first[1:, :2].T, second  # the memory of what nobody holds may be used again
        for _ in range(3):
            prepared.run(twos)
            assert_same_bits(part, kept[1:, :2].T)


# Closing -----------------------------------------------------------------------------------------


@HOST
def test_closing_gives_textures_back(executor: Executor) -> None:
    prepared = executor.prepare(sort_plan(16, 16))
    prepared.run({"values": shuffled(16, 16)})
    planes = [ref(storage.planes[0]) for storage in prepared.textures.values()]  # type: ignore[attr-defined]
    assert all(plane() is not None for plane in planes)
    prepared.close()
    gc.collect()
    assert [plane() for plane in planes] == [None, None]


def test_code_that_is_not_used_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs one after another: what is in memory is what was used last."""
    monkeypatch.setattr(native, "_code", lru_cache(maxsize=2)(native._code.__wrapped__))
    for number in range(5):
        text = program(f"ADD result.color, fragment.position, {number}.25;")
        each = FragmentPass(text, (), ("P",), Rect(0, 0, 2, 2))
        JIT.run(show([each], texture("P", 2, 2, RGBA32F)), {})
    assert native._code.cache_info().currsize == 2


def test_code_lives_as_long_as_a_prepared_plan_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    values = shuffled(8, 8)
    with JIT.prepare(sort_plan(8, 8)) as prepared:
        test_code_that_is_not_used_is_freed(monkeypatch)
        found = prepared.run({"values": values}).outputs["sorted"]
    np.testing.assert_array_equal(found, in_order(values))


# Processes ---------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_plans_too() -> None:
    """One prepared by its parent, whose threads it lacks, and one of its own."""
    values = shuffled(64, 64)
    with JIT.prepare(sort_plan(64, 64)) as prepared:
        prepared.run({"values": values})
        child = os.fork()
        if child == 0:
            code = 1
            try:
                found = prepared.run({"values": values}).outputs["sorted"]
                np.testing.assert_array_equal(found, in_order(values))
                found = JIT.run(sort_plan(16, 8), {"values": values[:8, :16]}).outputs["sorted"]
                np.testing.assert_array_equal(found, in_order(values[:8, :16]))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        again = prepared.run({"values": values}).outputs["sorted"]
    np.testing.assert_array_equal(again, in_order(values))
