"""Equations and listings, evaluated as they are printed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpgpu_legacy.algorithms.matmul.larson_mcallister import (
    DEMONSTRATION_A,
    DEMONSTRATION_B,
    larson_mcallister,
)
from gpgpu_legacy.api.matmul import matmul
from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.chips.native import count_native, instruction_set
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.count.instructions import count_instructions
from gpgpu_legacy.isa.program import Program, TextureTarget
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Value
from gpgpu_legacy.runtime.executor import reference


def _product(a: ArrayLike, b: ArrayLike, method: str, **parameters: Any) -> NDArray[np.float32]:
    """The product of two matrices on the reference executor."""
    return matmul(a, b, method, executor=reference().name, **parameters)


def wrong_elements(method: str, size: int, as_printed: bool, state: str | None = None) -> Value:
    """The number of wrong elements in an n×n product with the texture coordinates as printed.

    as_printed: False uses the corners of texels instead. state: the method's parameter, if it has
    one.
    """
    rows = np.arange(1.0, size**2 + 1.0).reshape(size, size)
    columns = rows[::-1].T + 0.5
    chosen = {"state": state} if state else {}
    ours = _product(rows, columns, method, as_printed=as_printed, **chosen)
    return int(np.sum(ours != (rows @ columns).astype(np.float32)))


def results_below_white(texture_format: str, state: str) -> Value:
    """The results of Figure 2, as drawn here, that exceed one and are not drawn white.

    The product is that of Larson & McAllister's method, with these textures and this state.
    """
    a, b, method = np.array(DEMONSTRATION_A), np.array(DEMONSTRATION_B), larson_mcallister.name
    ours = _product(a, b, method, texture_format=texture_format, state=state)
    return int(np.sum(ours[a @ b > 1] != 1))


def operations_of(equation: str) -> Value:
    """The operations that an equation such as `R2 = R1.abgr * R0.ggab` means, by channel."""
    _, first, operator, second = equation.replace(" = ", " ").split()
    channels = len(first.partition(".")[2])
    assert channels == len(second.partition(".")[2])
    return f"{channels} {'multiplications' if operator == '*' else 'additions'}"


def spelled_out(equation: str, lines: Sequence[str]) -> Value:
    """Whether these lines are the equation, channel by channel."""
    result, first, operator, second = equation.replace(" = ", " ").split()
    (x, xs), (y, ys) = (operand.split(".") for operand in (first, second))
    expected = [
        f"{result}.{c} = {x}.{a} {operator} {y}.{b}" for c, a, b in zip("rgba", xs, ys, strict=True)
    ]
    return expected == list(lines)


def instructions(lines: Sequence[str]) -> Value:
    """Instructions of a fragment program for these lines."""
    return count_instructions(_program(lines)).total


def native_instructions(profile: Profile, lines: Sequence[str], with_moves: bool = False) -> int:
    """Native instructions of a chip or an API for these lines, at the fewest.

    with_moves: with a move for every piece of an operand that the chip cannot read at once.
    """
    return _native(profile, _program(lines), with_moves)


def more_native_instructions(profile: Profile, equation: str, with_moves: bool = False) -> Value:
    """Instructions that an equation takes natively beyond one without swizzles, at the fewest."""
    texts = equation, re.sub(r"\.\S+", "", equation)
    swizzled, plain = (native_instructions(profile, [text], with_moves) for text in texts)
    return swizzled - plain


def native_arithmetic(product: Product, profile: Profile) -> Value:
    """Arithmetic instructions of a method's program, as a chip executes them, at the fewest."""
    return sum(_native(profile, program) for program in product.plan.programs())


def _native(profile: Profile, program: Program, with_moves: bool = False) -> int:
    chosen = profile.programs.instruction_set
    if chosen is None:
        assert profile.programs.swizzles is not None and profile.programs.swizzles.value
        return count_instructions(program).total
    count = count_native(program, instruction_set(chosen.value))
    return count.most if with_moves else count.fewest


