"""Programs executed on text: which values an instruction reads, makes and stores, by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from drawing import program

from gpgpu_legacy.isa.execute import Components, Domain, execute, execute_instruction
from gpgpu_legacy.isa.fog import fog_factor, fog_mixed
from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    DestinationRegister,
    Fog,
    Instruction,
    Parameter,
    SourceRegister,
    Temporary,
)
from gpgpu_legacy.isa.symbol import Symbol


def letters(components: Components) -> str:
    return "".join(COMPONENTS[c] for c in components)


@dataclass(frozen=True)
class Text(Symbol):
    text: str

    def operate(self, name: str, operands: tuple[Any, ...]) -> Text:
        shown = [o.text if isinstance(o, Text) else f"{o:g}" for o in operands]
        return Text(f"{name}({', '.join(shown)})")


class Texts(Domain[Text]):
    """Each component by itself; `a.x` is what register a holds before it is written."""

    def __init__(self) -> None:
        self.stored: dict[tuple[str, Components], str] = {}
        self.conditions: list[str] = []

    def constant(self, number: float) -> Text:
        return Text(f"{number:g}")

    def read(self, register: SourceRegister, components: Components, *, coordinate: bool) -> Text:
        if isinstance(register, Temporary):
            name = register.name
        else:
            name = register.name if isinstance(register, Parameter) else register.kind.value
        before = f"{name}.{letters(components)}" + ("'" if coordinate else "")
        return Text(self.stored.get((name, components), before))

    def store(self, register: DestinationRegister, components: Components, value: Text) -> None:
        name = register.name if isinstance(register, Temporary) else register.kind.value
        self.stored[name, components] = value.text

    def look_up(
        self, instruction: Instruction, coordinates: Sequence[Any], components: Components
    ) -> dict[Components, Text]:
        assert instruction.texture is not None
        where = ", ".join(c.text if isinstance(c, Text) else f"{c:g}" for c in coordinates)
        texel = f"texel {instruction.texture.unit} ({where})"
        return {(c,): Text(f"{texel}.{COMPONENTS[c]}") for c in components}

    def discard(self, condition: Text) -> None:
        self.conditions.append(condition.text)

    def saturated(self, value: Text) -> Text:
        return Text(f"sat({value.text})")

    def rounded(self, value: Any) -> Text:
        return value if isinstance(value, Text) else self.constant(float(value))


class Vectors(Texts):
    """Components that are computed alike, together."""

    def groups(self, components: Components) -> Iterable[Components]:
        return [components]

    def compose(self, values: Sequence[Any]) -> Text:
        shown = [v.text if isinstance(v, Text) else f"{v:g}" for v in values]
        return Text(f"[{', '.join(shown)}]")

    def replicated(self, value: Text, components: Components) -> dict[Components, Text]:
        return {components: value}


def after(*lines: str, domain: Texts | None = None) -> dict[str, str]:
    """What is stored, under names such as `a.x`."""
    domain = domain or Texts()
    execute(program(*lines, temporaries="TEMP a, b, c;"), domain)
    return {f"{name}.{letters(cs)}": text for (name, cs), text in domain.stored.items()}


def test_a_swizzle_picks_components_and_a_sign_is_put_before_all_of_them() -> None:
    assert after("MOV a, -b.wzzx;") == {
        "a.x": "negative(b.w)",
        "a.y": "negative(b.z)",
        "a.z": "negative(b.z)",
        "a.w": "negative(b.x)",
    }


def test_an_extended_swizzle_has_constants_and_a_sign_for_each_component() -> None:
    assert after("SWZ a, b, -y, 0, w, -1;") == {
        "a.x": "negative(b.y)",
        "a.y": "0",
        "a.z": "b.w",
        "a.w": "negative(1)",
    }


def test_a_write_mask_says_what_is_computed_and_stored() -> None:
    assert after("MUL a.yw, b, c.wzyx;") == {
        "a.y": "multiply(b.y, c.z)",
        "a.w": "multiply(b.w, c.x)",
    }


def test_an_instruction_reads_all_its_sources_before_it_writes() -> None:
    assert after("MOV a.xy, a.yxzw;") == {"a.x": "a.y", "a.y": "a.x"}
    assert after("DP3 a.xy, a, b;")["a.x"] == after("DP3 a.xy, a, b;")["a.y"]


def test_later_instructions_read_what_earlier_ones_stored() -> None:
    assert after("ADD a.x, b, c;", "MUL a.x, a, a;") == {
        "a.x": "multiply(add(b.x, c.x), add(b.x, c.x))"
    }


def test_saturation_comes_last() -> None:
    assert after("ADD_SAT a.z, b, -c;") == {"a.z": "sat(add(b.z, negative(c.z)))"}


def test_a_scalar_result_goes_to_every_component_of_the_mask() -> None:
    assert after("RSQ a.xw, -b.y;") == dict.fromkeys(
        ("a.x", "a.w"), "divide(1, sqrt(absolute(negative(b.y))))"
    )


def test_vectors_have_a_meaning_for_each_component() -> None:
    assert after("DST a, b, c;") == {
        "a.x": "1",
        "a.y": "multiply(b.y, c.y)",
        "a.z": "b.z",
        "a.w": "c.w",
    }
    three = "add(add(multiply(b.x, c.x), multiply(b.y, c.y)), multiply(b.z, c.z))"
    assert after("DPH a.y, b, c;") == {"a.y": f"add({three}, c.w)"}


def test_a_condition_chooses() -> None:
    assert after("CMP a.x, b, c, -c;") == {"a.x": "where(less(b.x, 0), c.x, negative(c.x))"}


def test_a_lookup_takes_attributes_as_they_are_interpolated() -> None:
    assert after("TXP a.y, -fragment.texcoord[0].yxzw, texture[3], 2D;") == {
        "a.y": "texel 3 ("
        "divide(negative(texcoord.y'), negative(texcoord.w')), "
        "divide(negative(texcoord.x'), negative(texcoord.w')), "
        "divide(negative(texcoord.z'), negative(texcoord.w')), 0).y"
    }
    assert after("MOV a.x, fragment.texcoord[0];") == {"a.x": "texcoord.x"}


def test_a_kil_stores_nothing_and_asks_for_one_component_below_0() -> None:
    domain = Texts()
    assert after("KIL -b.xyxw;", domain=domain) == {}
    x, y, w = (f"less(negative(b.{c}), 0)" for c in "xyw")
    assert domain.conditions == [f"bitwise_or(bitwise_or(bitwise_or({x}, {y}), {x}), {w})"]


def test_only_the_components_that_are_asked_for_are_computed() -> None:
    [instruction] = program("XPD a, b, c;", temporaries="TEMP a, b, c;").instructions
    domain = Texts()
    execute_instruction(instruction, domain, (1,))
    assert domain.stored == {
        ("a", (1,)): "subtract(multiply(b.z, c.x), multiply(b.x, c.z))",
    }
    execute_instruction(instruction, nothing := Texts(), ())
    assert nothing.stored == {}


def test_components_in_groups_are_read_and_stored_together() -> None:
    assert after("ADD a.xyw, b.yxzw, -c;", domain=Vectors()) == {
        "a.xyw": "add(b.yxw, negative(c.xyw))"
    }
    assert after("DP4 a.xy, b, b;", domain=Vectors()).keys() == {"a.xy"}
    assert after("SCS a, b.x;", domain=Vectors()) == {"a.xyzw": "[cos(b.x), sin(b.x), 0, 0]"}


def test_a_group_of_an_extended_swizzle_is_composed_of_its_components() -> None:
    assert after("SWZ a.xyz, b, -y, 0, w, -1;", domain=Vectors()) == {
        "a.xyz": "[negative(b.y), 0, b.w]"
    }
    assert after("SWZ a.xy, b, -y, -x, w, -1;", domain=Vectors()) == {"a.xy": "negative(b.yx)"}


@pytest.mark.parametrize(
    ("mode", "factor"),
    [
        (Fog.EXP, "exp(negative(multiply(p.x, c)))"),
        (Fog.EXP2, "exp(negative(multiply(multiply(p.x, c), multiply(p.x, c))))"),
        (Fog.LINEAR, "multiply(subtract(p.z, c), p.w)"),
    ],
)
def test_fog_is_written_like_opcodes(mode: Fog, factor: str) -> None:
    params = [Text(f"p.{letter}") for letter in COMPONENTS]
    assert fog_factor(mode, Text("c"), params) == Text(factor)
    mixed = fog_mixed(Text("f"), Text("colour"), Text("fog"))
    assert mixed == Text("add(multiply(f, colour), multiply(subtract(1, f), fog))")


EVALUATED = """
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Operand
from gpgpu_legacy.isa.symbol import Symbol

