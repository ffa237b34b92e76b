"""What the parser of kernels refuses: one line that says where, what, and how to mend it."""

from __future__ import annotations

import pytest

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.kernel.parser import parse_kernel

HEAD = """#version 430 core
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer buffer_R { float R[]; };
shared float S[2][2];
uniform int n;
"""


@pytest.mark.parametrize(
    ("body", "column", "message"),
    [
        ("int a; a[0] = 1;", 22, "a is not an array; leave the index out"),
        ("S[0] = 1.0;", 15, "S takes 2 indices, found 1"),
        ("R = 1.0;", 15, "R is an array; name an element, as in R[0]"),
        ("if (n) {}", 19, "the condition has type int; it must be bool"),
        ("int a = 1.5;", 23, "a float does not convert to int implicitly; write int(…)"),
        ("float x = R[1.0];", 27, "the index has type float; it must be int or uint"),
        ("int 5;", 19, "unexpected '5'; kernels use the subset of GLSL"),
        ("q = 1;", 15, "q is not declared; declare it before it is used"),
        ("int a; int a;", 26, "a is declared twice in one scope"),
        ("float f = true + 1.0;", 25, "an operator cannot combine a bool with a number"),
        ("vec4 v = vec4(1.0, 2.0);", 24, "vec4() takes one value or four, found 2"),
        ("uint y = gl_Foo.x;", 24, "gl_Foo is not supported; use gl_WorkGroupID"),
        ("uint y = gl_WorkGroupID.w;", 24, "gl_WorkGroupID has no component .w"),
        ("1 = 2;", 15, "expected a variable, an element or a component to assign to"),
    ],
)
def test_a_fault_is_one_line_with_its_place(body: str, column: int, message: str) -> None:
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{HEAD}void main() {{ {body} }}", "small.comp")
    assert (raised.value.line, raised.value.column) == (6, column)
    assert raised.value.problem.startswith(message)


def test_a_kernel_has_a_main() -> None:
    with pytest.raises(AssemblyError, match="no function main"):
        parse_kernel(HEAD, "small.comp")


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("\n// a comment \\\nR[0] = 1.0;", 7, 14, "'\\\\' has no place in a kernel"),
        ("\n// a comment \r R[0] = 1.0;", 7, 14, "'\\r' has no place in a kernel"),
        ("\0", 6, 15, "'\\x00' has no place in a kernel"),
        ("\n#define int float\n", 7, 1, "unexpected '#'"),
        ("\n#extension all : enable\n", 7, 1, "unexpected '#'"),
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


def test_lines_may_end_as_on_windows() -> None:
    text = f"{HEAD}void main() {{ // a comment\n R[0] = 1.0; }}"
    assert parse_kernel(text.replace("\n", "\r\n")) == parse_kernel(text)


@pytest.mark.parametrize(
    ("declaration", "problem"),
    [
        ("const uint k = 4294967295u + 1;", "a constant has more than 32 bits"),
        ("const int k = int(1e999);", "a constant has more than 32 bits"),
        ("const int k = 4294967296;", "an integer has at most 32 bits"),
        (f"const int k = {'9' * 5000};", "an integer has at most 32 bits"),
        ("shared float T[256][257];", "shared array T has 65792 elements"),
        ("shared float T[1 - 1];", "shared array T has 0 elements"),
        ("layout(local_size_x = 64, local_size_y = 65) in;", "a work group of 64×65"),
        ("layout(local_size_x = 0) in;", "a work group of 0×1"),
    ],
)
def test_sizes_have_bounds(declaration: str, problem: str) -> None:
    with pytest.raises(AssemblyError) as raised:
        parse_kernel(f"{HEAD}{declaration}\nvoid main() {{}}")
    assert raised.value.line == 6
    assert raised.value.problem.startswith(problem)


@pytest.mark.parametrize(
    "body",
    ["R[0] = " + "-" * 5000 + "1.0;", "R[0] = " + "1.0+" * 5000 + "1.0;", "{" * 3000 + "}" * 3000,
     "if (true) " * 3000 + "R[0] = 1.0;", "R[" * 1000 + "0" + "]" * 1000 + " = 1.0;"],
    ids=("signs", "sums", "blocks", "conditions", "indices"),
)  # fmt: skip
def test_nesting_has_a_bound(body: str) -> None:
    with pytest.raises(AssemblyError, match="are nested too deeply; use variables in between"):
        parse_kernel(f"{HEAD}void main() {{ {body} }}")


def test_what_is_nested_as_deeply_as_may_be_is_run() -> None:
    body = "R[0] = " + "+".join(["1.0"] * 150) + ";"
    [step] = parse_kernel(f"{HEAD}void main() {{ {body} }}").body
    assert repr(step).count("Binary(") == 149
