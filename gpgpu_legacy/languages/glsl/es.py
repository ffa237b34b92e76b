"""What GLSL ES 1.00 asks of a text, and drivers often did not: a precision (4.5.3), Appendix A."""

from __future__ import annotations

from collections.abc import Set

from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c import syntax as c
from gpgpu_legacy.languages.shading.faults import Fault

_LOOP = "write for (int i = CONSTANT; i < CONSTANT; i++), or take it so: --lenient"
_INDEX = "use constants and loops' indices, or take it so: --lenient"


def check_restrictions(unit: c.Unit, *, has_precision: bool) -> None:
    """Raises Fault at the first thing that an implementation need not take."""
    if not has_precision:
        expected = "write `precision mediump float;` first, or take it so: --lenient"
        raise Fault("GLSL ES has no precision of its own for float", expected, Span(1, 1))
    nodes = [*c.walk(unit.items)]
    known = {
        x.name
        for x in nodes
        if isinstance(x, c.Declaration) and x.value and "const" in x.type.qualifiers
    }
    for x in nodes:
        if isinstance(x, c.For):
            known.add(_index(x, known))
    for x in nodes:
        if isinstance(x, c.Index) and not _constant(x.index, known):
            raise Fault("GLSL ES need not take this index (A.5)", _INDEX, x.index.at)


def _constant(x: c.Expression | None, known: Set[str]) -> bool:
    """Whether an expression has constants alone."""
    called = {id(call.function) for call in c.walk(x) if isinstance(call, c.Call)}
    names = (n for n in c.walk(x) if isinstance(n, c.Name) and id(n) not in called)
    return x is not None and all(name.name in known for name in names)


def _index(loop: c.For, known: Set[str]) -> str:
    """The index of a loop that A.4 allows."""
    step = loop.step.assignment if isinstance(loop.step, c.Postfix) else loop.step
    match loop.start, loop.condition, step:
        case (
            c.Declare((c.Declaration(name=name, value=first),)),
            c.Binary("<" | ">" | "<=" | ">=" | "==" | "!=", c.Name(left), last),
            c.Assign("+=" | "-=", c.Name(target), by),
        ) if (
            name == left == target
            and all(_constant(x, known) for x in (first, last, by))
            and c.Name(name) not in (getattr(x, "target", None) for x in c.walk(loop.body))
        ):
            return name
    raise Fault("GLSL ES need not take this loop (A.4)", _LOOP, loop.at)
