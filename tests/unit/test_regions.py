"""Cg and GLSL with branches and loops that depend on data, against Python and a C compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command
from drawing import draw_all, fragment_texcoords
from kernel_runs import differences

from gpgpu_legacy.api.translate import kernel_program
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.interp import machine
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.cg.compiler import compile_text, compile_unit
from gpgpu_legacy.languages.glsl import fragments
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.languages.shading.emit import PROFILES
from gpgpu_legacy.runtime.executor import find_executor

PRIME = """
void main()
{
    float n = floor(gl_TexCoord[0].x) + 4.0 * floor(gl_TexCoord[0].y);
    float found = 0.0, tried = 0.0, skipped = 0.0;
    for (float k = 2.0; k < n && found == 0.0; k += 1.0) {
        float left = n;
        do {
            left -= k;
            if (left < 0.0) break;
            tried += 1.0;
            if (left == 3.0) { skipped += 1.0; continue; }
            if (left == 0.0) found = k;
        } while (left > 0.0);
    }
    gl_FragColor = vec4(found, tried, skipped, n);
}
"""


LONG = "r = r * p.y + p.x; r = r * p.y + p.z; r = r * r + p.w; "


def drawn(program: Program) -> list[list[float]]:
    """The colours of 4 by 4 fragments, the first row first."""
    assert assemble(disassemble(program)) == program
    (pixels,) = draw_all(program, (4, 4), texcoords=[fragment_texcoords(0, 4, 4)])
    return [list(map(float, pixel)) for pixel in pixels.reshape(16, 4)]


def prime(n: int) -> list[float]:
    found = tried = skipped = 0
    for k in range(2, n):
        left = n
        while left > 0:
            left -= k
            if left < 0:
                break
            tried += 1
            skipped += left == 3
            found = k if left == 0 else found
        if found:
            break
    return [found, tried, skipped, n]


def test_names_are_none_of_those_that_options_need() -> None:
    words = ("RC", "CC", "IF", "REP", "MOVC", "DDX", "SHORT")
    uniforms = ", ".join(f"uniform float {word}" for word in words)
    body = f"float s = p.x; while (s > 1) s -= 1 + RC; return s + {' + '.join(words)};"
    straight = "varying float p; void main() { gl_FragColor = vec4(dFdx(p) + DDX + SHORT); }"
    for program in (
        compile_text(f"float4 main(float2 p : TEXCOORD0, {uniforms}) : COLOR {{ {body} }}", ""),
        fragments.compile_text(f"uniform float DDX, SHORT; {straight}", ""),
    ):
        assert assemble(disassemble(program)) == program


def test_a_loop_within_a_loop_makes_its_own_trips() -> None:
    program = fragments.compile_text(PRIME, "prime.frag")
    assert drawn(program) == [prime(x + 4 * y) for y in range(4) for x in range(4)]


def test_a_program_does_not_depend_on_pythons_hash_seed() -> None:
    code = f"""from gpgpu_legacy import assemble, disassemble
