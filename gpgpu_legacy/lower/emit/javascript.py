"""The meaning of opcodes and fog as JavaScript functions on numbers, each operation rounded.

A JavaScript number is a double. A sum, difference, product, quotient or square root of float32s,
computed as a double and rounded to float32, equals the result of float32 arithmetic. Other
functions are as precise as the browser's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isinf, isnan
from typing import Any

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.fog import fog_factor, fog_mixed
from gpgpu_legacy.isa.ir import Fog
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, OperandKind
from gpgpu_legacy.lower.emit.text import (
    ATOM,
    CHOICE,
    COMPARISON,
    FUNCTIONS,
    INFIX,
    OR,
    SIGN,
    TextEmitter,
)
from gpgpu_legacy.lower.ir import (
    Assign,
    Compose,
    Constant,
    Declare,
    Expression,
    Given,
    Operation,
    Read,
    Statement,
    Variable,
    compose,
    expression,
)
from gpgpu_legacy.lower.ir_types import FLOAT, VEC4, Components, Operator
from gpgpu_legacy.lower.lowering import PART, Lowering

_INFIX = {**INFIX, Operator.OR: ("||", OR)}
_CALLED = {
    **{operator: f"Math.{name}" for operator, name in FUNCTIONS.items()},
    Operator.EXP2: "exp2Of",
    Operator.POWER: "powerOf",
}
_ROUNDED = {*_INFIX, *_CALLED} - {
    *(o for o, (_, binds) in _INFIX.items() if binds <= COMPARISON),
    Operator.ABSOLUTE,
    Operator.FLOOR,
}
"""The operations whose results may need more bits than float32 has."""

_HELPERS = """\
const exp2Of = (a) => 2 ** a;
// A power as C defines it: 1 to the power of anything is 1, where JavaScript may have NaN.
const powerOf = (a, b) => (a === 1 ? 1 : a ** b);
"""


def opcode_functions() -> str:
    """The text of `opcodesIn`: every opcode's function, by its mnemonic.

    `opcodesIn(f)` gives objects with the opcode's `form` (isa/opcodes.py) and `of`, the function;
    f rounds each operation. A function of components takes and gives numbers; one of vectors, four
    of them; one of a lookup gives s, t, r and the bias; that of KIL, a condition.
    """
    rows = "".join(
        f'  {row.mnemonic}: {{ form: "{row.form.value}", of: {_of_opcode(row)} }},\n'
        for row in OPCODES.values()
    )
    return f"{_HELPERS}const opcodesIn = (f) => ({{\n{rows}}});\n"


def fog_functions() -> str:
    """The text of `fogIn`: for each fog option the factor, and the mixing of colours (isa/fog.py).

    `fogIn(f).factors[option]` takes the fog coordinate and the vector of state.fog.params, and
    gives the factor before it is clamped; `fogIn(f).mixed` takes the factor, a component of the
    colour, and one of the fog's.
    """
    number, vector = Variable("a", FLOAT), Variable("b", VEC4)
    coordinate, params = Read(number, (0,)), _components(vector)
    factors = "".join(
        f"    {mode.value}: {_function([number, vector], fog_factor(mode, coordinate, params))},\n"
        for mode in Fog
    )
    names = [Variable(name, FLOAT) for name in "abc"]
    mixed = _function(names, fog_mixed(*(Read(name, (0,)) for name in names)))
    return f"const fogIn = (f) => ({{\n  factors: {{\n{factors}  }},\n  mixed: {mixed},\n}});\n"


def _of_opcode(row: Opcode) -> str:
    whole = row.form in (Form.VECTOR, Form.SAMPLE, Form.KILL)
    count = sum(operand in _SOURCES for operand in row.shape.value)
    names = [Variable(name, VEC4 if whole else FLOAT) for name in "abc"[:count]]
    given: list[Any] = [_components(v) if whole else Read(v, (0,)) for v in names]
    return _function(names, row.evaluate(*given))


_SOURCES = {OperandKind.VECTOR, OperandKind.SCALAR, OperandKind.REGISTER}


def _components(vector: Variable) -> list[Expression]:
    return [Read(vector, (c,)) for c in ALL]


def _function(parameters: Sequence[Variable], result: Any) -> str:
    """A JavaScript function that returns a value, or several values."""
    values = result if isinstance(result, tuple | list) else (result,)
    same = len({id(value) for value in values}) == 1
    value = expression(values[0]) if same else compose(values)
    lowering = Lowering(_no_lookup, discards=True)
    lowering.assign(Variable("result", value.type), ALL[: value.type.width], value)
    emitter = _JavaScriptEmitter()
    *lines, last = emitter.lines(lowering.statements)
    if len(values) > 1 and same:
        last = f"Array({len(values)}).fill({last})"
    head = f"({', '.join(variable.name for variable in parameters)}) =>"
    if not lines:
        return f"{head} {last}"
    return f"{head} {{ {' '.join(lines)} return {last}; }}"


def _no_lookup(*_: object) -> Expression:
    raise AssertionError("a function of numbers looks nothing up")


class _JavaScriptEmitter(TextEmitter):
    """Spells expressions of numbers; a vector of four is an array."""

    infix: Mapping[Operator, tuple[str, int]] = _INFIX  # type: ignore[misc]
    called: Mapping[Operator, str] = _CALLED  # type: ignore[misc]

    def lines(self, statements: Iterable[Statement]) -> Iterable[str]:
        """The statements that name parts of a value, and last the value."""
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value) if value is not None:
                    yield f"const {_name(variable)} = {self.expression(value)};"
                case Assign(value=value):
                    yield self.expression(value)

    def operation(self, value: Operation) -> tuple[str, int]:
        text, binds = super().operation(value)
        return (f"f({text})", ATOM) if value.operator in _ROUNDED else (text, binds)

    def read(self, value: Read) -> str:
        name = _name(value.variable)
        return name + self.suffix(value.components, value.variable.type.width)

    def constant(self, value: Constant) -> str:
        numbers = [_number(number) for number in value.values]
        return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"

    def compose(self, value: Compose) -> str:
        return f"[{', '.join(map(self.expression, value.operands))}]"

    def suffix(self, components: Components, width: int) -> str:
        assert len(components) == 1, "a function computes number by number"
        return "" if width == 1 else f"[{components[0]}]"

    def source(self, given: Given) -> str:
        raise AssertionError(given)

    def other(self, value: Operation) -> tuple[str, int]:
        if value.operator is Operator.NEGATE:
            return f"-{self.inside(value.operands[0], ATOM)}", SIGN
        assert value.operator is Operator.SELECT, value.operator
        condition, yes, no = (self.inside(operand, OR) for operand in value.operands)
        return f"{condition} ? {yes} : {no}", CHOICE


def _name(variable: Variable) -> str:
    return f"{PART}{variable.number}" if variable.name == PART else variable.name


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    if isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return json.dumps(value).removesuffix(".0")
