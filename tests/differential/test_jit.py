"""The jit executor against the reference machine, bit for bit; and its rules, on small kernels."""

from __future__ import annotations

import numpy as np
import pytest
from buffers import bindings, buffer, read_from
from buffers import uniforms as uniforms_
from drawing import assert_same_bits

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.lower.emit.llvm_kernel import KernelEmitter
from gpgpu_legacy.plan.plan import (
    ComputePass,
    Plan,
)
from gpgpu_legacy.plan.serialise import plan_as_json, plan_from_json
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Matrix,
    Rect,
    Region,
    Transfer,
)
from gpgpu_legacy.runtime.executors.jit import EXECUTOR as JIT
from gpgpu_legacy.runtime.executors.numpy_machine import EXECUTOR as NUMPY

pytestmark = pytest.mark.filterwarnings("error")


# Small kernels -----------------------------------------------------------------------------------


def kernel_plan(text: str, length: int, groups: tuple[int, int], **uniforms: float) -> Plan:
    """A plan that runs a kernel on the buffers I, which is given, and O, which is read back."""
    given, result = Matrix("I", 1, length), Matrix("O", 1, length)
    buffers = tuple(buffer(name, 1, length, zero=True) for name in "IO")
    kernel = parse_kernel(text, name="small.comp")
    step = ComputePass(kernel, bindings("I", "O"), uniforms_(**uniforms), groups)
    load = Transfer("I", Region(0, 0, 1, length), "I", Rect(0, 0, length, 1), ONE_PER_TEXEL)
    outputs = (read_from(result, buffers[1]),)
    return Plan("small", (given,), (result,), buffers, (load,), (step,), outputs)


def source(body: str, across: int = 8, up: int = 4, declarations: str = "") -> str:
    return f"""#version 430 core
layout(local_size_x = {across}, local_size_y = {up}, local_size_z = 1) in;
layout(std430, binding = 0) readonly buffer buffer_I {{ float I[]; }};
layout(std430, binding = 1) writeonly buffer buffer_O {{ float O[]; }};
{declarations}
void main()
{{
    int tx = int(gl_LocalInvocationID.x), ty = int(gl_LocalInvocationID.y);
    int group = int(gl_WorkGroupID.y) * 2 + int(gl_WorkGroupID.x);
    int at = group * {across * up} + ty * {across} + tx;
{body}
}}
"""


