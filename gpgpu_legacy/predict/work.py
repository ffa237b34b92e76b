"""The work of drawing a plan on a chip: counts of arithmetic, lookups, writes and bytes.

Memory serves each texel that a pass touches once per pass: textures are cached while it is drawn.
Some chips compute tiles of fragments (lower/groups/shape.py). If a row or a column of a tile shares
a texel, such a chip looks it up once per tile and stages it in shared memory. There an invocation
reads it once for all its fragments. If a pass has fewer tiles than the chip computes at once, a
part of the chip is idle.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from itertools import chain

from gpgpu_legacy.count.instructions import executions, lookups_by_unit
from gpgpu_legacy.count.traffic import count_pass, count_plan
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.expressions import Compose, Constant, Element, Expression, constant
from gpgpu_legacy.isa.kernel import applied
from gpgpu_legacy.isa.opcodes import CostClass, Form
from gpgpu_legacy.isa.statements import with_expressions
from gpgpu_legacy.isa.types import Operator
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, Lookups, UnfusedRepeat, fused_steps
from gpgpu_legacy.lower.analysis.liveness import live_components
from gpgpu_legacy.lower.analysis.neighbourhood import neighbourhood
from gpgpu_legacy.lower.fused.body import blended_products
from gpgpu_legacy.lower.fused.content import Content, group_content, live_segments
from gpgpu_legacy.lower.groups.shape import Multiprocessors, group_shape
from gpgpu_legacy.lower.lookups import AffineLookup, DependentLookup, Lookup, OwnLookup
from gpgpu_legacy.plan.expand import with_textures, without_tables
from gpgpu_legacy.plan.framebuffer import ADD
from gpgpu_legacy.plan.plan import (
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Repeat,
    Step,
    numbered_steps,
    passes_of,
    read_by,
    written_by,
)
from gpgpu_legacy.plan.textures import constant_rect
from gpgpu_legacy.predict.prediction import Rates

# Parts -------------------------------------------------------------------------------------------
#
# Splits a plan into parts to be timed: steps that do the same work are one part.
#
# A plan of many passes has few kinds of them: the passes of all tiles of a large product draw
# alike and differ only in their textures. So a part is a plan of its own, with its textures called
# by their order, and equal parts are analysed once.


@frozen
class PlanPart:
    """Steps of a plan that do the same work.

    plan: of one of them, by itself. passes: of the first, as the whole plan writes them. numbers:
    of the passes of all steps. times: the number of steps.
    """

    plan: Plan
    passes: tuple[Pass, ...]
    numbers: tuple[range, ...]
    times: int


def parts_of(plan: Plan, *, apart: bool) -> tuple[PlanPart, ...]:
    """The parts of a plan, in the order in which they first run.

    apart: whether to split Repeats into their passes; if not, these may be fused.
    """
    alike: dict[Plan, list[tuple[tuple[range, ...], Step]]] = {}
    for numbers, step in _steps_of(plan, apart=apart):
        alike.setdefault(_by_itself(plan, step), []).append((numbers, step))
    return tuple(
        PlanPart(part, passes_of(same[0][1]), tuple(chain(*(n for n, _ in same))), len(same))
        for part, same in alike.items()
    )


def _steps_of(plan: Plan, *, apart: bool) -> Iterator[tuple[tuple[range, ...], Step]]:
    """The steps of a plan that run, with their passes' numbers; `apart` splits Repeats."""
    for numbers, step in numbered_steps(plan):
        if apart and isinstance(step, Repeat):
            for one, pass_ in zip(numbers, step.body, strict=True):
                yield (one,), Repeat(step.count, (pass_,))
        else:
            yield numbers, step


def _by_itself(plan: Plan, step: Step) -> Plan:
    """A plan of one step, without transfers, its textures called by their order in the step."""
    used = (name for p in passes_of(step) for name in (*read_by(p), *written_by(p)))
    names = {name: str(n) for n, name in enumerate(dict.fromkeys(used))}
    textures = tuple(
        replace(plan.texture(name), name=new, initial=None) for name, new in names.items()
    )
    body = tuple(with_textures(_without_unused(p), names) for p in passes_of(step))
    renamed: Step = Repeat(step.count, body) if isinstance(step, Repeat) else body[0]
    return Plan(plan.name, (), (), textures, (), (renamed,), ())


