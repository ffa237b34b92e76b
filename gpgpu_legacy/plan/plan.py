"""The plan: what an algorithm does to its textures, pass by pass.

Everything else in the package reads plans: executors run them, the counter counts them, caches are
simulated with them, figures show them. A plan names no executor and no machine.

Conventions. Matrices are indexed row first: element (i, j) is in row i and column j. Textures are
indexed x first: texel (i, j) is at x = j, y = i, its centre is (j + 0.5, i + 0.5), and row 0 of a
texture is the bottom row of GL's window. Rectangles are measured in texels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, cycle, islice
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gpgpu_legacy.decorators import frozen, hashed_once
from gpgpu_legacy.errors import InputError, PlanError, counted, described
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Parameter,
    ParameterSpace,
    Program,
    Vec4,
)
from gpgpu_legacy.plan.diagram import Box, plan_svg
from gpgpu_legacy.plan.framebuffer import AlphaTest, Blend, Writes
from gpgpu_legacy.plan.numbers import (
    Finite,
    Integer,
    Number,
    NumberVec4,
    PerIteration,
    constant_vector,
)
from gpgpu_legacy.plan.textures import (
    DEFAULT_SAMPLER,
    Matrix,
    MovingRect,
    Rect,
    Sampler,
    Texture,
    Transfer,
    constant_rect,
    rect_numbers,
)
from gpgpu_legacy.serial import Index

if TYPE_CHECKING:
    from gpgpu_legacy.isa.kernel import Kernel


@frozen
class Binding:
    """A texture, by its name, bound to texture[unit]. sampler: by default the nearest texel, with
    coordinates clamped to the edge.
    """

    unit: Index
    texture: str
    sampler: Sampler = DEFAULT_SAMPLER


Corners = tuple[NumberVec4, NumberVec4, NumberVec4, NumberVec4]
"""Vectors at the corners of the target rectangle, in the order (0, 0), (W, 0), (W, H), (0, H)."""


@frozen
class Texcoords:
    """fragment.texcoord[set], by its values at the corners of the pass's rectangle.

    If the four values lie in a plane, each coordinate is an affine function of the fragment's
    position. If not, the rectangle is drawn as two triangles, split along the diagonal from (0, 0)
    to (W, H), and each triangle has its own plane.
    """

    set: Index
    corners: Corners


@frozen
class AttributeCorners:
    """fragment.color, fragment.color.secondary or fragment.fogcoord, by its values at the corners.

    kind: what follows `fragment.`, except texture coordinates and the position.
    """

    kind: AttributeKind
    corners: Corners


ATTRIBUTE_DEFAULTS: Mapping[AttributeKind, Vec4] = {
    AttributeKind.COLOR: (1.0, 1.0, 1.0, 1.0),
    AttributeKind.SECONDARY_COLOR: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.TEXCOORD: (0.0, 0.0, 0.0, 1.0),
    AttributeKind.FOGCOORD: (0.0, 0.0, 0.0, 1.0),
}
"""The values of attributes that a pass does not give: GL's initial current values."""


@frozen
class StateValue:
    """The value of a vector of GL state, by its full name, such as state.matrix.mvp.row[0]."""

    binding: str
    value: NumberVec4


@frozen
class ParameterValue:
    """The value of program.local[index] or program.env[index]."""

    index: Index
    value: NumberVec4


