"""What the parser of kernels refuses: one line that says where, what, and how to mend it."""

from __future__ import annotations

import pytest

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.expressions import Constant
from gpgpu_legacy.isa.statements import Declare
from gpgpu_legacy.isa.types import DOUBLE, FLOAT, INT, UINT
from gpgpu_legacy.languages.glsl.expressions import MOST_NODES
from gpgpu_legacy.languages.glsl.kernels import parse_kernel

HEAD = """#version 430 core
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
shared float S[2][2];
uniform int n;
"""


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("int a; a[0] = 1;", 22, "this is not an array; leave the index out"),
        ("R = 1.0;", 15, "R is an array; name an element, as in R[0]"),
        ("if (n) {}", 19, "the condition has type int; it must be bool"),
        ("int a = 1.5;", 23, "a float does not convert to int implicitly; write int(…)"),
        ("float x = R[1.0];", 27, "the index has type float; it must be int or uint"),
        ("q = 1;", 15, "q is not declared; declare it first"),
        ("int lang; lagn = 1;", 25, "lagn is not declared; did you mean lang?"),
        ("int a; int a;", 26, "a is declared twice in one scope"),
        ("float f = true + 1.0;", 30, "an operator cannot combine a bool with a number"),
        ("vec4 v = vec4(1.0, 2.0);", 24, "vec4() takes one value, or four for a vec4, found 2"),
        (
            "uint y = gl_WorkGroupID.w;",
            39,
            "gl_WorkGroupID.w is not supported; use .x, .y or .z of",
        ),
        ("1 = 2;", 15, "this cannot be assigned to; expected a variable, a component of one"),
        ("int a = n = 1;", 25, "this has no value in a kernel"),
        ("int a[2];", 19, "kernels have no a like this; expected bool, int, uint, float"),
        ("float y = sin(1.0);", 25, "there is no function sin"),
        ("int a = n & 1;", 25, "kernels have no &; use arithmetic"),
        ("while (n > 0) {}", 15, "kernels have no such statement; use if and for"),
    ],
)
def test_a_fault_is_one_line_with_its_place(body: str, column: int, message: str) -> None:
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{HEAD}void main() {{ {body} }}", "small.comp")
    assert (raised.value.line, raised.value.column) == (6, column)
    assert raised.value.problem.startswith(message)


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("I[0] = 1.0;", 15, "I is readonly; store to another buffer, or leave readonly out"),
        ("I[0]++;", 15, "I is readonly"),
        ("++I[0];", 17, "I is readonly"),
        ("O[0] = O[1];", 22, "O is writeonly; load from another buffer, or leave writeonly out"),
        ("O[int(O[1])] = 1.0;", 21, "O is writeonly"),
        ("O[0] += 1.0;", 15, "O is writeonly"),
        ("--O[0];", 17, "O is writeonly"),
        ("if (I[0] < O[0]) {}", 26, "O is writeonly"),
    ],
)
def test_buffers_are_used_as_their_qualifiers_allow(body: str, column: int, message: str) -> None:
    """GLSL 4.3, section 4.10: it is an error to store to readonly memory or load from writeonly."""
    head = """layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer buffer_I { float I[]; };
layout(std430, binding = 1) writeonly buffer buffer_O { float O[]; };
"""
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{head}void main() {{ {body} }}", "small.comp")
    assert (raised.value.line, raised.value.column) == (4, column)
    assert raised.value.problem.startswith(message)
    parse_kernel(f"{head}void main() {{ O[int(I[0])] = I[1]; }}")


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("\n// a comment \\\nR[0] = 1.0;", 7, 14, "'\\\\' has no place in a kernel"),
        ("\n// a comment \r R[0] = 1.0;", 7, 14, "'\\r' has no place in a kernel"),
        ("\0", 6, 15, "'\\x00' has no place in a kernel"),
        ("\n/* # */ #define int float\n", 7, 9, "'#' has no place in a kernel"),
        ("\n#extension all : enable\n", 7, 1, "'#' has no place in a kernel"),
        ("\n/* \\ */\n", 7, 4, "'\\\\' has no place in a kernel"),
    ],
)
def test_a_text_that_drivers_could_read_otherwise(
    text: str, line: int, column: int, problem: str
) -> None:
    """A driver would continue the comment, end it, stop, or replace words."""
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{HEAD}void main() {{ {text} }}", "small.comp")
    assert (raised.value.line, raised.value.column) == (line, column)
    assert raised.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("const uint k = 4294967295u + 1;", "a constant has more than 32 bits"),
        ("const int k = int(1e999);", "a constant has more than 32 bits"),
        (f"const int k = {'9' * 99};", "a constant has more than 32 bits"),
        (f"const int k = {'9' * 5000};", "unexpected '9' after '='; expected"),
        ("shared float T[256][257];", "shared array T has 65792 elements"),
        ("shared float T[2.0];", "expected a whole number"),
        ("shared float T[1 - 1];", "shared array T has 0 elements"),
        ("shared float T[65533];", "shared array T has 65533 elements"),  # S has 4
        ("layout(local_size_x = 1000000000) in;", "a work group of 1000000000×1"),
        ("layout(binding = 256) buffer b { float T[]; };", "a storage buffer must hold float and"),
        ("layout(binding = 1) buffer b { int T[]; };", "a storage buffer must hold float and have"),
        ("layout(binding = 1) buffer { float T[]; };", "a storage buffer must hold float and"),
        ("layout(binding = 1) buffer b { };", "a storage buffer must hold float and have a"),
        ("layout(std140, binding = 1) buffer b { float T[]; };", "this layout has no std140"),
        ("layout(local_size = 8) in;", "this layout has no local_size; expected local_size_x"),
        ("float x;", "x is outside of main; make it uniform, shared, or const with a value"),
        ("void main() {} void main() {}", "this is no part of a kernel"),
        ("void other() {}", "this is no part of a kernel"),
        ("".join(f"uniform int u{n};" for n in range(256)), "a kernel has at most 256 uniforms"),
        ("layout(local_size_x = 64, local_size_y = 65) in;", "a work group of 64×65"),
        ("layout(local_size_x = 0) in;", "a work group of 0×1"),
    ],
)
def test_sizes_have_bounds(declaration: str, problem: str) -> None:
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{HEAD}{declaration}\nvoid main() {{}}")
    assert raised.value.line == 6
    assert raised.value.problem.startswith(problem)


