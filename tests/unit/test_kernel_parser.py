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
