"""Compiles a kernel on streams in given places to fragment programs.

A kernel that is too long for a chip is cut in two: one pass saves the numbers that the next needs.
brcc split kernels, too (Foley, Houston & Hanrahan 2004). Here the first pass is as long as it can
be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa import program as isa
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
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
from gpgpu_legacy.languages.cg.compiler import CgEvaluator
from gpgpu_legacy.languages.shading.emit import fitted, identifier, program
from gpgpu_legacy.languages.shading.graph import CONSTANT, LEAF, PART, Fault, Graph, Vector
from gpgpu_legacy.languages.shading.types import ArrayType, Indexed, Numbers, Type

_FREE = {CONSTANT, LEAF, "TEX", PART}
"""Operations that the next pass repeats, if their operands are such operations, too."""


class Cuts:
    """The places where a graph can be cut so that at most `room` numbers cross.

    The numbers that cross a cut, as literals, are computed before it and read after it.
    """

    def __init__(self, graph: Graph, vectors: Sequence[Vector], room: int) -> None:
        """vectors: the results."""
        self.graph, self.vectors = graph, vectors
        results = {x >> 1 for v in vectors for x in v.literals}
        results |= {x >> 1 for kill in graph.kills for x in kill}
        last = {node: len(graph.operations) for node in results}
        for node in range(len(graph.operations) - 1, -1, -1):
            if node in last:
                for operand in graph.operands[node]:
                    last.setdefault(operand >> 1, node)
        self.nodes = sorted(last)
        self.free: set[int] = set()
        for node in self.nodes:
            again = all(operand >> 1 in self.free for operand in graph.operands[node])
            if again and graph.operations[node] in _FREE:
                self.free.add(node)
        wide = {graph.operands[n][0] >> 1 for n in last if graph.operations[n] is PART}
        self.cuts: list[tuple[int, Vector]] = []
        """The first node after each cut, and what crosses it."""
        crossing: list[int] = []
        for node in self.nodes:
            crossing = [n for n in crossing if last[n] >= node]
            fits = 0 < len(crossing) <= room and wide.isdisjoint(crossing)
            if fits and not self._is_next_lane(node):
                self.cuts.append((node, Vector(graph, "float", tuple(2 * n for n in crossing))))
            if node not in self.free:
                crossing.append(node)

    def _is_next_lane(self, node: int) -> bool:
        """Whether a node computes the component that follows that of the node before."""
        graph, before = self.graph, node - 1
        if graph.operations[node] != graph.operations[before]:
            return False
        operands = zip(graph.operands[node], graph.operands[before], strict=True)
        return all(a - b in {0, 2} for a, b in operands)

    def rest(
        self, graph: Graph, first: int, known: Sequence[tuple[Vector, Vector]]
    ) -> list[Vector]:
        """The results in another graph, computed from the first node on.

        known: vectors that cross the cut, each with its copy in the other graph.
        """
        moved = {
            old >> 1: new
            for vector, copy in known
            for old, new in zip(vector.literals, copy.literals, strict=True)
        }

        def literal(old: int) -> int:
            return moved[old >> 1] ^ (old & 1)

        own = self.graph
        for n in self.nodes:
            if n not in moved and (n >= first or n in self.free):
                graph.at = own.spans[n]
                operands = tuple(map(literal, own.operands[n]))
                moved[n] = 2 * graph.node(own.operations[n], operands, own.keys[n])
        graph.kills = [tuple(map(literal, kill)) for kill in own.kills]
        return [Vector(graph, v.kind, tuple(map(literal, v.literals))) for v in self.vectors]


Axis = tuple[float, float]
"""A coordinate along an axis of the drawn rectangle: its value at the first texel, and its step."""

Field = tuple[str, int]
"""A field of a stream: the parameter's name, and the field's number."""

SAVED = "saved"
"""The name in the Field of numbers that a pass saves for the next one."""

LOCAL, RECT = ParameterSpace.LOCAL, TextureTarget.RECT

_COORDINATE_SETS = 8


Bound = StreamPlace | tuple[float, ...] | None
"""What a parameter is bound to, as far as it shapes a program: the place of a stream; an iterator's
extents, as a place; numbers to compile in; or None for numbers in program.local.
"""


@frozen
class Fold:
    """A step of a reduction: along an axis, each block of elements shrinks to half of its length.

    Pairs are combined in order; the last of an odd number joins the last pair. length: a block's.
    """

    axis: int
    length: int


@frozen
class PassLimits:
    """The most results and instructions that a pass may have."""

    targets: int
    instructions: int


@frozen
class CallShape:
    """The parts of a kernel's call that shape its programs.

    out: where the written streams lie. bound: what the parameters are bound to. fold: a
    reduction's; None copies its elements. placed: whether coordinates come from the fragment's
    position; the drawn rectangle then begins at (0, 0).
    """

    kernel: BrookKernel
    out: StreamPlace
    bound: tuple[Bound, ...]
    limits: PassLimits
    fold: Fold | None = None
    placed: bool = False


@frozen
class Compiled:
    """A pass of a kernel.

    results: the field of each result. units: the field of each texture image unit. sets: the
    coordinates x and y of each texture coordinate set. locals: for each number in program.local the
    parameter's name, and "start" or "step" for an iterator.
    """

    program: Program
    results: tuple[Field, ...]
    units: Mapping[int, Field]
    sets: Mapping[int, tuple[Axis, Axis]]
    locals: Mapping[int, tuple[str, str]]


@dataclass
class PassCode:
    """The program of a pass while it is compiled."""

    graph: Graph
    call: CallShape
    units: dict[Field, int] = field(default_factory=dict)
    sets: dict[tuple[Axis, Axis], int] = field(default_factory=dict)
    locals: dict[tuple[str, str], isa.Parameter] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    @property
    def out(self) -> StreamPlace:
        """Where the pass writes."""
        return self.call.out

    def coordinate(self, x: Axis, y: Axis) -> Vector:
        """Texture coordinates that are linear over the rectangle."""
        if self.call.placed:
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

    def folded(
        self,
        element: Callable[..., Vector],
        place: StreamPlace,
        joined: Callable[[Vector, Vector], Vector],
    ) -> Vector:
        """Combine a pair of elements; the last pair of an odd block takes the next one, too."""
        graph, fold = self.graph, self.call.fold
        if fold is None:
            return element(place)
        axis, half = fold.axis, fold.length // 2
        blocks = self.out.extents[axis] // half
        extents = [*place.extents]
        extents[axis] = 2 * half * blocks
        pairs = replace(place, extents=tuple(extents))
        block = (self.index[axis] + 0.5) * (1 / half)
        before: Any = graph.op("FLR", block) if fold.length % 2 and blocks > 1 else 0.0
        first, second = (element(pairs, {axis: before + step}) for step in (0.0, 1.0))
        pair = joined(first, second)
        if fold.length % 2 == 0:
            return pair
        three = joined(pair, element(pairs, {axis: before + 2.0}))
        is_last = graph.numbers(1 - 0.75 / half) < graph.op("FRC", block)
        return three if half == 1 else graph.select(is_last, three, pair)

    def split(self, written: dict[Field, Vector]) -> Iterator[Compiled]:
        """One pass, or as many as the limits ask for; Fault if a cut is not possible."""
        graph, targets, most = self.graph, self.call.limits.targets, self.call.limits.instructions
        function, whole = self.call.kernel.function, self.emitted(written)
        if len(whole.program.instructions) <= most:
            yield whole
            return
        if whole.program.branches:
            raise Fault(
                f"{function.name} has {len(whole.program.instructions)} instructions; "
                f"a kernel with branches has at most {most}: make it shorter",
                function.at,
            )
        bare = replace(self, graph=copy(graph))
        bare.graph.kills = []

        def saved(crossing: Vector) -> dict[Field, Vector]:
            fours = (crossing[n : n + 4] for n in range(0, len(crossing), 4))
            return {(SAVED, number): four for number, four in enumerate(fours, len(self.units))}

        def is_long(cut: tuple[int, Vector]) -> bool:
            return len(bare.emitted(saved(cut[1])).program.instructions) > most

        cuts = Cuts(graph, [*written.values()], 4 * targets)
        fitting = bisect_right(cuts.cuts, False, key=is_long)
        if not fitting:
            raise Fault(
                f"{function.name} cannot be cut into passes of {most} instructions; allow more",
                function.at,
            )
        first, crossing = cuts.cuts[fitting - 1]
        parts = saved(crossing)
        yield bare.emitted(parts)
        after = replace(self, graph=Graph())
        known = []
        for key, part in parts.items():
            unit = self.units.setdefault(key, len(self.units))
            texel = after.graph.look_up(unit, RECT, after.own)
            known.append((part, texel[: len(part)]))
        rest = cuts.rest(after.graph, first, known)
        yield from after.split(dict(zip(written, rest, strict=True)))

    def emitted(self, written: dict[Field, Vector]) -> Compiled:
        """The pass as a program."""
        kernel = self.call.kernel
        colors = {
            ResultRegister(ResultKind.COLOR, n): vector for n, vector in enumerate(written.values())
        }
        keys = {p.index: key for key, p in self.locals.items()}
        names = [
            (unit, f"{name}_{number or ''}".rstrip("_"))
            for (name, number), unit in self.units.items()
        ]
        texts = kernel.kernels.unit.texts
        code = program(
            self.graph, colors, kernel.name, texts, parameters=self.locals.values(), names=names
        )
        return Compiled(
            code,
            tuple(written),
            {n: key for key, n in self.units.items() if n in code.texture_units},
            {n: key for key, n in self.sets.items() if n in code.texcoord_sets},
            {n: keys[n] for n in code.parameter_indices(LOCAL)},
        )


@dataclass
class _Gather(Indexed):
    """A gather: an object that answers `g[i][j]`, `g[x, y]` and `g[float2(x, y)]`."""

    pass_: PassCode
    parameter: KernelParameter
    element: Type
    place: StreamPlace
    rows: tuple[Vector, ...] = ()

    def __str__(self) -> str:
        return "stream"

    def index(self, index: Vector) -> Vector:
        """The element at an index; before the last index, a gather that takes the next one."""
        graph, rank, rows = self.pass_.graph, self.parameter.rank, (*self.rows, index)
        if len(index) == 1 and len(rows) < rank:
            return graph.built(replace(self, rows=rows), ())
        at = index[:rank] if len(index) > 1 else graph.join(*reversed(rows))
        return self.pass_.element(
            self.parameter.name, self.element, self.parameter.type, self.place.texel(graph, at)
        )


@lru_cache(maxsize=512)
def compiled(call: CallShape) -> tuple[Compiled, ...]:
    """The passes of a call; each writes some fields of streams, or saves numbers.

    Raises Fault for what no fragment program can do.
    """
    profile = call.kernel.kernels.profile
    return fitted(partial(_passes, call), profile, lambda passes: [p.program for p in passes])


def _passes(call: CallShape, *, branching: bool) -> tuple[Compiled, ...]:
    kernel, out = call.kernel, call.out
    graph = Graph(branching=branching)
    graph.at = kernel.function.at
    code = PassCode(graph, call)
    if branching:
        code.own, code.index  # noqa: B018 — before a branch, where all code sees them
    owners: dict[Any, StreamPlace] = {}

    def indexof(*values: Vector) -> Vector:
        place = owners.get(values[0].literals) if values else None
        index = code.index if place is None else code.resized(place)
        padded = graph.join(index, *[graph.numbers(0.0)] * (4 - len(index)))
        return padded if values else padded.of("int")

    special = {"indexof": indexof, "instance": indexof}
    evaluator = CgEvaluator(kernel.kernels.device, graph, special=special)
    kinds = {d.name: _element_type(evaluator.type_of(d)) for d in kernel.function.parameters}

    def element(p: KernelParameter, place: Any, ahead: Mapping[int, float | Vector] = {}) -> Vector:
        value = code.element(p.name, kinds[p.name], p.type, code.texel(place, ahead))
        owners[value.literals] = place
        return value

    def value_of(p: KernelParameter, to: Bound) -> Any:
        graph.at = p.at
        components = p.type.components
        if isinstance(to, tuple):
            return graph.numbers(*to)
        if p.role is ParameterRole.NUMBER:
            value, kind = code.local(p.name, "", components), kinds[p.name]
            return value.of(kind.kind) if isinstance(kind, Numbers) else value
        assert to is not None
        if p.role is ParameterRole.GATHER:
            return graph.built(_Gather(code, p, kinds[p.name], to), ())
        if p.role is not ParameterRole.ITERATOR:
            return element(p, to)
        index = code.resized(to)
        along = graph.join(*[index] * components) if len(index) == 1 else index[:components]
        start, step = (code.local(p.name, part, components) for part in ("start", "step"))
        return along * step + start

    roles = (
        ParameterRole.OUT,
        *((ParameterRole.STREAM, ParameterRole.REDUCE) if kernel.reduces else ()),
    )
    values = {
        p.name: value_of(p, to)
        for p, to in zip(kernel.parameters, call.bound, strict=True)
        if p.role not in roles
    }

    if not kernel.reduces:
        results = evaluator.run(kernel.function, values)
    else:
        [stream], [result] = kernel.of(ParameterRole.STREAM), kernel.of(ParameterRole.REDUCE)

        def joined(left: Vector, right: Vector) -> Vector:
            changed = {result.name: left, stream.name: right}
            return evaluator.run(kernel.function, values | changed)[result.name]

        place: Any = call.bound[kernel.parameters.index(stream)]
        results = {result.name: code.folded(partial(element, stream), place, joined)}
    if not out.is_direct and not out.is_whole:
        graph.at = kernel.function.at
        last = graph.numbers(*(n - 1.0 for n in out.extents))
        graph.kill(code.index < 0.0)
        graph.kill(last - code.index < 0.0)
    written = [
        ((p.name, number), vector)
        for p in kernel.of(ParameterRole.OUT, ParameterRole.REDUCE)
        for number, vector in enumerate(results[p.name].leaves())
    ]
    return tuple(
        pass_
        for first in range(0, len(written), call.limits.targets)
        for pass_ in code.split(dict(written[first : first + call.limits.targets]))
    )


def _element_type(kind: Type) -> Type:
    return _element_type(kind.item) if isinstance(kind, ArrayType) else kind
