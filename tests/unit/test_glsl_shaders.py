"""Fragment shaders in GLSL, against values worked out by hand from the language's specification."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gpgpu_legacy import Pipeline, assemble, run_program
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.program import AttributeKind, TextureTarget
from gpgpu_legacy.languages.cg.compiler import compile_text as compile_cg
from gpgpu_legacy.languages.glsl.fragments import compile_text
from gpgpu_legacy.languages.language import CompilerOptions

VALUES = {
    # 5.4: constructors, of which a matrix takes its columns in order.
    "vec4(mat2(1.0, 2.0, 3.0, 4.0))": (1, 2, 3, 4),
    "vec4(mat2(1.0, 2.0, 3.0, 4.0)[1], mat3(7.0)[0].xy)": (3, 4, 7, 0),
    "vec4(mat3(mat2(1.0, 2.0, 3.0, 4.0))[2], mat2(mat3(5.0))[1].y)": (0, 0, 1, 5),
    "vec4(vec3(1.0), 2.0) + vec4(vec2(3.0, 4.0), vec4(5.0, 6.0, 7.0, 8.0))": (4, 5, 6, 8),
    "vec4(float(7 / 2), float(-7 / 2), float(int(-2.9)), float(true))": (3, -3, -2, 1),
    # 5.10: linear algebra, a vector at the right being a column.
    "vec4(mat2(1.0, 2.0, 3.0, 4.0) * vec2(1.0, 10.0), vec2(1.0, 10.0) * mat2(1.0, 2.0, 3.0, 4.0))":
        (31, 42, 21, 43),
    "vec4(mat2(1.0, 2.0, 3.0, 4.0) * mat2(0.0, 1.0, 1.0, 0.0))": (3, 4, 1, 2),
    "vec4(matrixCompMult(mat2(1.0, 2.0, 3.0, 4.0), mat2(2.0)))": (2, 0, 0, 8),
    "vec4(outerProduct(vec2(1.0, 2.0), vec2(3.0, 4.0)))": (3, 6, 4, 8),
    "vec4(transpose(mat2(1.0, 2.0, 3.0, 4.0)) * 2.0)": (2, 6, 4, 8),
    "vec4(inverse(mat2(2.0, 0.0, 0.0, 4.0)) + 1.0)": (1.5, 1, 1, 1.25),
    "vec4(inverse(mat3(vec3(2.0, 0.0, 0.0), 1.0, 4.0, vec4(0.0, 0.0, 0.0, 1.0)))[1], 0.0)":
        (-0.125, 0.25, 0, 0),
    # 5.9: == compares all of a value; ?: and ^^ take bool.
    "vec4(vec2(1.0, 2.0) == vec2(1.0, 2.0), vec2(1.0) != vec2(1.0, 2.0), true ^^ true, !true)":
        (1, 1, 0, 0),
    "vec4(lessThan(vec3(1.0, 2.0, 3.0), vec3(2.0)), any(not(bvec2(true))))": (1, 0, 0, 0),
    "true ? vec4(1.0).stpq : vec4(2.0).bgra": (1, 1, 1, 1),
    # 8: the library, where GLSL differs from Cg in name or meaning.
    "vec4(mod(-1.0, 4.0), fract(-0.25), sign(-3.0), step(2.0, 2.0))": (3, 0.75, -1, 1),
    "vec4(mod(vec2(5.0, 7.0), 4.0), clamp(vec2(-1.0, 9.0), 0.0, 1.0))": (1, 3, 0, 1),
    "vec4(roundEven(vec4(0.5, 1.5, 2.5, -0.5)))": (0, 2, 2, 0),
    "vec4(inversesqrt(4.0), max(1.0, 2.0), mix(1.0, 3.0, 0.5), faceforward(1.0, 1.0, 1.0))":
        (0.5, 2, 2, -1),
    "vec4(mix(vec2(1.0, 2.0), vec2(3.0, 4.0), bvec2(true, false)), mix(1.0, 2.0, true), 0.0)":
        (3, 2, 2, 0),
    # Statements and functions.
    "looped(3) + vec4(table[1], table.length(), 0.0, changed())": (3, 6, 3, 8),
}  # fmt: skip

FUNCTIONS = """#version 120
const float table[3] = float[3](1.0, 0.0, 5.0);
struct Pair { float a; vec2 b; };
vec4 looped(int n) { vec4 sum = vec4(0.0); for (int i = 0; i < n; ++i) sum += 1.0; return sum; }
float noise(float x) { return x; }
void grow(inout float x, out Pair p) { x *= 2.0; p = Pair(x, vec2(x)); }
float changed()
{
    float x = 2.0;
    Pair p;
    grow(x, p);
    return noise(x) + float(p == Pair(4.0, vec2(4.0)));
}
void main() { gl_FragColor = EXPRESSION; }
"""


@pytest.mark.parametrize("expression", VALUES)
def test_an_expression_has_the_specifications_value(expression: str) -> None:
    text = FUNCTIONS.replace("EXPRESSION", expression)
    assert run_program(text, 1, 1).tolist() == [[[*VALUES[expression]]]]


FAULTS = {
    "gl_FragColor = vec4(1.0 + 1);": "+ has a float and an int; convert one",
    "float x = 1;": "an int does not become float by itself; write float(…)",
    "vec2 v = vec3(1.0);": "a vec3 does not become vec2 by itself; write vec2(…)",
    "if (1) discard;": "this is an int; expected bool",
    "at = vec2(0.0);": "at is varying, which a fragment shader only reads",
    "k = 0.0;": "k is uniform, which a fragment shader only reads",
    "gl_FragColor = vec4(1.0, 2.0);": "vec4 is given 2 numbers; expected 4",
    "gl_FragColor = vec4(vec4(1.0), 2.0);": "vec4 is given 5 numbers; expected 4",
    "mat2 m = mat2(1.0, 2.0, 3.0);": "mat2 is given 3 numbers; expected 4",
    "vec3 v = mat2(1.0) * vec3(1.0);": "* has a mat2 and a vec3; expected fitting sizes",
    "bool b = vec2(1.0) < vec2(2.0);": "< has a vec2 and a vec2; use lessThan and the like",
    "float x = sin(true);": "sin does not take a bool; expected sin(real)",
    "float x = pow(vec2(1.0), 2.0).x;": "pow has a vec2 and a float; expected one size",
    "vec4 v = lerp(vec4(1.0), vec4(2.0), 0.5);": "there is no function lerp",
    "float4 v;": "float4 is not a type; did you mean float?",
    "uint u;": "uint cannot be compiled",
    "int i = k > 0.0 ? 1 & int(k) : 2;": "this operator works on bits",
    "vec4 c = texture2D(image, vec3(at, 1.0));": "a vec3; expected 2 coordinates",
    "vec4 c = texture3D(image, vec3(at, 1.0));": "a sampler2D; expected sampler3D",
    "vec4 c = texture2D(image);": "texture2D is given too little; expected a sampler and",
    "vec4 c = texelFetch(image, 3, 0);": "is given an int, an int; expected 2 coordinates",
    "ivec2 s = textureSize(image, 0, 1);": "expected 2 coordinates",
    "sampler2D mine; vec4 c = texture2D(mine, at);": "bound to no texture; pass a uniform one",
    "float many[1 / 0];": "this length is infinite; expected an integer that is known",
    "vec4 c = texture2DGradARB(image, at, k, at);": "a float, a vec2; expected 2 coordinates",
    "gl_FragColor = again(1.0);": "again calls itself; fragment programs have no stack",
    "float x = k;": "main has no result; write gl_FragColor",
}


@pytest.mark.parametrize("statement", FAULTS)
def test_a_fault_is_told_in_glsls_words(statement: str) -> None:
    text = (
        "varying vec2 at;\nuniform float k;\nuniform sampler2D image;\n"
        "vec4 again(float x) { return again(x); }\nvoid main() {\n"
    )
    with pytest.raises(AssemblyError, match=re.escape(FAULTS[statement])) as fault:
        compile_text(f"{text}{statement}\n}}", "shader.frag")
    assert fault.value.line == (
        4 if "again" in statement else 5 if "no result" in FAULTS[statement] else 6
    )


DERIVED = "{x}(square) + vec4(0.0, 0.0, {y}(square.x + square.y), fwidth(square.y - square.x))"


@pytest.mark.parametrize("language", ["glsl", "cg"])
def test_derivatives_are_the_differences_within_a_quad(language: str) -> None:
    if language == "glsl":
        value = DERIVED.format(x="dFdx", y="dFdy")
        text = (
            f"void main() {{ vec4 square = gl_FragCoord * gl_FragCoord; gl_FragColor = {value}; }}"
        )
        program = compile_text(text, "derived.frag", CompilerOptions(profile="fp40"))
        with pytest.raises(AssemblyError, match="arbfp1 has no derivatives, and no levels"):
            compile_text(text, "derived.frag", CompilerOptions(profile="arbfp1"))
    else:
        value = DERIVED.format(x="ddx", y="ddy").replace("vec4", "float4")
        text = f"float4 main(float4 p : WPOS) : COLOR {{ float4 square = p * p; return {value}; }}"
        program = compile_cg(text, "derived.cg")
    assert program.options == ("NV_fragment_program",)
    y, x = np.indices((3, 5)) // 2 * 2 + 0.5  # the lower left fragment of each quad
    right, up = (x + 1) ** 2 - x**2, (y + 1) ** 2 - y**2
    expected = np.stack([right, 0 * x, up, right + up], axis=-1)
    assert (run_program(program, 5, 3) == expected).all()


def test_loops_stop_unrolling_before_a_program_is_too_long() -> None:
    halve = "x = x * 0.5 + 1.0; "
    loop = f"float f(float x) {{ for (int i = 0; i < 25; i++) {{ {4 * halve} }} return x; }}"
    calls = " ".join(f"sum += f({k}.0);" for k in range(130))  # of each the limit, 2
    program = compile_text(
        f"{loop} void main() {{ float sum = 0.0; {calls} gl_FragColor = vec4(sum); }}", "f.frag"
    )
    assert 60 < sum(i.mnemonic == "REP" for i in program.instructions) < 120
    assert run_program(program, 1, 1).tolist() == [[[260.0] * 4]]


def test_the_version_decides_what_is_allowed() -> None:
    body = "void main() { gl_FragColor = vec4(1.0 + 1); }"
    compile_text(f"#version 120\n{body}", "new.frag")
    with pytest.raises(
        AssemblyError, match="this is version 400; expected 100, 110, 120, 130, 140, 150, 330"
    ):
        compile_text(f"#version 400\n{body}", "newer.frag")
    es = "#version 100\n#ifdef GL_ES\nvoid main() { gl_FragColor = vec4(1.0); }\n#endif\n"
    with pytest.raises(AssemblyError, match="no precision of its own for float"):
        compile_text(es, "es.frag")
    assemble(es, lenient=True)
    compile_text(es.replace("void", "precision highp float; void"), "es.frag")


ES = """precision mediump float;
uniform float k, many[2];
const int N = 3;
void main() { float x = 0.0; STATEMENT gl_FragColor = vec4(x); }"""


@pytest.mark.parametrize(
    "statement",
    [
        "while (x < 1.0) x += 1.0;",
        "for (int i = 0; i < int(k); i++) x += k;",
        "for (int i = 0; i < 4; i++) i += 1;",
        "x = many[int(k)];",
        "for (int i = 0; i < 2; i++) x += k; int i = int(k); x = many[i];",
    ],
)
def test_what_es_need_not_take_is_told_and_taken_if_asked(statement: str) -> None:
    text = ES.replace("STATEMENT", statement)
    with pytest.raises(AssemblyError, match=r"need not take this (loop|index) \(A.*--lenient"):
        compile_text(text, "es.frag")
    assert assemble(text, lenient=True).instructions
    compile_text(ES.replace("STATEMENT", "for (int i = 0; i <= N; i++) x += many[i / 2];"), "")


def test_results_and_what_is_given_have_their_places() -> None:
    program = compile_text(
        """#version 130
        in vec2 at; in float far; uniform sampler2DShadow shadows; uniform sampler2DRect image;
        uniform struct { vec3 place; float weights[2]; } light; out vec4 first; out vec2 second;
        void main() {
            first = texture(image, gl_FragCoord.xy) * gl_TexCoord[0].x * far;
            first += texture(shadows, vec3(at, 0.5));
            second = light.weights[1] * light.place.xy + gl_Fog.color.rg + gl_NormalMatrix[1].xy;
            gl_FragDepth = at.x;
        }""",
        "places.frag",
    )
    names = {name: key for key, name in program.names}
    assert (names["shadows"], names["image"]) == (0, 1)
    assert program.texture_units == {0: TextureTarget.SHADOW2D, 1: TextureTarget.RECT}
    assert "ARB_fragment_program_shadow" in program.options
    assert [names[n].index for n in ("at", "far")] == [1, 2]  # set 0 is gl_TexCoord[0]
    assert AttributeKind.POSITION in {a.kind for a in program.attributes_read}
    declared = {d.name: d.parameters[0].index for d in program.parameters if d.name[0] != "c"}
    assert declared == {"light_place": 0, "light_weights_0": 1, "light_weights_1": 2}
    assert program.state_bindings == ("state.fog.color", "state.matrix.modelview[0].inverse.row[1]")
    masks = {
        i.dst.register: i.dst.mask for i in program.instructions if hasattr(i.dst.register, "kind")
    }
    assert {(r.kind.value, r.index): sum(mask) for r, mask in masks.items()} == {
        ("color", 0): 4, ("color", 1): 2, ("depth", 0): 1,
    }  # fmt: skip


def test_small_varyings_share_sets_where_eight_are_too_few() -> None:
    text = "varying vec2 a, b, c, d, e, f, g, h, i; void main() { vec2 x = b + c + d + e + f + g;"
    program = compile_text(f"{text} gl_FragColor = vec4(a + x + h, i); }}", "nine.frag")
    assert [own for _, own in program.names] == ["a_i", *"bcdefgh"]
    zeros = dict.fromkeys("bcdefgh", (0.0, 0.0))
    drawn = run_program(program, 1, 1, texcoords={"a_i": (1.0, 2.0, 3.0, 4.0), **zeros})
    assert drawn.tolist() == [[[1.0, 2.0, 3.0, 4.0]]]


def test_a_pipeline_draws_it_with_its_names() -> None:
    p = Pipeline("saxpy")
    x, y = (p.input(name, 2, 2, packing="image") for name in "xy")
    out = p.texture("sum", 2, 2, format="rgba32f")
    p.draw(
        "uniform sampler2DRect x, y; uniform float alpha; varying vec2 here, mirrored;\n"
        "void main() { gl_FragColor = texture2DRect(y, here)"
        " + alpha * texture2DRect(x, mirrored); }",
        {"x": x, "y": y},
        into=out,
        uniforms={"alpha": 2.0},
        texcoords={"mirrored": [(2, 0), (0, 0), (0, 2), (2, 2)]},
    )
    p.output("sum", out, packing="image")
    given = np.arange(32, dtype=np.float32).reshape(2, 2, 2, 4)
    run = p.run(x=given[0], y=given[1])
    assert np.array_equal(run.sum, given[1] + 2 * given[0, :, ::-1])


@pytest.mark.filterwarnings("error")
def test_a_program_asks_for_the_size_of_a_texture() -> None:
    text = """#version 130
    uniform sampler2D image;
    void main()
    {
        vec4 next = texelFetchOffset(image, ivec2(gl_FragCoord.xy), 0, ivec2(1, 0));
        vec4 moved = textureOffset(image, vec2(0.5), ivec2(1));
        gl_FragColor = vec4(textureSize(image, 0), next.r, moved.r);
    }"""
    image = np.arange(8, dtype=np.float32).reshape(2, 4)
    given = {"image": ("2D", image, "nearest")}
    result = run_program(text, 3, 2, textures=given)
    assert result[..., :2].tolist() == [[[4, 2]] * 3] * 2
    assert np.array_equal(result[..., 2], image[:, 1:])
    assert (result[..., 3] == 7).all()


PAIRS = {
    "blur": (
        """uniform sampler2DRect image; uniform vec2 pace;
        void main() {
            vec4 sum = vec4(0.0);
            for (int i = -2; i <= 2; i++)
                sum += texture2DRect(image, gl_TexCoord[0].st + float(i) * pace) / 5.0;
            gl_FragColor = sum;
        }""",
        """uniform samplerRECT image; uniform float2 pace;
        float4 main(float2 at : TEXCOORD0) : COLOR {
            float4 sum = 0;
            for (int i = -2; i <= 2; i++) sum += texRECT(image, at + i * pace) / 5.0;
            return sum;
        }""",
    ),
    "Julia set": (
        """uniform vec2 c;
        void main() {
            vec2 z = gl_TexCoord[0].st; float n = 0.0;
            for (int i = 0; i < 12; i++) {
                if (dot(z, z) > 4.0) break;
                z = mat2(z, -z.y, z.x) * z + c;
                n++;
            }
            gl_FragColor = vec4(mix(vec3(1.0), vec3(0.1, 0.2, 0.4), n / 12.0), 1.0);
        }""",
        """float4 main(float2 z : TEXCOORD0, uniform float2 c) : COLOR {
            float n = 0;
            for (int i = 0; i < 12; i++) {
                if (dot(z, z) > 4.0) break;
                float2x2 m = { z, -z.y, z.x };
                z = mul(z, m) + c;
                n++;
            }
            return float4(lerp(float3(1), float3(0.1, 0.2, 0.4), n / 12.0), 1.0);
        }""",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_the_same_in_cg_is_as_long(name: str) -> None:
    shader, kernel = PAIRS[name]
    ours, others = compile_text(shader, "f.frag"), compile_cg(kernel, "f.cg")
    assert len(ours.instructions) <= 1.05 * len(others.instructions)