@frozen
class FragmentPass:
    """A pass that draws one rectangle: the program runs once for each fragment of `rect`.

    bindings: the textures that the program looks up. targets: the names of the textures of
    result.color[0], result.color[1] and so on, of one size and kind; a fragment that KIL discards
    writes to none of them. locals, env: program.local and program.env; missing ones are 0. blend:
    without one, a colour replaces a texel. texcoords, attributes, state: missing ones have GL's
    initial values. mask: the channels that are written, of `rgba`. scissor: the part of the
    targets, in texels, outside of which no fragment is drawn.
    """

    program: Program
    bindings: tuple[Binding, ...]
    targets: tuple[str, ...]
    rect: Rect | MovingRect
    texcoords: tuple[Texcoords, ...] = ()
    locals: tuple[ParameterValue, ...] = ()
    env: tuple[ParameterValue, ...] = ()
    blend: Blend | None = None
    attributes: tuple[AttributeCorners, ...] = ()
    state: tuple[StateValue, ...] = ()
    mask: str = "rgba"
    scissor: Rect | MovingRect | None = None
    alpha_test: AlphaTest | None = None

    @property
    def target(self) -> str:
        """The first target, that of result.color[0]."""
        return self.targets[0]

    @property
    def corners(self) -> dict[Attribute, Corners]:
        """The corner values that it gives, by attribute."""
        given = {Attribute(AttributeKind.TEXCOORD, t.set): t.corners for t in self.texcoords}
        return given | {Attribute(a.kind): a.corners for a in self.attributes}

    @property
    def interpolated(self) -> dict[Attribute, Corners]:
        """The corner values of the attributes that its program needs, except the position."""
        given = self.corners
        return {
            attribute: given.get(attribute) or (ATTRIBUTE_DEFAULTS[attribute.kind],) * 4
            for attribute in self.program.attributes_needed
            if attribute.kind is not AttributeKind.POSITION
        }

    @property
    def looked_up(self) -> tuple[Binding, ...]:
        """The binding of each lookup, in program order."""
        bound = {binding.unit: binding for binding in self.bindings}
        return tuple(bound[unit] for unit in self.program.lookup_units)

    @property
    def parameters(self) -> dict[str, NumberVec4]:
        """The values of program.local and program.env that it gives, by Parameter.text."""
        spaces = ((ParameterSpace.LOCAL, self.locals), (ParameterSpace.ENV, self.env))
        return {Parameter(s, given.index).text: given.value for s, all_ in spaces for given in all_}

    @property
    def in_quads(self) -> bool:
        """Whether its lookups need levels of detail, or its program derivatives."""
        return self.program.derives or any(b.sampler.has_lod for b in self.bindings)

    @property
    def writes(self) -> Writes:
        """The settings that decide the code that writes its fragments."""
        return Writes(self.blend, self.mask, self.alpha_test)

    @property
    def keeps(self) -> bool:
        """Whether the old value of a texel in the rectangle may matter after the pass."""
        given = self.program.kills, self.scissor, self.alpha_test, self.blend
        return any(given) or self.mask != "rgba"

    @property
    def drawn(self) -> Rect:
        """The part of the rectangle inside the scissor; only for expanded plans."""
        rect = constant_rect(self.rect)
        return rect if self.scissor is None else rect.part_in(constant_rect(self.scissor))


@frozen
class CopyPass:
    """A pass that copies a rectangle of one texture to one of the same size in another texture."""

    source: str
    source_rect: Rect | MovingRect
    target: str
    target_rect: Rect | MovingRect


@frozen
class ClearPass:
    """A pass that sets every texel of a texture, in all layers, to one value."""

    target: str
    value: NumberVec4 = (0.0, 0.0, 0.0, 0.0)


@frozen
class BufferBinding:
    """A texture of kind BUFFER, by its name, at one of a kernel's binding points."""

    binding: Index
    texture: str


@frozen
class UniformValue:
    """The value of a kernel's uniform: a number, or a bool for a uniform of that type."""

    name: str
    value: bool | Number


@frozen
class ComputePass:
    """A pass that dispatches groups[0] × groups[1] work groups of a kernel, along x and y.

    independent: the pass neither reads nor writes an element that the pass before it wrote, so that
    a device may overlap the two.
    """

    kernel: Kernel
    buffers: tuple[BufferBinding, ...]
    uniforms: tuple[UniformValue, ...]
    groups: tuple[Integer, Integer]
    independent: bool = False

    @property
    def invocations(self) -> int:
        """Invocations of the whole dispatch; only for a dispatch in which no number changes."""
        groups_x, groups_y = constant_groups(self.groups)
        return groups_x * groups_y * self.kernel.threads

    @property
    def uniform_values(self) -> dict[str, Any]:
        """The values of the uniforms, by name."""
        return {u.name: u.value for u in self.uniforms}

    def textures(self, *, written: bool) -> tuple[str, ...]:
        """The textures that the kernel may write, or, without `written`, may read."""
        access = {b.binding: b.is_written if written else b.is_read for b in self.kernel.buffers}
        return tuple(b.texture for b in self.buffers if access.get(b.binding))


Pass = FragmentPass | CopyPass | ClearPass | ComputePass


def written_by(pass_: Pass) -> tuple[str, ...]:
    """The textures that a pass writes to."""
    match pass_:
        case ComputePass():
            return pass_.textures(written=True)
        case FragmentPass():
            return pass_.targets
    return (pass_.target,)


def read_by(pass_: Pass) -> tuple[str, ...]:
    """The textures that a pass looks up, copies from or loads from."""
    match pass_:
        case FragmentPass():
            return tuple(binding.texture for binding in pass_.bindings)
        case CopyPass():
            return (pass_.source,)
        case ComputePass():
            return pass_.textures(written=False)
    return ()


