"""What a Repeat means: its body, written out once an iteration.

`expand` is the definition. Every reader of plans gives on a plan what it gives on its expansion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpgpu_legacy.plan.plan import (
    Affine,
    AttributeCorners,
    ComputePass,
    Corners,
    FragmentPass,
    Number,
    NumberVec4,
    ParameterValue,
    Pass,
    Plan,
    Repeat,
    Texcoords,
    UniformValue,
)


def expand(plan: Plan) -> Plan:
    """The same plan with no Repeat and no Affine in it."""
    return replace(plan, steps=tuple(passes(plan)))


def passes(plan: Plan) -> Iterator[Pass]:
    """The passes of the expanded plan, one after another, without keeping them all."""
    return (each for _, each, _ in carried_out(plan))


def carried_out(plan: Plan) -> Iterator[tuple[Pass, Pass, int]]:
    """Each pass as the plan writes it, as it is when its turn comes, and in which iteration.

    What holds of every iteration (a compiled shader, say) can so be kept with the former.
    """
    for step in plan.steps:
        if isinstance(step, Repeat):
            for iteration in range(step.count):
                for each in step.body:
                    yield each, at_iteration(each, iteration), iteration
        else:
            yield step, step, 0


def at_iteration(each: Pass, iteration: int) -> Pass:
    """A pass of a Repeat's body as it is in one iteration; the same object where none differs."""
    if isinstance(each, ComputePass):
        values = tuple(UniformValue(u.name, _number(u.value, iteration)) for u in each.uniforms)
        return each if values == each.uniforms else replace(each, uniforms=values)
    if not isinstance(each, FragmentPass) or not _varies(each):
        return each
    return replace(
        each,
        texcoords=tuple(_texcoords(t, iteration) for t in each.texcoords),
        locals=tuple(_parameter(p, iteration) for p in each.locals),
        env=tuple(_parameter(p, iteration) for p in each.env),
        attributes=tuple(_attribute(a, iteration) for a in each.attributes),
    )


def _varies(each: FragmentPass) -> bool:
    sets = [t.corners for t in each.texcoords] + [a.corners for a in each.attributes]
    corners = (corner for four in sets for corner in four)
    values = (p.value for p in each.locals + each.env)
    return any(isinstance(n, Affine) for vector in (*corners, *values) for n in vector)


def _texcoords(texcoords: Texcoords, iteration: int) -> Texcoords:
    return Texcoords(texcoords.set, _corners(texcoords.corners, iteration))


def _attribute(attribute: AttributeCorners, iteration: int) -> AttributeCorners:
    return AttributeCorners(attribute.kind, _corners(attribute.corners, iteration))


def _corners(corners: Corners, iteration: int) -> Corners:
    a, b, c, d = (_vector(corner, iteration) for corner in corners)
    return (a, b, c, d)


def _parameter(parameter: ParameterValue, iteration: int) -> ParameterValue:
    return ParameterValue(parameter.index, _vector(parameter.value, iteration))


def _vector(values: NumberVec4, iteration: int) -> NumberVec4:
    x, y, z, w = (_number(value, iteration) for value in values)
    return (x, y, z, w)


def _number(value: Number, iteration: int) -> float:
    return value.at(iteration) if isinstance(value, Affine) else value