class Text(Symbol):
    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text

    def operate(self, name, operands):
        shown = [repr(o) if isinstance(o, Text) else repr(float(o)) for o in operands]
        return Text(name + "(" + ", ".join(shown) + ")")

SOURCES = {Operand.VECTOR, Operand.SCALAR, Operand.REGISTER}
for name, row in OPCODES.items():
    count = sum(kind in SOURCES for kind in row.shape.value)
    if row.form in (Form.COMPONENTWISE, Form.SCALAR):
        sources = [Text(s) for s in "abc"[:count]]
    else:
        sources = [[Text(s + c) for c in "xyzw"] for s in "abc"[:count]]
    made = row.evaluate(*sources)
    values = made if isinstance(made, (tuple, list)) else [made]
    print(name, [v if isinstance(v, Text) else float(v) for v in values])
import sys
print("numpy" in sys.modules, file=sys.stderr)
"""


def test_symbols_do_without_numpy_and_operations_have_the_same_names() -> None:
    without, given = (
        subprocess.run(
            [sys.executable, "-c", first + EVALUATED], capture_output=True, text=True, check=True
        )
        for first in ("", "import numpy\n")
    )
    assert (without.stderr.strip(), given.stderr.strip()) == ("False", "True")
    assert without.stdout == given.stdout
    assert "LRP [add(multiply(a, b), multiply(subtract(1.0, a), c))]" in without.stdout


def test_symbols_take_no_option_of_numpy_s_functions() -> None:
    with pytest.raises(TypeError):
        np.add(Text("a"), Text("b"), dtype=np.float32)
    with pytest.raises(TypeError):
        np.clip(Text("a"), 0, a_max=1)
