"""Packings on several chips: slots and lookups of a step, the block that loads, the time.

The numbers are those of real programs: the search finds one for each packing, and the plan of a
product draws with it. A pass looks up all texels of some elements of the inner dimension,
multiplies, and adds F, as in Hall, Carr & Hart's listing (11). Interpolated coordinates take no
instruction, so they are used up first; each further coordinate is the sum of an interpolated one
and a constant. Where a chip allows few texture indirections, coordinates and lookups come in no
more groups than that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby, pairwise, product, starmap
from pathlib import Path
from typing import Annotated, Any

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import chip_names
from gpgpu_legacy.api.command.words import PAPER_SIZE, SIZE
from gpgpu_legacy.api.fit import fit, last_that_holds
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.native import NativeCount, count_native, instruction_set
from gpgpu_legacy.chips.profile import Profile, ProfileKind, find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_positive
from gpgpu_legacy.isa.opcodes import OPCODES, CostClass
from gpgpu_legacy.isa.program import COMPONENTS, Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Packing
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.present.grid import Grid, Result
from gpgpu_legacy.present.plot import (
    COLOURS,
    INK,
    TEXT_POINTS,
    new_figure,
    save_figure,
    style_axes,
)
from gpgpu_legacy.serial import Record, fields_of
from gpgpu_legacy.studies.shared.packing_search import (
    CHANNELS,
    PACKINGS,
    Found,
    PackedMultiplyAdd,
    Way,
    cells,
    schedule,
    search,
    swizzles_of,
)

Number = tuple[str, float, float]
"""One number of a coordinate, relative to the place of the fragment or of the pass.

Its axis: x, y, or k and the elements of a texel along it. Its offset, in texels. Its unit: the
length of a texel in the texture's coordinates.
"""

Place = tuple[Number, ...]

Units = list[tuple[float, float]]
"""For A, B, C and F: the width and height of a texel in the texture's coordinates."""


def limit(chip: Profile, name: str) -> int:
    """A limit of a chip or API; InputError if its profile has none."""
    fact = getattr(chip.native, name) or getattr(chip.advertised, name)
    if fact is None:
        raise InputError(f"the profile of {chip.name} has no {name}; choose another chip")
    return int(fact.value)


@frozen
class Trial:
    """A program to try: it takes a number of steps, all in one way.

    longer: by how many steps a group of lookups in 2D textures is longer than the chip's texture
    indirections demand. The last group is then shorter, so that fewer scalars lack a coordinate to
    share a slot with.
    """

    fewest: Found
    way: Way
    steps: int
    longer: int = 0