DEEP = {
    "signs": ("R[0] = {}1.0;", "- ", 6, 150),
    "sums": ("R[0] = {}1.0;", "1.0+", 6, 150),
    "conditions": ("if ({}true) R[0] = 1.0;", "true && ", 6, 50),
    "choices": ("R[0] = {}1.0;", "true ? 0.5 : ", 6, 50),
    "ifs": ("{}R[0] = 1.0;", "if (true) ", 6, 38),
    "branches": ("{}R[0] = 1.0;", "if (true) R[0] = 2.0; else ", 6, 38),
    "loops": ("{}R[0] = 1.0;", "for (int i = 0; i < 1; ++i) ", 6, 12),
}


@pytest.mark.parametrize(("body", "part", "line", "most"), DEEP.values(), ids=DEEP)
def test_nesting_has_a_bound(body: str, part: str, line: int, most: int) -> None:
    def nested(times: int) -> str:
        return f"{HEAD}void main() {{ {body.format(part * times)} }}"

    parse_kernel(nested(most))
    for times in (most + 1, 2000):
        with pytest.raises(AssemblyError, match=r" nested (too deeply|more than)") as raised:
            parse_kernel(nested(times))
        assert raised.value.line == line
        assert raised.value.column > len("void main() {")


@pytest.mark.parametrize(
    "body",
    [
        "R[0] = 1.0;" * 4000,
        "vec4 v = " + "vec4(" * 40 + "1.0" + ").x" * 39 + ");",
        "vec4 v; v = " + "(v*" * 30 + "v" + ".x)" * 29 + ").x * v;",
        "int " + ", ".join(f"a{n}" for n in range(8200)) + ";",
    ],
    ids=("statements", "vectors", "products of vectors", "declarations"),
)
def test_operations_have_a_bound(body: str) -> None:
    """Each component of a vector is made by itself: of 30 in one another, there are 4³⁰."""
    with pytest.raises(AssemblyError, match=f"more than {MOST_NODES} operations up to here") as r:
        parse_kernel(f"{HEAD}void main() {{ {body} }}")
    assert r.value.line == 6


def test_integers_have_32_bits() -> None:
    body = "int a = 4294967295; uint b = 4294967295; int c = 2147483648;"
    values = [s.value.values[0] for s in parse_kernel(f"void main() {{ {body} }}").body]  # type: ignore[union-attr]
    assert values == [-1, 2**32 - 1, -(2**31)]


def test_numbers_are_read_as_glsl_has_them() -> None:
    """GLSL 4.3, 4.1.3: 010 is octal, 0x10 hexadecimal. A name is one of ASCII's letters."""
    numbers = {
        "010": Constant((8,), INT), "0x10u": Constant((16,), UINT),
        "0xFFFFFFFF": Constant((-1,), INT), "0xFFFFFFFFu": Constant((2**32 - 1,), UINT),
        "0.5lf": Constant((0.5,), DOUBLE), "1e2F": Constant((100.0,), FLOAT),
    }  # fmt: skip
    for text, literal in numbers.items():
        kernel = parse_kernel(f"void main() {{ {literal.type.word} a = {text}; }}")
        assert [s.value for s in kernel.body if isinstance(s, Declare)] == [literal]
    for odd in ("int é;", "int a = ١;"):
        with pytest.raises(AssemblyError, match="kernel:1:"):
            parse_kernel(f"void main() {{ {odd} }}")
