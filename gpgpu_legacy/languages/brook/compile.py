"""A kernel on streams that lie in certain places, compiled to fragment programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa import program as isa
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    TextureTarget,
)
from gpgpu_legacy.languages.brook.kernels import (
    BrookKernel,
    ElementType,
    KernelParameter,
    ParameterRole,
)
from gpgpu_legacy.languages.brook.places import StreamPlace
from gpgpu_legacy.languages.brook.split import Cuts
from gpgpu_legacy.languages.cg.compiler import CgEvaluator
from gpgpu_legacy.languages.shading.bindings import identifier
from gpgpu_legacy.languages.shading.emit import program
from gpgpu_legacy.languages.shading.faults import Fault, fitted
from gpgpu_legacy.languages.shading.graph import Graph, Vector
from gpgpu_legacy.languages.shading.types import ArrayType, Indexed, Numbers, Type

Axis = tuple[float, float]
"""A coordinate along an axis of the drawn rectangle: its value at the first texel, and its step."""

SAVED = "saved"
"""What stands for a parameter where a pass saves numbers for the next one."""

LOCAL, RECT = ParameterSpace.LOCAL, TextureTarget.RECT

_COORDINATE_SETS = 8


@frozen
class BoundArgument:
    """What a parameter is bound to, as far as it shapes a program.

    place: of a stream; of an iterator, its extents. numbers: the values that are compiled in; None
    for values that program.local holds.
    """

    place: StreamPlace | None = None
    numbers: tuple[float, ...] | None = None


@frozen
class Compiled:
    """A pass of a kernel.

    results: the results that it writes, by parameter and number of the field. units: the textures
    that it looks up, in the same way. sets: the coordinates x and y of each texture coordinate set.
    locals: the parameters whose values program.local holds, and "start" or "step" of an iterator.
    """

    program: Program
    results: tuple[tuple[str, int], ...]
    units: Mapping[int, tuple[str, int]]
    sets: Mapping[int, tuple[Axis, Axis]]
    locals: Mapping[int, tuple[str, str]]


@dataclass
class _Pass:
    """The program of a pass while it is compiled. out: where it writes. placed: whether coordinates
    come from the fragment's position, for which the rectangle begins at (0, 0).
    """

    graph: Graph
    out: StreamPlace
    placed: bool = False
    units: dict[tuple[str, int], int] = field(default_factory=dict)
    sets: dict[tuple[Axis, Axis], int] = field(default_factory=dict)
    locals: dict[tuple[str, str], isa.Parameter] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def coordinate(self, x: Axis, y: Axis) -> Vector:
        """Texture coordinates that are linear over the rectangle."""
        if self.placed:
            position = self.graph.leaf(Attribute(AttributeKind.POSITION))[:2]
            moves = x[0] - 0.5, y[0] - 0.5
            return position + self.graph.numbers(*moves) if any(moves) else position
        number = self.sets.setdefault((x, y), len(self.sets))
        return self.graph.leaf(Attribute(AttributeKind.TEXCOORD, number))[:2]

    @cached_property
    def own(self) -> Vector:
        """The coordinates of the fragment's own texel."""
        x, y, *_ = self.out.rect
        return self.coordinate((x + 0.5, 1.0), (y + 0.5, 1.0))

    @cached_property
    def index(self) -> Vector:
        """The index of the output's element, from the start of its domain."""
        if self.out.is_direct:
            return self.coordinate((0.0, 1.0), (0.0, 1.0))[: len(self.out.shape)]
        return self.out.element(self.graph, self.own)

    def resized(self, place: StreamPlace) -> Vector:
        """The index of an input's element: repeated or skipped to fit the output's extents."""
        ratios = place.ratios(self.out)
        if set(ratios) == {1}:
            return self.index
        steps = self.graph.numbers(*map(float, ratios))
        middles = self.graph.numbers(*(0.5 / r.denominator for r in ratios))
        return self.graph.op("FLR", self.index * steps + middles)

    def texel(self, place: StreamPlace, ahead: Mapping[int, float | Vector]) -> Vector:
        """The texel of an input's element, or of one `ahead` of it along some dimensions."""
        steps: list[Any] = [ahead.get(d, 0.0) for d in range(len(place.shape))]
        if place == self.out and not any(steps):
            return self.own
        if place.is_direct and self.out.is_direct and not any(isinstance(s, Vector) for s in steps):
            axes: list[Axis] = [
                (start + step + 0.5 / ratio.denominator, float(ratio))
                for start, step, ratio in zip(
                    place.start, steps, place.ratios(self.out), strict=True
                )
            ]
            x, y = (*axes, (0.5, 1.0))[:2]
            if (x, y) in self.sets or len(self.sets) < _COORDINATE_SETS - 2:
                return self.coordinate(x, y)
        index = self.resized(place)
        if any(steps):
            index = index + self.graph.join(*steps)
        return place.texel(self.graph, index, is_whole=True)

    def element(self, name: str, kind: Type, element: ElementType, texel: Vector) -> Vector:
        """The element that the textures of a parameter hold at a texel."""
        graph, units = self.graph, self.units
        parts = (
            graph.look_up(units.setdefault((name, number), len(units)), RECT, texel)[:components]
            for number, (_, components) in enumerate(element.fields)
        )
        return graph.built(kind, parts)

    def local(self, name: str, part: str, components: int) -> Vector:
        """The value of a number, or the start or step of an iterator."""
        if (name, part) not in self.locals:
            own = identifier(f"{name}_{part}" if part else name, self.names)
            self.locals[name, part] = isa.Parameter(LOCAL, len(self.locals), name=own)
        return self.graph.leaf(self.locals[name, part])[:components]