KERNELS = {
    "uint wraps around": "uint u = uint(tx) - 3; uint v = u * 2654435761u + 7; O[at] = float(u) "
    "- float(v % 1000u) + ((u > 5u) ? 1.0 : 2.0) + I[int(uint(at) + 4294967295u + 1u)];",
    "an index that wraps back": "if (at > 0) O[at] = I[uint(at) + 4294967295u];",
    "int wraps around": "int i = 2147483647 - 3 + tx; O[at] = float(i) + float(i * 65537);",
    "signs of quotients": "int a = tx * 5 - 17, b = ty * 3 - 4; "
    "O[at] = float(a / b * 100 + a % b);",
    "quotients by zero": "int a = tx - 3; "
    "O[at] = float(7 / a) + float(7u / uint(tx)) + 1.0 / I[0];",
    "nested ifs": "float r = 0.5; if (tx > 2) { if (ty > 1) r = 1.0; else if (tx > 5) r = 2.0; "
    "else { r = 3.0; r += I[at]; } } else r = -1.0; if (!(r > 0.0) || ty == 3) r *= 2.0; "
    "O[at] = r;",
    "loops that part": "float r = 0.0; for (int k = 0; k < tx; ++k) for (int q = k; q < ty; q++) "
    "r += I[k] * float(q - k); O[at] = r;",
    "a loop that rows share": "float r = 0.0; int s = 0; for (int k = 0; k < ty; ++k) "
    "{ r += I[k * 8 + tx]; s += k; } O[at] = r + float(s);",
    "barriers in a loop": "float r = 0.0; for (int k = 0; k < steps; ++k) { S[ty][tx] = "
    "I[at] * float(k + 1); barrier(); r += S[3 - ty][7 - tx]; barrier(); } O[at] = r;",
    "barriers in an if": "float r = 0.25; if (steps > 2 && gl_WorkGroupID.x == 0u) { S[ty][tx] "
    "= I[at]; barrier(); r = S[ty][(tx + 1) % 8]; } else r = 7.0; O[at] = r;",
    "private across barriers": "int row = ty * 3; int odd = tx % 2; float f = float(tx * ty); "
    "bool last = tx == 7; S[ty][tx] = f; barrier(); row += 1; odd += row; "
    "O[at] = f + S[3 - ty][odd % 8] + (last ? 100.0 : 0.0) + float(row);",
    "one element that several invocations store": "S[0][0] = 1.0 + 0.0 * float(at); "
    "S[ty][3] = float(ty + at - at); barrier(); O[at] = S[0][0] + S[ty][3] * 2.0;",
    "shared begins as zeros": "S[ty][tx] += I[at]; barrier(); O[at] = S[ty][7 - tx];",
    "shared integers and bools": "T[at % 9] = 7 + at % 9; V[tx] = tx % 3 == 1; barrier(); "
    "O[at] = float(T[(at + 1) % 9] + U[tx]) + (V[7 - tx] ? I[at] : 0.5);",
    "vec4": "vec4 v = vec4(I[at], 2.0, float(tx), -1.0); vec4 w; w.x = v.y; w.z = 3.0; "
    "v = vec4(v.y, v.x, v.w, v.z); w = -w + v * 2.0; w.y /= 3.0; v -= w; "
    "O[at] = v.x * v.y + v.z / w.w + w.y;",
    "double": "double d = I[at]; for (int k = 0; k < 5; ++k) d = d * 1.1lf + double(tx) / 3.0; "
    "O[at] = float(d) + float(d > 2.0);",
    "float literals": "float r = (tx == 3) ? 1e999 : 1e39; O[at] = I[at] / r + 0.3; "
    "if (tx < 5) O[at] = (I[at] + 0.7f) / 3.0 - 1e-3;",
    "ternary guards": "float r = (at + 1 < size) ? I[at + 1] : -1.0; "
    "r += (tx > 0 && at > 40) ? ((tx > 3) ? I[at - 41] : 0.5) : I[at]; O[at] = r;",
    "updated indices": "int p = tx; vec4 s; s.x = I[p]; p += 8; s.y = I[p]; p += step; "
    "if (step > 1) { s.z = I[p]; p += 2; } s.w = I[p]; p = p + 1; O[at] = s.x + s.y + s.z * s.w "
    "+ I[p];",
    "conversions": "bool t = true; bool b = bool(tx % 3) && t; int i = int(I[at] * 10.0); "
    "uint u = uint(b); "
    "O[at] = float(b) + float(i) + float(u * 3000000000u) + float(double(I[at]) * 3.0);",
    "names of Python": "float lambda = I[at]; float np = 2.0; float tx_ = float(tx); "
    "for (int range = 0; range < 2; ++range) lambda += np; O[at] = lambda * tx_;",
}
SMALL = """uniform int steps; uniform int size; uniform int step; shared float S[4][8];
shared int T[9]; shared uint U[8]; shared bool V[8];"""


@pytest.mark.parametrize("body", KERNELS.values(), ids=KERNELS)
def test_small_kernels(body: str) -> None:
    plan = kernel_plan(source(body, declarations=SMALL), 128, (2, 2), steps=4, size=128, step=3)
    assert_as_numpy(plan)


def assert_as_numpy(plan: Plan) -> None:
    length = plan.operands[0].columns
    given = np.random.default_rng(2).standard_normal((1, length)).astype(np.float32)
    ours, theirs = (machine.run(plan, {"I": given}).outputs["O"] for machine in (JIT, NUMPY))
    assert_same_bits(ours, theirs)
    assert np.any(ours != 0.0)


def test_division_of_the_smallest_int() -> None:
    """By hand: the quotient goes towards 0, and that by -1 wraps around."""
    body = "int a = -2147483647 - 1; O[at] = float((tx == 0) ? a / 3 : (tx == 1) ? a / -1 : a % 7);"
    plan = kernel_plan(source(body), 32, (1, 1))
    result = JIT.run(plan, {"I": np.zeros((1, 32), np.float32)}).outputs["O"][0, :3]
    np.testing.assert_array_equal(result, np.float32([-715827882, -2147483648, -2]))


