"""How long a plan takes on a chip, at least: counts over rates, term by term.

What works at the same time is a stage: fragments are computed, looked up, fetched from memory and
written at once, so the slowest of these *binds*, and its time is the stage's. Stages follow one
another, and their times add up: drawing or dispatches, copies, clears, what a pass costs by itself,
and the transfers over the bus. A rate that is not known of a chip makes its term unknown, never
zero; the sum is then of what is known, and says so.

Memory serves each texel that a pass touches once a pass: textures are cached while it is drawn.
Kernels' loads and stores move what the chip's coalescing rule says, or where there is none, each
buffer once a dispatch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from gpgpu_legacy.count.coalescing import RULES, transactions
from gpgpu_legacy.count.traffic import count_pass, count_plan
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.hardware.profile import Fact, Hardware, Profile
from gpgpu_legacy.isa.ir import ResultRegister
from gpgpu_legacy.isa.opcodes import OPCODES, Cost, Form
from gpgpu_legacy.lower.chains import Computed, Draw, Loop, Own, Placed, Turns, loops
from gpgpu_legacy.lower.lookups import live_components
from gpgpu_legacy.plan.plan import (
    Blend,
    ClearPass,
    ComputePass,
    CopyPass,
    FragmentPass,
    Pass,
    Plan,
    Rect,
    read_by,
    written_by,
)

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


def predict(plan: Plan, chip: Profile) -> Prediction:
    """Bound the time of a plan on a chip from below.

    Raises PlanError for a kernel whose data decides what it does (see count_compute_pass).
    """
    counts, rates = count_plan(plan), _Rates(chip.hardware)
    computes = any(isinstance(each, ComputePass) for _, each in plan.weighted_passes())
    work = _work(plan, chained=rates.chains)
    terms = [*(_dispatched(plan, rates) if computes else _drawn(work, rates))]
    memory = rates.memory()
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

    instructions, components: arithmetic ones, and the multiply-adds of single components that they
    come to.
    lookups, fills, blends: by the bits of the texel.
    """

    instructions: int = 0
    components: int = 0
    lookups: Counter[int] = field(default_factory=Counter)
    fills: Counter[int] = field(default_factory=Counter)
    blends: Counter[int] = field(default_factory=Counter)
    memory_bytes: int = 0
    copy_bytes: int = 0
    clear_bytes: int = 0
    passes: int = 0


def _work(plan: Plan, *, chained: bool) -> _Work:
    """What drawing comes to, where passes that chain are one, or where none is."""
    work = _Work()
    for times, each in _members(loops(plan, apart=not chained)):
        if isinstance(each, Loop):
            _add_loop(work, plan, each, whole=chained and len(each.passes) * each.count > 1)
        else:
            work.passes += times
            _add_pass(work, plan, each, times)
    return work


def _members(steps: Iterable[Loop | Turns | Pass]) -> Iterator[tuple[int, Loop | Pass]]:
    for step in steps:
        if isinstance(step, Turns):
            yield from ((step.count, member) for member in step.body)
        else:
            yield 1, step


def _add_pass(work: _Work, plan: Plan, each: Pass, times: int) -> None:
    """A pass that is no Loop: what it looks up is not analysed, only counted."""
    counts = count_pass(plan, each)
    if isinstance(each, CopyPass):
        work.copy_bytes += times * counts.copy_bytes
    elif isinstance(each, ClearPass):
        work.clear_bytes += times * counts.clear_bytes
    elif isinstance(each, FragmentPass):
        _add_program(work, plan, _unanalysed(each), times)
        _add_writes(work, plan, each, times)
        read = sum(_bytes(plan, name) for name in dict.fromkeys(read_by(each)))
        work.memory_bytes += times * read


def _unanalysed(each: FragmentPass) -> Draw:
    """A pass of whose lookups nothing is known."""
    bound = {binding.unit: binding for binding in each.bindings}
    units = [i.texture.unit for i in each.program.instructions if i.texture is not None]
    return Draw(each, tuple(Computed(bound[unit]) for unit in units))