@dataclass
class _Gather(Indexed):
    """A gather: an object that answers `g[i][j]`, `g[x, y]` and `g[float2(x, y)]`."""

    pass_: _Pass
    parameter: KernelParameter
    element: Type
    place: StreamPlace
    rows: tuple[Vector, ...] = ()

    def __str__(self) -> str:
        return "stream"

    def index(self, index: Vector) -> Vector:
        """The element at an index, or what answers the next one."""
        graph, rank, rows = self.pass_.graph, self.parameter.rank, (*self.rows, index)
        if len(index) == 1 and len(rows) < rank:
            return graph.built(replace(self, rows=rows), ())
        at = index[:rank] if len(index) > 1 else graph.join(*reversed(rows))
        return self.pass_.element(
            self.parameter.name, self.element, self.parameter.type, self.place.texel(graph, at)
        )


@frozen
class Fold:
    """A step of a reduction: along an axis, each block of elements shrinks to half of its length.

    Pairs are combined in order; the last of an odd number joins the last pair. length: of a block.
    """

    axis: int
    length: int


@frozen
class PassLimits:
    """What a pass may have: results, and instructions."""

    targets: int
    instructions: int


@lru_cache(maxsize=512)
def compiled(
    kernel: BrookKernel,
    out: StreamPlace,
    bound: tuple[BoundArgument, ...],
    limits: PassLimits,
    fold: Fold | None = None,
    *,
    placed: bool = False,
) -> tuple[Compiled, ...]:
    """The passes of a call, each of which writes some fields of streams, or saves numbers.

    out: where the written streams lie. bound: what the parameters are bound to. fold: of a
    reduction; None copies its elements. placed: as of a pass. Raises Fault for what no fragment
    program can do.
    """
    code = partial(_compiled, kernel, out, bound, limits, fold, placed=placed)
    return fitted(code, kernel.kernels.profile, lambda made: [one.program for one in made])


def _compiled(
    kernel: BrookKernel,
    out: StreamPlace,
    bound: tuple[BoundArgument, ...],
    limits: PassLimits,
    fold: Fold | None,
    *,
    placed: bool,
    branching: bool = False,
) -> tuple[Compiled, ...]:
    graph = Graph(branching=branching)
    graph.at = kernel.function.at
    made = _Pass(graph, out, placed)
    if branching:
        made.own, made.index  # noqa: B018 — before a branch, where all code sees them
    owners: dict[Any, StreamPlace] = {}

    def indexof(*values: Vector) -> Vector:
        place = owners.get(values[0].literals) if values else None
        index = made.index if place is None else made.resized(place)
        padded = graph.join(index, *[graph.numbers(0.0)] * (4 - len(index)))
        return padded if values else padded.of("int")

    special = {"indexof": indexof, "instance": indexof}
    evaluator = CgEvaluator(kernel.kernels.device, graph, special=special)
    kinds = {d.name: _element_type(evaluator.type_of(d)) for d in kernel.function.parameters}

    def element(p: KernelParameter, place: Any, ahead: Mapping[int, float | Vector] = {}) -> Vector:
        value = made.element(p.name, kinds[p.name], p.type, made.texel(place, ahead))
        owners[value.literals] = place
        return value

    def value_of(p: KernelParameter, to: BoundArgument) -> Any:
        graph.at = p.at
        components = p.type.components
        if to.numbers is not None:
            return graph.numbers(*to.numbers)
        if p.role is ParameterRole.NUMBER:
            value, kind = made.local(p.name, "", components), kinds[p.name]
            return value.of(kind.kind) if isinstance(kind, Numbers) else value
        assert to.place is not None
        if p.role is ParameterRole.GATHER:
            return graph.built(_Gather(made, p, kinds[p.name], to.place), ())
        if p.role is not ParameterRole.ITERATOR:
            return element(p, to.place)
        index = made.resized(to.place)
        along = graph.join(*[index] * components) if len(index) == 1 else index[:components]
        start, step = (made.local(p.name, part, components) for part in ("start", "step"))
        return along * step + start

    roles = (
        ParameterRole.OUT,
        *((ParameterRole.STREAM, ParameterRole.REDUCE) if kernel.reduces else ()),
    )
    values = {
        p.name: value_of(p, to)
        for p, to in zip(kernel.parameters, bound, strict=True)
        if p.role not in roles
    }

    if not kernel.reduces:
        results = evaluator.run(kernel.function, values)
    else:
        [stream], [result] = kernel.of(ParameterRole.STREAM), kernel.of(ParameterRole.REDUCE)

        def joined(left: Vector, right: Vector) -> Vector:
            changed = {result.name: left, stream.name: right}
            return evaluator.run(kernel.function, values | changed)[result.name]

        place: Any = bound[kernel.parameters.index(stream)].place
        results = {result.name: _folded(made, partial(element, stream), place, joined, fold)}
    if not out.is_direct and not out.is_whole:
        graph.at = kernel.function.at
        last = graph.numbers(*(n - 1.0 for n in out.extents))
        graph.kill(made.index < 0.0)
        graph.kill(last - made.index < 0.0)
    written = [
        ((p.name, number), vector)
        for p in kernel.of(ParameterRole.OUT, ParameterRole.REDUCE)
        for number, vector in enumerate(results[p.name].leaves())
    ]
    return tuple(
        one
        for first in range(0, len(written), limits.targets)
        for one in _split(kernel, made, dict(written[first : first + limits.targets]), limits)
    )


