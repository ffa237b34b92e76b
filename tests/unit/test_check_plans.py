"""Which passes of a plan would not have loaded on a chip, and why."""

from __future__ import annotations

from drawing import program, show, texture

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer, Outcome, Row, Verdict
from gpgpu_legacy.plan.plan import Binding, ClearPass, CopyPass, FragmentPass, Plan, Repeat
from gpgpu_legacy.plan.textures import R32F, Rect
from gpgpu_legacy.serial import from_json, json_text

RADEON = find_profile("radeon-9700")  # 64 ALU instructions, 2048×2048 texels, no float blending
LONG = program(*["ADD R0, R0, 1;"] * 70, "MOV result.color, R0;")
SHORT = program("MOV result.color, 1;")
LOOK = program("TEX result.color, fragment.position, texture[0], RECT;")


def row(verdict: Verdict, limit: str, name: str = "") -> Row:
    [found] = [r for r in verdict.limits if r.limit == limit and r.where.startswith(name)]
    return found


def drawn(text: object, target: str, *bound: str, **how: object) -> FragmentPass:
    bindings = tuple(Binding(unit, name) for unit, name in enumerate(bound))
    return FragmentPass(text, bindings, (target,), Rect(0, 0, 4, 4), **how)  # type: ignore[arg-type]


def mixed() -> Plan:
    """1 a clear; 2 to 7 three times a short program and a long one; 8 a short one; 9 a long one."""
    p = texture("P", 4, 4, R32F)
    body = (drawn(SHORT, "P"), drawn(LONG, "P"))
    return show([ClearPass("P"), Repeat(3, body), drawn(SHORT, "P"), drawn(LONG, "P")], p)


def test_the_passes_of_a_program_that_is_too_long_are_named() -> None:
    """71 ALU instructions, in passes 3, 5, 7 and 9 of 9."""
    verdict = check_plan(mixed(), RADEON)
    assert verdict.answer is LoadAnswer.DOES_NOT_LOAD
    limit = "native ALU instructions"
    [over] = [r for r in verdict.exceeded if r.limit == limit]
    assert (over.found, over.passes, over.pass_count) == (71, "3, 5, 7, … 9", 4)
    [within] = [r for r in verdict.limits if r.limit == limit and r is not over]
    assert (within.outcome, within.passes, within.pass_count) == (
        Outcome.WITHIN, "2, 4, 6, … 8", 4,
    )  # fmt: skip
    assert verdict.pass_count == 9
    assert from_json(json_text(verdict), Verdict, "verdict") == verdict


def test_textures_that_are_too_large_name_the_passes_that_read_and_draw_them() -> None:
    """Pass 1 copies to a large texture, 2 looks it up, 3 draws to it, 4 does neither."""
    p, q = texture("P", 4, 4, R32F), texture("Q", 3000, 4, R32F)
    copy = CopyPass("P", Rect(0, 0, 4, 4), "Q", Rect(0, 0, 4, 4))
    steps = [copy, drawn(LOOK, "P", "Q"), drawn(SHORT, "Q"), drawn(SHORT, "P")]
    verdict = check_plan(show(steps, p, others=[q]), RADEON)
    read, target = row(verdict, "texture size"), row(verdict, "framebuffer size")
    assert (read.found, read.where, read.passes, read.pass_count) == (3000, "Q", "1–2", 2)
    assert (target.found, target.where, target.passes, target.pass_count) == (3000, "Q", "3", 1)
    assert read.advice == "use textures of at most 2048×2048 texels"
    assert target.advice == "use textures of at most 2560×2560 texels"


def test_every_target_is_checked() -> None:
    """The second target is the large one."""
    p, q = texture("P", 3000, 4, R32F), texture("Q", 3000, 4, R32F)
    both = FragmentPass(SHORT, (), ("P", "Q"), Rect(0, 0, 4, 4))
    found = row(check_plan(show([both], p, others=[q]), RADEON), "framebuffer size")
    assert (found.where, found.passes, found.pass_count) == ("P, Q", "1", 1)


def test_what_decides_is_shown_first_and_the_rest_is_counted() -> None:
    """Of two programs, 71 instructions exceed 64; what both keep is counted, and --all shows it."""
    verdict = check_plan(mixed(), RADEON)
    [short] = verdict.grids()
    assert [(row[0], row[1], row[3]) for row in short.rows if row[3] == "OVER"] == [
        ("native ALU instructions", "71", "OVER"),
    ]  # fmt: skip
    kept = sum(row.outcome is Outcome.WITHIN for row in verdict.limits)
    assert f"It keeps {kept} other limits." in short.notes
    assert len(verdict.grids(whole=True)[0].rows) == len(verdict.limits) > 5 * len(short.rows)


def test_a_plan_that_loads_has_one_line() -> None:
    [grid] = check_plan(find_product("hall-carr-hart-multi").plan(n=64, block=3), RADEON).grids()
    assert "loads." in grid.caption and len(grid.rows) == 1