def state_values(pass_: FragmentPass) -> dict[str, Vec4]:
    """The GL state that a pass sets, by canonical name; only for passes of expanded plans."""
    return {state.binding: constant_vector(state.value) for state in pass_.state}


def constant_groups(groups: tuple[Integer, Integer]) -> tuple[int, int]:
    """Work groups along x and y; only for expanded plans, where no number changes."""
    return cast("tuple[int, int]", groups)


@frozen
class Repeat:
    """A loop: the passes of the body run `count` times, in order.

    A number in the body is a constant, Affine in the iteration, or a Table with a value for each
    iteration. Such numbers are texture coordinates and other attributes, parameters, state, clear
    values, uniforms, rectangles (as MovingRect) and numbers of work groups.
    """

    count: Index
    body: tuple[Pass, ...]


@frozen
class Round:
    """The iterations of an Until between two readings of a texel.

    condition: the texture whose texel is read before them. iterations: how many there are. body:
    their steps. restore: the passes that run instead if the loop ends here; they put swapped
    textures back.
    """

    condition: str
    iterations: Index
    body: tuple[Step, ...] = ()
    restore: tuple[Pass, ...] = ()


@frozen
class Until:
    """A loop that ends when the red channel of a texture of one texel is below a number.

    The texel is read before every round; a NaN in it is an error. At most `count` rounds run, which
    are those of `rounds` in a cycle. Then those of `end` run. The last of them has no iterations:
    it only reads the texel.
    """

    below: Finite
    count: Index
    rounds: tuple[Round, ...]
    end: tuple[Round, ...]

    @property
    def every(self) -> int:
        """The iterations between two readings of the texel."""
        return self.rounds[0].iterations if self.rounds else 0

    @property
    def most(self) -> int:
        """The most iterations that run."""
        return sum(round_.iterations for round_ in self.each_round())

    def each_round(self) -> Iterator[Round]:
        """The rounds in order, if the loop does not end before."""
        yield from islice(cycle(self.rounds), self.count)
        yield from self.end


Step = Pass | Repeat | Until
"""An item of a plan."""


P = TypeVar("P", FragmentPass, CopyPass, ClearPass, ComputePass)