def _split(
    kernel: BrookKernel, made: _Pass, written: dict[tuple[str, int], Vector], limits: PassLimits
) -> Iterator[Compiled]:
    """One pass, or as many as the limits ask for."""

    def saved(crossing: Vector) -> dict[tuple[str, int], Vector]:
        fours = (crossing[n : n + 4] for n in range(0, len(crossing), 4))
        return {(SAVED, number): four for number, four in enumerate(fours, len(made.units))}

    def is_long(crossing: Vector) -> bool:
        return len(_emitted(kernel, bare, saved(crossing)).program.instructions) > most

    whole, most = _emitted(kernel, made, written), limits.instructions
    if len(whole.program.instructions) <= most:
        yield whole
        return
    if whole.program.branches:
        expected = f"a kernel with branches has at most {most}: make it shorter"
        problem = f"{kernel.function.name} has {len(whole.program.instructions)} instructions"
        raise Fault(problem, expected, kernel.function.at)
    bare, graph = replace(made, graph=copy(made.graph)), Graph()
    bare.graph.kills = []
    cuts = Cuts(made.graph, [*written.values()], 4 * limits.targets)
    cut = cuts.latest(is_long)
    if cut is None:
        raise Fault(
            f"{kernel.function.name} cannot be cut into passes of {most} instructions",
            "allow more", kernel.function.at,
        )  # fmt: skip
    parts = saved(cut[1])
    yield _emitted(kernel, bare, parts)
    after = replace(made, graph=graph)
    known = [
        (part, graph.look_up(made.units.setdefault(key, len(made.units)), RECT, after.own))
        for key, part in parts.items()
    ]
    rest = cuts.rest(graph, cut[0], [(part, texel[: len(part)]) for part, texel in known])
    yield from _split(kernel, after, dict(zip(written, rest, strict=True)), limits)


def _folded(
    made: _Pass,
    element: Callable[..., Vector],
    place: StreamPlace,
    joined: Callable[[Vector, Vector], Vector],
    fold: Fold | None,
) -> Vector:
    """A pair of elements, combined; with the next one if it ends a block of odd length."""
    if fold is None:
        return element(place)
    graph, axis, half = made.graph, fold.axis, fold.length // 2
    blocks = made.out.extents[axis] // half
    extents = [*place.extents]
    extents[axis] = 2 * half * blocks
    pairs = replace(place, extents=tuple(extents))
    block = (made.index[axis] + 0.5) * (1 / half)
    before: Any = graph.op("FLR", block) if fold.length % 2 and blocks > 1 else 0.0
    first, second = (element(pairs, {axis: before + step}) for step in (0.0, 1.0))
    pair = joined(first, second)
    if fold.length % 2 == 0:
        return pair
    three = joined(pair, element(pairs, {axis: before + 2.0}))
    is_last = graph.numbers(1 - 0.75 / half) < graph.op("FRC", block)
    if half == 1:
        return three
    return graph.select(is_last, three, pair)


def _element_type(kind: Type) -> Type:
    return _element_type(kind.item) if isinstance(kind, ArrayType) else kind


def _emitted(kernel: BrookKernel, made: _Pass, written: dict[tuple[str, int], Vector]) -> Compiled:
    colors = {
        ResultRegister(ResultKind.COLOR, n): vector for n, vector in enumerate(written.values())
    }
    locals_ = {p.index: key for key, p in made.locals.items()}
    declared = tuple(
        ParameterDeclaration(p.name, (p,), is_array=False) for p in made.locals.values()
    )
    texts, units = kernel.kernels.unit.texts, made.units.items()
    names = [(n, f"{name}_{number or ''}".rstrip("_")) for (name, number), n in units]
    code = program(made.graph, colors, kernel.name, texts, parameters=declared, names=names)
    return Compiled(
        code,
        tuple(written),
        {n: key for key, n in made.units.items() if n in code.texture_units},
        {n: key for key, n in made.sets.items() if n in code.texcoord_sets},
        {n: locals_[n] for n in code.parameter_indices(LOCAL)},
    )
