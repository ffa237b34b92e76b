"""How long a plan takes on a chip, at least: counts over rates, term by term.

What works at the same time is a stage: fragments are computed, looked up, fetched from memory and
written at once, so the slowest of these *binds*, and its time is the stage's. Stages follow one
another, and their times add up: drawing or dispatches, copies, clears, what a pass costs by itself,
and the transfers over the bus. A rate that is not known of a chip makes its term unknown, never
zero; the sum is then of what is known, and says so.

Memory serves each texel that a pass touches once a pass: textures are cached while it is drawn.
A chip that computes tiles of fragments (lower/workgroups.py) stages what a row or a column of a
tile shares: it is looked up once a tile, and read from shared memory once for all fragments of an
invocation that want it. Fewer tiles than the chip computes at once leave a part of it idle.
Kernels' loads and stores move what the chip's coalescing rule says, or where there is none, each
buffer once a dispatch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from gpgpu_legacy.chips.profile import Fact, Hardware, Profile
from gpgpu_legacy.count.coalescing import RULES, transactions
from gpgpu_legacy.count.traffic import count_plan, count_repeated
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.isa.ir import ResultRegister
from gpgpu_legacy.isa.opcodes import OPCODES, Cost, Form
from gpgpu_legacy.lower.chains import Computed, Draw, Loop, Own, Placed, Turns, loops
from gpgpu_legacy.lower.content import Content, group_content
from gpgpu_legacy.lower.content import Own as RegisterLookup
from gpgpu_legacy.lower.content import Placed as PlacedLookup
from gpgpu_legacy.lower.lookups import live_components
from gpgpu_legacy.lower.roll import live_segments
from gpgpu_legacy.lower.tiles import along
from gpgpu_legacy.lower.workgroups import GroupShape, group_shape
from gpgpu_legacy.plan.expand import without_tables
from gpgpu_legacy.plan.plan import (
    Blend,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    constant_rect,
    read_by,
    written_by,
)
from gpgpu_legacy.predict.repeats import known_by_iteration

CHANNELS = 4
WORD_BITS, VECTOR_BITS = 32, 128  # of the texels that rates are known of


class Stage(Enum):
    """What follows one another; within a stage, terms overlap."""

    DRAW = "drawing"
    WRITE = "writing"
    DISPATCH = "dispatches"
    COPY = "copies"
    CLEAR = "clears"
    PASS = "passes"
    RUN = "the run"
    UPLOAD = "upload"
    READBACK = "read-back"


TRANSFERS = frozenset({Stage.UPLOAD, Stage.READBACK})


@dataclass(frozen=True, slots=True)
class Rate:
    """How many a second, and the facts of the profile that it follows from, with their places.

    why: how it follows from them; where `per_s` is None, what is missing.
    """

    per_s: float | None
    facts: tuple[tuple[str, Fact[Any]], ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One bound: so many things at such a rate."""

    name: str
    stage: Stage
    count: float
    unit: str
    rate: Rate

    @property
    def seconds(self) -> float | None:
        """Count over rate; None where the rate is not known."""
        return None if self.rate.per_s is None else self.count / self.rate.per_s


@dataclass(frozen=True, slots=True)
class Prediction:
    """The terms of a plan on a chip; those with nothing to count are left out."""

    chip: Profile
    plan: str
    terms: tuple[Term, ...]

    def binding(self, stage: Stage) -> Term | None:
        """The term that takes longest of a stage's, of those that are known."""
        known = [t for t in self.terms if t.stage is stage and t.seconds is not None]
        return max(known, key=lambda term: term.seconds or 0.0, default=None)

    @property
    def bound(self) -> Term | None:
        """The term that most of the computing time goes to."""
        each = (self.binding(stage) for stage in Stage if stage not in TRANSFERS)
        known = [term for term in each if term is not None]
        return max(known, key=lambda term: term.seconds or 0.0, default=None)

    @property
    def compute_s(self) -> float | None:
        """Seconds of the passes alone; None where nothing is known of what they do."""
        if self.binding(Stage.DRAW) is None and self.binding(Stage.DISPATCH) is None:
            return None
        return sum(self.stage_s(stage) or 0.0 for stage in Stage if stage not in TRANSFERS)

    def stage_s(self, stage: Stage) -> float | None:
        """Seconds of one stage; None where there is nothing in it or nothing is known."""
        term = self.binding(stage)
        return None if term is None else term.seconds

    @property
    def total_s(self) -> float | None:
        """Transfers included; None where one of them, or the computing, is not known."""
        compute = self.compute_s
        transfers = [term.seconds for term in self.terms if term.stage in TRANSFERS]
        if compute is None or None in transfers:
            return None
        return compute + sum(each for each in transfers if each is not None)

    @property
    def unknown(self) -> tuple[Term, ...]:
        """The terms whose rates are not known."""
        return tuple(term for term in self.terms if term.seconds is None)


