"""A fragment program as a readable Python module that needs only NumPy.

Its statements are those of the lowering IR, instruction by instruction, with none left out. A value
of several components is an array with them first, (n, H, W), and one of a single component is a
plane, (H, W), or anything that broadcasts to it.
"""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np

from gpgpu_legacy.isa.expressions import (
    Compose,
    Composite,
    Constant,
    Expression,
    Given,
    Operation,
    Read,
    Role,
    Sample,
    Variable,
    read,
)
from gpgpu_legacy.isa.program import COMPONENTS, Instruction, Parameter, Program
from gpgpu_legacy.isa.statements import Assign, Declare, Discard, Statement
from gpgpu_legacy.isa.types import Components, Operator
from gpgpu_legacy.lower.emit.targets import Translation, TranslationTarget
from gpgpu_legacy.lower.emit.text import ATOM, BITS, INFIX, SIGN, TextEmitter, identifier
from gpgpu_legacy.lower.lowering import attribute_of
from gpgpu_legacy.lower.programs import (
    ProgramLowering,
    joined,
    program_statements,
    result_registers,
    source_line,
)

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

{attributes}
{parameters}
    lookup: called with the unit, the target, s, t, r and the bias, which broadcast to (H, W); gives
    (4, H, W).
    """
'''

_HELPERS = {
    "constant": '''\
def constant(values):
    """Numbers that are the same in every fragment."""
    return np.array(values, F).reshape(-1, 1, 1)
''',
    "vector": '''\
def vector(*components):
    """Several components, each a number or a plane."""
    return np.stack(np.broadcast_arrays(F([[0]]), *components)[1:])
''',
    "saturate": '''\
def saturate(a):
    """_SAT; the spec leaves NaN open, and it becomes 0."""
    return np.fmin(np.fmax(a, F(0)), F(1))
''',
}


def numpy_source(program: Program) -> str:
    """The text of the module. In it, undefined registers and components are 0."""
    emitter = _NumpyEmitter(program)
    parts = program_statements(program, ProgramLowering())
    lines = [line for _, statements in parts for line in emitter.lines(statements)]
    lines = [*emitter.start(), *lines, emitter.end()]
    helpers = [f"\n\n{text}" for name, text in _HELPERS.items() if name in emitter.used]
    head = [_HEAD, *emitter.indices(), *helpers, emitter.signature()]
    return "".join(head) + "".join(f"    {line}\n" for line in lines)


TARGETS = (
    TranslationTarget(
        "numpy",
        "a Python module that needs only NumPy",
        lambda program, _exact: Translation(program, numpy_source(program)),
    ),
)


# Spelling --------------------------------------------------------------------------------------

_INFIX = {**INFIX, Operator.OR: ("|", BITS)}

_CALLED = {
    operator: f"np.{operator.value}"
    for operator in Operator
    if operator not in {*_INFIX, Operator.NEGATE, Operator.SATURATE}
}

_WIDTH = 96
_WORTH_A_NAME = 16


class _NumpyEmitter(TextEmitter):
    """Spells statements, and records the names that they use.

    names: the names of attributes and parameters in the module, by those in the language. used: the
    helpers and the lists of indices that the text uses.
    """

    infix, called = _INFIX, _CALLED

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.names: dict[str, str] = {}
        self.used: set[str] = set()
        self.temporaries = _names(program.temporaries)
        self.parts: dict[Variable, str] = {}
        self.named = 0
        self.results = result_registers(program)

    # The module around the statements

    def indices(self) -> list[str]:
        words = sorted(self.used - set(_HELPERS), key=lambda word: (len(word), _numbers(word)))
        if not words:
            return []
        single = [word for word in words if len(word) == 1]
        lines = [f"{', '.join(single)} = {', '.join(map(_numbers, single))}\n"] if single else []
        lines += [f"{word} = [{_numbers(word)}]\n" for word in words[len(single) :]]
        return ["\n# Components, swizzles and write masks.\n", *lines]

    def signature(self) -> str:
        attributes = [name for name in self.names if name.startswith("fragment.")]
        parameters = [name for name in self.names if name not in attributes]
        arrays = "attributes: arrays that broadcast to (4, H, W), by name"
        return _SIGNATURE.format(
            attributes=_listed(arrays, attributes),
            parameters=_listed("parameters: four numbers each, by name", parameters),
        )

    def start(self) -> list[str]:
        """The statements that give every name its first value."""
        lines = [
            "shape = np.broadcast_shapes((4, 1, 1), *map(np.shape, attributes.values()))",
            "alive = np.ones(shape[1:], bool)",
        ]
        for key, name in self.names.items():
            if key.startswith("fragment."):
                lines.append(f'{name} = np.broadcast_to(F(attributes["{key}"]), shape)')
            else:
                self.used.add("constant")
                lines.append(f'{name} = constant(parameters["{key}"])')
        registers = [*self.temporaries.values(), *map(self.name, self.results)]
        return lines + [f"{name} = np.zeros(shape, F)" for name in registers]

    def end(self) -> str:
        keys = [f"result.{v.name}" + (f"[{v.number}]" if v.number else "") for v in self.results]
        names = map(self.name, self.results)
        listed = ", ".join(f'"{key}": {name}' for key, name in zip(keys, names, strict=True))
        return f"return {{{listed}}}, alive"

    # Statements

    def lines(self, statements: Sequence[Statement]) -> Iterator[str]:
        """The statements of an instruction, with its text beside the last."""
        self.parts.clear()
        for statement in statements:
            match statement:
                case Declare(variable=variable, value=value) if value is not None:
                    yield from self.declared(variable, value)
                case Assign(variable=variable, components=components, value=value):
                    place = f"{self.name(variable)}{self.suffix(components, 4) or '[:]'} = "
                    short = yield from self.fitted(_unstacked(value), _WIDTH - len(place))
                    yield _commented(f"{place}{self.expression(short)}", statement.instruction)
                case Discard(condition=condition):
                    short = yield from self.fitted(condition, _WIDTH - len("alive &= ~()"))
                    line = f"alive &= ~{self.inside(short, SIGN)}"
                    yield _commented(line, statement.instruction)
                case _:
                    raise AssertionError(statement)

    def declared(self, variable: Variable, value: Expression) -> Iterator[str]:
        """The statement that gives a value a name of the module."""
        name = variable.name
        short = yield from self.fitted(_unstacked(value), _WIDTH - len(f"{name}00 = "))
        if name == "part":
            name += str(len(self.parts) or "")
            self.parts[variable] = name
        yield f"{name} = {self.expression(short)}"

    def fitted(self, value: Expression, room: int) -> Generator[str, None, Expression]:
        """Yield statements that name parts of a value, until its text fits; return the value.

        room: the most characters of the text.
        """
        while len(self.expression(value)) > room:
            parts = list(value.operands)
            lengths = [len(self.expression(part)) if part.operands else 0 for part in parts]
            longest = max(lengths, default=0)
            if longest < _WORTH_A_NAME:
                break
            assert isinstance(value, Composite)
            place = lengths.index(longest)
            self.named -= 1  # no statement gives a part this name
            variable = Variable("part", parts[place].type, number=self.named)
            yield from self.declared(variable, parts[place])
            parts[place] = read(variable)
            value = value.with_operands(tuple(parts))
        return value

    def name(self, variable: Variable) -> str:
        match variable.role:
            case Role.TEMPORARY:
                return self.temporaries[variable.name]
            case Role.RESULT:
                return f"{variable.name}{variable.number or ''}"
            case Role.ATTRIBUTE:
                return self.module_name(attribute_of(variable).text)
        return self.parts.get(variable, variable.name)

    def module_name(self, key: str) -> str:
        """The name of an attribute or a parameter in the module."""
        return self.names.setdefault(key, identifier(key))

    # Expressions

    def suffix(self, components: Components, width: int) -> str:
        """Components of an array; a single one by its number, so that it is a plane."""
        if components == tuple(range(width)):
            return ""
        letters = "".join(COMPONENTS[c] for c in components)
        self.used.add(letters)
        return f"[{letters}]"

    def helped(self, name: str, arguments: Iterable[str]) -> str:
        """The call of a helper."""
        self.used.add(name)
        return f"{name}({', '.join(arguments)})"

    def sample(self, sample: Sample) -> str:
        texture = sample.texture
        given = f'{texture.unit}, "{texture.target.value}", {self.places(sample.operands)}'
        return f"lookup({given})" + self.suffix(sample.components, 4)

    def read(self, value: Read) -> str:
        return self.name(value.variable) + self.suffix(value.components, value.variable.type.width)

    def source(self, given: Given) -> str:
        assert isinstance(given.source, Parameter)
        return self.module_name(given.source.text)

    def constant(self, value: Constant) -> str:
        numbers = list(map(_number, value.values))
        if len(set(numbers)) == 1:
            return f"F({numbers[0]})"
        return self.helped("constant", [f"[{', '.join(numbers)}]"])

    def compose(self, value: Compose) -> str:
        return self.helped("vector", map(self.expression, value.operands))

    def other(self, value: Operation) -> tuple[str, int]:
        if value.operator is Operator.NEGATE:
            return f"-{self.inside(value.operands[0], SIGN)}", SIGN
        assert value.operator is Operator.SATURATE
        return self.helped("saturate", map(self.expression, value.operands)), ATOM

    def places(self, coordinates: Sequence[Expression]) -> str:
        """The coordinates and the bias of a lookup, taken from one register where possible."""
        *places, bias = coordinates
        register = joined(places)
        if register is None:
            return f"*{self.expression(Compose(tuple(coordinates)))}"
        return f"*{self.expression(register)}, {self.expression(bias)}"


def _unstacked(value: Expression) -> Expression:
    """A value for several components: a single one, if all are the same."""
    if isinstance(value, Compose) and len(set(value.operands)) == 1:
        return value.operands[0]
    return value


def _listed(what: str, names: Sequence[str]) -> str:
    """A line of a docstring, or several."""
    text = f"{what}: {', '.join(names) or 'none'}."
    return textwrap.fill(text, 100, initial_indent="    ", subsequent_indent="    ")


def _commented(line: str, instruction: Instruction | None) -> str:
    return line if instruction is None else f"{line}  # {source_line(instruction)}"


# Names -----------------------------------------------------------------------------------------

_TAKEN = {"np", "F", "program", "attributes", "parameters", "lookup", "shape", "alive", "fog",
          "map", "bool", *_HELPERS}  # fmt: skip


def _names(temporaries: Sequence[str]) -> dict[str, str]:
    """A Python name for each temporary: its own, if that is free."""
    names: dict[str, str] = {}
    for temporary in temporaries:
        name, taken = temporary.replace("$", "S"), {*_TAKEN, *names.values()}
        while name in taken or keyword.iskeyword(name) or _is_ours(name):
            name += "_"
        names[temporary] = name
    return names


def _is_ours(name: str) -> bool:
    """Whether the name is taken by indices, results, parts or inputs."""
    if name.startswith(("fragment_", "program_", "state_")):
        return not name.endswith("_")
    word = name.rstrip("0123456789")
    return word in ("color", "depth", "part") or (len(name) <= 4 and set(name) <= set(COMPONENTS))


def _numbers(letters: str) -> str:
    return ", ".join(str(COMPONENTS.index(c)) for c in letters)


def _number(value: float) -> str:
    """A float32 in Python, with the fewest digits that identify it."""
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if not np.isfinite(number):
        return f"{'-' * bool(number < 0)}np.{abs(number)}"
    short = float(str(number))
    exact = short if np.float32(short) == number else float(number)
    text = repr(exact)
    return text if text == "-0.0" else text.removesuffix(".0")