@pytest.mark.parametrize(
    "body",
    [
        "if (tx > 2) barrier();",
        "int k = tx; if (ty == 0) k = 1; for (int i = 0; i < k; ++i) { barrier(); }",
        "int k = 0; if (tx == 1) k = 1; if (k == 0) barrier();",
        "for (int i = 0; i < ty; ++i) { if (steps > 0) barrier(); }",
    ],
)
def test_a_barrier_that_not_all_reach_is_refused(body: str) -> None:
    kernel = parse_kernel(source(body, declarations="uniform int steps;"), name="small.comp")
    with pytest.raises(
        PlanError, match=r"^small\.comp: a barrier stands in an? (if|for) "
    ) as caught:
        KernelEmitter(kernel)
    assert "\n" not in str(caught.value)


def test_the_variables_of_a_work_group_have_a_bound() -> None:
    """A thread's stack is no larger."""
    names = [f"v{n}" for n in range(33)]
    values = "".join(f"vec4 {name} = vec4(I[at] * {n}.0);" for n, name in enumerate(names))
    parts = "+".join(f"{name}.{part}" for name in names for part in "xyzw")
    body = f"{values} barrier(); O[at] = {parts};"
    small = parse_kernel(source(body, 64, 32), name="small.comp")
    KernelEmitter(small).text()
    with pytest.raises(PlanError, match=r"^small.comp: a work group needs 2\d{6} bytes for its "):
        KernelEmitter(parse_kernel(source(body, 64, 64), name="small.comp")).text()


# The executor ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "array", "index"),
    [
        ("O[at + 1]", "O, which has 32", 32),
        ("O[-1]", "O, which has 32", -1),
        ("O[far]", "O, which has 32", 2**30),
        ("O[4294967295u]", "O, which has 32", 2**32 - 1),
        ("O[tx * 2147483647]", "O, which has 32", 2**31 - 1),
        ("S[tx + 1]", "S, which has 8", 8),
        ("S[-1]", "S, which has 8", -1),
        ("T[2][tx]", "T, which has 16", 16),
    ],
)
def test_a_kernel_stays_inside_its_arrays(place: str, array: str, index: int) -> None:
    """Without the check it would write to whatever memory is there."""
    declarations = "uniform int far;\nshared float S[8]; shared float T[2][8];"
    made = kernel_plan(
        source(f"{place} = I[at];", declarations=declarations), 32, (1, 1), far=2**30
    )
    expected = f"small.comp:12: an invocation reaches outside of {array} elements: its index is "
    for plan in (made, plan_from_json(plan_as_json(made))):
        for executor in (JIT, NUMPY):
            with pytest.raises(PlanError) as raised:
                executor.run(plan, {"I": np.ones((1, 32))})
            assert str(raised.value).startswith(f"{expected}{index}; check the uniforms")


@pytest.mark.parametrize(
    "text",
    [
        "O[at] = I[int(I[at])];",
        "O[int(I[at])] = 1.0;",
        "S[int(I[at]) - 24] = 1.0; O[at] = S[tx];",
        "int k = at; if (I[at] > 31.0) k = 64; if (k < 65) O[at] = I[k];",
        "for (int k = 0; k != int(I[at]); ++k) O[at] = I[k];",
    ],
)
def test_what_depends_on_data_is_checked_while_it_runs(text: str) -> None:
    """All is inside where the data is 31, and where one number is 33, it is not."""
    plan = kernel_plan(source(text, declarations="shared float S[8];"), 32, (1, 1))
    given = np.full((1, 32), 31.0, np.float32)
    ours, theirs = (machine.run(plan, {"I": given}).outputs["O"] for machine in (JIT, NUMPY))
    assert_same_bits(ours, theirs)
    given[0, 13] = 33.0
    for executor in (JIT, NUMPY):
        with pytest.raises(PlanError, match=r"^small\.comp:11: an invocation reaches outside of "):
            executor.run(plan, {"I": given})
