"""A fragment program printed as a Python module that needs NumPy and nothing else.

The module's functions, one an opcode, are printed from the opcode table: its definitions are run on
texts in place of numbers, and whatever they do to a text makes a longer one. So nothing is known
here of any opcode, and the module computes what the reference machine computes, in its order.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    IDENTITY,
    Attribute,
    AttributeKind,
    Fog,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Temporary,
    Vec4,
)
from gpgpu_legacy.isa.opcodes import OPCODES, Form, Opcode, Operand
from gpgpu_legacy.languages.arb.printer import print_instruction

_HEAD = '''\
"""A fragment program as Python: `program` runs it on all fragments of a rectangle at once.

A register is an array of shape (4, H, W): x, y, z, w. Every operation is float32, and is rounded.
"""

import numpy as np

F = np.float32
'''

_SIGNATURE = '''
@np.errstate(all="ignore")
def program(attributes, parameters, lookup):
    """Run the program: its results by name, (4, H, W) each, and which fragments are alive, (H, W).

    attributes: arrays that broadcast to (4, H, W), by name: {attributes}.
    parameters: four numbers each, by name: {parameters}.
    lookup: called with the unit, the target, s, t, r and the bias, (H, W) each; gives (4, H, W).
    """
'''

_HELPERS = {
    "vector": '''\
def vector(*components):
    """A register of four components."""
    return np.stack(np.broadcast_arrays(*components))
''',
    "saturate": '''\
def saturate(a):
    """_SAT; the spec leaves NaN open, and it becomes 0."""
    return np.fmin(np.fmax(a, F(0)), F(1))
''',
    "constant": '''\
def constant(values):
    """Four numbers, the same in every fragment."""
    return np.array(values, F).reshape(4, 1, 1)
''',
    "extended": '''\
def extended(a, selectors):
    """SWZ's extended swizzle: components, 0 and 1, each with its sign."""
    known = dict(zip("xyzw01", [*a, np.zeros_like(a[0]), np.ones_like(a[0])]))
    return np.stack([-known[s[1]] if s[0] == "-" else known[s[1]] for s in selectors.split()])
