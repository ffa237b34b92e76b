"""A Cg file's function wherever a program's file may stand: commands, recipes, translations."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import Command

from gpgpu_legacy import Pipeline, assemble, find, run_program
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.languages.registry import split_entry

TEXT = """\
#include "shared/scaled.cgh"
#ifndef STEP
#define STEP 1
#endif
float4 main(float2 p : TEXCOORD0, uniform samplerRECT s, uniform float k) : COLOR {
  return scaled(texRECT(s, p), k) + texRECT(s, p + float2(STEP, 0));
}
fragout swapped(float4 p : TEXCOORD0) { fragout o; o.col = p.yxwz; return o; }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "scaled.cgh").write_text(
        "float4 scaled(float4 v, float k) {\n  return v * k;\n}\n"
    )
    (tmp_path / "blur.cg").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.cg", ("a.cg", "", {})),
        ("b/a.FX:main", ("b/a.FX", "main", {})),
        ("a.cg:main,N=2,ON", ("a.cg", "main", {"N": "2", "ON": "1"})),
        ("a.hlsl,N=x.y", ("a.hlsl", "", {"N": "x.y"})),
        ("C:\\a.cg", ("C:\\a.cg", "", {})),
        ("a.fp:main", ("a.fp:main", "", {})),
    ],
)
def test_what_a_name_says(name: str, parts: object) -> None:
    assert split_entry(name) == parts


def test_a_pass_runs_a_function_of_a_file() -> None:
    p = Pipeline("blurred")
    data, out = p.input("data", 8, 8), p.texture("out", 8, 8)
    p.draw("blur.cg:main,STEP=2", {0: data}, into=out, local={0: 3})
    p.output("out", out)
    values = np.arange(64, dtype=np.float32).reshape(8, 8)
    right = values[:, np.minimum(np.arange(8) + 2, 7)]  # clamped to the edge
    assert np.array_equal(p.run(data=values, executor="numpy").out, values * 3 + right)
    p.dump("dumped")
    assert find("dumped/plan.json").plan() == p.plan()


def test_uniforms_and_samplers_have_the_names_of_the_source(run: Command) -> None:
    texels = np.arange(16, dtype=np.float32).reshape(4, 4)
    wanted = run_program("blur.cg", 4, 4, {0: ("RECT", texels)}, local={0: 3})
    named = run_program("blur.cg", 4, 4, {"s": texels}, uniforms={"k": 3})
    assert np.array_equal(named, wanted)
    np.save("s.npy", texels)
    words = ("exec", "blur.cg", "--texture", "s=s.npy", "--uniform", "k=3", "--size", "4")
    assert run(*words, "-o", "named.npy")[0] == 0
    assert np.array_equal(np.load("named.npy"), wanted)
    fed = run_program("blur.cg", 4, 4, {"s": texels}, uniforms={"k": 3}, passes=2, feedback="s")
    assert np.array_equal(fed, run_program("blur.cg", 4, 4, {"s": wanted}, uniforms={"k": 3}))


@pytest.mark.parametrize(
    ("declared", "name", "value", "wanted"),
    [
        ("uniform float4x4 m", "m", np.eye(4) * 2, "mul(m, float4(1, 2, 3, 4))"),
        ("uniform float m[4]", "m", (2, 4, 6, 8), "float4(m[0], m[1], m[2], m[3])"),
        ("uniform float4 state", "state", (2, 4, 6, 8), "state"),
        ("uniform Both both", "both.second", (2, 4, 6, 8), "both.second"),
    ],
)
def test_a_uniform_of_several_rows_takes_them_all(
    declared: str, name: str, value: object, wanted: str
) -> None:
    text = f"struct Both {{ float first; float4 second; }}; float4 main({declared}) : COLOR"
    found = run_program(f"{text} {{ return {wanted}; }}", 1, 1, uniforms={name: value})
    assert found.ravel().tolist() == [2, 4, 6, 8]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"uniforms": {"kk": 1}}, r"blur.cg has no uniform kk; did you mean k\?"),
        ({"uniforms": {"depth": 1}}, "blur.cg has no uniform depth; choose from k"),
        ({"textures": {"picture": np.ones((4, 4))}}, "has no sampler picture; choose from s"),
        ({"uniforms": {"k": 1}, "local": {0: 1}}, "uniform k is number 0, which is given twice"),
    ],
)
def test_a_name_that_a_program_lacks_gets_the_list(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        run_program("blur.cg", 4, 4, **given)


@pytest.mark.parametrize("command", ["exec --size 1", "check", "count", "disassemble"])
@pytest.mark.parametrize("text", ["!!ARBfp1.0 END", "float4 f() { return 1; }"])
def test_a_text_stands_where_a_file_may(run: Command, command: str, text: str) -> None:
    verb, *more = command.split()
    code, out, _ = run(verb, text, *more)
    assert code == 0 and out


def test_commands_take_it(run: Command) -> None:
    code, counted, _ = run("count", "blur.cg:main")
    assert code == 0 and re.search(r"lookup +│ +2", counted)
    code, arb, _ = run("translate", "blur.cg", "--to", "arb")
    assert code == 0 and assemble(arb) == assemble("blur.cg")
    assert run("disassemble", "blur.cg:main")[1] == arb
    for language, words in (("glsl", "texture(s, "), ("glsl-es", "#version 300 es")):
        assert words in run("translate", "blur.cg:main", "--to", language)[1]
    code, traced, _ = run("exec", "blur.cg:swapped", "--size", "4", "--trace", "1,2")
    assert code == 0 and "line 8" in traced and "2.5 │ 1.5" in traced
    code, verdict, _ = run("check", "blur.cg", "--chip", "radeon-9700-pro")
    assert code == 0 and "loads" in verdict


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("blur.cg:mian", "blur.cg:1:1: there is no function mian; did you mean main?"),
        ("blur.cg:main,texRECT=texRCT", "blur.cg:6:17: there is no function texRCT"),
        ("gone.cg:main", "there is no file gone.cg"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run: Command, what: str, message: str) -> None:
    code, out, complaint = run("count", what)
    assert (code, out) == (2, "") and complaint.startswith(f"gpgpu-legacy: {message}")


def test_an_include_is_read_anew_and_from_below_the_current_folder(folder: Path) -> None:
    first = assemble("blur.cg")
    (folder / "shared" / "scaled.cgh").write_text("float4 scaled(float4 v, float k) { return v; }")
    assert assemble("blur.cg") != first
    inner = folder / "inner"
    inner.mkdir()
    (inner / "up.cg").write_text(f'#include "../blur.cg"\n#include "{folder.parent}/x.cg"\n')
    with pytest.raises(AssemblyError, match=r"up\.cg:2:10: there is no file"):
        assemble("inner/up.cg")
