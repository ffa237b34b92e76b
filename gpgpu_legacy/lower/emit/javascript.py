"""The meaning of opcodes, and of the machine's fixed parts, as JavaScript functions on numbers.

A JavaScript number is a double. A sum, difference, product, quotient or square root of float32s,
computed as a double and rounded to float32, equals the result of float32 arithmetic. Other
functions are as precise as the browser's. A vector is computed number by number, as far as the
result needs it. The text calls a function `f` of its scope to round a number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from gpgpu_legacy.isa.execute import ALL
from gpgpu_legacy.isa.expressions import (
    Constant,
    Expression,
    Fetch,
    Given,
    Operation,
    Read,
    Variable,
    component,
    compose,
    expression,
)
from gpgpu_legacy.isa.opcodes import OPCODES, SOURCES, Form, Opcode
from gpgpu_legacy.isa.program import Parameter
from gpgpu_legacy.isa.statements import Assign, Call, Declare, Function, Statement
from gpgpu_legacy.isa.types import FLOAT, VEC4, Components, Kind, Operator
from gpgpu_legacy.lower.emit.text import (
    AND,
    ATOM,
    CHOICE,
    COMPARISON,
    FUNCTIONS,
    INFIX,
    OR,
    SIGN,
    TextEmitter,
)
from gpgpu_legacy.lower.lowering import PART, Lowering
from gpgpu_legacy.lower.sampling import SampledUnit

_INFIX = {**INFIX, Operator.OR: ("||", OR), Operator.AND: ("&&", AND)}
_CALLED = {
    **{operator: f"Math.{name}" for operator, name in FUNCTIONS.items()},
    Operator.EXP2: "exp2Of",
    Operator.POWER: "powerOf",
    Operator.SATURATE: "saturatedOf",
    Operator.HALF: "halfOf",
    Operator.IS_NAN: "Number.isNaN",
    Operator.MINIMUM: "Math.min",  # of whole numbers
    Operator.MAXIMUM: "Math.max",
}
_ROUNDED = {*_INFIX, *_CALLED} - {
    *(o for o, (_, binds) in _INFIX.items() if binds <= COMPARISON),
    *(Operator.ABSOLUTE, Operator.FLOOR, Operator.SATURATE, Operator.HALF, Operator.IS_NAN),
}
"""The operations whose results may need more bits than float32 has."""

HELPERS = """\
const exp2Of = (a) => 2 ** a;
// A power as C defines it: 1 to the power of anything is 1, where JavaScript may have NaN.
const powerOf = (a, b) => (a === 1 ? 1 : a ** b);
// Clamped to [0, 1]; a NaN becomes 0.
const saturatedOf = (a) => (a > 0 ? Math.min(a, 1) : 0);
// The nearest number of IEEE half precision, ties to even.
const halfOf = (a) => {
  const size = Math.abs(a);
  if (!(size > 0 && size < Infinity)) return a;
  const step = 2 ** Math.max(Math.floor(Math.log2(size)) - 10, -24);
  const below = Math.floor(size / step);
  const rest = size / step - below;
  const rounded = (below + (rest > 0.5 || (rest === 0.5 && below % 2))) * step;
  return Math.sign(a) * (rounded > 65504 ? Infinity : rounded);
};
"""


def opcode_functions() -> str:
    """The text of `opcodesIn`: functions of the opcodes that pages play, by their mnemonics.

    `opcodesIn(f)` gives an object for each opcode: its `form` (isa/opcodes.py) and its function
    `of`. f rounds the result of each operation. Componentwise and scalar functions take numbers and
    return one. The others take arrays of four numbers: a vector function returns such an array, one
    of a lookup s, t, r and the bias, and KIL's its condition.
    """
    rows = "".join(
        f'  {row.mnemonic}: {{ form: "{row.form.value}", of: {_of_opcode(row)} }},\n'
        for row in OPCODES.values()
        if row.form not in (Form.FLOW, Form.DERIVATIVE) and not row.gives_lod
    )
    return f"const opcodesIn = (f) => ({{\n{rows}}});\n"


def _of_opcode(row: Opcode) -> str:
    whole = row.form in (Form.VECTOR, Form.SAMPLE, Form.KILL)
    count = sum(operand in SOURCES for operand in row.shape)
    names = [Variable(name, VEC4 if whole else FLOAT) for name in "abc"[:count]]
    given = [[Read(v, (c,)) for c in ALL] if whole else Read(v, (0,)) for v in names]
    return formula_text(names, row.evaluate(*given))


def formula_text(parameters: Sequence[Variable], result: Any) -> str:
    """A JavaScript function of these parameters: to a value, or to several values."""
    values = result if isinstance(result, tuple | list) else (result,)
    parts, lowering = [expression(value) for value in values], Lowering()
    named = lowering.with_names(parts[0] if len(parts) == 1 else compose(parts))
    return function_text(Function("", tuple(parameters), tuple(lowering.statements), named))


def function_text(function: Function, head: str = "", unit: SampledUnit | None = None) -> str:
    """A function as a JavaScript expression. It returns a number or an array of numbers.

    head: the text of its parameters, if they are not the function's own. unit: the texture unit of
    its Fetches. They read texels from `data`, four numbers a texel, row after row.
    """
    emitter = _JavaScriptEmitter(unit)
    text = emitter.function(function, head)
    inner = "".join(f"const {name} = {called}; " for name, called in emitter.functions.items())
    return f"(() => {{ {inner}return {text}; }})()" if inner else text


class _JavaScriptEmitter(TextEmitter):
    """Spells expressions of single numbers.

    A vector that is a parameter is an array. Any other vector has a variable for each component.
    """

    infix, called = _INFIX, _CALLED

    def __init__(self, unit: SampledUnit | None) -> None:
        super().__init__()
        self.unit = unit
        self.functions: dict[str, str] = {}
        self._parts: set[Variable] = set()
        self._needed: set[tuple[Variable, int]] = set()

    def function(self, function: Function, head: str = "") -> str:
        """A function's text. The texts of the functions that it calls are in `functions`."""
        outer, self._needed = (self._parts, self._needed), set()
        declared = {s.variable for s in function.body if isinstance(s, Declare)}
        self._parts = {variable for variable in declared if variable.type.width > 1}
        head = head or ", ".join(map(_name, function.parameters))
        result = self._result(function.result)
        changed = {s.variable for s in function.body if isinstance(s, Assign)}
        lines: list[str] = []
        for statement in reversed(function.body):
            lines[:0] = self._lines(statement, changed)
        self._parts, self._needed = outer
        body = f"{{ {' '.join(lines)} return {result}; }}" if lines else result
        return f"({head}) => {body}"

    def _result(self, value: Expression) -> str:
        if value.type.width == 1 or isinstance(value, Call):
            return self.expression(value)
        numbers = [self.expression(component(value, c)) for c in range(value.type.width)]
        if len({*numbers}) == 1:
            return f"Array({len(numbers)}).fill({numbers[0]})"
        return f"[{', '.join(numbers)}]"

    def _lines(self, statement: Statement, changed: set[Variable]) -> Iterator[str]:
        """The lines of a statement, for the components that later statements read."""
        assert isinstance(statement, Declare | Assign)
        variable, value = statement.variable, statement.value
        assert value is not None
        whole = tuple(range(variable.type.width))
        assigned = statement.components if isinstance(statement, Assign) else whole
        needed = [(n, c) for n, c in enumerate(assigned) if (variable, c) in self._needed]
        word = "" if isinstance(statement, Assign) else "let " if variable in changed else "const "
        if isinstance(value, Call) and value.type.width > 1 and needed:
            names = ", ".join(self._part(variable, c) for c in whole)
            yield f"{word}[{names}] = {self.expression(value)};"
        elif isinstance(value, Fetch) and needed:
            unit, at = self.unit, f"{variable.name}_at"
            assert unit is not None
            assert unit.extent is not None, "the page knows the sizes of its textures"
            column, row = (self.inside(operand, ATOM) for operand in value.operands)
            yield f"{word}{at} = 4 * ({row} * {unit.extent.width} + {column});"
            for n, c in needed:
                source = unit.format.reads[n]
                text = source if source in "01" else f"data[{at} + {'rgba'.index(source)}]"
                yield f"{word}{self._part(variable, c)} = {text};"
        else:
            for n, c in needed:
                text = self.expression(component(value, n))
                yield f"{word}{self._part(variable, c)} = {text};"

    def _part(self, variable: Variable, number: int) -> str:
        return f"{_name(variable)}_{number}" if variable in self._parts else _name(variable)

    def operation(self, value: Operation) -> tuple[str, int]:
        text, binds = super().operation(value)
        is_float = value.type.kind is Kind.FLOAT
        return (f"f({text})", ATOM) if is_float and value.operator in _ROUNDED else (text, binds)

    def read(self, value: Read) -> str:
        [number] = value.components
        self._needed.add((value.variable, number))
        if value.variable in self._parts:
            return self._part(value.variable, number)
        return _name(value.variable) + self.suffix(value.components, value.variable.type.width)

    def constant(self, value: Constant) -> str:
        [number] = value.values
        return json.dumps(number).removesuffix(".0")

    def suffix(self, components: Components, width: int) -> str:
        [number] = components
        return "" if width == 1 else f"[{number}]"

    def source(self, given: Given) -> str:
        assert isinstance(given.source, Parameter)
        return f"state[{json.dumps(given.source.binding)}]"

    def call(self, value: Call) -> str:
        name = value.function.name
        if name not in self.functions:
            names = ("data", *map(_name, value.function.parameters))
            self.functions[name] = self.function(value.function, ", ".join(names))
        return f"{name}({', '.join(['data', *map(self.expression, value.operands)])})"

    def other(self, value: Operation) -> tuple[str, int]:
        match value.operator:
            case Operator.NEGATE:
                return f"-{self.inside(value.operands[0], ATOM)}", SIGN
            case Operator.NOT:
                return f"!{self.inside(value.operands[0], ATOM)}", SIGN
            case Operator.TO_INT | Operator.TO_FLOAT:
                return self.spelled(value.operands[0])
        assert value.operator is Operator.SELECT, value.operator
        condition, yes, no = (self.inside(operand, OR) for operand in value.operands)
        return f"{condition} ? {yes} : {no}", CHOICE


def _name(variable: Variable) -> str:
    return f"{variable.name}{variable.number}" if variable.name == PART else variable.name
