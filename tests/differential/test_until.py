"""Loops that end by a condition, on all executors, against the same loops in Python and NumPy."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from drawing import EACH_EXECUTOR, F32, Made, as_exact_as_it_can
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import plans

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.expand import settled
from gpgpu_legacy.plan.plan import Binding, CopyPass, FragmentPass, Plan, Round, Until
from gpgpu_legacy.plan.serialise import plan_as_json, plan_from_json
from gpgpu_legacy.plan.textures import R32F, Extent, Rect, Texture, TextureKind
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.prepared import Ended

HALF = """!!ARBfp1.0
TEMP r;
TEX r, fragment.position, texture[0], RECT;
MUL result.color, r, 0.5;
END"""
ADD = HALF.replace("MUL", "ADD").replace("0.5", "program.local[0]")

LOOPS = int(os.environ.get("LOOPS", "6"))


class Case:
    """x is halved `inner` times and grows, e is halved, n counts, while e is not below `below`;
    all of that in an outer loop that begins with a new e, until n is not small any more.
    """

    def __init__(self, draw: st.DrawFn) -> None:
        pick = st.sampled_from
        self.every, self.at_most = draw(st.integers(1, 5)), draw(pick((0, 1, 2, 3, 7, 12)))
        self.below = draw(pick((0.3, 0.01, 1e-9, 2.0)))
        self.inner = draw(pick((0, 1, 2, 70)))  # of 70 passes, none is unrolled
        self.grows, self.swaps = draw(st.booleans()), draw(st.booleans())
        self.outer = draw(st.integers(0, 3))
        self.outer_until = draw(st.booleans())

    def __repr__(self) -> str:
        return repr(vars(self))

    def plan(self) -> Plan:
        p = PlanBuilder("loops")
        x, y = p.input("x", 4, 4), p.texture("y", 4, 4)
        e, f = p.texture("e", 1, 1, initial=1.0), p.texture("f", 1, 1)
        n, m = p.texture("n", 1, 1, initial=0.0), p.texture("m", 1, 1)
        again = (
            p.repeat(until=n, below=-1.0, at_most=self.outer)
            if self.outer_until
            else p.repeat(self.outer)
        )
        with again:
            p.clear(e, 1.0)
            with p.repeat(until=e, below=self.below, at_most=self.at_most, every=self.every) as i:
                with p.repeat(self.inner):
                    p.draw(HALF, {0: x}, into=y)
                    p.swap(x, y)
                p.draw(ADD, {0: x}, into=y, local={0: i * 0.25 + 0.125 if self.grows else 0.125})
                p.swap(x, y)
                p.draw(HALF, {0: e}, into=f)
                p.swap(e, f) if self.swaps else p.copy(f, e)
                p.draw(ADD, {0: n}, into=m, local={0: 1.0})
                p.copy(m, n)
        p.draw(HALF, {0: x}, into=y)
        p.output("half", y)
        p.output("x", x)
        p.output("e", e)
        p.output("n", n)
        return p.plan()

    def expected(self, x: F32) -> tuple[dict[str, F32], list[int]]:
        """The outputs, and the iterations of each inner loop."""
        half, e, ran = np.float32(0.5), np.float32(1.0), []
        for _ in range(self.outer):
            e, k = np.float32(1.0), 0
            while k < self.at_most and not (k % self.every == 0 and e < self.below):
                for _ in range(self.inner):
                    x = x * half
                x = x + np.float32(k * 0.25 + 0.125 if self.grows else 0.125)
                e, k = e * half, k + 1
            ran.append(k)
        outputs = {"half": x * half, "x": x, "e": e, "n": np.float32(sum(ran))}
        return outputs, ran


@EACH_EXECUTOR
@settings(max_examples=LOOPS)
@given(case=st.composite(Case)(), seed=st.integers(0, 99))
def test_loops_end_as_in_python(name: str, case: Case, seed: int) -> None:
    plan = case.plan()
    assert plan_from_json(plan_as_json(plan)) == plan
    x = np.random.default_rng(seed).random((4, 4), np.float32)
    wanted, ran = case.expected(x)
    executor = find_executor(name)
    seen: list[int] = []
    with executor.prepare(plan, as_exact_as_it_can(executor, plan)) as prepared:
        fused = prepared.run({"x": x})
        apart = prepared.run({"x": x}, lambda number, _, __: seen.append(number))
    iterations = [end.iterations for end in fused.untils]
    assert iterations == ([case.outer, *ran] if case.outer_until else ran)
    for result in (fused, apart):
        for output, values in wanted.items():
            assert (result.outputs[output] == values).all(), output
    as_it_ran = settled(plan, iterations)
    assert seen == list(range(as_it_ran.pass_count))
    assert plan.pass_count >= as_it_ran.pass_count or case.swaps


SMALL = Texture("E", TextureKind.RECT, Extent(1, 1), R32F, (1.0, 0.0, 0.0, 0.0))
ONE = Rect(0, 0, 1, 1)


def looped(plan: Plan, iterations: int) -> Plan:
    """The plan's steps in a loop whose condition holds after those iterations."""
    halve = FragmentPass(assemble(HALF), (Binding(0, "E"),), ("E2",), ONE)
    body = (*plan.steps, halve, CopyPass("E2", ONE, "E", ONE))
    until = Until(0.75 * 0.5 ** (iterations - 1), 8, (Round("E", 1, body),), (Round("E", 0),))
    textures = (*plan.textures, SMALL, replace(SMALL, name="E2"))
    return replace(plan, textures=textures, steps=(until,))