def _program(lines: Sequence[str]) -> Program:
    """Lines such as `R2.r = R1.a * -R0.g` in ARB_fragment_program; R2 is then its result.

    A line without an operation, such as `R2 = R0.r,-g,b,a`, is an extended swizzle.
    """
    operation = {"*": "MUL", "+": "ADD"}
    statements, read = [], set()
    for line in lines:
        result, first, *rest = line.replace(" = ", " ").split()
        if rest:
            statements.append(f"{operation[rest[0]]} {result}, {first}, {rest[1]};")
        else:
            copy = "SWZ" if "," in first else "MOV"
            statements.append(f"{copy} {result}, {first.replace('.', ', ')};")
        read |= {*re.findall(r"R(\d+)", " ".join([first, *rest]))}
    written = result.partition(".")[0]
    declared = [f"ATTRIB R{n} = fragment.texcoord[{n}];" for n in sorted(read)]
    declared.append(f"OUTPUT {written} = result.color;")
    return assemble("\n".join(["!!ARBfp1.0", *declared, *statements, "END"]))


_Terms = Sequence[Sequence[str]]


def _channels(terms: _Terms) -> list[list[str]]:
    """The products of quadrants in each channel of a sum of swizzled products, as pairs of letters.

    terms: swizzles of X and of Y.
    """
    products = [map("".join, zip(x, y, strict=True)) for x, y in terms]
    return [[*channel] for channel in zip(*products, strict=True)]


def products_of(terms: _Terms, x: str, y: str) -> Value:
    """A sum of swizzled products, channel by channel, in the letters of equation (8).

    terms: swizzles of X and of Y. x, y: the quadrants in their channels r, g, b and a.
    """
    first, second = (str.maketrans("rgba", letters) for letters in (x, y))
    lettered = [(a.translate(first), b.translate(second)) for a, b in terms]
    return ", ".join(map(" + ".join, _channels(lettered)))


def products_in(terms: _Terms) -> Value:
    """The number of products of quadrants in a sum of swizzled products."""
    return sum(len(x) for x, _ in terms)


def coordinates_read(target: str) -> Value:
    """The number of coordinates of a lookup in a texture of that target, such as `RECT`."""
    return TextureTarget(target).coordinates


def first_section_with(inputs: Inputs, term: str) -> Value:
    """The section of the first quote in which a term stands."""
    where = next(claim.where for claim in inputs.paper.claims if term in claim.quote)
    return where.partition(",")[0]


def least_register(equation: str) -> Value:
    """The smallest register number in an equation such as `R2.b = R1.a + R0.g`."""
    return min(int(digits) for digits in re.findall(r"R(\d+)", equation))


# Threads that need the same elements --------------------------------------------------------------


def _readers(product: Product, operand: str, place: Any) -> NDArray[np.bool_]:
    """The elements of the product whose threads read an operand at this place.

    The operand is NaN there, and so are the sums of all threads that read it.
    """
    given = {name: np.ones((product.size, product.size), np.float32) for name in "AB"}
    given[operand][place] = np.nan
    with reference().prepare(product.plan) as prepared:
        return np.isnan(prepared.run(given).outputs["C"])


