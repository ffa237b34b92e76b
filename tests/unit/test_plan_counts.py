"""What a plan costs, as a record and as tables."""

from __future__ import annotations

import pytest
from commands import Command
from drawing import program, show, texture
from sorting import sort_plan

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.api.count import Count, count
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.plan.numbers import Table
from gpgpu_legacy.plan.plan import ClearPass, CopyPass, FragmentPass, Repeat
from gpgpu_legacy.plan.textures import R32F, MovingRect, Rect
from gpgpu_legacy.serial import from_json, json_text


def sort(n: int) -> PlanBuilder:
    if n < 4 or n & (n - 1):
        raise InputError(f"n is {n}; give a power of 2 from 4 on")
    bits = n.bit_length() - 1
    return PlanBuilder.continuing(sort_plan(1 << (bits - bits // 2), 1 << bits // 2))


SORT = Algorithm("bitonic-sort", sort)


def test_the_record_of_a_sort() -> None:
    """64 numbers take 6·7/2 = 21 passes; log 64 is 6."""
    report = count(SORT.builder(n=64), ["n"])
    assert (report.plan, report.parameters, report.over) == ("bitonic-sort", {"n": 64}, ("n",))
    assert report.total.passes == 21
    assert report.formulas["passes"].formula == "log(n, 2)*(log(n, 2) + 1)/2"
    there, back = report.passes
    assert (there.numbers, there.runs, there.size) == ("1, 3, 5, … 21", 11, "8×8")
    assert (there.kind, there.program, there.reads, there.writes) == (
        "draw", "bitonic.fp", ("P",), ("Q",),
    )  # fmt: skip
    assert there.counts.fragments + back.counts.fragments == 21 * 64
    assert from_json(json_text(report), Count, "counts") == report


def test_passes_of_every_kind_have_a_row() -> None:
    """A clear of 4 texels of 4 bytes; rows of 2 and of 1 fragments; copies of 2 texels."""
    p, q = (texture(name, 2, 2, R32F, None) for name in "PQ")
    rect = MovingRect(0, 0, Table((2, 1)), 1)
    fill = FragmentPass(program("MOV result.color, 1;"), (), ("P",), rect)
    copy = CopyPass("P", Rect(0, 0, 2, 1), "Q", Rect(0, 1, 2, 1))
    plan = show([ClearPass("P"), Repeat(2, (fill, copy))], q, others=[p])
    totals, passes = count(PlanBuilder.continuing(plan)).grids(whole=True)
    assert totals.caption == "made for a test: counts"
    assert passes.heads[6:] == (
        "fragments",
        "arithmetic",
        "bytes requested",
        "copy bytes",
        "clear bytes",
    )
    assert passes.rows == (
        ("1", 1, "clear", "", "P", "", 0, 0, 0, 0, 16),
        ("2, 4", 2, "draw test.fp", "", "P", "varying×1", 3, 3, 12, 0, 0),
        ("3, 5", 2, "copy", "P", "Q", "2×1", 0, 0, 0, 32, 0),
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("jacobi", "--over", "m"), "jacobi has no parameter m; its parameters are n, passes"),
        (("jacobi", "--texels", "r32f"), "--texels is for a program FILE.fp"),
        (("life.fp", "--over", "n"), "life.fp has no parameters to find formulas in"),
        (("life.fp", "n=4"), "life.fp is a program, which has no parameters; leave n= out"),
    ],
)
def test_what_cannot_be_counted_so_is_one_line(
    run: Command, words: tuple[str, ...], message: str
) -> None:
    code, out, err = run("count", *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