@EACH_EXECUTOR
@settings(max_examples=LOOPS)
@given(made=plans(tame=True), iterations=st.integers(0, 4))
def test_any_plan_in_a_loop_is_its_steps_over_and_over(
    name: str, made: Made, iterations: int
) -> None:
    executor = find_executor(name)
    plan = looped(made.plan, iterations)
    validate(plan)
    again = replace(made.plan, steps=tuple(chain(*[made.plan.steps] * iterations)))
    machine = as_exact_as_it_can(executor, plan)
    result, wanted = (executor.run(p, made.operands, machine) for p in (plan, again))
    assert result.untils == (Ended(iterations, reached=True),)
    for output, values in wanted.outputs.items():
        np.testing.assert_array_equal(result.outputs[output], values)


@EACH_EXECUTOR
def test_a_state_goes_on_and_takes_new_inputs(name: str) -> None:
    p = PlanBuilder("counts")
    x, y = p.input("x", 2, 3), p.texture("y", 3, 2)
    n, m = p.texture("n", 3, 2, initial=0.0), p.texture("m", 3, 2)
    p.draw(HALF, {0: x}, into=y)
    p.copy(y, x)
    p.draw(ADD, {0: n}, into=m, local={0: 1.0})
    p.copy(m, n)
    p.output("x", x)
    p.output("n", n)
    ones = np.ones((2, 3), np.float32)

    def ends(result: object) -> tuple[float, float]:
        return tuple(float(result.outputs[o].max()) for o in ("x", "n"))  # type: ignore[attr-defined]

    with find_executor(name).prepare(p.plan()) as prepared:
        with pytest.raises(InputError, match="has not run yet"):
            prepared.run({}, resume=True)
        assert ends(prepared.run({"x": ones})) == (0.5, 1)
        assert ends(prepared.run({}, resume=True, times=3)) == (0.0625, 4)
        assert ends(prepared.run({"x": 8 * ones}, resume=True)) == (4, 5)
        assert ends(prepared.run({"x": ones})) == (0.5, 1)
        with pytest.raises(InputError, match="2×2"):
            prepared.run({"x": np.ones((2, 2))}, resume=True)


@EACH_EXECUTOR
def test_a_condition_that_is_nan_is_an_error(name: str) -> None:
    p = PlanBuilder("nan")
    x, y = p.input("x", 1, 1), p.texture("y", 1, 1)
    with p.repeat(until=x, below=0.0, at_most=3):
        p.draw(ADD, {0: x}, into=y, local={0: -np.inf})
        p.copy(y, x)
    p.output("x", x)
    with pytest.raises(InputError, match="texel of x is NaN after 1 iterations"):
        find_executor(name).run(p.plan(), {"x": np.array([[np.inf]], np.float32)})