def _requiring(product: Product) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The threads that read row i of A, and those that read column j of B, for i = 0 and j = 1."""
    return _readers(product, "A", 0), _readers(product, "B", np.s_[:, 1])


def required_of_b(product: Product) -> Value:
    """The part of B that element (i, j) of the product depends on: row j or column j."""
    parts = {"row j": (1, 0), "column j": (0, 1)}  # a place of each that is not of the other
    return ", ".join(part for part, at in parts.items() if _readers(product, "B", at)[0, 1])


def others_requiring_both(product: Product) -> Value:
    """Further threads that read both row i of A and column j of B, as thread (i, j) does."""
    return int(np.sum(np.logical_and(*_requiring(product)))) - 1


def sharing_in_a_block(product: Product, size: int, block: int) -> Value:
    """Threads of a block that read row i of A, and those that read column j of B, at most."""
    return tuple(
        float(reads.reshape(size // block, block, size // block, block).sum(axis=(1, 3)).max())
        for reads in _requiring(product)
    )


# Repairs ------------------------------------------------------------------------------------------


def ways_to_repair(terms: _Terms) -> Value:
    """The number of ways to put one letter of r, g, b and a back into each of the swizzles."""
    return math.prod(len(_repairs(swizzle)) for term in terms for swizzle in term)


_PRODUCT = [sorted([x[0] + y[0], x[1] + y[1]]) for x in ("rg", "ba") for y in ("rb", "ga")]
"""The channels of a 2×2 product: row i of X with column j of Y."""


def repairs_to_the_product(terms: _Terms) -> Value:
    """The swizzles, with a letter put back into each, that give the product; all such repairs.

    terms: the damaged swizzles of X and of Y, two terms of three letters each.
    """
    swizzles = [swizzle for term in terms for swizzle in term]
    return ", ".join(
        " ".join(repaired)
        for repaired in product(*map(_repairs, swizzles))
        if quadrant_product([*zip(repaired[::2], repaired[1::2], strict=True)])
    )


def _repairs(swizzle: str) -> list[str]:
    """All texts with one letter more."""
    places = range(len(swizzle) + 1)
    return sorted({swizzle[:n] + letter + swizzle[n:] for n in places for letter in "rgba"})


def quadrant_product(terms: _Terms) -> Value:
    """Whether a sum of swizzled products of quadrants equals the product of the matrices.

    terms: swizzles of X and of Y; r, g, b and a are the quadrants A, B, C, D and E, F, G, H.
    """
    return [sorted(channel) for channel in _channels(terms)] == _PRODUCT


def cleared_is_accumulated(cleared: str, accumulated: str) -> Value:
    """Whether a listing accumulates in the register that it clears."""
    return cleared.partition(" = ")[0] == accumulated.partition(" = ")[0]


def swizzles_of(inputs: Inputs, method: str) -> Value:
    """The swizzles of the multiply-adds in our program, in order."""
    [program] = inputs.product(method, 8, 1).plan.programs()
    return " ".join(
        "".join("rgba"[selector.value] for selector in source.swizzle)
        for instruction in program.instructions
        for source in instruction.srcs[:2]
        if instruction.mnemonic == "MAD"
    )


# Rectangles drawn with texture coordinates as a paper prints them, at its corners ----------------

_COPY = "!!ARBfp1.0 TEX result.color, fragment.texcoord[0], texture[0], RECT; END"


def wrong_texels(
    *, corners: Sequence[str], draws: str, rows: int, columns: int, edges: bool
) -> Value:
    """Elements that are wrong when a rectangle is textured with an m×n matrix.

    corners: row and column at the four vertices, as printed, such as `m - 1, i`; clockwise from the
    upper left. draws: what should appear, `matrix`, `transpose`, or `column i` or `row i`
    everywhere, for each i in turn. edges: put the corners at the edges of the outer texels, m and n
    for m - 1 and n - 1, and i at a texel's centre, i + 1/2.
    """
    matrix = np.arange(1.0, rows * columns + 1.0, dtype=np.float32).reshape(rows, columns)
    pictures = {
        "matrix": [matrix],
        "transpose": [matrix.T],
        "column i": [np.tile(column[:, None], columns) for column in matrix.T],
        "row i": [np.tile(row, (rows, 1)) for row in matrix],
    }
    return sum(
        int(np.sum(_drawn(matrix, corners, expected.shape, i, edges) != expected))
        for i, expected in enumerate(pictures[draws])
    )


def _drawn(
    matrix: NDArray[np.float32], corners: Sequence[str], shape: tuple[int, ...], i: int, edges: bool
) -> NDArray[np.float32]:
    """The rectangle, row 0 first, with its corners at these coordinates of the matrix."""
    (height, width), (rows, columns), inset = shape, matrix.shape, 0 if edges else 1
    values = {"0": 0.0, "m - 1": rows - inset, "n - 1": columns - inset, "i": i + 0.5 * edges}
    vertices = [[float(values[name]) for name in corner.split(", ")] for corner in corners]
    texcoords = {0: [(column, row, 0.0, 1.0) for row, column in vertices]}
    picture = run_program(
        _COPY, width, height, {0: ("RECT", matrix)}, texcoords=texcoords, executor=reference().name
    )
    return picture[:, :, 0]
