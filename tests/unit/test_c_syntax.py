"""The front end that Cg, HLSL and Brook share: places, types, precedence, faults and bounds."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter, process_time

import pytest

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.program import Span
from gpgpu_legacy.languages.c import preprocess, tokens
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Conditional,
    Declaration,
    Declare,
    Expression,
    Function,
    Goto,
    If,
    Index,
    Item,
    Member,
    Name,
    Number,
    Return,
    SizeOf,
    String,
    Struct,
    Target,
    Typedef,
    TypeName,
    Unary,
)
from gpgpu_legacy.languages.language import CompilerOptions

A, B, C, D = map(Name, "abcd")


def items(text: str) -> tuple[Item, ...]:
    return parse(text, "text.c").items


def expression(text: str, before: str = "") -> Expression:
    declare = items(f"{before}\nint v = {text};")[-1]
    assert isinstance(declare, Declare) and declare.declarations[0].value is not None
    return declare.declarations[0].value


def body(text: str) -> tuple[object, ...]:
    function = items(f"void f() {{ {text} }}")[-1]
    assert isinstance(function, Function) and function.body is not None
    return function.body.statements


def declared(text: str) -> Declaration:
    declare = items(text)[-1]
    assert isinstance(declare, Declare)
    return declare.declarations[0]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("a << b + c", Binary("<<", A, Binary("+", B, C))),
        ("a || b && c | d", Binary("||", A, Binary("&&", B, Binary("|", C, D)))),
        ("a < b ? c : d", Conditional(Binary("<", A, B), C, D)),
        ("a ? b : c ? d : a", Conditional(A, B, Conditional(C, D, A))),
        ("*a[b]", Unary("*", Index(A, B))),
        ("a = b = c", Assign("=", A, Assign("=", B, C))),
        ("(float*) a * b", Binary("*", Cast(Declaration(TypeName("float"), "", pointers=1), A), B)),
        ("sizeof (int) * b", Binary("*", SizeOf(Declaration(TypeName("int"), "")), B)),
        ("sizeof (a)[b]", SizeOf(Index(A, B))),
        ("float2(a, b).xx", Member(Call(TypeName("float2"), (A, B)), "xx")),
        ("1.0.xxxx", Member(Number(1.0), "xxxx")),
        ("(indexof a).x", Member(Call(Name("indexof"), (A,)), "x")),
        ("0x1F + 017 + '\\n'", Binary("+", Binary("+", Number(31), Number(15)), Number(10))),
        ("1.5e-3f", Number(0.0015, "f")),
        ('"a\\x41" "\\0b"', String(b"aA\0b")),
    ],
)
def test_operators_bind_as_in_c(text: str, tree: Expression) -> None:
    assert expression(text) == tree


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("unsigned long int x;", Declaration(TypeName("ulong"), "x")),
        ("signed char *x;", Declaration(TypeName("schar"), "x", pointers=1)),
        ("float x<10, n>;", Declaration(TypeName("float"), "x", stream=(Number(10), Name("n")))),
        (
            "float x[2][] : TEXCOORD0;",
            Declaration(TypeName("float"), "x", 0, (Number(2), None), None, "TEXCOORD0"),
        ),
        (
            "uniform sampler2D x : register(s1);",
            Declaration(TypeName("sampler2D", frozenset({"uniform"})), "x", register="s1"),
        ),
        (
            'half x < string UIName = "a > b"; > = 1;',
            Declaration(TypeName("half"), "x", value=Number(1)),
        ),
        (
            "sampler x = sampler_state { Texture = <t>; MinFilter = LINEAR; };",
            Declaration(TypeName("sampler"), "x"),
        ),
        ("float (*x)<4>;", Declaration(TypeName("float"), "x", 1, stream=(Number(4),))),
        ("struct P {int a;}; struct P x;", Declaration(TypeName("P"), "x")),
    ],
)
def test_declarators(text: str, wanted: Declaration) -> None:
    assert declared(text) == wanted


def test_a_kernel_with_all_kinds_of_parameters() -> None:
    (kernel,) = items("kernel void k(float a<>, float g[][], iter float2 i<>, out float4 o<>) {}")
    assert isinstance(kernel, Function)
    number = TypeName("float")
    assert kernel.type == TypeName("void", frozenset({"kernel"}))
    assert kernel.parameters == (
        Declaration(number, "a", stream=()),
        Declaration(number, "g", dimensions=(None, None)),
        Declaration(TypeName("float2", frozenset({"iter"})), "i", stream=()),
        Declaration(TypeName("float4", frozenset({"out"})), "o", stream=()),
    )


def test_types_and_names_are_told_apart() -> None:
    before = "typedef struct pair_t { float x; } pair; int n;"
    assert expression("(pair) * n", before) == Cast(
        Declaration(TypeName("pair"), ""), Unary("*", Name("n"))
    )
    assert expression("(n) * n", before) == Binary("*", Name("n"), Name("n"))
    struct, typedef = items("typedef struct pair_t { float x; } pair;")
    assert isinstance(struct, Struct) and isinstance(typedef, Typedef)
    assert (struct.name, typedef.declaration.name) == ("pair_t", "pair")
    (only,) = items("typedef struct { int a; } A;")
    assert isinstance(only, Struct) and only.name == "A"
    # A type's word may be a variable's name too.
    assert declared("struct S { int a; }; S S;").name == "S"
    sample = "float4 f(sampler2D texture, float in) { return tex2D(texture, in * 2); }"
    (function,) = items(sample)
    assert isinstance(function, Function) and [p.name for p in function.parameters] == [
        "texture",
        "in",
    ]


def test_statements() -> None:
    assert body("if (a) if (b) c; else d;")[0] == If(A, If(B, _evaluate(C), _evaluate(D))), (
        "an else belongs to the nearest if"
    )
    assert body("goto end; end: return;") == (Goto("end"), Target("end"), Return())
    skipped = "[unroll] for (;;) ;"
    assert body(skipped) == body("for (;;) ;")
    technique = 'technique T < string s = "}"; > { pass P { VertexShader = compile vs_1_1 f(); } }'
    assert items(f"int a; {technique} int b;") == items("int a; int b;")
    (main,) = items("main() {}")
    assert main == Function(TypeName("int"), 0, "main", (), Block(()))


def _evaluate(name: Name) -> object:
    (statement,) = body(f"{name.name};")
    return statement


# Places -------------------------------------------------------------------------------------------


def test_places_survive_comments_macros_and_includes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "one.h").write_text('#include "two.h"\nfloat  one;\n')
    (tmp_path / "sub" / "two.h").write_text("float two;\n")
    text = (
        '#include "sub/one.h" // here\n'
        "#define LONG(x) (x + /* a\n comment */ \\\n   y)\n"
        "/* two\n lines */ float a = LONG(1),  b = __LINE__;\n"
        "\tint c;\n"
    )
    unit = parse(text, "main.c", CompilerOptions(folder=tmp_path))
    places = {
        d.name: d.at for item in unit.items if isinstance(item, Declare) for d in item.declarations
    }
    assert places == {
        "two": Span(1, 7, "sub/two.h"),
        "one": Span(2, 8, "sub/one.h"),
        "a": Span(6, 17),
        "b": Span(6, 31),
        "c": Span(7, 6),
    }
    values = [
        d.value for item in unit.items if isinstance(item, Declare) for d in item.declarations
    ]
    assert values[2:4] == [Binary("+", Number(1), Name("y")), Number(6)]
    sum_ = values[2]
    assert isinstance(sum_, Binary) and sum_.at == Span(6, 21), "where the macro is used"


def test_the_preprocessor() -> None:
    text = (
        "#define CALL(f, ...) f(__VA_ARGS__)\n#define NAME(x) x##_1\n#define MINUS -\n"
        "#if defined(ON) && ON > 1\nint a = CALL(g, 1, 2), NAME(b), c = -MINUS 1;\n"
        "#else\n@\n#endif\n"
    )
    unit = parse(text, "x", CompilerOptions(defines={"ON": "2"}))
    (declare,) = unit.items
    assert isinstance(declare, Declare)
    a, b, c = declare.declarations
    assert a.value == Call(Name("g"), (Number(1), Number(2)))
    assert b.name == "b_1"
    assert c.value == Unary("-", Unary("-", Number(1)))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("6 & (1 << 2)", True),
        ("-1 > 0u", True),
        ("0 && 1 / 0 || (1 ? 2 : 3 % 0) == 2", True),
        ("1 << 64 || -1 >> 64 != -1", False),
        ("-7 % 3 == -1 && -7 / 2 == -3", True),
        ("9007199254740993 / 1 == 9007199254740993", True),
        ("+0u - 1 > 0 && (0 ? 0u : -1) > 0", True),
        ("0x8000000000000000 < 0 || 0xFFFFFFFF < 0", False),
        ("'\\377' < 0 && 'u' == 117 && 017 == 15", True),
        ("1 | 2 ^ 3 & 4 == 4", True),
        ("!NONE && !defined(NONE) && !float", True),
        ("1 - 1 - 1 == -1 && ~0 == -1", True),
    ],
)
def test_the_value_of_an_if_is_cs(condition: str, *, holds: bool) -> None:
    """What GCC 12's cpp says of the same."""
    unit = parse(f"#if {condition}\nint yes;\n#else\nint no;\n#endif", "x")
    assert [d.name for d in unit.items[0].declarations] == ["yes" if holds else "no"]


