"""The passes of a plan in the order in which they run, and the texels that they read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.interp.numeric import Storage, encode
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.plan import (
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    kind_of_pass,
    name_of_pass,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import Rect, Texture, constant_rect


@frozen
class PassPlace:
    """The position of a pass among those that run.

    number: from 1. iteration: of its Repeat in the plan, from 0, of `iterations`; None for a pass
    outside of Repeats. is_mixed: whether its Repeat has passes of several programs or kinds.
    """

    number: int
    iteration: int | None = None
    iterations: int | None = None
    is_mixed: bool = False


def places(plan: Plan) -> Iterator[tuple[PassPlace, Pass]]:
    """Each pass that runs, in order: its position, and the pass as the plan writes it."""
    number = 0
    for step in plan.steps_at_most:
        if not isinstance(step, Repeat):
            number += 1
            yield PassPlace(number), step
            continue
        is_mixed = len({(kind_of_pass(pass_), name_of_pass(pass_)) for pass_ in step.body}) > 1
        for iteration in range(step.count):
            for pass_ in step.body:
                number += 1
                yield PassPlace(number, iteration, step.count, is_mixed), pass_


def exchanged(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """For each drawn texture, the textures that hold the same quantity, such as ping-pong pairs.

    Textures hold the same quantity if a program writes them as the same result, or one is copied to
    the other. Each texture of a plan is in one such group, in the plan's order.
    """
    drawn = drawn_textures(plan)
    group = {name: name for name in drawn}

    def root(name: str) -> str:
        while group[name] != name:
            name = group[name]
        return name

    first: dict[tuple[object, ...], str] = {}
    for _, pass_ in plan.weighted_passes():
        match pass_:
            case FragmentPass():
                for number, name in enumerate(pass_.targets):
                    group[root(name)] = root(first.setdefault((pass_.program, number), name))
            case CopyPass() if pass_.source in drawn:
                group[root(pass_.target)] = root(pass_.source)
    members = {name: root(name) for name in drawn}
    names = [texture.name for texture in plan.textures if texture.name in drawn]
    return {
        name: tuple(other for other in names if members[other] == members[name]) for name in names
    }


def rect_of(pass_: Pass) -> Rect | None:
    """The texels of its targets that a pass of an expanded plan draws or copies to; None for all.

    A dispatch may write any texel.
    """
    match pass_:
        case FragmentPass():
            return constant_rect(pass_.rect)
        case CopyPass():
            return constant_rect(pass_.target_rect)
    return None


def covers(pass_: Pass, x: int, y: int) -> bool:
    """Whether a pass of an expanded plan draws or copies to the texel, or may write it."""
    rect = rect_of(pass_)
    if rect is None:
        return True
    return rect.x <= x < rect.x + rect.width and rect.y <= y < rect.y + rect.height


def textures_behind(plan: Plan, names: Collection[str]) -> frozenset[str]:
    """The textures of those names, and the drawn ones from which they were computed.

    The search goes backwards: a pass that writes a texture may copy or look up another, which an
    earlier pass wrote.
    """
    passes = [pass_ for _, pass_ in plan.weighted_passes()]
    written = drawn_textures(plan)
    textures = frozenset(names)
    while True:
        sources = (
            name
            for pass_ in passes
            if textures.intersection(written_by(pass_))
            for name in read_by(pass_)
        )
        grown = textures | written.intersection(sources)
        if grown == textures:
            return textures
        textures = grown


def drawn_textures(plan: Plan) -> frozenset[str]:
    """The textures that passes write."""
    return frozenset(name for _, pass_ in plan.weighted_passes() for name in written_by(pass_))


def chosen_textures(plan: Plan, names: Sequence[str]) -> frozenset[str]:
    """The drawn textures of these names, or all of them; InputError for others, and without any."""
    drawn = drawn_textures(plan)
    if not drawn:
        raise InputError(f"plan {plan.name} has no pass that writes a texture; nothing to show")
    for name in names:
        if name not in drawn:
            known = ", ".join(texture.name for texture in plan.textures if texture.name in drawn)
            raise InputError(f"no pass of plan {plan.name} writes {name!r}; choose from {known}")
    return frozenset(names) or drawn


def initial_storage(plan: Plan, operands: Mapping[str, F32], name: str) -> Storage:
    """A texture before the first pass; texels without a value are 0.

    operands: by name, of any shape with the elements of the plan's matrices.
    """
    storage = Storage(plan.texture(name))
    sizes = {matrix.name: (matrix.rows, matrix.columns) for matrix in plan.operands}
    for input_ in plan.inputs:
        if input_.texture == name:
            matrix = operands[input_.matrix].reshape(sizes[input_.matrix])
            storage.load(matrix, input_.region, input_.rect, input_.packing)
    return storage


def stored(texture: Texture, texels: F32) -> Storage:
    """A texture with the texels that an observer has read."""
    storage = Storage(texture)
    storage.planes = [encode(plane, texture.format) for plane in np.moveaxis(texels, -1, 0)]
    return storage