print(disassemble(assemble({PRIME!r}, "prime.frag")))"""
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True,
        ).stdout
        for seed in ("1", "3")
    }  # fmt: skip
    assert len(texts) == 1


def test_a_loop_may_make_more_trips_than_a_rep_has(monkeypatch: pytest.MonkeyPatch) -> None:
    body = "float s = 0, i = 0; while (i < 100 * p.x) { i++; s += 2; } return float4(s, i, 0, 0);"
    assert drawn(program_of(body, branching=True))[3] == [700.0, 350.0, 0.0, 0.0]
    counts = f"float i = 0, r; while (i++ < 200) {{ {LONG} r = 2; }} return float4(i, r, 0, 0);"
    assert drawn(program_of(counts, branching=True))[3] == [201.0, 2.0, 0.0, 0.0]
    monkeypatch.setattr(machine, "MOST_EXECUTED", 1500)
    endless = program_of("float r = 1; while (r < 9) r *= p.x - p.x; return r;", branching=True)
    with pytest.raises(InputError, match=r"line 1: in this REP fragment .* more than 1500"):
        drawn(endless)


def program_of(body: str, *, branching: bool = False) -> Program:
    twice = "float twice(float x) { float i = x; i += x; return i; }"
    text = f"{twice} float4 main(float4 p : TEXCOORD0) : COLOR {{ {body} }}"
    return compile_unit(parse(text, "test.cg"), branching=branching)


@pytest.mark.parametrize(
    ("body", "flow"),
    [
        ("float r = 0; if (p.x > 1) r = p.y; else r = p.z; return r;", ""),
        ("if (length(p.xy) > 1) return p.y * 2; return p * 3;", ""),
        (f"float r = 1; if (p.x > 1) {{ {LONG} }} return r;", "IF ENDIF"),
        (f"float r = 1; if (p.x > 1) {{ {LONG} return r; }} return p;", "IF ELSE ENDIF"),
        ("float r = 1; for (int i = 0; i < 9; i++) r *= p.x; return r;", ""),
        ("float r = 1; for (int i = 0; i < 9; i++) { if (r > p.x) break; r *= 2; } return r;",
         "REP BRK ENDREP"),
        ("float r = 1; for (int j = 0; j < 2; j++) for (int i = 0; i < 9; i++) "
         "{ if (r > p.x) break; r = twice(r); } return r;", "REP BRK ENDREP " * 2),
        ("float r = 1; while (r < p.x) r *= 2; return r;",
         "REP REP BRK ENDREP BRK ENDREP"),
        (f"float r = 1; if (p.x > 1) {{ {LONG} discard; }} return r;", "IF ENDIF"),
    ],
)  # fmt: skip
def test_a_text_has_no_more_flow_than_it_needs(body: str, flow: str) -> None:
    program = program_of(body, branching=True)
    words = {"IF", "ELSE", "ENDIF", "REP", "ENDREP", "BRK"}
    assert [i.mnemonic for i in program.instructions if i.mnemonic in words] == flow.split()


def test_a_profile_says_whether_a_text_that_fits_a_straight_line_branches(run: Command) -> None:
    body = f"float r = 1.0; if (p.x > 1.0) {{ {LONG} }}"
    cg = f"float4 main(float4 p : TEX0) : COLOR {{ {body} return r; }}"
    glsl = f"varying vec4 p; void main() {{ {body} gl_FragColor = vec4(r); }}"
    for compiled, text in ((compile_text, cg), (fragments.compile_text, glsl)):
        profiles = {name: CompilerOptions(profile=name) for name in ("", *PROFILES)}
        branching = {name: compiled(text, "t", how).branches for name, how in profiles.items()}
        assert branching == {"": False, "arbfp1": False, "fp40": True, "ps_3_0": True}
    needs = cg.replace("if (p.x > 1.0)", "\nwhile (r < 9.0)")
    status, _, said = run("count", needs, "--profile", "arbfp1")
    assert (status, said.split("\n")[0]) == (
        2, "gpgpu-legacy: program:2:1: this loop has no known length; arbfp1 has no branches: "
        "name another profile, or none",
    )  # fmt: skip
    assert "did you mean fp40?" in run("count", cg, "--profile=fp41")[2]
    assert "says its own profile" in run("count", "!!ARBfp1.0 END", "--profile=fp40")[2]


def test_a_profile_says_it_of_kernels_of_brook_too(run: Command, tmp_path: Path) -> None:
    long = "b = b * a + 1; b = b * a + 2; b = b * b + 3; "
    choice = f"kernel void some(float a<>, out float b<>) {{ b = 1; if (a > 2) {{ {long} }} }}"
    for profile, branches in (("arbfp1", False), ("", False), ("fp40", True)):
        assert kernel_program(choice, profile).branches == branches
    text = "kernel void twos(float a<>, out float b<>) { b = 1; while (b < a) b = b * 2; }"
    file = tmp_path / "twos.br"
    file.write_text(text + "int main() { float a<3>, b<3>; twos(a, b); return 0; }")
    for words in (("run", str(file)), ("dump", str(file), "-o", str(tmp_path / "calls"))):
        code, _, said = run(*words, "--profile", "arbfp1")
        assert (code, "arbfp1 has no branches" in said) == (2, True)
    assert run("run", str(file), "--profile", "ps_3_0")[0] == 0


def test_an_index_that_depends_on_data_chooses_what_is_assigned_to() -> None:
    text = """struct Pair { float2 a; float b[3]; };
float4 main(float2 p : TEXCOORD0) : COLOR
{
    Pair pairs[2]; int x = p.x, y = p.y;
    for (int k = 0; k < 2; k++) { pairs[k].a = k; for (int j = 0; j < 3; j++) pairs[k].b[j] = 0; }
    pairs[x % 2].a[y % 2] += 5;
    pairs[y % 2].b[x] = x + 10;
    float4 v = 1; v[y]++;
    return float4(pairs[0].a.x + 10 * pairs[1].a.y, pairs[0].b[2], pairs[1].b[0], v.z);
}"""
    expected = []
    for y in range(4):
        for x in range(4):
            a, b, v = [[0, 0], [1, 1]], [[0] * 4, [0] * 4], [1] * 4
            a[x % 2][y % 2] += 5
            b[y % 2][x] = x + 10  # a fourth, which the text has not, is written nowhere
            v[y] += 1
            expected.append([a[0][0] + 10 * a[1][1], b[0][2], b[1][0], v[2]])
    assert drawn(compile_text(text, "index.cg")) == expected
    assert drawn(compile_text(text, "index.cg", CompilerOptions(profile="fp40"))) == expected
    with pytest.raises(AssemblyError, match="chooses from 65 elements; at most 64 can be assigned"):
        program = "{ float a[65]; a[p.x] = 1; return a[0]; }"
        compile_text(f"float4 main(float2 p : TEXCOORD0) : COLOR {program}", "large.cg")


def test_what_is_too_deep_or_too_long_is_refused() -> None:
    deep = "if (p.x > 1) { p.x += p.y * p.z * p.w * p.x * p.y * p.z; " * 49 + "}" * 49
    body = f"while (p.x < 1) {{ {deep} }} return p;"
    with pytest.raises(AssemblyError, match="branches are too deep inside one another; at most 48"):
        compile_text(f"float4 main(float4 p : TEX0) : COLOR {{ {body} }}", "deep.cg")


def test_random_kernels_with_loops_have_a_c_compilers_bits() -> None:
    """A few; tests/differential has more, in more languages, on every executor."""
    assert not differences(range(24), find_executor("numpy"), branching=True)