''',
}


def numpy_source(program: Program) -> str:
    """The text of the module. Under it, undefined registers and components are 0."""
    return _Printer(program).text()


class _Printer:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = _names(program.temporaries)
        self.body = [self._instruction(instruction) for instruction in program.instructions]

    def text(self) -> str:
        rows = {i.mnemonic: OPCODES[i.mnemonic] for i in self.program.instructions}
        functions = [_function(row) for row in rows.values()]
        lines = [*self._start(), *self.body, *self._fog(), *self._end()]
        code = "\n".join([*functions, *lines])
        helpers = [text for name, text in _HELPERS.items() if re.search(rf"\b{name}\(", code)]
        letters = sorted(set(re.findall(r"\[([xyzw]{1,4})\]", code)), key=lambda s: (len(s), s))
        masks = [f"{w} = [{', '.join(str(COMPONENTS.index(c)) for c in w)}]" for w in letters]
        head = _HEAD
        if masks:
            head += "\n# Swizzles and write masks.\n" + "\n".join(masks) + "\n"
        definitions = "".join(f"\n\n{text}" for text in [*helpers, *functions])
        return head + definitions + "\n" + self._signature() + "\n".join(lines) + "\n"

    def _signature(self) -> str:
        registers = (src.register for i in self.program.instructions for src in i.srcs)
        read = list(dict.fromkeys(registers))
        attributes = [_key(r) for r in read if isinstance(r, Attribute)]
        parameters = [_key(r) for r in read if isinstance(r, Parameter) and _is_given(r)]
        if self.program.fog is not None:
            attributes.append(_FOG_COORDINATE)
            parameters += [_FOG_COLOR, _FOG_PARAMS]
        return _SIGNATURE.format(
            attributes=", ".join(dict.fromkeys(attributes)) or "none",
            parameters=", ".join(dict.fromkeys(parameters)) or "none",
        )

    def _start(self) -> list[str]:
        names = [self.names[name] for name in self.program.temporaries]
        names += [_result(register) for register in self._written()]
        lines = [
            "    shape = np.broadcast_shapes((4, 1, 1), *map(np.shape, attributes.values()))",
            "    alive = np.ones(shape[1:], bool)",
        ]
        lines += [f"    {name} = np.zeros(shape, F)" for name in names]
        return lines

    def _written(self) -> tuple[ResultRegister, ...]:
        color = ResultRegister(ResultKind.COLOR)
        written = (i.dst.register for i in self.program.instructions if i.dst is not None)
        found = dict.fromkeys(r for r in written if isinstance(r, ResultRegister))
        return tuple(dict.fromkeys([color, *found]))

    def _fog(self) -> list[str]:
        """The fog of the program's OPTION, on the colours as a float framebuffer takes them."""
        if self.program.fog is None:
            return []
        colors = [_result(r) for r in self._written() if r.kind is ResultKind.COLOR]
        return [
            f"    # OPTION {self.program.fog.value};",
            f'    distance = attributes["{_FOG_COORDINATE}"][0]',
            f'    fog = constant(parameters["{_FOG_COLOR}"])',
            f'    params = constant(parameters["{_FOG_PARAMS}"])',
            f"    factor = saturate({_FOG_FACTORS[self.program.fog]})",
            *(f"    {c}[:] = [saturate(value) for value in {c}]" for c in colors),
            *(f"    {c}[:3] = factor * {c}[:3] + (F(1) - factor) * fog[:3]" for c in colors),
        ]

    def _end(self) -> list[str]:
        results = [f'"{_result_key(r)}": {_result(r)}' for r in self._written()]
        return [f"    return {{{', '.join(results)}}}, alive"]

    def _instruction(self, instruction: Instruction) -> str:
        row = OPCODES[instruction.mnemonic]
        call = f"{row.mnemonic}({', '.join(self._source(src) for src in instruction.srcs)})"
        if instruction.dst is None:
            return _commented(f"alive &= ~{call}", instruction)
        if instruction.texture is not None:
            texture = instruction.texture
            call = f'lookup({texture.unit}, "{texture.target.value}", *{call})'
        if instruction.saturate:
            call = f"saturate({call})"
        register = instruction.dst.register
        name = (
            _result(register) if isinstance(register, ResultRegister) else self.names[register.name]
        )
        letters = "".join(COMPONENTS[c] for c in instruction.dst.components)
        if letters == COMPONENTS:
            return _commented(f"{name}[:] = {call}", instruction)
        return _commented(f"{name}[{letters}] = {call}[{letters}]", instruction)

    def _source(self, src: Src) -> str:
        name = self._register(src.register)
        selectors = [_SELECTORS[selector] for selector in src.swizzle]
        if len(set(src.negate)) > 1 or not set(selectors) <= set(COMPONENTS):
            signed = [("-" if n else "+") + s for n, s in zip(src.negate, selectors, strict=True)]
            return f'extended({name}, "{" ".join(signed)}")'
        text = name if src.swizzle == IDENTITY else f"{name}[{''.join(selectors)}]"
        return f"-{text}" if src.negate[0] else text

    def _register(self, register: SourceRegister) -> str:
        if isinstance(register, Temporary):
            return self.names[register.name]
        if isinstance(register, Attribute):
            return f'attributes["{_key(register)}"]'
        if _is_given(register):
            return f'constant(parameters["{_key(register)}"])'
        return f"constant({_numbers(register.value)})"


_FOG_COORDINATE, _FOG_COLOR, _FOG_PARAMS = (
    "fragment.fogcoord",
    "state.fog.color",
    "state.fog.params",
)
_FOG_FACTORS = {
    Fog.EXP: "np.exp(-(params[0] * distance))",
    Fog.EXP2: "np.exp(-((params[0] * distance) * (params[0] * distance)))",
    Fog.LINEAR: "(params[2] - distance) * params[3]",
}

_SELECTORS = dict(zip(Selector, COMPONENTS + "01", strict=True))


def _commented(line: str, instruction: Instruction) -> str:
    return f"    {line}  # {print_instruction(instruction)}"


def _names(temporaries: Sequence[str]) -> Mapping[str, str]:
    """A Python name for each temporary: its own, where nothing else is called that."""
    taken = {"np", "F", "program", "attributes", "parameters", "lookup", "shape", "alive"}
    taken |= {"distance", "fog", "params", "factor", "map", *_HELPERS, *OPCODES}
    names: dict[str, str] = {}
    for temporary in temporaries:
        name = temporary.replace("$", "S")
        is_letters = re.fullmatch("[xyzw]{1,4}|color[0-9]*|depth", name)
        while is_letters or keyword.iskeyword(name) or name in taken:
            name, is_letters = name + "_", None
        taken.add(name)
        names[temporary] = name
    return names


def _result(register: ResultRegister) -> str:
    return register.kind.value + (str(register.index) if register.index else "")


def _result_key(register: ResultRegister) -> str:
    return f"result.{register.kind.value}" + (f"[{register.index}]" if register.index else "")


def _is_given(parameter: Parameter) -> bool:
    return parameter.space is not ParameterSpace.CONSTANT


def _key(register: Attribute | Parameter) -> str:
    """What the language calls a value that a program is given."""
    if isinstance(register, Attribute):
        index = f"[{register.index}]" if register.kind is AttributeKind.TEXCOORD else ""
        return f"fragment.{register.kind.value}{index}"
    return register.binding or f"{register.space.value}[{register.index}]"


def _numbers(values: Vec4) -> str:
    return "[" + ", ".join(_number(value) for value in values) + "]"


def _number(value: Any) -> str:
    """A number as Python writes it."""
    number = float(value)
    if math.isfinite(number):
        return repr(number).removesuffix(".0") if number or math.copysign(1, number) > 0 else "-0.0"
    return "np.nan" if math.isnan(number) else ("np.inf" if number > 0 else "-np.inf")


# The functions -------------------------------------------------------------------------------


def _function(row: Opcode) -> str:
    """A row of the opcode table as a Python function of whole registers.

    What a row computes in one expression too long for a line gets names for its parts.
    """
    return min((_definition(row, named) for named in (False, True)), key=_longest_line)


def _longest_line(text: str) -> int:
    return max(_WIDTH, *map(len, text.splitlines()))


_WIDTH = 88
_SOURCES = {Operand.VECTOR, Operand.SCALAR, Operand.REGISTER}


def _definition(row: Opcode, named: bool) -> str:
    names = "abc"[: sum(kind in _SOURCES for kind in row.shape.value)]
    parts: list[str] | None = [] if named else None
    lines: list[str] = []
    if row.form is Form.COMPONENTWISE:
        result = _text(row.evaluate(*(_Text(name, parts) for name in names)))
    elif row.form is Form.SCALAR:
        # A scalar operand is one component four times.
        scalar = _text(row.evaluate(*(_Text(f"{name}[0]", parts) for name in names)))
        result = f"vector(*[{scalar}] * 4)"
    else:
        lines += [f"{', '.join(name + c for c in COMPONENTS)} = {name}" for name in names]
        made = row.evaluate(*(tuple(_Text(n + c, parts) for c in COMPONENTS) for n in names))
        result = _text(made) if row.form is Form.KILL else _vector(made, row.form)
    head = f"def {row.mnemonic}({', '.join(names)}):  # section {row.spec}"
    body = [*lines, *(parts or ()), f"return {result}"]
    return "\n".join([head, *(f"    {line}" for line in body), ""])


def _vector(components: Sequence[Any], form: Form) -> str:
    texts = [_text(component) for component in components]
    if form is Form.SAMPLE:
        return ", ".join(texts)
    return f"vector(*[{texts[0]}] * 4)" if len(set(texts)) == 1 else f"vector({', '.join(texts)})"


_OR, _COMPARISON, _SUM, _PRODUCT, _SIGN, _ATOM = 2, 1, 3, 4, 5, 6  # how tightly Python binds

_INFIX: dict[Callable[..., Any], tuple[str, int]] = {
    np.add: ("+", _SUM),
    np.subtract: ("-", _SUM),
    np.multiply: ("*", _PRODUCT),
    np.true_divide: ("/", _PRODUCT),
    np.bitwise_or: ("|", _OR),
    np.less: ("<", _COMPARISON),
    np.less_equal: ("<=", _COMPARISON),
    np.greater: (">", _COMPARISON),
    np.greater_equal: (">=", _COMPARISON),
}


class _Text(np.lib.mixins.NDArrayOperatorsMixin):
    """The Python text of a value. NumPy's operators and functions on it make the text of theirs.

    parts: where calls are to stand as statements of their own, or None.
    binds: how tightly its outermost operator binds; what binds less than its surroundings needs
    parentheses.
    """

    def __init__(self, text: str, parts: list[str] | None, binds: int = _ATOM) -> None:
        self.text, self.parts, self.binds = text, parts, binds

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> _Text:
        assert method == "__call__" and not options, f"{ufunc.__name__} of text"
        if ufunc is np.negative:
            return _Text(f"-{_inside(inputs[0], _SIGN)}", self.parts, _SIGN)
        if ufunc not in _INFIX:
            return self._call(ufunc.__name__, inputs)
        sign, binds = _INFIX[ufunc]
        first, second = inputs
        # No two comparisons in a row: Python would chain them.
        loose = binds + (binds == _COMPARISON)
        text = f"{_inside(first, loose)} {sign} {_inside(second, binds + 1)}"
        return _Text(text, self.parts, binds)

    def __array_function__(
        self, function: Callable[..., Any], _types: Any, inputs: Sequence[Any], _options: Any
    ) -> _Text:
        return self._call(function.__name__, inputs)

    def _call(self, name: str, inputs: Sequence[Any]) -> _Text:
        call = f"np.{name}({', '.join(_text(each) for each in inputs)})"
        if self.parts is None:
            return _Text(call, None)
        self.parts.append(f"part{len(self.parts)} = {call}")
        return _Text(f"part{len(self.parts) - 1}", self.parts)


def _text(value: Any) -> str:
    if isinstance(value, _Text):
        return value.text
    return f"F({_number(value)})" if isinstance(value, np.float32) else repr(value)


def _inside(value: Any, binds: int) -> str:
    """An operand's text, in parentheses where its operator binds less than that."""
    text = _text(value)
    return f"({text})" if isinstance(value, _Text) and value.binds < binds else text
