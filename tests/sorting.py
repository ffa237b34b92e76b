"""A bitonic sort as a plan: one program, and passes that differ in program.local alone.

Every pass compares each element with a partner whose number differs in one bit, and keeps the
smaller or the larger of the two. The program computes the numbers from fragment.position by FLR and
FRC, and from them the partner's texel. So only the lookup of the own texel is known beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.plan.numbers import NumberVec4, Table
from gpgpu_legacy.plan.plan import Binding, FragmentPass, ParameterValue, Plan, Repeat, Step
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    R32F,
    Extent,
    Matrix,
    Rect,
    Region,
    Texture,
    TextureKind,
    Transfer,
)
from gpgpu_legacy.plan.validate import validate

TEXT = """!!ARBfp1.0
# program.local[0]: half the distance's inverse, the distance, half the run's inverse
PARAM step = program.local[0];
PARAM size = {{ {width}.0, {inverse!r}, 0.5, 1.0 }};
TEMP at, own, other, r;
FLR at, fragment.position;
MAD r.x, at.y, size.x, at.x;     # the element's number
MUL r.yz, r.x, step.xxzx;
FRC r.yz, r;
SGE r.yz, r, size.z;             # its bits: of the distance, of the run
MAD r.w, r.y, -2.0, size.w;
MAD r.x, r.w, step.y, r.x;       # its partner's number
MUL at.w, r.x, size.y;
FLR at.y, at.w;
MAD at.x, at.y, -size.x, r.x;
ADD at.xy, at, size.z;
TEX other, at, texture[0], RECT;
TEX own, fragment.position, texture[0], RECT;
SUB r.y, r.y, r.z;
MUL r.y, r.y, r.y;               # 1 where the larger one stays
MIN r.x, own.x, other.x;
MAX r.z, own.x, other.x;
CMP result.color, -r.y, r.z, r.x;
END
"""


def program(width: int) -> Program:
    """The program for textures of this width, a power of 2."""
    return assemble(TEXT.format(width=width, inverse=1.0 / width), name="bitonic.fp")


def distances(elements: int) -> Iterator[tuple[int, int]]:
    """For each pass, the length of the runs that it makes, and the distance of partners."""
    run = 2
    while run <= elements:
        distance = run // 2
        while distance:
            yield run, distance
            distance //= 2
        run *= 2


def sort_plan(width: int = 256, height: int = 256, *, tables: bool = False) -> Plan:
    """A plan that sorts the matrix `values`, row after row, into `sorted`.

    tables: two passes in a Repeat whose parameters are Tables, in place of passes one by one.
    """
    text = program(width)
    steps = [(0.5 / d, float(d), 0.5 / run, 0.0) for run, d in distances(width * height)]
    names = ("P", "Q")
    whole = Rect(0, 0, width, height)

    def pass_(number: int, local: NumberVec4) -> FragmentPass:
        source, target = names[number % 2], names[1 - number % 2]
        given = (ParameterValue(0, local),)
        return FragmentPass(text, (Binding(0, source),), (target,), whole, locals=given)

    drawn: list[Step]
    if tables and len(steps) % 2 == 0:
        drawn = [Repeat(len(steps) // 2, tuple(pass_(n, _table(steps[n::2])) for n in range(2)))]
    else:
        drawn = [pass_(number, local) for number, local in enumerate(steps)]
    region = Region(0, 0, height, width)
    textures = tuple(Texture(name, TextureKind.RECT, Extent(width, height), R32F) for name in names)
    shown = names[len(steps) % 2]
    plan = Plan(
        "bitonic-sort",
        (Matrix("values", height, width),),
        (Matrix("sorted", height, width),),
        textures,
        (Transfer("values", region, "P", whole, ONE_PER_TEXEL),),
        tuple(drawn),
        (Transfer("sorted", region, shown, whole, ONE_PER_TEXEL),),
    )
    validate(plan)
    return plan


def _table(vectors: list[tuple[float, float, float, float]]) -> NumberVec4:
    x, y, z, w = (Table(column) for column in zip(*vectors, strict=True))
    return x, y, z, w


def shuffled(width: int = 256, height: int = 256, seed: int = 1) -> NDArray[np.float32]:
    """Numbers to sort, some of them alike."""
    count = width * height
    values = np.random.default_rng(seed).integers(-count, count, count) / 4
    return values.astype(np.float32).reshape(height, width)


def in_order(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The same numbers sorted, row after row."""
    return np.sort(values, axis=None).reshape(values.shape)
