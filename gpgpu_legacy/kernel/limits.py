"""What no kernel may have, whoever wrote it: sizes without bounds, and text with two readings."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.kernel.ir import Statement

_READ_DIFFERENTLY = re.compile(r"[\\\0]|\r(?!\n)")

MOST_DIGITS = 10
"""Of 2³², which is larger than all integers of GLSL."""

MOST_INVOCATIONS = 4096
"""Of a work group; twice what GPUs have."""

MOST_SHARED = 2**16
"""Elements of a shared array; GPUs have less than 64 Ki floats of shared memory."""

DEEPEST = 200
TOO_DEEP = "statements or expressions are nested too deeply; use variables in between"


def refuse_two_readings(text: str, name: str) -> None:
    """AssemblyError for characters with which a driver could read other statements than the parser.

    A backslash continues lines, comments among them, and a bare carriage return ends them (GLSL
    4.3, chapter 3); a zero byte ends the text.
    """
    odd = _READ_DIFFERENTLY.search(text)
    if odd is not None:
        before = text[: odd.start()]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise AssemblyError(
            f"{odd[0]!r} has no place in a kernel; leave it out, and end lines with a line feed",
            text,
            line,
            column,
            name,
        )


def depth(body: tuple[Statement, ...]) -> int:
    """How deeply statements and expressions are nested; it stops counting above DEEPEST."""
    deepest = 0
    nodes: list[tuple[object, int]] = [(body, 0)]
    while nodes and deepest <= DEEPEST:
        node, level = nodes.pop()
        deepest = max(deepest, level)
        if isinstance(node, tuple):
            nodes += [(each, level + 1) for each in node]
        elif is_dataclass(node):
            nodes += [(getattr(node, field.name), level + 1) for field in fields(node)]
    return deepest
