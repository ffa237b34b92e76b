"""Shaders that `translate` writes, drawn by their own host code, without the package.

Texture coordinates lie on texels' centres, where a nearest lookup has one answer.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpgpu_legacy import assemble, run_program
from gpgpu_legacy.api import translate as api
from gpgpu_legacy.api.translate import kernel_program, random_scene
from gpgpu_legacy.files import shader_folder
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.registry import program_of
from gpgpu_legacy.lower.emit.hosts import host_code
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation

pytestmark = [
    pytest.mark.gl,
    pytest.mark.filterwarnings("ignore::gpgpu_legacy.errors.GpgpuLegacyWarning"),
]

SIZES = ((64, 48), (100, 37))

SOURCES = {
    "words.cg": """
        float4 main(float4 input : TEXCOORD0, float corner : COLOR, uniform float sample,
                    uniform sampler2D texture, uniform float4 part) : COLOR {
            return frac(tex2D(texture, input.xy) * sample * 9) + corner * part.wzyx; }""",
    "matrix.hlsl": """
        float4x4 turn; float weights[3]; sampler2D image : register(s3); sampler1D ramp;
        float4 main(float2 uv : TEXCOORD0, float4 w : WPOS) : COLOR0 {
            return mul(turn, tex2D(image, uv)) * weights[2] + tex1D(ramp, uv.x) - w * weights[0];
        }""",
    "layers.cg": """
        struct Out { float4 a : COLOR0; float4 b : COLOR2; };
        Out main(float3 p : TEXCOORD0, uniform sampler3D v, uniform samplerCUBE sky) {
            Out o; o.a = tex3D(v, float3(p.xy, 0.5));
            o.b = texCUBE(sky, float3(p.xy - 0.4873, 0.6137)); return o; }""",
    "kill.cg": """
        float4 main(float2 p : TEXCOORD0, uniform samplerRECT t) : COLOR {
            float4 m = texRECT(t, p);
            if (m.w < 0.5) discard;
            return m.x > 0.5 ? m : m.wzyx;
        }""",
    "shadow.fp": """!!ARBfp1.0
        OPTION ARB_fragment_program_shadow;
        TEX result.color, fragment.texcoord[0], texture[5], SHADOWRECT; END""",
    "partial.fp": """!!ARBfp1.0
        TEMP gl_x, a__b; MOV gl_x.x, fragment.color; LRP a__b, fragment.color, gl_x, 2;
        LRP gl_x.yz, a__b, 3, fragment.color; MOV result.color.yz, gl_x; END""",
    "fog.fp": "!!ARBfp1.0 OPTION ARB_fog_linear; MOV result.color, fragment.color; END",
}  # fmt: skip
FILES = ("examples/drum.br:vibrate", "floyd_warshall/relax.br", "fluid/advect.cg",
         "examples/blur.fp")  # fmt: skip

DRIVER = """
import pickle, runpy, sys
import moderngl
context = moderngl.create_standalone_context(backend="egl")
drawn = []
for text, given, is_linear in pickle.load(open(sys.argv[1], "rb")):
    open(sys.argv[2], "w").write(text)
    host = runpy.run_path(sys.argv[2])
    how = (moderngl.LINEAR,) * is_linear
    textures = given.pop("textures")
    bound = {name: host["make_texture"](context, *each, *how) for name, each in textures.items()}
    drawn.append(host["draw"](context, textures=bound, **given))
assert "gpgpu_legacy" not in sys.modules
pickle.dump(drawn, open(sys.argv[3], "wb"))
"""


def programs() -> list[Program]:
    folder = shader_folder()
    made = [program_of(text, name) for name, text in SOURCES.items()]
    for name in FILES:
        if ".br" in name:
            made.append(kernel_program(f"{folder}/{name}"))
        else:
            text = (folder / name).read_text("utf-8")
            made.append(program_of(text, name))
    return made


def drawn(cases: list[tuple[str, dict[str, Any], bool]], folder: Path) -> list[np.ndarray]:
    given, host, results = (str(folder / name) for name in ("given", "host.py", "results"))
    Path(given).write_bytes(pickle.dumps(cases))
    command = [sys.executable, "-c", DRIVER, given, host, results]
    subprocess.run(command, check=True, cwd=folder)
    loaded: list[np.ndarray] = pickle.loads(Path(results).read_bytes())
    return loaded


@pytest.mark.parametrize("es", [False, True], ids=["glsl", "glsl-es"])
@pytest.mark.parametrize("exact", [False, True], ids=["own-samplers", "exact-sampling"])
def test_a_translation_draws_what_the_program_draws(tmp_path: Path, es: bool, exact: bool) -> None:
    cases, wanted = [], []
    for code in programs():
        translation = glsl_translation(code, es=es, exact=exact)
        text = host_code(translation, is_page=False)
        for width, height in SIZES:
            given, asked = random_scene(translation, width, height)
            cases.append((text, given, False))
            colours = run_program(code, width, height, **asked, executor="numpy")
            wanted.append((code.name, colours))
    for found, (name, expected) in zip(drawn(cases, tmp_path), wanted, strict=True):
        assert np.ptp(expected) > 0, name
        if exact and not es:  # GLSL ES has no `precise`
            bits = (np.ascontiguousarray(image).view(np.uint32) for image in (found, expected))
            np.testing.assert_array_equal(*bits, err_msg=name)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6, err_msg=name)


def test_a_filter_is_the_textures_own(tmp_path: Path) -> None:
    """Between centres, by weights of 8 bits, of texels in [0, 1]."""
    text = """float4 main(float2 p : TEXCOORD0, uniform float2 by, uniform sampler2D s) : COLOR {
        return tex2D(s, p + by); }"""
    code = program_of(text, "f.cg")
    translation = glsl_translation(code)
    (width, height), by = SIZES[1], (0.0037, 0.0121)
    given, asked = random_scene(translation, width, height)
    given["uniforms"] = {"by": by}
    [(unit, (target, texels))] = asked["textures"].items()
    textures = {unit: (target, texels, "linear")}
    filtered = {"textures": textures, "local": {0: (*by, 0, 0)}, "texcoords": asked["texcoords"]}
    expected = run_program(code, width, height, executor="numpy", **filtered)
    [found] = drawn([(host_code(translation, is_page=False), given, True)], tmp_path)
    assert np.abs(found[0] - expected).max() <= 1 / 256
    nearest = run_program(
        code, width, height, {unit: (target, texels)}, local={0: (*by, 0, 0)},
        texcoords=asked["texcoords"], executor="numpy",
    )  # fmt: skip
    assert np.abs(nearest - expected).max() > 0.1


def test_a_proof_says_where_the_largest_difference_is() -> None:
    code = assemble("!!ARBfp1.0 ADD result.color, fragment.texcoord[0], {0, 0, 0, 1}; END")
    translation = glsl_translation(code, exact=True)
    said = [f"OpenGL, {width}x{height}: every number is the same" for width, height in api.SIZES]
    assert list(api.proof(translation)) == said
    wrong = replace(translation, text=translation.text.replace("0.0, 1.0)", "0.0, 1.25)"))
    assert next(api.proof(wrong)) == (
        "OpenGL, 97x31: at most 0.12, in result.color[0].w at column 0, row 0; 3007 of 12028 "
        "numbers differ by more than 2e-06"
    )
