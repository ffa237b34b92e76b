"""The program that a search has found, and the plan of a product by it.

A pass looks up all texels of some elements of the inner dimension, multiplies, and adds F, as in
Hall, Carr & Hart's listing (11). Interpolated coordinates take no instruction, so they are used up
first; each of the others is a sum of one of them and a constant. Where few texture indirections are
allowed, coordinates and lookups are grouped into as many.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import COMPONENTS
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import Packing
from gpgpu_legacy.studies.packing.search import CHANNELS, Found, PackedMultiplyAdd, Way, cells

Number = tuple[str, float, float]
"""A number of a coordinate, relative to the place of the fragment or of the pass.

Its axis: x, y, or k and the elements of a texel along it. Its offset. Its unit, in texels.
"""

Place = tuple[Number, ...]

Units = list[tuple[float, float]]
"""Of the coordinates of A, B, C and F, in texels."""


def limit(chip: Profile, name: str) -> int:
    """A limit of a chip or API; InputError if its profile has none."""
    fact = getattr(chip.native, name) or getattr(chip.advertised, name)
    if fact is None:
        raise InputError(f"the profile of {chip.name} has no {name}; choose another chip")
    return int(fact.value)


@frozen
class Trial:
    """A program: its way to take each of `steps` steps.

    longer: the steps by which lookups in 2D textures are grouped, beyond those that the chip's
    texture indirections ask for. The last group then is shorter, and few scalars share no slot with
    a coordinate.
    """

    fewest: Found
    way: Way
    steps: int
    longer: int = 0


def write_program(trial: Trial, chip: Profile, units: Units, kind: str) -> tuple[str, list[Place]]:
    """The text of a pass, and its interpolated coordinates.

    kind: of the textures; lookups in 2D ones take coordinates as they lie in a register.
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
    each, sums, registers = len(packings.texels), len(way.sums), list[Place]()
    held, c, first, size = CHANNELS, "c", 2 * each, 2 * each
    if kind == "2D":
        held, c, first = 2, "t", last // each * each
        groups = max(1, -(-(len(places) - first) // each))
        size = each * (trial.longer - -groups // (limit(chip, "indirections") - 1))
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
        for base in range(0, end - start, each):
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
