"""The passes of a plan in the order in which they run, and the texels that they read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, repeat

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.interp.numeric import Storage, encode
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.plan.plan import (
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    kind_of_pass,
    name_of_pass,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import Rect, Texture, constant_rect


@frozen
class PassPlace:
    """The position of a pass among those that run.

    number: from 1. iteration: of its loop, from 0, of `iterations`; None for a pass outside of
    loops. first: the number of the first pass of its iteration. is_mixed: whether iterations have
    several passes.
    """

    number: int
    first: int
    iteration: int | None = None
    iterations: int | None = None
    is_mixed: bool = False


def places(plan: Plan) -> Iterator[tuple[PassPlace, Pass]]:
    """Each pass that runs, in order: its position, and the pass as the plan writes it.

    The body of a Repeat may hold several iterations of a loop, between which textures were swapped;
    then the iterations left over come after it.
    """
    number, steps, quantity = 0, [*plan.steps_at_most], _quantities(plan)

    def alike(step: Step) -> object:
        if not isinstance(step, Pass):
            return None
        texts = kind_of_pass(step), name_of_pass(step)
        return texts, *([quantity[t] for t in names(step)] for names in (written_by, read_by))

    while steps:
        step = steps.pop(0)
        if not isinstance(step, Repeat):
            number += 1
            yield PassPlace(number, number), step
            continue
        body = [*map(alike, step.body)]
        length = next(n for n in range(1, len(body) + 1) if body[n:] + body[:n] == body)
        left = 0
        while left < len(body) - length and [*map(alike, steps[left:][:length])] == body[:length]:
            left += length
        rest = (s for s in steps[:left] if isinstance(s, Pass))
        passes = chain(chain.from_iterable(repeat(step.body, step.count)), rest)
        iterations = (len(body) * step.count + left) // length
        for place, pass_ in enumerate(passes):
            iteration, nth = divmod(place, length)
            number += 1
            yield PassPlace(number, number - nth, iteration, iterations, length > 1), pass_
        del steps[:left]


def _quantities(plan: Plan) -> dict[str, str]:
    """For each texture, the first of those that hold the same quantity."""
    group = {texture.name: texture.name for texture in plan.textures}
    alone = drawn_textures(plan).difference(*plan.alternating)
    passes = plan.only(CopyPass)
    copies = ((p.source, p.target) for p in passes if alone.issuperset((p.source, p.target)))
    for pair in dict.fromkeys((*plan.alternating, *copies)):
        first, second = sorted((group[name] for name in pair), key=list(group).index)
        group = {name: first if of == second else of for name, of in group.items()}
    return group


def exchanged(plan: Plan) -> Mapping[str, tuple[str, ...]]:
    """For each drawn texture, the textures that hold the same quantity, such as ping-pong pairs.

    Textures hold the same quantity if they were swapped, or one is copied to the other and neither
    was swapped: several quantities may be copied out of a texture of sums, or through a spare one.
    Each texture of a plan is in one such group, in the plan's order.
    """
    drawn, quantity = drawn_textures(plan), _quantities(plan)
    names = [texture.name for texture in plan.textures if texture.name in drawn]
    return {
        name: tuple(other for other in names if quantity[other] == quantity[name]) for name in names
    }


def rect_of(pass_: Pass) -> Rect | None:
    """The texels of its targets that a pass of an expanded plan draws or copies to; None for all.

    A dispatch may write any texel.
    """
    match pass_:
        case FragmentPass():
            return pass_.drawn
        case CopyPass():
            return constant_rect(pass_.target_rect)
    return None


def covers(pass_: Pass, x: int, y: int) -> bool:
    """Whether a pass of an expanded plan draws or copies to the texel, or may write it."""
    rect = rect_of(pass_)
    return rect is None or bool(rect.part_in(Rect(x, y, 1, 1)).area)


def textures_behind(plan: Plan, names: Collection[str]) -> frozenset[str]:
    """The textures of those names, and the drawn ones from which they were computed.

    The search goes backwards: a pass that writes a texture may copy or look up another, which an
    earlier pass wrote.
    """
    passes = plan.as_written
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
    return frozenset(name for pass_ in plan.as_written for name in written_by(pass_))


def chosen_textures(plan: Plan, names: Sequence[str]) -> frozenset[str]:
    """The textures of these names, or without names all that passes write.

    Raises InputError for a name that no pass writes, and if no pass writes a texture.
    """
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