@hashed_once
@dataclass(frozen=True)
class Plan:
    """An algorithm at one size: operands, textures, steps in the order in which they run, results.

    inputs are transferred before the first step, outputs after the last one. Elements of a result
    that no output covers are 0. alternating: pairs of textures that hold one quantity in turns, as
    swapped ones do; no executor reads it. A file also has `programs`, the text of each fragment
    program by name, in ARB_fragment_program 1.0, and `kernels`, the text of each compute kernel by
    name, in the subset of GLSL 4.3.
    """

    name: str
    operands: tuple[Matrix, ...] = ()
    results: tuple[Matrix, ...] = ()
    textures: tuple[Texture, ...] = ()
    inputs: tuple[Transfer, ...] = ()
    steps: tuple[Step, ...] = ()
    outputs: tuple[Transfer, ...] = ()
    alternating: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        given, computed = (
            ", ".join(f"{m.name} {m.rows}×{m.columns}" for m in some) or "nothing"
            for some in (self.operands, self.results)
        )
        passes = counted(self.pass_count, "pass", "passes")
        textures = counted(len(self.textures), "texture")
        return f"<Plan {self.name}: {given} → {computed}; {passes}, {textures}>"

    def _repr_html_(self) -> str:
        """The passes as a diagram, for a notebook."""
        steps = (
            (step.count if isinstance(step, Repeat) else None, map(_box, numbers, passes_of(step)))
            for numbers, step in numbered_steps(self)
        )
        return plan_svg(self.name, self.operands, self.results, steps, len(self.as_written))

    def texture(self, name: str) -> Texture:
        """A texture of the plan.

        name: its own; InputError if the plan has none.
        """
        try:
            return self._textures[name]
        except KeyError:
            known = ", ".join(self._textures)
            raise InputError(
                f"plan {self.name} has no texture {described(name)}; its textures are {known}"
            ) from None

    @cached_property
    def _textures(self) -> dict[str, Texture]:
        """The textures by name; of several with one name, the first."""
        return {texture.name: texture for texture in reversed(self.textures)}

    @cached_property
    def steps_at_most(self) -> tuple[Pass | Repeat, ...]:
        """The steps, where each Until has the most iterations."""
        return settled_steps(self)

    def repeats(self) -> Iterator[Repeat]:
        """The steps of `steps_at_most`; a pass by itself becomes a Repeat that runs it once."""
        for step in self.steps_at_most:
            yield step if isinstance(step, Repeat) else Repeat(1, (step,))

    def weighted_passes(self) -> Iterator[tuple[int, Pass]]:
        """Each pass as the plan writes it, with how many times it runs: at least once."""
        for repeat in self.repeats():
            for pass_ in repeat.body if repeat.count else ():
                yield repeat.count, pass_

    @cached_property
    def as_written(self) -> tuple[Pass, ...]:
        """The passes that run at least once, each as the plan writes it."""
        return tuple(pass_ for _, pass_ in self.weighted_passes())

    def only(self, kind: type[P]) -> Iterator[P]:
        """The passes of a kind that run at least once, each as the plan writes it.

        kind: FragmentPass, CopyPass, ClearPass or ComputePass.
        """
        return (pass_ for pass_ in self.as_written if isinstance(pass_, kind))

    @property
    def pass_count(self) -> int:
        """The number of passes that run, of all kinds."""
        return sum(count for count, _ in self.weighted_passes())

    @cached_property
    def texture_bytes(self) -> int:
        """Bytes of all textures, framebuffers among them."""
        return sum(texture.size_bytes for texture in self.textures)

    @property
    def kinds(self) -> frozenset[type[Pass]]:
        """The kinds of pass that run."""
        return frozenset(map(type, self.as_written))

    @property
    def dispatches(self) -> bool:
        """Whether kernels are dispatched."""
        return ComputePass in self.kinds

    @property
    def is_sequential(self) -> bool:
        """Whether nothing can run in parallel: every pass is a kernel in a single invocation."""
        return bool(self.as_written) and all(
            isinstance(p, ComputePass) and p.groups == (1, 1) and p.kernel.threads == 1
            for p in self.as_written
        )

    def programs(self) -> tuple[Program, ...]:
        """The distinct programs of the plan, in the order of their first use."""
        return tuple(dict.fromkeys(pass_.program for pass_ in self.only(FragmentPass)))

    def kernels(self) -> tuple[Kernel, ...]:
        """The distinct kernels of the plan, in the order of their first use."""
        return tuple(dict.fromkeys(pass_.kernel for pass_ in self.only(ComputePass)))

    @property
    def branches(self) -> bool:
        """Whether a program has branches or loops, so that counts are bounds."""
        return any(pass_.program.branches for pass_ in self.only(FragmentPass))


# Loops --------------------------------------------------------------------------------------------


def settled_steps(plan: Plan, iterations: Sequence[int] | None = None) -> tuple[Pass | Repeat, ...]:
    """The steps of `settled`; the plan's own if it has no Until."""
    if not any(isinstance(step, Until) for step in plan.steps):
        return plan.steps  # type: ignore[return-value]
    numbers = None if iterations is None else deque(iterations)
    steps = tuple(_settled(plan.steps, numbers))
    if numbers:
        raise PlanError(
            "more numbers of iterations are given than loops with a condition begin; give one for "
            "each",
            plan=plan.name,
        )
    return steps


def _settled(steps: Iterable[Step], numbers: deque[int] | None) -> Iterator[Pass | Repeat]:
    for step in steps:
        if isinstance(step, Until):
            yield from _iterations(step, numbers)
        else:
            yield step


