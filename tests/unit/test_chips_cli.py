"""The commands about chips, as a user meets them."""

from __future__ import annotations

import json

import pytest

from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.profile import find_profile, profiles
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.present.grid import as_markdown, as_text


def test_the_list_has_every_chip(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("chips")
    assert code == 0
    assert all(chip.name in out for chip in profiles())
    assert "64 / 32 / 96" in out


def test_one_chip_is_shown_with_its_sources(run) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("chips", "r300")
    assert "ATI Radeon 9700 Pro (R300)." in out
    assert "native: indirections" in out
    assert "M: Mesa's r300 driver" in out
    assert "Facts that are not listed are not known." in out


def test_one_chip_as_json_has_what_its_file_has(run) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("chips", "nv30", "--json")
    data = json.loads(out)
    assert data["hardware"]["core_clock_mhz"] == {
        "value": 500, "source": "W", "confidence": "high",
    }  # fmt: skip
    assert data["native"]["indirections"]["value"] == "unlimited"
    assert data["formats"]["float_texture_kinds"]["value"] == ["RECT"]
    assert "float_blending_bits" in data["formats"]
    assert "parameters" not in data["native"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("chips", "radeon-970"), "there is no chip 'radeon-970'; did you mean"),
        (("fit", "hall-carr-hart-multy", "--chip", "r300"), "did you mean hall-carr-hart-multi?"),
        (("fit", "packed-2x2", "accumulate=copy", "--chip", "r300"), "no parameter accumulate"),
        (("fit", "jacobi", "--chip", "r300"), "jacobi multiplies no matrices"),
        (("check", "jacobi"), "give the chip that the plan is checked for"),
        (("check", "jacobi", "--chip", "voodoo9"), "there is no chip 'voodoo9'"),
        (("predict", "life.fp", "--chip", "r300"), "life.fp is a program, and a plan is needed"),
        (("check", "life.fp", "jacobi", "--chip", "r300"), "life.fp, jacobi are given; give one"),
    ],
)
def test_nonsense_is_answered_in_one_line(  # type: ignore[no-untyped-def]
    run, words: tuple[str, ...], complaint: str
) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_fit_says_what_fits_and_why_no_more(run) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("fit", "hall-carr-hart-multi", "n=128", "--chip", "radeon-9700")
    assert "texture indirections 5 > 4" in out
    assert "texture instructions 33 > 32" in out
    assert "native ALU instructions 72–139 > 64" in out
    assert "coordinates first, 8 steps at a time" in out
    assert "n=128 block=8 coordinates_first=8 --chip radeon-9700-pro" in out
    assert "block=15" not in out  # as advertised alone: the chip could not have run it


def test_check_says_what_the_chip_could_not_have_run(run) -> None:  # type: ignore[no-untyped-def]
    words = ("check", "hall-carr-hart-multi", "n=16", "--chip", "r300")
    code, out, _ = run(*words)
    assert code == 1
    assert "n = 16" in out and "does not load" in out and "texture instructions" in out
    assert "attributes" not in out and "attributes" in run(*words, "--all")[1]
    code, out, _ = run(*words, "block=3", "--json")
    data = json.loads(out)
    assert (code, data["answer"], data["plan"]) == (0, "loads", "hall-carr-hart-multi")
    assert data["parameters"]["block"] == 3


def test_a_verdict_prints_every_limit_and_every_node() -> None:
    text = (
        "!!ARBfp1.0\nTEMP a, b;\nTEX a, fragment.texcoord[0], texture[0], 2D;\n"
        + "TEX a, a, texture[0], 2D;\n" * 4
        + "MOV result.color, a;\nEND\n"
    )
    chip = find_profile("r300")
    verdict = check_program(assemble(text, name="chain.fp"), chip)
    limits, nodes = verdict.grids(whole=True)
    assert limits.caption.startswith("chain.fp on the ATI Radeon 9700 Pro (R300): does not load.")
    assert "By its advertised limits it loads; natively it does not load." in limits.caption
    row = dict(zip(limits.heads, limits.rows[4], strict=True))
    assert [str(row[head]) for head in ("limit", "found", "native", "result", "advertised")] == [
        "texture indirections", "5", "4", "OVER", "31",
    ]  # fmt: skip
    assert len(nodes.rows) == 5
    assert "no order of instructions needs fewer" in as_text([limits])
    assert "| texture indirections | 5 | 4 | OVER |" in as_markdown([limits])
