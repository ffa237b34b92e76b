"""Cg: texts whose Programs are known by hand, and faults."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
import pytest
from drawing import corners, draw_all, fragment_texcoords
from kernel_runs import differences
from numpy.typing import NDArray

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.program import Program, TextureTarget
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble, print_instruction
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.cg.compiler import compile_text, compile_unit
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.languages.shading.graph import Fault
from gpgpu_legacy.plan.plan import Texcoords
from gpgpu_legacy.runtime.executor import find_executor

F64 = NDArray[np.float64]


def lines(program: Program) -> list[str]:
    return [print_instruction(instruction) for instruction in program.instructions]


def body(statements: str, parameters: str = "float4 p : TEXCOORD0, uniform float4 u") -> list[str]:
    """The instructions of a main with these statements, which gives a colour."""
    return lines(compile_text(f"float4 main({parameters}) : COLOR {{ {statements} }}", "test.cg"))


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("return p * u + 1;", ["MAD result.color, fragment.texcoord[0], u, c0.x;"]),
        ("return lerp(u, 0, p.x);", ["LRP result.color, fragment.texcoord[0].x, c0.x, u;"]),
        ("return saturate(p - u);", ["ADD_SAT result.color, fragment.texcoord[0], -u;"]),
        ("return p.x < 0 ? u : p;",
         ["CMP result.color, fragment.texcoord[0].x, u, fragment.texcoord[0];"]),
        ("if (p.x > 0) return u; return p;",
         ["CMP result.color, -fragment.texcoord[0].x, u, fragment.texcoord[0];"]),
        ("if (p.y < 0) discard; return u;",
         ["KIL fragment.texcoord[0].y;", "MOV result.color, u;"]),
        ("float v = p.x * u.x; if (v < 0) discard; return v;",
         ["MUL R0.x, fragment.texcoord[0].x, u.x;", "KIL R0.x;", "MOV result.color, R0.x;"]),
        ("return float4(dot(p, u), dot(p.xyz, u.xyz), 0, 1);",
         ["DP4 result.color.x, fragment.texcoord[0], u;",
          "DP3 result.color.y, fragment.texcoord[0], u;", "MOV result.color.zw, c0.yyxy;"]),
        ("float2x2 m = p; float w[2] = float[](1, 2); return float4(m) * w[1];",
         ["MUL result.color, fragment.texcoord[0], c0.x;"]),
        ("float4 sum = 0; for (int i = 0; i < 3; i++) sum[i] = u[i] * (i + 2); return sum;",
         ["MUL result.color.xyz, u, c0;", "MOV result.color.w, c0.w;"]),
    ],
)  # fmt: skip
def test_programs_known_by_hand(statements: str, expected: list[str]) -> None:
    assert sorted(body(statements)) == sorted(expected)


def test_parameters_are_bound_by_semantics_registers_and_order() -> None:
    text = """
    struct Light { float3 at; half4 color; };
    float4 main(float2 a, float2 b : texcoord0, float4 c : COLOR1, uniform float k[2],
                uniform Light light, uniform float4 late : register(c9), uniform float more,
                uniform sampler2D first, uniform samplerRECT second : TEXUNIT0,
                out float4 other : COLOR1, out float depth : DEPTH) : COLOR
    {
        other = tex2D(first, a) + texRECT(second, b);
        depth = k[1] * more;
        return light.color * late + c;
    }"""
    program = compile_text(text, "test.cg")
    bound = {p.name: p.index for d in program.parameters for p in d.parameters}
    assert bound == {
        "k_0": 0, "k_1": 1, "light_at": 2, "light_color": 3, "late": 9, "more": 10,
    }  # fmt: skip
    assert sorted(lines(program)) == [
        "ADD result.color[1], R0, R1;",
        "MAD result.color, light_color, late, fragment.color.secondary;",
        "MUL result.depth.z, k_1.x, more.x;",
        "TEX R0, fragment.texcoord[1], texture[1], 2D;",
        "TEX R1, fragment.texcoord[0], texture[0], RECT;",
    ]
    assert program.options == ("ARB_draw_buffers",)


def test_names_semantics_and_numbers_of_parameters() -> None:
    """Names that the assembler has not become others; arrays take a place for each element."""
    long = "n" * 200
    text = f"""
    static float4 none;
    float4 main(float4 c[2] : COLOR, float4x4 m, float4 b : TEXCOORD1, uniform float4 t : env1,
                uniform float4 {long}a, uniform float4 {long}b, uniform float4 bé,
                uniform float4 END, uniform float4 b_, uniform samplerRECT s[2] : TEXUNIT3,
                uniform samplerRECT d : DIFFUSE2, uniform float4 v[2] : C7) : COLOR
    {{
        float4 sum = c[1] + m[0] + m[1] + b + t + {long}a + {long}b + bé + END + b_ + v[1] + none;
        return sum + texRECT(s[1], sum.xy) + texRECT(d, sum.xy);
    }}"""
    program = compile_text(text, "test.cg")
    assert assemble(disassemble(program)) == program
    places = [p.text for d in program.parameters for p in d.parameters]
    assert places[:8] == ["program.env[1]", *(f"program.local[{n}]" for n in (0, 1, 2, 3, 4, 7, 8))]
    assert program.texture_units == {0: TextureTarget.RECT, 4: TextureTarget.RECT}
    assert program.texcoord_sets == (0, 1, 2)
    assert "fragment.color.secondary" in disassemble(program)


def test_what_shares_an_instruction_with_a_coordinate_is_computed_before_it() -> None:
    """`part.y - 0.5` shares one with `at - dx`, which five lookups read; they go first."""
    text = """
    float4 main(float2 p : TEXCOORD0, uniform float2 u, uniform samplerRECT s) : COLOR {
        float2 at = (floor(p * u) + 0.5) / u, dx = float2(1 / u.x, 0), part = frac(p * u);
        float4 sum = 0;
        for (int k = -1; k < 4; k++) sum += texRECT(s, at + k * dx);
        return sum * (part.y - 0.5);
    }"""
    texels = np.random.default_rng(1).integers(0, 99, (8, 8, 4)).astype(np.float32)
    (drawn,) = draw_all(
        compile_text(text, "test.cg"),
        (8, 8),
        textures={0: texels},
        texcoords=[fragment_texcoords(0, 8, 8)],
        local={0: (0.5, 0.25, 0, 0)},
    )
    at, (x, y) = np.arange(8) + 0.5, (2 * (np.arange(8) // 2) + 1, 4 * (np.arange(8) // 4) + 2)
    sums = sum(texels[y][:, np.clip(x + 2 * k, 0, 7)] for k in range(-1, 4))
    assert np.array_equal(drawn, sums * (at * 0.25 % 1 - 0.5)[:, None, None])


def test_effect_files_have_more_than_functions() -> None:
    """Shader objects, keywords in any case, what a vertex program gives besides, `(struct) 0`."""
    text = """
    MATRIX world; TEXTURE image < string name = "a.dds"; >;
    sampler look = sampler_state { Texture = (image); };
    shared VertexShader objects[1] = { compile vs_1_1 moved() };
    struct place { float4 at : POSITION; float3 normal : NORMAL; float2 uv : TEXCOORD0; };
    struct pixel { float4 colour : COLOR; float4 glow : COLOR1; };
    float4 looked_up(sampler where, place place) { return tex2D(where, place.uv); }
    pixel shade(place given) { pixel p = (pixel)0; p.colour = looked_up(look, given); return p; }
    Technique T { pass p { PixelShader = compile ps_2_0 shade(); } }"""
    assert sorted(lines(compile_text(text, "test.fx", CompilerOptions(entry="shade")))) == [
        "MOV result.color, R0;",
        "MOV result.color[1], c0.x;",
        "TEX R0, fragment.texcoord[0], texture[0], 2D;",
    ]


SHAPES = """
interface Shape { float area(float r); };
struct Square : Shape { float k; float area(float r) { return k * r * r; } };
struct Disc : Shape { float2 m; float area(float r) { return m.y * r; } };
float twice(Shape s, float r) { return 2 * s.area(r); }
"""
COUNTER = """
float k = 9; float get() { return 100; }
struct Counter {
  float k;
  float twice() { return get() + this.get(); }
  float get() const { return k; }
  void add(float x) { if (x > 0) { k += x; return; } this.k -= 1; }
  void add(float2 x) { add(x.x); add(x.y); }
  void set(float k) { this.k = k; }
  float outer() { float k = 11; return k; }
  void put(float k) { this.k = k; }
};
Counter made(float k) { Counter c; c.k = k; return c; }
struct Pair {
  struct Two { Counter a; } two;
  Counter b[2];
  void add(float x) { b[1].add(x); two.a.set(7); }
};
"""


@pytest.mark.parametrize(
    ("text", "statements", "expected"),
    [
        (COUNTER, "Counter c; c.set(0.5); return c.twice();", 1),
        (COUNTER, "Counter c = {2}; c.add(3); c.add(-3); c.add(float2(1, 2)); return c.k;", 7),
        (COUNTER, "Counter c = {2}; c.put(3); return c.outer() + c.k - k;", 5),
        (COUNTER, "const Counter c = {2}; made(3).add(1); return c.get() + made(6).get();", 8),
        (COUNTER, "Pair p = (Pair) 0; p.add(2); p.b[0].add(1); return p.b[1].k + p.b[0].k;", 3),
        (COUNTER, "Pair p = (Pair) 0; p.add(2); return p.two.a.twice();", 14),
        (COUNTER, "Counter c[2] = {2, 3}; if (p.x > 0) c[1].add(4); return c[p.x].twice();", 4),
        (SHAPES, "Square q = {0.75}; Disc d = {1, 2}; return twice(q, 2) + twice(d, 2);", 14),
        (SHAPES, "Disc d[2] = {1, 2, 3, 4}; Shape s[2] = d; return s[1].area(2);", 8),
    ],
)  # fmt: skip
def test_methods_have_the_scopes_of_cpp(text: str, statements: str, expected: float) -> None:
    main = f"float4 main(float4 p : TEXCOORD0) : COLOR {{ {statements} }}"
    program = compile_text(text + main, "test.cg", CompilerOptions(entry="main"))
    (drawn,) = draw_all(program, (1, 1), texcoords=[fragment_texcoords(0, 1, 1)])
    assert drawn[0, 0].tolist() == [expected] * 4


LIBRARY: dict[str, Callable[[F64, F64], F64]] = {
    "acos(x)": lambda x, y: np.arccos(x),
    "asin(x)": lambda x, y: np.arcsin(x),
    "atan(y)": lambda x, y: np.arctan(y),
    "atan2(y, x)": lambda x, y: np.arctan2(y, x),
    "cosh(y)": lambda x, y: np.cosh(y),
    "float3(5, 7, 9)[1.5 * (x + 1)]": lambda x, y: np.array([5, 7, 9])[
        np.floor(1.5 * (x + 1)).astype(int)
    ],
    "degrees(x)": lambda x, y: np.degrees(x),
    "determinant(float3x3(x, y, 1, 2, x, 3, y, 1, 5))": lambda x, y: (
        x * (5 * x - 3) - y * (10 - 3 * y) + (2 - x * y)
    ),
    "exp(y)": lambda x, y: np.exp(y),
    "isfinite(1 / floor(abs(y)))": lambda x, y: (abs(y) >= 1).astype(float),
    "isnan(0 * (1 / floor(abs(y))))": lambda x, y: (abs(y) < 1).astype(float),
    "ldexp(x, 3)": lambda x, y: np.ldexp(x, 3),
    "lit(x, abs(y), 2).z": lambda x, y: np.where(x > 0, y * y, 0),
    "log(abs(y))": lambda x, y: np.log(abs(y)),
    "log10(abs(y))": lambda x, y: np.log10(abs(y)),
    "mul(mul(2, int2x2(1, 2, 3, 4)), 0.5)[1].x / 2": lambda x, y: np.array(1.5),
    "mul(x, float2(1, y)).y + mul(float2(x, 3), y).x": lambda x, y: 2 * x * y,
    "mod(y, 0.75)": lambda x, y: np.mod(y, 0.75),
    "pow(abs(y), x)": lambda x, y: abs(y) ** x,
    "pow(y, float2(3, 3)).y": lambda x, y: y**3,
    "radians(y)": lambda x, y: np.radians(y),
    "refract(float2(x, y), float2(0.6, 0.8), 0.5).x": lambda x, y: (
        0.5 * x
        + (0.5 * (-0.6 * x - 0.8 * y)
           - np.sqrt(abs(1 - 0.25 * (1 - (-0.6 * x - 0.8 * y) ** 2)))) * 0.6
    ) * (0.25 * (1 - (0.6 * x + 0.8 * y) ** 2) < 1),
    "sinh(y)": lambda x, y: np.sinh(y),
    "tan(x)": lambda x, y: np.tan(x),
    "tanh(y)": lambda x, y: np.tanh(y),
    "transpose(float2x2(1, x, y, 2))[0][1]": lambda x, y: y,
    "trunc(y)": lambda x, y: np.trunc(y),
}  # fmt: skip


@pytest.mark.parametrize("call", LIBRARY)
def test_the_library_computes_what_it_says(call: str) -> None:
    """In float64, to the error that Abramowitz and Stegun give for acos."""
    text = f"float4 main(float2 p : TEXCOORD0) : COLOR {{ float x = p.x, y = p.y; return {call}; }}"
    size = 16
    places = [
        Texcoords(0, corners((-1, -3, 0, 1), (2 / size, 0, 0, 0), (0, 6 / size, 0, 0), size, size))
    ]
    drawn = draw_all(compile_text(text, "test.cg"), (size, size), texcoords=places)[0]
    x, y = (np.arange(size) + 0.5) / size * 2 - 1, (np.arange(size)[:, None] + 0.5) / size * 6 - 3
    expected = np.broadcast_to(LIBRARY[call](x, y), (size, size))
    np.testing.assert_allclose(drawn[..., 0], expected, rtol=2e-5, atol=7e-5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("float f(float x) { return f(x); }\nfloat4 main() : COLOR { return f(1); }",
         "1:27: f calls itself; fragment programs have no stack: use a loop"),
        ("float4 main(float4 p : TEXCOORD0) : COLOR\n{ for (;;) p += 1; return p; }",
         "2:3: this loop has no end; leave it by a break"),
        ("float4 main(float4 p : TEX0) : COLOR { while (p.x < 1)\n{ while (p.y < p.x)\n"
         "while (p.z < p.y) p.z += 1; p.y += 1; p.x += 1; } return p; }",
         "3:1: loops are too deep inside one another; 4 REPs may be; a loop of unknown length "
         "takes two"),
        ("float4 main(float4 p : TEXCOORD0) : COLOR\n{ return normalise(p); }",
         "2:10: there is no function normalise; did you mean normalize?"),
        ("float4 main(float3 n : NORMAL) : COLOR\n{ return n.x; }",
         "1:20: NORMAL is not an input; expected TEXCOORD0 to 7, COLOR, WPOS or FOG"),
        ("struct In { float2 a, b, c, d, e, f, g, h, i; };\n"
         "float4 main(In p) : COLOR { return p.i.x; }",
         "1:44: no texture coordinate set is left for i; 8 are taken"),
        ("float4 main(uniform float4 k[2] : ENV255) : COLOR { return k[0]; }",
         "1:28: k_1 has the number 256; expected 0 to 255"),
        ("struct Out { float4 a, b, c, d, e, f, g, h, i; };\n"
         "Out main() { Out o; o.i = 1; return o; }",
         "1:45: i is not a result; expected COLOR0 to COLOR7 or DEPTH"),
        (f"{COUNTER}float4 main() : COLOR {{ const Counter c = {{1}}; c.add(1); return c.k; }}",
         "19:48: c is const; only a variable can be assigned to"),
        (f"{SHAPES}float4 main(Shape s) : COLOR {{ return 1; }}",
         "6:19: s is interface Shape; give it a type with a size"),
        ("interface I { float f(float x); }; struct S : I { float k; };\n"
         "float4 main() : COLOR { S s; return s.f(1); }",
         "2:39: a struct S has no method f; only a struct has methods, which have bodies"),
        ("struct I { float k; };\nstruct S : I { float c; };",
         "2:8: I is no interface; a struct has an interface after its colon"),
        ("float4 main(float *p : TEXCOORD0) : COLOR\n{ return 0; }",
         "1:20: p is a pointer; kernels have arrays and no pointers"),
        ("float4 main(float2 p : TEX0, sampler2D s) : COLOR\n{ return tex2Dcmpbias(s, p); }",
         "2:10: tex2Dcmpbias cannot be compiled; ARB_fragment_program has no comparison with a "
         "bias: use tex2Dbias"),
        ("float4 main(float4 p : TEXCOORD0) : COLOR\n{ return determinant(p); }",
         "2:10: determinant does not take a float4; expected determinant(float2x2) or "
         "determinant(float3x3) or determinant(float4x4)"),
        ("float2 g(float2 v) { return v; }\nfloat4 main(float p : TEX0) : COLOR\n{ return "
         "g(1, 2).xyxy; }", "3:10: g does not take an int, an int; expected g(float2)"),
    ],
)  # fmt: skip
def test_faults_name_their_construct(text: str, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        compile_text(text, "test.cg")
    assert str(caught.value).split("\n")[0] == f"test.cg:{message}"


def test_a_loop_that_may_end_early_is_compiled_in_time_that_grows_as_its_trips() -> None:
    text = "float4 main(float4 p : TEXCOORD0) : COLOR { float4 r = p; for (int i = 0; i < N; i++) "
    seconds = []
    for trips in ("125", "1000"):
        started = process_time()
        whole = f"{text}{{ if (r.x > i) break; r += p; }} return r; }}"
        program = compile_text(whole, "test.cg", CompilerOptions(defines={"N": trips}))
        seconds.append(process_time() - started)
        assert len(program.instructions) == 3 * int(trips) - 1
    assert seconds[1] < 24 * seconds[0] + 0.5


@pytest.mark.parametrize(
    ("declared", "statements"),
    [
        ("", "float a[4096][4096];"),
        ("struct S0 { float4 a, b; };"
         + "".join(f"struct S{k} {{ S{k - 1} a, b; }};" for k in range(1, 30)), "S29 s;"),
        ("struct S { float4x4 a[4000]; }; S f(S s) { return s; }",
         "S s = (S) 0; for (int i = 0; i < 10000; i++) s = f(s);"),
        ("".join(f"float f(float3 a) {{ return {k}; }}" for k in range(1000)),
         "float r; for (int i = 0; i < 10000; i++) r += f(1);"),
    ],
)  # fmt: skip
def test_what_multiplies_the_work_of_a_text_is_refused(declared: str, statements: str) -> None:
    text = f"{declared} float4 main() : COLOR {{ {statements} return 1; }}"
    with pytest.raises(Fault, match=r"too (large|long once its loops)"):
        compile_unit(parse(text, "test.cg"))


def test_random_kernels_have_a_c_compilers_bits() -> None:
    """A few; tests/differential has more, in more languages, on every executor."""
    assert not differences(range(5000, 5040), find_executor("numpy"))