def _iterations(until: Until, numbers: deque[int] | None) -> Iterator[Pass | Repeat]:
    """The steps that an Until runs; repeated cycles of its rounds become Repeats where possible."""
    if numbers is not None and not numbers:
        raise PlanError(
            "more loops with a condition begin than numbers of iterations are given; give one for "
            "each"
        )
    given = left = until.most if numbers is None else numbers.popleft()
    cycle = tuple(step for round_ in until.rounds for step in round_.body)
    skipped = 0
    if not any(isinstance(step, Until) for step in cycle):
        length = sum(round_.iterations for round_ in until.rounds)
        cycles = min(until.count // len(until.rounds), left // length) if length else 0
        yield from _repeated(cycles, tuple(_settled(cycle, None)))
        left, skipped = left - cycles * length, cycles * len(until.rounds)
    for round_ in islice(until.each_round(), skipped, None):
        if left < round_.iterations:
            yield from round_.restore
            break
        yield from _settled(round_.body, numbers)
        left -= round_.iterations
    if left:
        raise PlanError(
            f"a loop that asks every {until.every} of at most {until.most} iterations cannot end "
            f"after {given}"
        )


def _repeated(count: int, steps: tuple[Pass | Repeat, ...]) -> Iterable[Pass | Repeat]:
    """The steps, `count` times over."""
    bodies = [step.body if isinstance(step, Repeat) else (step,) for step in steps]
    counts = [step.count if isinstance(step, Repeat) else 1 for step in steps]
    if count < 2 or any(varies(pass_) for body in bodies for pass_ in body):
        return steps * count
    if len(steps) == 1:
        return (Repeat(count * counts[0], bodies[0]),)
    if all(number == 1 for number in counts):
        return (Repeat(count, tuple(chain(*bodies))),)
    return steps * count


def moves(pass_: Pass) -> bool:
    """Whether a pass's rectangles or work groups change from iteration to iteration."""
    if isinstance(pass_, ComputePass):
        return any(isinstance(n, PerIteration) for n in pass_.groups)
    return any(isinstance(rect, MovingRect) for rect in rects(pass_))


def rects(pass_: Pass) -> tuple[Rect | MovingRect, ...]:
    """The rectangles that a pass covers."""
    match pass_:
        case FragmentPass():
            return (pass_.rect,) if pass_.scissor is None else (pass_.rect, pass_.scissor)
        case CopyPass():
            return pass_.source_rect, pass_.target_rect
    return ()


def varies(pass_: Pass) -> bool:
    """Whether any number of a pass changes from iteration to iteration."""
    return moves(pass_) or any(isinstance(number, PerIteration) for number in numbers(pass_))


def numbers(pass_: Pass) -> Iterator[Number]:
    """All numbers of a pass that a Repeat could change from iteration to iteration."""
    yield from integers(pass_)
    match pass_:
        case FragmentPass():
            corners = [t.corners for t in pass_.texcoords] + [a.corners for a in pass_.attributes]
            vectors = [p.value for p in pass_.locals + pass_.env] + [s.value for s in pass_.state]
            for vector in chain(*corners, vectors):
                yield from vector
        case ClearPass():
            yield from pass_.value
        case ComputePass():
            yield from (uniform.value for uniform in pass_.uniforms)


def integers(pass_: Pass) -> tuple[Number, ...]:
    """The numbers of a pass that count texels or work groups."""
    if isinstance(pass_, ComputePass):
        return pass_.groups
    return tuple(chain.from_iterable(map(rect_numbers, rects(pass_))))


# Names for people --------------------------------------------------------------------------------


def _box(numbers: range, pass_: Pass) -> Box:
    what = f"{kind_of_pass(pass_)} {name_of_pass(pass_)}".rstrip()
    blend = pass_.blend if isinstance(pass_, FragmentPass) else None
    return Box(numbers, what, blend, read_by(pass_), written_by(pass_))


_KINDS = {
    FragmentPass: "draw",
    CopyPass: "copy",
    ClearPass: "clear",
    ComputePass: "dispatch",
}


def kind_of_pass(pass_: Pass) -> str:
    """What a pass does, in a word: draw, copy, clear or dispatch."""
    return _KINDS[type(pass_)]


def name_of_pass(pass_: Pass) -> str:
    """The file name of the pass's program or kernel; empty for copies and clears."""
    match pass_:
        case FragmentPass():
            return PurePath(pass_.program.name).name
        case ComputePass():
            return PurePath(pass_.kernel.name).name
    return ""


def numbered_steps(plan: Plan) -> Iterator[tuple[tuple[range, ...], Step]]:
    """Each step that runs a pass, with its passes' numbers among all that run, from 1.

    A Repeat runs each of its passes at every len(body)-th number.
    """
    number = 1
    for step in plan.steps_at_most:
        body, count = passes_of(step), step.count if isinstance(step, Repeat) else 1
        end = number + count * len(body)
        if number < end:
            firsts = range(number, number + len(body))
            yield tuple(range(first, end, len(body)) for first in firsts), step
        number = end


def numbered_passes(plan: Plan) -> Iterator[tuple[range, Pass]]:
    """Each pass that runs, as the plan writes it, with its numbers."""
    for numbers, step in numbered_steps(plan):
        yield from zip(numbers, passes_of(step), strict=True)


def passes_of(step: Step) -> tuple[Pass, ...]:
    """The passes of a step, as the plan writes them."""
    match step:
        case Repeat(body=body):
            return body
        case Until(rounds=rounds, end=end):
            inner = (i for r in (*rounds, *end) for i in (*r.body, *r.restore))
            return tuple(chain.from_iterable(map(passes_of, inner)))
    return (step,)