def _without_unused(pass_: Pass) -> Pass:
    """The pass without the buffers that its kernel neither loads from nor stores to."""
    if not isinstance(pass_, ComputePass):
        return pass_
    used = {*read_by(pass_), *written_by(pass_)}
    return replace(pass_, buffers=tuple(b for b in pass_.buffers if b.texture in used))


# Work --------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Work:
    """Counts of a plan's drawing.

    The counts are the least possible: neither side of any branch, and no trip of a loop.
    instructions: arithmetic ones. branches: IFs and loops. most_branches: the most of them.
    components: the instructions' multiply-adds, one per component. dots: operations that reduce
    several components to one number, such as dot products. lookups, fills, blends: by the bits of a
    texel. shared_bytes: read from shared memory, by all invocations together. capacity: fragments
    that the chip could have computed in the time that the tiles take.
    """

    instructions: int = 0
    branches: int = 0
    most_branches: int = 0
    components: int = 0
    dots: int = 0
    lookups: Counter[int] = field(default_factory=Counter)
    fills: Counter[int] = field(default_factory=Counter)
    blends: Counter[int] = field(default_factory=Counter)
    shared_bytes: int = 0
    memory_bytes: int = 0
    copy_bytes: int = 0
    clear_bytes: int = 0
    passes: int = 0
    fragments: int = 0
    capacity: int = 0

    @property
    def occupancy(self) -> float:
        """The part of the chip that is busy, from 0 to 1; 1 if it does not compute tiles."""
        return self.fragments / self.capacity if self.capacity else 1.0

    def add(self, other: Work, times: int) -> None:
        """Add other work, done `times` times."""
        for item in fields(Work):
            mine, theirs = getattr(self, item.name), getattr(other, item.name)
            if isinstance(mine, Counter):
                mine.update({bits: times * count for bits, count in theirs.items()})
            else:
                setattr(self, item.name, mine + times * theirs)


def count_work(plan: Plan, rates: Rates) -> Work:
    """Count a chip's work to draw a plan, with its passes fused if the chip fuses them.

    All chips that draw in the same manner share the result, so do not change it.
    """
    tiles = rates.tiles_at_once if rates.stages_lookups else None
    return _work(plan, tiles, fuses=rates.fuses_passes)


@lru_cache(maxsize=32)
def _work(plan: Plan, tiles: float | None, *, fuses: bool) -> Work:
    """The work of a plan. tiles: the number computed at once, if the chip stages lookups."""
    work = Work()
    for part in parts_of(plan, apart=not fuses):
        counter = _WorkCounter(part.plan, tiles, fuses)
        for step in _steps(part.plan, apart=not fuses):
            if not isinstance(step, UnfusedRepeat):
                counter.add(step, 1)
            elif not fuses or neighbourhood(step, part.plan) is None:
                for member in step.body:
                    counter.add(member, step.count)
            else:  # an executor may run several iterations in one tile
                counter.add_in_time(step)
        work.add(counter.work, part.times)
    return work


@lru_cache(maxsize=1024)
def _steps(plan: Plan, *, apart: bool) -> tuple[FusedPasses | UnfusedRepeat | Pass, ...]:
    """The fused and other passes of a part, kept because long programs take a while to analyse."""
    return tuple(fused_steps(without_tables(plan), apart=apart))