# Faults -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flaot4 x;", "1:1: flaot4 is not a type; did you mean float4?"),
        ("void f() {\n  retrun a;\n}", "2:3: retrun is not a type; did you mean return?"),
        ("void f() {\n  int a = 1\n  a = 2; }", "3:3: unexpected 'a' after '1'; expected"),
        ("float f(float x { return x; }", "1:17: unexpected '{' after 'x'; expected"),
        (
            "void f() { g(a b); }",
            "1:16: unexpected 'b' after 'a'; expected ')', ',' or an operator",
        ),
        ("int a = ١;", "1:9: unexpected '١' after '='; expected"),
        ("void f(int a, flaot b) { }", "1:15: flaot is not a type; did you mean float?"),
        (
            "#include <a.h>\nint f( {",
            "2:8: unexpected '{' after '('; expected ')', '...' or a type; "
            "<a.h> is not there, and counts as empty",
        ),
        ("void f() { g(1; }", "1:15: unexpected ';' after '1'; expected ')' or ','"),
        ("void f() { if (a) { }", "1:21: the text ends too early; expected '}' or a statement"),
        ("int a = ;", "1:9: unexpected ';' after '='; expected '{' or an expression"),
        ("int a;\n/* no end", "2:1: the comment has no end"),
        ("#if 1\nint a;", "1:1: unterminated #if 1"),
        ("#ifdef\n#endif", "1:2: #ifdef is incomplete"),
        ("#define F(x) x\nint a = F(1, 2);", "2:9: macro F requires 1 arguments"),
        ('#include "gone.h"', '1:10: there is no file "gone.h" in the program\'s folder'),
        ("#error no luck", "1:2: #error no luck"),
    ],
)
def test_a_fault_has_a_place_and_says_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(AssemblyError) as error:
        parse(text, "x.cg")
    assert str(error.value).startswith(f"x.cg:{message}")
    assert len(error.value.diagnostics) == 1