def predict(plan: Plan, chip: Profile, *, memory_bytes: int | None = None) -> Prediction:
    """Bound the time of a plan on a chip from below.

    memory_bytes: what memory serves, copies included, where it is known from a simulated cache
    (cache/run.py); else each texel that a pass touches is served once a pass.
    Raises PlanError for a kernel whose data decides what it does (see count_compute_pass), and for
    simulated bytes of a chip that carries passes out in one go, which the plan's accesses are not.
    """
    counts, rates = count_plan(plan), _Rates(chip.hardware)
    if memory_bytes is not None and rates.chains:
        raise PlanError(
            f"{chip.name} carries passes out in one go, with partial sums in registers: what a "
            "cache makes of the plan's own accesses says nothing of it; choose a chip that draws"
        )
    computes = any(isinstance(each, ComputePass) for _, each in plan.weighted_passes())
    work = _work(plan, rates)
    terms = [*(_dispatched(plan, rates) if computes else _drawn(work, rates))]
    memory = rates.memory()
    if memory_bytes is not None:
        work.copy_bytes = 0
        terms = [
            replace(each, name="memory, by the cache", count=memory_bytes, rate=memory)
            if each.name == "memory"
            else each
            for each in terms
        ]
    if rates.knows_runs:
        terms.append(Term("starting and waiting", Stage.RUN, 1, "runs", rates.run()))
    terms += [
        Term("copies", Stage.COPY, work.copy_bytes, "bytes", memory),
        Term("clears", Stage.CLEAR, work.clear_bytes, "bytes", memory),
        Term("passes", Stage.PASS, work.passes, "passes", rates.passes()),
        Term("upload", Stage.UPLOAD, counts.upload_bytes, "bytes", rates.upload()),
        Term("read-back", Stage.READBACK, counts.readback_bytes, "bytes", rates.readback()),
    ]
    return Prediction(chip, plan.name, tuple(term for term in terms if term.count))


# What there is to do ---------------------------------------------------------------------------


@dataclass(slots=True)
class _Work:
    """What a plan's drawing comes to.

    instructions, components, dots: arithmetic ones; the multiply-adds of single components that
    they come to; and those that make a number of several components together, as dot products do.
    lookups, fills, blends: by the bits of the texel.
    shared_bytes: read from shared memory, by all invocations together.
    room: the fragments that the chip could have computed in the time that the tiles take.
    """

    instructions: int = 0
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
    room: int = 0

    @property
    def busy(self) -> float:
        """The part of the chip that has something to compute; 1 where it computes no tiles."""
        return self.fragments / self.room if self.room else 1.0


@lru_cache(maxsize=32)
def _steps(plan: Plan, *, apart: bool) -> tuple[Loop | Turns | Pass, ...]:
    """The plan's Loops and passes; programs of one long pass take a while to analyse.

    Where passes may chain, Repeats with Tables are written out, as for an executor that fuses
    passes. Where none does, a Repeat is written out that is not known but iteration by iteration.
    """
    if not apart:
        return tuple(loops(without_tables(plan)))
    return tuple(loops(known_by_iteration(plan), apart=True))


def _work(plan: Plan, rates: _Rates) -> _Work:
    """What drawing comes to, where passes that chain are one, or where none is."""
    work, chained = _Work(), rates.chains
    textures = {texture.name: texture for texture in plan.textures}
    for times, each in _members(_steps(plan, apart=not chained)):
        if isinstance(each, Loop):
            content, _ = group_content(each, textures)
            shape = group_shape(content) if rates.stages else None
            if shape is not None:
                _add_tiles(work, each, shape, rates.tiles_at_once)
                _add_tiled_lookups(work, content, each, shape, whole=chained and _fuses(each))
            _add_loop(work, plan, each, shape, whole=chained and _fuses(each))
        else:
            work.passes += times
            _add_pass(work, plan, each, times)
    return work


def _fuses(loop: Loop) -> bool:
    """Whether several passes are one."""
    return len(loop.passes) * loop.count > 1