def _add_loop(work: _Work, plan: Plan, loop: Loop, *, whole: bool) -> None:
    """A Loop; `whole`: its partial sums stay in registers from one iteration to the next."""
    work.passes += 1 if whole else loop.count
    written = {name for each in loop.passes for name in written_by(each)}
    for member in loop.body:
        if not isinstance(member, Draw):
            continue  # a copy between registers
        own = Counter(look.texture for look in member.lookups if isinstance(look, Own))
        _add_program(work, plan, member, loop.count, own if whole else Counter())
        work.memory_bytes += loop.count * _read_bytes(plan, member)
        if not whole:
            _add_writes(work, plan, member.each, loop.count)
        elif member.each.blend is not Blend.NONE:
            work.instructions += loop.count * member.each.rect.area
            channels = plan.texture(member.each.target).format.channels
            work.components += loop.count * member.each.rect.area * channels
    if whole:
        area = loop.width * loop.height
        for name in written:
            texel = plan.texture(name).format.texel_bytes
            work.fills[8 * texel] += area
            work.memory_bytes += 2 * area * texel


def _add_program(
    work: _Work, plan: Plan, draw: Draw, times: int, registers: Counter[str] | None = None
) -> None:
    """Instructions and lookups of a pass; registers: lookups, by texture, that are none.

    All instructions are counted, but of components only those that anything needs: a compiler
    leaves out the rest, and the coordinates that walk from texel to texel.
    """
    each = draw.each
    fragments = times * each.rect.area
    bits = {b.unit: 8 * plan.texture(b.texture).format.texel_bytes for b in each.bindings}
    placed = [None if isinstance(look, Computed) else look for look in draw.lookups]
    live = live_components(each.program, placed)
    channels = plan.texture(each.target).format.channels
    for instruction, components in zip(each.program.instructions, live, strict=True):
        row = OPCODES[instruction.mnemonic]
        if instruction.dst is not None and isinstance(instruction.dst.register, ResultRegister):
            components = tuple(c for c in components if c < channels)  # noqa: PLW2901
        if row.cost is Cost.ARITHMETIC:
            together = bool(components) and row.form is Form.VECTOR
            work.instructions += fragments
            work.components += fragments * (CHANNELS if together else len(components))
        elif instruction.texture is not None:
            work.lookups[bits[instruction.texture.unit]] += fragments
    for name, number in (registers or Counter()).items():
        work.lookups[8 * plan.texture(name).format.texel_bytes] -= fragments * number


def _add_writes(work: _Work, plan: Plan, each: FragmentPass, times: int) -> None:
    blends = each.blend is not Blend.NONE
    for name in each.targets:
        texel = plan.texture(name).format.texel_bytes
        fragments = times * each.rect.area
        (work.blends if blends else work.fills)[8 * texel] += fragments
        work.memory_bytes += fragments * texel * (1 + blends)


def _read_bytes(plan: Plan, draw: Draw) -> int:
    """Bytes of the texels that a pass touches, each texel counted once."""
    touched: Counter[str] = Counter()
    for lookup in draw.lookups:
        if isinstance(lookup, Placed):
            touched[lookup.texture] += _texels(lookup, draw.each.rect)
        elif not isinstance(lookup, Own):
            touched[lookup.binding.texture] += draw.each.rect.area
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
    width, arithmetic = rates.fragment_arithmetic()
    count, unit = work.components, "multiply-adds"
    if width > 1:
        count, unit = work.instructions, "instructions"
    yield Term("arithmetic", Stage.DRAW, count, unit, arithmetic)
    yield _by_bits("lookups", work.lookups, "lookups", rates.lookups)
    yield Term("memory", Stage.DRAW, work.memory_bytes, "bytes", rates.memory())
    for name, counts, rate_of in (
        ("fill", work.fills, rates.fills),
        ("blend", work.blends, rates.blends),
    ):
        written = _by_bits(name, counts, "fragments", rate_of)
        yield written if rates.writes_overlap else replace(written, stage=Stage.WRITE)


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
    alone = all(
        each.invocations == 1 for _, each in plan.weighted_passes() if isinstance(each, ComputePass)
    )
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
        fact = self.hardware.pass_us
        if fact is None:
            return Rate(None, why="pass_us is not known")
        return Rate(1e6 / fact.value, (("pass_us", fact),))

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