def test_includes_stay_in_the_folder(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.h").write_text("int secret;")
    (inside / "link.h").symlink_to(tmp_path / "secret.h")
    (inside / "loop.h").write_text('#include "loop.h"\n')
    for name in ("../secret.h", str(tmp_path / "secret.h"), "link.h"):
        with pytest.raises(AssemblyError, match="there is no file"):
            parse(f'#include "{name}"', "x.c", CompilerOptions(folder=inside))
    with pytest.raises(AssemblyError, match="nested more than"):
        parse('#include "loop.h"', "x.c", CompilerOptions(folder=inside))
    for name in ("../secret.h", "..\\secret.h"):
        assert parse(
            f'#include "{name}"', "x.c", CompilerOptions(folder=inside, root=tmp_path)
        ).items
    assert parse("#include <stdio.h>\n#include <stdlib.h>\nint a;", "x.c").items


DEEP = 1000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "".join(f"#define A{i} A{i + 1} A{i + 1}\n" for i in range(30)) + "int x = A0;",
            "macros become more than",
        ),
        ("#define D(x) x x x x\nint a = " + "D(" * 12 + "1" + ")" * 12 + ";", "macros become"),
        ("#define I(x) x\nint a = " + "I(" * DEEP + "1" + ")" * DEEP + ";", "macros are nested"),
        ("#define F(x) x\nint a = " + "F(1)+" * 10_000 + "1;", "macros become more than"),
        ("#define F(x) " + "x " * DEEP * 2 + "\n", "the macro has more than"),
        ("#if 1 / 0\n#endif", "could not evaluate"),
        ("#if 1 +\n#endif", "could not evaluate"),
        ("#if (1\n#endif", "could not evaluate"),
        ("#if 1 ? 2\n#endif", "could not evaluate"),
        ("#if 1.5\n#endif", "could not evaluate"),
        ("#if 1 2\n#endif", "could not evaluate"),
        ("#if " + "(" * DEEP + "1" + ")" * DEEP + " + \n#endif", "could not evaluate"),
        ("/*" * 400_000, "the comment has no end"),
        ("int x = " + "- " * DEEP + "1;", "nested more than 200 levels"),
        ("int x = 1" + " + 1" * DEEP + ";", "nested more than 200 levels"),
        ("void f() {" + "if (a) b; else " * DEEP + ";}", "nested more than 200 levels"),
        ("void f() {" + "{" * DEEP + "}" * DEEP + "}", "nested more than 200 levels"),
        ("int a[] = " + "{" * DEEP + "}" * DEEP + ";", "nested more than 200 levels"),
        ("int x = " + "(" * 2**14 + ";", "the text has more than"),
        ("int x = " + "9" * 100_000 + ";", "unexpected '9'"),
    ],
    ids=lambda text: text[-24:].strip()[:12],
)
def test_hostile_texts_end_soon_in_one_error(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "MOST_TOKENS", 2**14)
    monkeypatch.setattr(preprocess, "MOST_EXPANDED", 2**14)
    start = perf_counter()
    with pytest.raises(AssemblyError, match=message):
        parse(text, "x.cg")
    assert perf_counter() - start < 20


def test_parentheses_may_be_deep_where_the_tree_is_not() -> None:
    assert expression("(" * DEEP + "a" + ")" * DEEP) == A


def test_a_kernel_of_200_lines_is_read_in_a_fraction_of_a_second() -> None:
    lines = "\n".join(f"  x = x * {i}.0 + tex2D(s, float2(x, y)).x;" for i in range(196))
    head = "float4 main(float2 p : TEX0, uniform sampler2D s) : COLOR {\nfloat x = p.x, y = p.y;"
    text = f"{head}\n{lines}\nreturn x;\n}}"
    parse(text, "x.cg")
    best = min(_seconds(text) for _ in range(5))
    assert best < 0.3, "half of that on an idle machine"


def _seconds(text: str) -> float:
    start = process_time()
    parse(text, "x.cg")
    return process_time() - start
