"""A Cg file's function wherever a program's file may stand: commands, recipes, translations."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from commands import Command

from gpgpu_legacy import Pipeline, assemble, find
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.languages.language import split_entry
from gpgpu_legacy.pipeline.sources import as_program

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


def test_commands_take_it(run: Command) -> None:
    code, counted, _ = run("count", "blur.cg:main")
    assert code == 0 and re.search(r"lookup +│ +2", counted)
    code, arb, _ = run("translate", "blur.cg", "--to", "arb")
    assert code == 0 and assemble(arb) == as_program("blur.cg", "")
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
    first = as_program("blur.cg", "")
    (folder / "shared" / "scaled.cgh").write_text("float4 scaled(float4 v, float k) { return v; }")
    assert as_program("blur.cg", "") != first
    inner = folder / "inner"
    inner.mkdir()
    (inner / "up.cg").write_text(f'#include "../blur.cg"\n#include "{folder.parent}/x.cg"\n')
    with pytest.raises(AssemblyError, match=r"up\.cg:2:10: there is no file"):
        as_program("inner/up.cg", "")
