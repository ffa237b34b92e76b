"""The program that a search has found, and the plan of a product by it.

A pass looks up all texels of some elements of the inner dimension, multiplies, and adds F, as in
Hall, Carr & Hart's listing (11). Interpolated coordinates take no instruction, so they are used up
first; each of the others is a sum of one of them and a constant. Where few texture indirections are
allowed, coordinates and lookups are grouped into as many.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Packing
from gpgpu_legacy.studies.packing.search import CHANNELS, DEPTH, Cells, Found, MultiplyAdd, cells


class Number(NamedTuple):
    """A number of a coordinate, relative to the place of the fragment or of the pass.

    axis: x, y, or k and the elements of a texel along it. unit: of the coordinate, in texels.
    """

    axis: str
    offset: float
    unit: float


Place = tuple[Number, ...]

Units = list[tuple[float, float]]
"""Of the coordinates of A, B and F, in texels."""


def limit(chip: Profile, name: str) -> float:
    """A limit of a chip or API; InputError if its profile has none."""
    fact = getattr(chip.native, name) or getattr(chip.advertised, name)
    if fact is None:
        raise InputError(f"the profile of {chip.name} has no {name}; choose another chip")
    return float(fact.value)


def _places(found: Found, inner: int, units: Units) -> list[Place]:
    """The coordinates of the lookups of a pass, in their order."""
    return [
        tuple(
            map(
                Number,
                ("x", f"k{high}") if unit else (f"k{wide}", "y"),
                ((x + first * (not unit)) / wide, (y + first * unit) / high),
                units[unit],
            )
        )
        for first in range(0, inner, DEPTH)
        for k, unit, y, x in found.packings.texels
        for high, wide in [(found.packings.a, found.packings.b)[unit]]
        if first + k < inner
    ]


def write_program(found: Found, chip: Profile, inner: int, units: Units) -> tuple[str, list[Place]]:
    """The text of a pass over `inner` elements, and its interpolated coordinates."""
    kind, held, c, last = "RECT", CHANNELS, "c", int(limit(chip, "coordinate_sets")) - 1
    places, whole = _places(found, inner, units), len(found.packings.texels)
    each = whole * found.packings.step // DEPTH
    first = size = 2 * each
    if _is_plain(chip):
        kind, held, c, first = "2D", 2, "t", last // each * each
        groups = max(1, -(-(len(places) - first) // each))
        size = each * -(-groups // int(limit(chip, "indirections") - 1))
    sums, f, registers = found.sums, f"r{len(found.sums)}", list[Place]()
    lines = [f"TEX {f}, fragment.texcoord[{last}], texture[2], {kind}"]
    lines += [f"MOV r{n}, 0.0" for n in range(len(sums))]
    for start, end in pairwise([0, *range(first, len(places), size), len(places)]):
        before, fetches = len(registers), []
        for n, place in enumerate(places[start:end]):
            if before == len(registers) or len({*registers[-1], *place}) > held:
                registers.append(())
            registers[-1] = tuple(dict.fromkeys((*registers[-1], *place)))
            s, t = (COMPONENTS[registers[-1].index(number)] for number in place)
            name = _name(len(registers) - 1, last, before, c)
            unit = int(place[0].axis == "x")
            fetches.append(f"TEX t{n}, {name}.{s}{t}{t}{t}, texture[{unit}], {kind}")
        for n in range(max(before, last), len(registers)):
            lines.append(f"ADD {_name(n, last, before, c)}{_moved(registers, n)}")
        lines += fetches
        for base in range(start - start % whole, end, whole):
            for one in found.multiply_adds:
                a, b = (base - start + n for n in one.texels)
                if min(a, b) >= 0 and max(a, b) < end - start:
                    lines.append(_multiply_add(one, f"t{a}", f"t{b}"))
    lines += [*_totals(found), f"ADD result.color, {'t0' if len(sums) > 1 else 'r0'}, {f}", "END\n"]
    names = sorted({*re.findall(r"\b[rtc]\d+", "\n".join(lines))})
    return ";\n".join([f"!!ARBfp1.0\nTEMP {', '.join(names)}", *lines]), registers[:last]


def _is_plain(chip: Profile) -> bool:
    """Whether lookups take coordinates as they lie in a register, and texture indirections few."""
    return chip.programs.instruction_set is not None


def _name(n: int, last: int, before: int, c: str) -> str:
    """The register of coordinates n: interpolated, or the temporary that is it in a group."""
    return f"fragment.texcoord[{n}]" if n < last else f"{c}{n - before}"


def _moved(registers: list[Place], n: int) -> str:
    """The operands that compute coordinates from interpolated ones."""
    axes = [number.axis for number in registers[n]]
    alike = ([number.axis for number in known][: len(axes)] == axes for known in registers)
    base = list(alike).index(True)
    pairs = zip(registers[n], registers[base], strict=False)
    offsets = ", ".join(repr((number.offset - of.offset) * number.unit) for number, of in pairs)
    return f".{COMPONENTS[: len(axes)]}, fragment.texcoord[{base}], {{ {offsets} }}"


def _multiply_add(one: MultiplyAdd, a: str, b: str) -> str:
    """The text of a multiply-add of two texels."""
    reads = [one.reads.get(c, (c, c)) for c in range(CHANNELS)]
    s, t = ("".join(COMPONENTS[c] for c in read) for read in zip(*reads, strict=True))
    mask = "".join(COMPONENTS[c] for c in sorted(one.reads))
    return f"MAD r{one.register}.{mask}, {a}.{s}, {b}.{t}, r{one.register}"


def _order_of_c(found: Found) -> Cells:
    """The channels of C: those of the only register of sums, or reading order."""
    only = tuple(element for _, element in sorted(found.sums[0].items()))
    return only if len(found.sums) == 1 else cells(found.packings.c)


def _totals(found: Found) -> Iterator[str]:
    """The sums of each element of C, added up."""
    for c, element in enumerate(cells(found.packings.c) if len(found.sums) > 1 else ()):
        first, *others = (
            f"r{n}.{COMPONENTS[channel]}"
            for n, known in enumerate(found.sums)
            for channel, one in known.items()
            if one == element
        )
        for other in others or ["0.0"]:
            yield f"ADD t0.{COMPONENTS[c]}, {first}, {other}"
            first = "t0"


def plan_of(found: Found, chip: Profile, inner: int, n: int) -> Plan:
    """The plan of an n×n product, of which a pass takes `inner` elements of the inner dimension."""
    p, shapes, plain = PlanBuilder("packing"), found.packings, _is_plain(chip)
    (rows, columns), passes = shapes.c, -(-n // inner)
    height, width = -(-n // rows), -(-n // columns)
    a, b, c, f = textures = [
        p.texture(
            name, x // shape[1], y // shape[0], format="rgba32f", kind="2D" if plain else "RECT",
            initial=0.0,
        )
        for name, shape, x, y in (
            ("A", shapes.a, passes * inner, height * rows),
            ("B", shapes.b, width * columns, passes * inner),
            ("C", shapes.c, width * columns, height * rows),
            ("F", shapes.c, width * columns, height * rows),
        )
    ]  # fmt: skip
    packed = [
        Packing(order, row_step=shape[0], column_step=shape[1])
        for order, shape in zip(
            (*found.orders, _order_of_c(found)), (shapes.a, shapes.b, shapes.c), strict=True
        )
    ]
    for name, texture, packing in zip("AB", textures, packed, strict=False):
        p.upload(p.operand(name, n, n), texture, packing=packing)
    units = [(1.0, 1.0)] * 4
    if plain:
        units = [(1 / one.extent.width, 1 / one.extent.height) for one in textures]
    text, registers = write_program(found, chip, inner, units)
    edges = ((0, 0), (width, 0), (width, height), (0, height))
    own = [(x * units[3][0], y * units[3][1]) for x, y in edges]
    with p.repeat(passes) as i:

        def vector(numbers: Place, x: int, y: int) -> tuple[Any, ...]:
            places: dict[str, Any] = {f"k{across}": inner // across * i for across in (1, 2, 4)}
            places["x"] = columns // shapes.b[1] * (x - 0.5)
            places["y"] = rows // shapes.a[0] * (y - 0.5)
            return tuple((places[one.axis] + one.offset + 0.5) * one.unit for one in numbers)

        coordinates = dict(enumerate([vector(one, *edge) for edge in edges] for one in registers))
        coordinates[int(limit(chip, "coordinate_sets")) - 1] = own
        program = assemble(text, name="packing.fp")
        p.warns = False  # a short program leaves coordinates unread
        p.draw(program, {0: a, 1: b, 2: f}, into=c, texcoords=coordinates)
        p.copy(c, f)
    p.read_back(c, p.result("C", n, n), packing=packed[2])
    return p.plan()
