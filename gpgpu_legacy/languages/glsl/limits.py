"""Limits for every kernel, whoever wrote it."""

from __future__ import annotations

from gpgpu_legacy.isa.expressions import (
    Choice,
    Compose,
    Element,
    Expression,
    Operation,
    Swizzle,
)
from gpgpu_legacy.isa.types import Operator

MOST_TEXT = 2**16
"""Characters of a kernel; the longest here has 3 000."""

MOST_NODES = 2**13
"""Variables, numbers, operators and accesses of a kernel, each as often as it is evaluated: half a
minute of compiling. The largest kernel here has about 200.
"""

DEEPEST = 150
"""How deeply an expression is nested, by `levels`. Python reads 200 nested brackets, and walks over
expressions recurse.
"""

DEEPEST_BLOCKS = 40
"""How deeply ifs, fors and blocks are nested. Python reads 100 nested blocks."""

DEEPEST_LOOPS = 12
"""How deeply fors are nested. Python compiles 20 nested ones, three of which are ours."""

MOST_ARGUMENTS = 256
"""Uniforms and buffers of a kernel, and the bindings that a buffer may have: more than drivers
have."""

MOST_INVOCATIONS = 4096
"""Invocations of a work group: twice what GPUs allow."""

MOST_SHARED = 2**16
"""Elements of all shared arrays of a kernel; GPUs have less than 64 Ki floats of shared memory."""

TOO_DEEP = "statements or expressions are nested too deeply; use variables in between"


def nodes_and_levels(expression: Expression) -> tuple[int, int]:
    """How many nodes an expression has, and how deeply they are nested.

    Both stop a little above the limit: an expression that is used in several places, as for the
    components of a vector, counts once for each, so the number may be exponential.
    """
    nodes = deepest = 0
    waiting = [(expression, levels(expression))]
    while waiting and nodes <= MOST_NODES and deepest <= DEEPEST:
        node, level = waiting.pop()
        nodes += 1
        deepest = max(deepest, level)
        waiting += [(part, level + levels(part)) for part in node.operands]
    return nodes, deepest


def levels(expression: Expression) -> int:
    """The levels that an expression counts for: the brackets around it in generated code."""
    match expression:
        case Element(operands=indices):
            return 3 + len(indices)
        case Choice():
            return 3
        case Operation(operator=Operator.CONVERT | Operator.DIVIDE | Operator.REMAINDER):
            return 2
        case Operation() | Swizzle() | Compose():
            return 1
    return 0