def write_program(trial: Trial, chip: Profile, units: Units, kind: str) -> tuple[str, list[Place]]:
    """The text of a pass, and its interpolated coordinates.

    kind: of the textures, 2D or RECT. For 2D, a register holds no more than two numbers, as a
    lookup reads them.
    """
    packings, way, last = trial.fewest.packings, trial.way, limit(chip, "coordinate_sets") - 1
    places: list[Place] = [
        (("x", x / wide, u), (f"k{high}", (first + k) / high, v))
        if unit
        else ((f"k{wide}", (first + k) / wide, u), ("y", y / high, v))
        for first in range(0, trial.steps * packings.step, packings.step)
        for k, unit, y, x in packings.texels
        for (high, wide), (u, v) in [((packings.a, packings.b)[unit], units[unit])]
    ]
    per_step, sums, registers = len(packings.texels), len(way.sums), list[Place]()
    held, c, first, size = CHANNELS, "c", 2 * per_step, 2 * per_step
    if kind == "2D":
        held, c, first = 2, "t", last // per_step * per_step
        groups = max(1, -(-(len(places) - first) // per_step))
        size = per_step * (trial.longer - -groups // (limit(chip, "indirections") - 1))
    lines = [f"TEX r{sums}, fragment.texcoord[{last}], texture[2], {kind}"]
    lines += [f"MOV r{n}, 0.0" for n in range(sums)]
    for start, end in pairwise([0, *range(first, len(places), size), len(places)]):
        before, fetches = len(registers), []
        for n, place in enumerate(places[start:end]):
            if before == len(registers) or len({*registers[-1], *place}) > held:
                registers.append(())
            registers[-1] = tuple(dict.fromkeys((*registers[-1], *place)))
            s, t = (COMPONENTS[registers[-1].index(number)] for number in place)
            at = len(registers) - 1
            name = f"fragment.texcoord[{at}]" if at < last else f"{c}{at - before}"
            unit = int(place[0][0] == "x")
            fetches.append(f"TEX t{n}, {name}.{s}{t}{t}{t}, texture[{unit}], {kind}")
        for n in range(max(before, last), len(registers)):
            lines.append(f"ADD {c}{n - before}{_moved(registers, registers[n])}")
        lines += fetches
        for base in range(0, end - start, per_step):
            for one in way.multiply_adds:
                lines.append(_multiply_add(one, *(f"t{base + n}" for n in one.texels)))
    for component, element in zip(COMPONENTS, cells(packings.c) * (sums > 1), strict=False):
        parts = [
            f"r{n}.{COMPONENTS[channel]}"
            for n, known in enumerate(way.sums)
            for channel, one in known.items()
            if one == element
        ]
        for n, other in enumerate(parts[1:] or ["0.0"]):
            lines.append(f"ADD t0.{component}, {f't0.{component}' if n else parts[0]}, {other}")
    lines += [f"ADD result.color, {'t0' if sums > 1 else 'r0'}, r{sums}", "END\n"]
    names = sorted({*re.findall(r"\b[rtc]\d+", "\n".join(lines))})
    return ";\n".join([f"!!ARBfp1.0\nTEMP {', '.join(names)}", *lines]), registers[:last]


def _moved(registers: list[Place], place: Place) -> str:
    """The operands that compute coordinates from interpolated ones on the same axes."""
    base, of = next(
        (n, known) for n, known in enumerate(registers)
        if all(one[0] == other[0] for one, other in zip(known, place, strict=False))
    )  # fmt: skip
    pairs = zip(place, of, strict=False)
    offsets = ", ".join(repr((x - begin) * unit) for (_, x, unit), (_, begin, _) in pairs)
    return f".{COMPONENTS[: len(place)]}, fragment.texcoord[{base}], {{ {offsets} }}"


def _multiply_add(one: PackedMultiplyAdd, a: str, b: str) -> str:
    """The text of a multiply-add of two texels."""
    reads = [one.reads.get(c, (c, c)) for c in range(CHANNELS)]
    s, t = ("".join(COMPONENTS[c] for c in read) for read in zip(*reads, strict=True))
    mask = "".join(COMPONENTS[c] for c in sorted(one.reads))
    return f"MAD r{one.register}.{mask}, {a}.{s}, {b}.{t}, r{one.register}"


def plan_of(trial: Trial, chip: Profile, n: int) -> Plan:
    """The plan of an n×n product by a program."""
    fewest, sums = trial.fewest, trial.way.sums
    p, shapes, plain = PlanBuilder("packing"), fewest.packings, chip.programs.instruction_set
    inner = trial.steps * shapes.step
    (rows, columns), passes = shapes.c, -(-n // inner)
    height, width, along = -(-n // rows), -(-n // columns), passes * inner
    high, wide, kind = height * rows, width * columns, "2D" if plain else "RECT"
    a, b, c, f = textures = [
        p.texture(name, x // shape[1], y // shape[0], format="rgba32f", kind=kind, initial=0.0)
        for name, shape, x, y in (
            ("A", shapes.a, along, high),
            ("B", shapes.b, wide, along),
            ("C", shapes.c, wide, high),
            ("F", shapes.c, wide, high),
        )
    ]
    # The channels of C: those of the only register of sums, or reading order.
    only = tuple(element for _, element in sorted(sums[0].items()))
    orders = (*fewest.orders, cells(shapes.c) if sums[1:] else only)
    packed = [
        Packing(order, *shape)
        for order, shape in zip(orders, (shapes.a, shapes.b, shapes.c), strict=True)
    ]
    for name, texture, packing in zip("AB", textures, packed, strict=False):
        p.upload(p.operand(name, n, n), texture, packing=packing)
    units = [(1 / t.extent.width, 1 / t.extent.height) if plain else (1.0, 1.0) for t in textures]
    text, registers = write_program(trial, chip, units, kind)
    edges = ((0, 0), (width, 0), (width, height), (0, height))
    with p.repeat(passes) as i:
        base: dict[str, Any] = {f"k{across}": inner // across * i for across in (1, 2, 4)}
        corners = [
            base | {"x": columns // shapes.b[1] * (x - 0.5), "y": rows // shapes.a[0] * (y - 0.5)}
            for x, y in edges
        ]
        coordinates: dict[int, list[tuple[Any, ...]]] = {
            n: [tuple((at[axis] + x + 0.5) * unit for axis, x, unit in one) for at in corners]
            for n, one in enumerate(registers)
        }
        own = [(x * units[3][0], y * units[3][1]) for x, y in edges]
        coordinates[limit(chip, "coordinate_sets") - 1] = [*own]
        program = assemble(text, name="packing.fp")
        p.warns = False  # a short program leaves coordinates unread
        p.draw(program, {0: a, 1: b, 2: f}, into=c, texcoords=coordinates)
        p.copy(c, f)
    p.read_back(c, p.result("C", n, n), packing=packed[2])
    return p.plan()


CHIPS = ("radeon-9700-pro", "ps-2-0", "geforce-fx-5800-ultra")
LISTING = "hall-carr-hart-multi"
_PANEL_HEIGHT = 2.3  # inches
STEP = LEAST = 2
"""A step of the listing: 2 elements of the inner dimension, 8 multiply-adds, 2 slots at least."""
LONGER = range(3)


class PackingRow(Record):
    """A program on a chip. Its numbers are per step of 8 multiply-adds.

    texels: the rows and columns that a texel of A, B and C holds. channels: the row and column that
    each channel of A and of B holds. products: the fewest slots for multiply-adds in any program of
    this packing. why: the reason for that number. slots: of all arithmetic, as scheduled by the
    rule of addresses. counted: the same as `check` counts it, where any scalar part joins any
    vector part. block: the largest that loads; all numbers but seconds belong to it. seconds: of
    drawing, with the block up to it that looks up least; None for an API.
    """

    chip: str
    texels: str
    channels: str
    products: float
    why: str
    slots: float
    counted: float
    lookups: float
    block: int
    seconds: float | None


class PackingTable(Result):
    """Every packing on every chip, in products of n×n matrices. size: n."""

    size: int
    rows: tuple[PackingRow, ...]

    @property
    def chips(self) -> dict[str, list[PackingRow]]:
        """The rows by the title of their chip."""
        groups = groupby(self.rows, lambda row: find_profile(row.chip).title)
        return {title: list(rows) for title, rows in groups}

    def grids(self, *, whole: bool = False) -> list[Grid]:
        """A table for each chip."""
        return [
            Grid(
                "packing",
                f"{title}: slots and lookups of a step; the largest b that loads; drawing at n = "
                f"{self.size}, at least.",
                ("texels of A · B → C", "channels of A · B", "multiply-adds", "the fewest",
                 "all slots", "counted", "lookups", "b", "ms"),
                tuple(
                    (*[*fields_of(row).values()][1:-1], row.seconds and 1e3 * row.seconds)
                    for row in rows
                ),
            )
            for title, rows in self.chips.items()
        ]  # fmt: skip

    def plot(self, path: Path) -> None:
        """Draw slots by packing."""
        figure = new_figure(height_inches=_PANEL_HEIGHT * len(self.chips))
        panels = figure.subplots(len(self.chips), sharex=True, squeeze=False)[:, 0]
        for axes, (title, rows) in zip(panels, self.chips.items(), strict=True):
            style_axes(axes)
            places = range(len(rows))
            axes.barh(places, [row.slots for row in rows], color=COLOURS[1], alpha=0.3)
            axes.barh(places, [row.products for row in rows], color=COLOURS[1])
            axes.set_yticks(places, [f"{row.texels}   b = {row.block}" for row in rows])
            axes.axvline(LEAST, color=INK, linewidth=0.9)
            axes.invert_yaxis()
            axes.set_title(title, loc="left", fontsize=TEXT_POINTS, color=INK)
        figure.supxlabel("slots of a step: 8 multiply-adds", fontsize=TEXT_POINTS, color=INK)
        save_figure(
            figure,
            path,
            "Which packing did the hardware of 2003 want?",
            "Dark: the multiply-adds; light: coordinates, sums and the result. At the line, every "
            "slot does four multiply-adds: no packing takes fewer. b: the largest that loads.",
        )


def packing_table(
    chips: Sequence[Profile], n: int, progress: Callable[[str], object] = lambda _: None
) -> PackingTable:
    """Search every packing on every chip.

    progress: called with the chip's name after each packing. Raises InputError for a chip whose
    profile lacks a number.
    """
    rows = []
    for chip, swizzles in [(chip, swizzles_of(chip)) for chip in chips]:
        rows.append(_listing(chip, n))
        for packings in PACKINGS:
            rows.append(_row(search(packings, swizzles), chip, n))
            progress(chip.name)
    return PackingTable(size=n, rows=tuple(rows))


def _listing(chip: Profile, n: int) -> PackingRow:
    """The listing as printed; its coordinates are computed first if a larger block loads then."""
    method = find_product(LISTING)
    largest = fit(method, chip, {"n": n}).largest
    loading = (one for one in largest if one.limits == largest[-1].limits)
    best = max(loading, key=lambda one: one.value or 0)
    if best.value is None:
        raise InputError(f"{LISTING} does not load on {chip.name}; choose another chip")

    def plan(inner: int) -> Plan:
        first = best.coordinates_first and min(best.coordinates_first, inner // STEP)
        return method.plan(n=n, block=inner // STEP, coordinates_first=first)

    return _counted(
        plan,
        range(STEP, STEP * best.value + 1, STEP),
        chip,
        n,
        texels="2×2 · 2×2 → 2×2, listing (11)",
        channels="00 01 10 11 · 00 01 10 11",
        why="as printed",
    )


def _row(fewest: Found, chip: Profile, n: int) -> PackingRow:
    """The best of the programs that a search has found, with the largest block that loads."""
    packings, orders, known = fewest.packings, fewest.orders, chip.programs.instruction_set
    has_scalars = len(swizzles_of(chip)[0]) < CHANNELS

    def slots(one: Trial) -> int:
        [program] = plan_of(one, chip, n).programs()
        if known and has_scalars:
            return schedule(program, instruction_set(known.value))
        return _slots(program, chip)

    def loads(one: Trial) -> bool:
        [program] = plan_of(one, chip, n).programs()
        if check_program(program, chip).answer is LoadAnswer.DOES_NOT_LOAD:
            return False
        return not has_scalars or slots(one) <= limit(chip, "alu_instructions")

    def largest(way: Way, longer: int) -> Trial | None:
        at = partial(Trial, fewest, way, longer=longer)
        tried = range(1, n // packings.step + 1)
        steps = last_that_holds(tried, lambda steps: loads(at(steps=steps)))
        return at(steps=steps) if steps else None

    known_to_load = [
        *filter(None, starmap(largest, product(fewest.ways, LONGER if known else [0])))
    ]
    if not known_to_load:
        raise InputError(f"no packing loads on {chip.name}; choose another chip")
    best = max(known_to_load, key=lambda one: (one.steps, -slots(one)))
    inner = best.steps * packings.step
    a, b, c = (f"{rows}×{columns}" for rows, columns in (packings.a, packings.b, packings.c))
    permuted = ", permuted" * any(list(order) != sorted(order) for order in orders)
    is_least = fewest.slots == packings.least * fewest.period
    return _counted(
        lambda inner: plan_of(replace(best, steps=inner // packings.step), chip, n),
        range(packings.step, inner + 1, packings.step),
        chip,
        n,
        texels=f"{a} · {b} → {c}{permuted}",
        channels=" · ".join(" ".join(f"{i}{j}" for i, j in order) for order in orders),
        products=fewest.slots * STEP / (fewest.period * packings.step),
        why="4 in a slot" if is_least else f"{fewest.slots} in {fewest.period}",
        slots=slots(best) * STEP / inner,
    )


def _counted(
    plan: Callable[[int], Plan], inner: range, chip: Profile, n: int, **known: Any
) -> PackingRow:
    """The numbers of plans that load.

    inner: the elements of the inner dimension that a pass may take, the most last. known: the
    fields that are known already.
    """
    [program], steps = plan(inner[-1]).programs(), inner[-1] / STEP
    lookups, seconds, counted = len(program.lookup_units), None, _slots(program, chip) / steps
    if chip.kind is ProfileKind.CHIP:
        per_element = (lookups - 1) / inner[-1]
        least = min(inner, key=lambda k: -(-n // k) * (per_element * k + 1))
        seconds = predict(plan(least), chip).compute_seconds
    fields = {"products": _slots(program, chip, "MAD") / steps, "slots": counted} | known
    return PackingRow(
        chip=chip.name,
        **fields,
        counted=counted,
        lookups=lookups / steps,
        block=int(steps),
        seconds=seconds,
    )


def _slots(program: Program, chip: Profile, mnemonic: str = "") -> int:
    """The fewest arithmetic instructions of a program on a chip, of all or of one kind."""
    if (known := chip.programs.instruction_set) is None:
        chosen = (i.mnemonic for i in program.instructions if mnemonic in i.mnemonic)
        return sum(OPCODES[one].cost is CostClass.ARITHMETIC for one in chosen)
    uses = count_native(program, instruction_set(known.value)).uses
    return NativeCount(tuple(u for u in uses if mnemonic in u.instruction.mnemonic), 0).fewest


# The command --------------------------------------------------------------------------------------


@answers("study packing", plot="Draw slots by packing.")
def packing_command(
    *,
    report: Report,
    chip: Annotated[
        tuple[str, ...],
        "NAME",
        "Chips or APIs; see `gpgpu-legacy chips` (default: R300, ps_2_0 and NV30).",
        chip_names,
    ] = (),
    size: Annotated[int, SIZE] = PAPER_SIZE,
) -> PackingTable:
    """Find the packing of matrices that takes the fewest instructions on chips of 2003.

    Real programs are built from what the search finds, counted, checked against the chip's limits,
    and timed as `predict` does.
    """
    chips = [find_profile(name) for name in dict.fromkeys(chip or CHIPS)]
    with report.progress("searching", len(chips) * len(PACKINGS)) as step:
        return packing_table(chips, as_positive("size", size), step)