@frozen
class _WorkCounter:
    """A counter that adds up the work of one plan's passes."""

    plan: Plan
    tiles: float | None
    fuses: bool
    work: Work = field(default_factory=Work)

    def add(self, pass_: FusedPasses | Pass, times: int) -> None:
        """Add analysed passes, which know their number of runs, or a pass that runs `times` times.

        All lookups of a pass without analysis count as dependent.
        """
        if isinstance(pass_, FusedPasses):
            self._add_fused(pass_)
            return
        if isinstance(pass_, CopyPass | ClearPass):
            moved = count_pass(self.plan, pass_, times)
            self.work.copy_bytes += moved.copy_bytes
            self.work.clear_bytes += moved.clear_bytes
        elif isinstance(pass_, FragmentPass):
            lookups = tuple(DependentLookup(b.texture, b.sampler) for b in pass_.looked_up)
            self._add_draw(pass_, lookups, times, {}, writes=True)
        self.work.passes += times

    def add_in_time(self, repeat: UnfusedRepeat) -> None:
        """Add passes that read near neighbours, which temporal tiles run for many iterations.

        Each iteration computes its fragments. The executor decides how many iterations share memory
        traffic, lookups and writes, so those of only one are counted.
        """
        once = _WorkCounter(self.plan, self.tiles, self.fuses)
        for member in repeat.body:
            once.add(replace(member, count=1) if isinstance(member, FusedPasses) else member, 1)
        for name in ("instructions", "components", "dots", "fragments", "capacity"):
            setattr(once.work, name, repeat.count * getattr(once.work, name))
        self.work.add(once.work, 1)

    def _add_fused(self, step: FusedPasses) -> None:
        """Add passes that may be fused, or one pass that was analysed.

        If the chip fuses them, partial sums stay in registers from one iteration to the next.
        """
        fused = self.fuses and len(step.passes) * step.count > 1
        textures = {texture.name: texture for texture in self.plan.textures}
        content, _ = group_content(step, textures)
        if self.tiles is not None:
            self._add_tiles(content, step, self.tiles, fused=fused)
        self.work.passes += 1 if fused else step.count
        for pass_, lookups in step.draws:  # not copies of registers
            own = Counter(look.texture for look in lookups if isinstance(look, OwnLookup))
            registers = None if self.tiles is not None else own if fused else {}
            self._add_draw(pass_, lookups, step.count, registers, writes=not fused)
        if fused:
            self._add_sums([pass_ for pass_, _ in step.draws], content, step.count)
            self._add_results(step)

    def _add_draw(
        self,
        pass_: FragmentPass,
        lookups: Lookups,
        times: int,
        registers: Mapping[str, int] | None,
        *,
        writes: bool,
    ) -> None:
        """Add the arithmetic, the reads and, with `writes`, the writes of a pass.

        registers: the number of its lookups, by texture, that read registers instead; None if
        tiled.
        """
        fragments = times * pass_.drawn.area
        self._add_arithmetic(pass_, lookups, fragments)
        if registers is not None:
            textures = {binding.unit: binding.texture for binding in pass_.bindings}
            for unit, times_ in lookups_by_unit(pass_.program, least=True):
                self.work.lookups[self._texel_bits(textures[unit])] += fragments * times_
            for name, number in registers.items():
                self.work.lookups[self._texel_bits(name)] -= fragments * number
        self.work.memory_bytes += times * self._read_bytes(pass_, lookups)
        if writes:
            blends = pass_.blend is not None
            for bits in map(self._texel_bits, pass_.targets):
                (self.work.blends if blends else self.work.fills)[bits] += fragments
                self.work.memory_bytes += fragments * bits // 8 * (1 + blends)

    def _add_sums(self, passes: Sequence[FragmentPass], content: Content, times: int) -> None:
        """Add the additions of blending in registers, except those in a product's multiply-add."""
        if all(pass_.blend is None for pass_ in passes):
            return
        for pass_, products in zip(passes, blended_products(content), strict=True):
            if pass_.blend is None:
                continue
            fragments = times * constant_rect(pass_.rect).area
            for target, is_product in zip(pass_.targets, products, strict=True):
                if not is_product:
                    self.work.instructions += fragments
                    self.work.components += fragments * self.plan.texture(target).format.channels

    def _add_results(self, step: FusedPasses) -> None:
        """Add the reads of fused passes before all iterations, and the writes after them."""
        area = step.width * step.height
        for name in {name for pass_ in step.passes for name in written_by(pass_)}:
            bits = self._texel_bits(name)
            self.work.fills[bits] += area
            self.work.memory_bytes += 2 * area * bits // 8

    def _add_arithmetic(self, pass_: FragmentPass, lookups: Lookups, area: int) -> None:
        """Add the instructions of a pass.

        All are counted, but only the components that reach a target: a compiler removes the others,
        and the coordinates that step from texel to texel.
        """
        reads_alpha = pass_.alpha_test is not None or pass_.blend not in (None, ADD)
        channels = [self.plan.texture(target).format.channels for target in pass_.targets]
        kept = channels if pass_.program.has_separate_colors else [max(channels)]
        known = tuple(not isinstance(look, DependentLookup) for look in lookups)
        live = live_components(pass_.program, known, () if reads_alpha else tuple(kept))
        numbers = (executions(pass_.program, least=least) for least in (True, False))
        rows = zip(pass_.program.instructions, live, *numbers, strict=True)
        for instruction, components, least, most in rows:
            if instruction.mnemonic in ("IF", "REP", "LOOP"):
                self.work.branches += area * least
                self.work.most_branches += area * most
            fragments = area * least
            opcode = instruction.opcode
            if opcode.cost is CostClass.ARITHMETIC:
                self.work.instructions += fragments
                if opcode.form is Form.VECTOR:
                    self.work.dots += fragments * bool(components)
                else:
                    self.work.components += fragments * len(components)

    def _add_tiles(
        self, content: Content, step: FusedPasses, at_once: float, *, fused: bool
    ) -> None:
        """Add the fragments, the capacity and the lookups of passes that are computed in tiles.

        An invocation looks up a texel that its fragments share once. A lookup in a loop that varies
        along one axis alone is staged: the tile looks each texel up once.
        """
        device = Multiprocessors.of_gpu(round(at_once))
        shape = group_shape(content, (step.width, step.height), device)
        across, up = shape.tile
        tiles = -(-step.width // across) * -(-step.height // up)
        busiest = max(tiles, at_once)
        self.work.capacity += int(step.count * busiest * across * up)
        fragments = step.count * step.width * step.height
        self.work.fragments += fragments
        for trips, in_loop, lookup in _lookups_of_tiles(content, step.count):
            if fused and isinstance(lookup, OwnLookup):
                continue
            x, y = lookup.axes
            texel_bytes = content.surfaces[lookup.texture].format.texel_bytes
            number = trips * fragments
            alone = number // ((1 if x else shape.columns) * (1 if y else shape.rows))
            if x == y or not in_loop:
                self.work.lookups[8 * texel_bytes] += alone
                continue
            self.work.shared_bytes += alone * texel_bytes
            self.work.lookups[8 * texel_bytes] += number // (across if x else up)

    def _read_bytes(self, pass_: FragmentPass, lookups: Lookups) -> int:
        """Bytes of the texels that a pass touches, each texel counted once."""
        rect = pass_.drawn
        touched: Counter[str] = Counter()
        for lookup in lookups:
            if isinstance(lookup, AffineLookup):
                across = rect.width if lookup.s.x or lookup.t.x else 1
                touched[lookup.texture] += across * (rect.height if lookup.s.y or lookup.t.y else 1)
            elif isinstance(lookup, DependentLookup):
                touched[lookup.texture] += rect.area
        return sum(
            min(texels * self._texel_bits(name) // 8, self.plan.texture(name).size_bytes)
            for name, texels in touched.items()
        )

    def _texel_bits(self, texture: str) -> int:
        return 8 * self.plan.texture(texture).format.texel_bytes


def _lookups_of_tiles(content: Content, count: int) -> Iterator[tuple[int, bool, Lookup[int]]]:
    """Every lookup of fused programs, with its trips per pass and whether it is in a loop."""
    for segments in map(live_segments, content.draws):
        iterates = count > 1 and len(segments) == 1
        for segment in segments:
            for step in segment.steps:
                if step.lookup is not None:
                    yield segment.trips, segment.trips > 1 or iterates, step.lookup


# Vectors -----------------------------------------------------------------------------------------


_ZERO = constant(0.0)


def count_accesses(plan: Plan) -> int:
    """The loads and stores of all invocations; a vec4 of consecutive elements counts as one."""
    steps = (replace(step, body=tuple(map(_narrowed, step.body))) for step in plan.repeats())
    counts = count_plan(replace(plan, steps=tuple(steps)))
    return counts.global_loads + counts.global_stores


def _narrowed(pass_: Pass) -> Pass:
    if not isinstance(pass_, ComputePass):
        return pass_
    body = tuple(with_expressions(statement, _first_alone) for statement in pass_.kernel.body)
    return replace(pass_, kernel=replace(pass_.kernel, body=body))


def _first_alone(expression: Expression) -> Expression:
    """The expression; a vec4 of consecutive elements keeps only the first."""
    match expression:
        case Compose(operands=(Element(operands=(place,)) as first, *others)):
            after = (applied(Operator.ADD, place, Constant((n,), place.type)) for n in (1, 2, 3))
            if others == [replace(first, operands=(index,)) for index in after]:
                return Compose((first, _ZERO, _ZERO, _ZERO))
    return expression