def _add_tiles(work: _Work, loop: Loop, shape: GroupShape, at_once: float) -> None:
    """How many of a Loop's fragments there are, and how many there is room for meanwhile."""
    across, up = shape.tile
    tiles = -(-loop.width // across) * -(-loop.height // up)
    work.fragments += loop.count * loop.width * loop.height
    work.room += int(loop.count * max(tiles, at_once) * across * up)


def _members(steps: Iterable[Loop | Turns | Pass]) -> Iterator[tuple[int, Loop | Pass]]:
    for step in steps:
        if isinstance(step, Turns):
            yield from ((step.count, member) for member in step.body)
        else:
            yield 1, step


def _add_pass(work: _Work, plan: Plan, each: Pass, times: int) -> None:
    """A pass that is no Loop: what it looks up is not analysed, only counted."""
    if isinstance(each, CopyPass):
        work.copy_bytes += count_repeated(plan, each, times).copy_bytes
    elif isinstance(each, ClearPass):
        work.clear_bytes += count_repeated(plan, each, times).clear_bytes
    elif isinstance(each, FragmentPass):
        draw = _unanalysed(each)
        _add_arithmetic(work, plan, draw, times)
        _add_lookups(work, plan, draw, times)
        _add_writes(work, plan, each, times)
        read = sum(_bytes(plan, name) for name in dict.fromkeys(read_by(each)))
        work.memory_bytes += times * read


def _unanalysed(each: FragmentPass) -> Draw:
    """A pass of whose lookups nothing is known."""
    bound = {binding.unit: binding for binding in each.bindings}
    units = [i.texture.unit for i in each.program.instructions if i.texture is not None]
    return Draw(each, tuple(Computed(bound[unit]) for unit in units))


def _add_loop(
    work: _Work, plan: Plan, loop: Loop, shape: GroupShape | None, *, whole: bool
) -> None:
    """A Loop; `whole`: its partial sums stay in registers from one iteration to the next.

    shape: of the tiles that it is computed in, if it is; their lookups are counted apart.
    """
    work.passes += 1 if whole else loop.count
    written = {name for each in loop.passes for name in written_by(each)}
    for member in loop.body:
        if not isinstance(member, Draw):
            continue  # a copy between registers
        own = Counter(look.texture for look in member.lookups if isinstance(look, Own))
        _add_arithmetic(work, plan, member, loop.count)
        if shape is None:
            _add_lookups(work, plan, member, loop.count, own if whole else Counter())
        work.memory_bytes += loop.count * _read_bytes(plan, member)
        if not whole:
            _add_writes(work, plan, member.each, loop.count)
        elif member.each.blend is not Blend.NONE and not _ends_in_a_product(member):
            fragments = loop.count * constant_rect(member.each.rect).area
            formats = [plan.texture(target).format for target in member.each.targets]
            work.instructions += fragments * len(formats)
            work.components += fragments * sum(each.channels for each in formats)
    if whole:
        area = loop.width * loop.height
        for name in written:
            texel = plan.texture(name).format.texel_bytes
            work.fills[8 * texel] += area
            work.memory_bytes += 2 * area * texel


def _ends_in_a_product(draw: Draw) -> bool:
    """Whether what is blended is a product: it is added as it is made, by one multiply-add."""
    last = draw.each.program.instructions[-1]
    result = last.dst is not None and isinstance(last.dst.register, ResultRegister)
    return result and OPCODES[last.mnemonic].glsl == _PRODUCT


_PRODUCT = "{0} * {1}"


def _add_arithmetic(work: _Work, plan: Plan, draw: Draw, times: int) -> None:
    """Instructions of a pass.

    All are counted, but of components only those that anything needs: a compiler leaves out the
    rest, and the coordinates that walk from texel to texel.
    """
    each = draw.each
    fragments = times * constant_rect(each.rect).area
    placed = [None if isinstance(look, Computed) else look for look in draw.lookups]
    live = live_components(each.program, placed)
    channels = plan.texture(each.target).format.channels
    for instruction, components in zip(each.program.instructions, live, strict=True):
        row = OPCODES[instruction.mnemonic]
        if instruction.dst is not None and isinstance(instruction.dst.register, ResultRegister):
            components = tuple(c for c in components if c < channels)  # noqa: PLW2901
        if row.cost is Cost.ARITHMETIC:
            work.instructions += fragments
            if row.form is Form.VECTOR:
                work.dots += fragments * bool(components)
            else:
                work.components += fragments * len(components)


def _add_lookups(
    work: _Work, plan: Plan, draw: Draw, times: int, registers: Counter[str] | None = None
) -> None:
    """Lookups of a pass; registers: those, by texture, that are none."""
    each = draw.each
    fragments = times * constant_rect(each.rect).area
    bits = {b.unit: 8 * plan.texture(b.texture).format.texel_bytes for b in each.bindings}
    for instruction in each.program.instructions:
        if instruction.texture is not None:
            work.lookups[bits[instruction.texture.unit]] += fragments
    for name, number in (registers or Counter()).items():
        work.lookups[8 * plan.texture(name).format.texel_bytes] -= fragments * number


def _add_tiled_lookups(
    work: _Work, content: Content, loop: Loop, shape: GroupShape, *, whole: bool
) -> None:
    """Lookups of passes that are computed in tiles, those that are staged and those that are not.

    An invocation looks up what its fragments share once. Staged is what turns, and what varies
    along one axis alone: once a tile.
    """
    fragments = loop.count * loop.width * loop.height
    for segments in map(live_segments, content.draws):
        iterates = loop.count > 1 and len(segments) == 1
        for segment in segments:
            for step in segment.steps:
                if step.lookup is None or (whole and isinstance(step.lookup, RegisterLookup)):
                    continue
                x = y = True
                if isinstance(step.lookup, PlacedLookup):
                    x, y = along(step.lookup)
                texel_bytes = content.surfaces[step.lookup.texture].format.texel_bytes
                number = segment.turns * fragments
                alone = number // ((1 if x else shape.strips) * (1 if y else shape.rows))
                if x == y or not (segment.turns > 1 or iterates):
                    work.lookups[8 * texel_bytes] += alone
                    continue
                work.shared_bytes += alone * texel_bytes
                work.lookups[8 * texel_bytes] += number // shape.tile[1 if x else 0]


def _add_writes(work: _Work, plan: Plan, each: FragmentPass, times: int) -> None:
    blends = each.blend is not Blend.NONE
    for name in each.targets:
        texel = plan.texture(name).format.texel_bytes
        fragments = times * constant_rect(each.rect).area
        (work.blends if blends else work.fills)[8 * texel] += fragments
        work.memory_bytes += fragments * texel * (1 + blends)


def _read_bytes(plan: Plan, draw: Draw) -> int:
    """Bytes of the texels that a pass touches, each texel counted once."""
    touched: Counter[str] = Counter()
    for lookup in draw.lookups:
        if isinstance(lookup, Placed):
            touched[lookup.texture] += _texels(lookup, constant_rect(draw.each.rect))
        elif not isinstance(lookup, Own):
            touched[lookup.binding.texture] += constant_rect(draw.each.rect).area
    return sum(
        min(texels * plan.texture(name).format.texel_bytes, _bytes(plan, name))
        for name, texels in touched.items()
    )


def _texels(lookup: Placed, rect: Rect) -> int:
    """How many texels all fragments together read by one lookup."""
    across = rect.width if lookup.s.x or lookup.t.x else 1
    up = rect.height if lookup.s.y or lookup.t.y else 1
    return across * up


def _bytes(plan: Plan, name: str) -> int:
    texture = plan.texture(name)
    return texture.extent.width * texture.extent.rows * texture.format.texel_bytes


# The terms -------------------------------------------------------------------------------------


def _drawn(work: _Work, rates: _Rates) -> Iterator[Term]:
    yield _arithmetic(work, rates)
    yield _by_bits("lookups", work.lookups, "lookups", rates.lookups)
    shared = rates.measured("shared_memory_gb_per_s", 1e9)
    yield Term("shared memory", Stage.DRAW, work.shared_bytes, "bytes", _part(shared, work.busy))
    yield Term("memory", Stage.DRAW, work.memory_bytes, "bytes", rates.memory())
    for name, counts, rate_of in (
        ("fill", work.fills, rates.fills),
        ("blend", work.blends, rates.blends),
    ):
        written = _by_bits(name, counts, "fragments", rate_of)
        yield written if rates.writes_overlap else replace(written, stage=Stage.WRITE)


def _arithmetic(work: _Work, rates: _Rates) -> Term:
    """Multiply-adds and dot products, one after another; instructions where a chip counts them."""
    width, rate = rates.fragment_arithmetic()
    if width > 1:
        return Term("arithmetic", Stage.DRAW, work.instructions, "instructions", rate)
    dots = rates.measured("dots_g_per_s", 1e9)
    if not work.dots or dots.per_s is None or rate.per_s is None:
        count = work.components + CHANNELS * work.dots
        return Term("arithmetic", Stage.DRAW, count, "multiply-adds", _part(rate, work.busy))
    count = work.components + work.dots
    seconds = work.components / rate.per_s + work.dots / dots.per_s
    mixed = Rate(count / seconds, (*rate.facts, *dots.facts), "multiply-adds and dot products")
    return Term("arithmetic", Stage.DRAW, count, "operations", _part(mixed, work.busy))


def _part(rate: Rate, busy: float) -> Rate:
    """The rate of a chip of which a part is idle."""
    if rate.per_s is None or busy >= 1.0:
        return rate
    why = f"{100 * busy:.0f} % of the chip has tiles"
    return Rate(rate.per_s * busy, rate.facts, f"{rate.why}, {why}" if rate.why else why)


def _by_bits(name: str, counts: Counter[int], unit: str, rate_of: Callable[[int], Rate]) -> Term:
    """A term of texels of several sizes, which one unit serves one after another."""
    total = counts.total()
    found = [(count, rate_of(bits)) for bits, count in sorted(counts.items()) if count]
    if not found:
        return Term(name, Stage.DRAW, 0, unit, Rate(None))
    if len(found) == 1:
        return Term(name, Stage.DRAW, total, unit, found[0][1])
    unknown = next((rate for _, rate in found if rate.per_s is None), None)
    if unknown is not None:
        return Term(name, Stage.DRAW, total, unit, unknown)
    seconds = sum(count / rate.per_s for count, rate in found if rate.per_s)
    facts = tuple(dict.fromkeys(fact for _, rate in found for fact in rate.facts))
    return Term(name, Stage.DRAW, total, unit, Rate(total / seconds, facts, "of several sizes"))


def _dispatched(plan: Plan, rates: _Rates) -> Iterator[Term]:
    counts = count_plan(plan)
    alone = counts.dispatches == counts.invocations
    arithmetic = rates.kernel_arithmetic()
    if alone:
        unknown = Rate(None, why="the rate of a single invocation is not known")
        yield Term("arithmetic", Stage.DISPATCH, counts.arithmetic, "operations", unknown)
        yield Term("memory", Stage.DISPATCH, counts.bytes_requested, "bytes", unknown)
        return
    yield Term("arithmetic", Stage.DISPATCH, counts.arithmetic, "operations", arithmetic)
    rule = RULES.get(rates.hardware.coalescing.value) if rates.hardware.coalescing else None
    try:
        moved = transactions(plan, rule) if rule else None
    except PlanError:  # too long to follow, or of doubles
        moved = None
    if moved is None:
        buffers = sum(
            times * _bytes(plan, name)
            for times, each in plan.weighted_passes()
            for name in {*read_by(each), *written_by(each)}
        )
        yield Term("memory", Stage.DISPATCH, buffers, "bytes", rates.memory())
        steps = Rate(None, why="how requests are served is not known")
        loads = counts.shared_loads + counts.shared_stores
        yield Term("shared memory", Stage.DISPATCH, loads, "accesses", steps)
        return
    yield Term("memory", Stage.DISPATCH, moved.bytes_transacted, "bytes", rates.memory())
    served = moved.shared_requests + moved.shared_replays
    yield Term("shared memory", Stage.DISPATCH, served, "requests", rates.shared_memory())


# The rates -------------------------------------------------------------------------------------


class _Rates:
    """What a chip's profile says of rates."""

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware

    @property
    def chains(self) -> bool:
        """Whether passes that chain are carried out in one go."""
        return self.hardware.chains_passes is not None and self.hardware.chains_passes.value

    @property
    def stages(self) -> bool:
        """Whether fragments are computed in tiles, which stage what they share."""
        return self.hardware.stages_lookups is not None and self.hardware.stages_lookups.value

    @property
    def tiles_at_once(self) -> float:
        """How many tiles the chip computes at once; 1 where that is not known."""
        return 1.0 if self.hardware.tiles_at_once is None else self.hardware.tiles_at_once.value

    @property
    def knows_runs(self) -> bool:
        """Whether it is known what a run costs; it is no part of a chip's own numbers."""
        return self.hardware.run_us is not None

    @property
    def writes_overlap(self) -> bool:
        """Whether fragments are written while others are computed; so unless it is known not."""
        return self.hardware.writes_overlap is None or self.hardware.writes_overlap.value

    def measured(self, name: str, scale: float) -> Rate:
        """A rate that the profile gives, in units of `scale`."""
        fact = getattr(self.hardware, name)
        if fact is None:
            return Rate(None, why=f"{name} is not known")
        return Rate(fact.value * scale, ((name, fact),))

    def product(self, names: Iterable[str], scale: float, why: str) -> Rate:
        """A rate that several numbers multiply to."""
        facts = tuple((name, getattr(self.hardware, name)) for name in names)
        missing = [name for name, fact in facts if fact is None]
        if missing:
            return Rate(None, why=f"{' and '.join(missing)} not known")
        rate = scale
        for _, fact in facts:
            rate *= fact.value
        return Rate(rate, facts, why)

    def fragment_arithmetic(self) -> tuple[int, Rate]:
        """Components that an instruction computes at once, and instructions a second."""
        width = self.hardware.arithmetic_width
        lanes = 1 if width is None else width.value
        rate = self.measured("fragment_peak_gflops", 1e9 / (2 * lanes))
        if rate.per_s is None or width is None:
            return lanes, rate
        return lanes, Rate(rate.per_s, (*rate.facts, ("arithmetic_width", width)))

    def kernel_arithmetic(self) -> Rate:
        """Operations a second; fragments and kernels are computed by the same units."""
        rate = self.measured("compute_peak_gflops", 1e9)
        return rate if rate.per_s else self.measured("fragment_peak_gflops", 1e9)

    def lookups(self, bits: int) -> Rate:
        """Lookups a second of texels of so many bits."""
        size = _size_class(bits)
        if size is None:
            return Rate(None, why=f"lookups of {bits} bits are not known")
        rate = self.measured(f"lookups_{size}_bits_g_per_s", 1e9)
        if rate.per_s is not None:
            return rate
        clocks_name = f"lookup_clocks_{size}_bits"
        clocks = getattr(self.hardware, clocks_name)
        if clocks is None:
            return Rate(None, why=f"{clocks_name} is not known")
        units = self.product(("texture_units", "core_clock_mhz"), 1e6 / clocks.value, "")
        if units.per_s is None:
            return units
        facts = (*units.facts, (clocks_name, clocks))
        return Rate(units.per_s, facts, "texture units times the clock, over clocks a lookup")

    def fills(self, bits: int) -> Rate:
        """Fragments a second that are written."""
        return self.writes("fills", bits)

    def blends(self, bits: int) -> Rate:
        """Fragments a second that are added to what is there."""
        return self.writes("blends", bits)

    def writes(self, kind: str, bits: int) -> Rate:
        """Fills or blends a second; at most one a pipeline and clock where none was measured."""
        size = _size_class(bits)
        rate = Rate(None) if size is None else self.measured(f"{kind}_{size}_bits_g_per_s", 1e9)
        if rate.per_s is not None:
            return rate
        return self.product(("pixel_pipelines", "core_clock_mhz"), 1e6, "one a pipeline and clock")

    def memory(self) -> Rate:
        """Bytes a second of the chip's own memory."""
        return self.measured("memory_gb_per_s", 1e9)

    def passes(self) -> Rate:
        """Passes a second that draw nothing."""
        return self.each_takes("pass_us")

    def run(self) -> Rate:
        """Runs a second of a plan that does nothing."""
        return self.each_takes("run_us")

    def each_takes(self, name: str) -> Rate:
        """The rate of what takes so many microseconds."""
        fact = getattr(self.hardware, name)
        if fact is None:
            return Rate(None, why=f"{name} is not known")
        return Rate(1e6 / fact.value, ((name, fact),))

    def upload(self) -> Rate:
        """Bytes a second to the chip."""
        return self.transfer("upload_gb_per_s")

    def readback(self) -> Rate:
        """Bytes a second from the chip."""
        return self.transfer("readback_gb_per_s")

    def transfer(self, name: str) -> Rate:
        rate = self.measured(name, 1e9)
        return rate if rate.per_s is not None else self.measured("bus_gb_per_s", 1e9)

    def shared_memory(self) -> Rate:
        """Steps of requests to shared memory a second."""
        clocks = self.hardware.shared_memory_clocks
        if clocks is None:
            return Rate(None, why="shared_memory_clocks is not known")
        rate = self.product(("multiprocessors", "shader_clock_mhz"), 1e6 / clocks.value, "")
        if rate.per_s is None:
            return rate
        return Rate(rate.per_s, (*rate.facts, ("shared_memory_clocks", clocks)))


def _size_class(bits: int) -> int | None:
    """The size of texel whose rate holds for one of so many bits; None where neither does."""
    if bits <= WORD_BITS:
        return WORD_BITS
    return VECTOR_BITS if bits == VECTOR_BITS else None
