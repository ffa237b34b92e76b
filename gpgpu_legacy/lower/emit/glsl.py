"""The lowering IR as GLSL: expressions, statements and functions, for any shader.

Each kind of shader is a subclass: it defines where texels come from, and the text around the
statements. Every assigned variable is `precise`, so that no compiler reorders a sum.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cache, lru_cache

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.isa.arithmetic import FP32, Arithmetic
from gpgpu_legacy.isa.expressions import (
    Compose,
    Constant,
    Expression,
    Given,
    Operation,
    Place,
    PlanePart,
    Read,
    Role,
    Swizzle,
    Variable,
)
from gpgpu_legacy.isa.program import COMPONENTS, Attribute, AttributeKind, Parameter, ParameterSpace
from gpgpu_legacy.isa.statements import (
    Assign,
    Barrier,
    Break,
    Call,
    Dead,
    Declare,
    Discard,
    For,
    Function,
    If,
    Return,
    Statement,
    Store,
    multiply_add,
    walk,
)
from gpgpu_legacy.isa.types import COMPARISONS, FLOAT, Components, Kind, Operator, type_of
from gpgpu_legacy.languages.arb.printer import print_instruction
from gpgpu_legacy.lower.emit.glsl_functions import (
    CONSTANT,
    EXACT_HELPERS,
    HELPERS,
    Helper,
    quantize,
    quantize_wide,
)
from gpgpu_legacy.lower.emit.text import (
    AND,
    ATOM,
    CHOICE,
    COMPARISON,
    FUNCTIONS,
    INFIX,
    OR,
    PRODUCT,
    SIGN,
    SUM,
    TextEmitter,
    identifier,
)
from gpgpu_legacy.lower.lowering import PART, attribute_of


@frozen
class Dialect:
    """The differences between versions of the language.

    header: the first lines of a shader. precise: the qualifier of a declaration that forbids
    reordering its value; a version that has none has neither fma nor 64-bit floats. initialises:
    whether uniforms may have initial values.
    """

    header: tuple[str, ...]
    precise: str = "precise "
    initialises: bool = True


_INFIX = {
    **INFIX,
    Operator.REMAINDER: ("%", PRODUCT),
    Operator.AND: ("&&", AND),
    Operator.OR: ("||", OR),
}

_CALLED = {
    **FUNCTIONS,
    Operator.MINIMUM: "min",
    Operator.MAXIMUM: "max",
    Operator.TO_INT: "int",
    Operator.TO_FLOAT: "float",
}

_ARITHMETIC = {operator: sign for operator, (sign, binds) in INFIX.items() if binds >= SUM}
_CONTRACTED = (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY)
"""The operations that compilers contract."""

_OF_DOUBLES = (
    Operator.ABSOLUTE,
    Operator.FLOOR,
    Operator.SQRT,
    Operator.MINIMUM,
    Operator.MAXIMUM,
)

PARAMETERS = {ParameterSpace.LOCAL: "local", ParameterSpace.ENV: "env"}

PLACES = {Place.CENTRE: "fragment", Place.ORIGIN: "origin", Place.WINDOW: "gl_FragCoord"}
PLANE_PARTS = ("base", "dx", "dy")


def attribute_name(attribute: Attribute) -> str:
    """The name of an attribute in the shaders."""
    name = attribute.kind.name.lower()
    return f"{name}{attribute.index}" if attribute.kind is AttributeKind.TEXCOORD else name


def parameter_name(parameter: Parameter) -> str:
    """The name in the shaders of a parameter that is not a constant, or of a vector of state."""
    if parameter.space is ParameterSpace.STATE:
        return identifier(parameter.binding)
    return f"{PARAMETERS[parameter.space]}{parameter.index}"


@lru_cache(maxsize=4096)
def variable_name(variable: Variable) -> str:
    """A GLSL identifier, which cannot contain `$` or two underscores in a row."""
    row = "" if variable.row is None else f"_r{variable.row}"
    column = "" if variable.column is None else f"_c{variable.column}"
    corner = f"_q{variable.corner}" if variable.corner else ""
    match variable.role:
        case Role.TEMPORARY:
            name = "t_" + variable.name.replace("_", "u_").replace("$", "d_")
        case Role.RESULT:
            kind = "result" if variable.name == "color" else variable.name
            name = f"{kind}{variable.number}"
        case Role.ATTRIBUTE:
            name = attribute_name(attribute_of(variable))
        case Role.OWN:
            name = f"own{variable.number}"
        case _:
            name = f"{variable.name}{variable.number or ''}"
    return name + corner + row + column


def bare_literal(value: float) -> str:
    """A float32 that GLSL reads back exactly; a denormal, an infinity or a NaN by its bits."""
    with np.errstate(over="ignore"):
        number = np.float32(value)
    if not np.isfinite(number) or 0 < abs(number) < np.finfo(np.float32).tiny:
        return f"uintBitsToFloat({int(number.view(np.uint32)):#x}u)"
    return repr(float(number))


def literal(value: float) -> str:
    """The same number as an operand: in parentheses if it is negative."""
    text = bare_literal(value)
    return f"({text})" if text.startswith("-") else text


class GlslEmitter(TextEmitter):
    """Spells expressions and statements, and records the names that they use for the shader's head.

    exact: multiply and add are kept apart, quotients and roots are computed in double where the
    dialect has it, and constants are hidden from the compiler. Mesa folds x * 0.0 to 0, though it
    is NaN for an infinity, and x + 0.0 to x, though -0 becomes 0; `precise` does not forbid that.
    So constants are computed from the uniform `zero`, whose value the compiler does not know.
    _wide_variables: the variables declared as doubles.
    """

    infix, called = _INFIX, _CALLED

    def __init__(self, dialect: Dialect, arithmetic: Arithmetic = FP32, *, exact: bool) -> None:
        """arithmetic: the one that ROUND rounds to."""
        super().__init__()
        self._wide_variables: set[Variable] = set()
        self.dialect, self.arithmetic, self.exact = dialect, arithmetic, exact
        self._helpers: dict[Helper, set[int]] = {}
        self._functions: dict[str, list[str]] = {}
        self._hides = exact
        self._hidden: dict[str, None] = {}
        self._before: list[str] = []
        self._arguments = 0
        self._computes_wide = exact and dialect.precise and arithmetic.rounds

    def source(self, given: Given) -> str:
        match given.source:
            case Parameter() as parameter:
                return parameter_name(parameter)
            case PlanePart(attribute=attribute, part=part):
                return f"{attribute_name(attribute)}_{PLANE_PARTS[part]}"
            case Place() as place:
                return PLACES[place]

    # The head

    def head(self) -> tuple[list[str], list[str]]:
        """The uniforms of constants that are hidden, and the functions, each before its calls.

        Call it after all statements are spelled: functions may need uniforms.
        """
        functions = []
        one = self._number(1.0) if HELPERS[Operator.POWER] in self._helpers else ""
        spelled = {"precise": self.dialect.precise, "one": one}
        helpers = sorted(self._helpers.items(), key=lambda each: each[0] is not CONSTANT)
        for helper, widths in helpers:
            functions.append(helper.definition(spelled))
            functions += [helper.overload(width) for width in sorted(widths - {1})]
        functions += [line for lines in self._functions.values() for line in lines]
        values = {"zero": "0.0", "one": "1.0"}
        names = [name + (f" = {values[name]}" * self.dialect.initialises) for name in self._hidden]
        uniforms = [f"uniform float {', '.join(sorted(names, reverse=True))};"] if names else []
        return uniforms, functions

    def function_names(self) -> list[str]:
        """The names of what the head declares."""
        return [*self._hidden, *(helper.name for helper in self._helpers), *self._functions]

    # Statements

    def block(self, statements: Sequence[Statement]) -> list[str]:
        """Statements as indented lines, each after those that compute its functions' arguments."""
        outer, lines = self._before, list[str]()
        for statement in statements:
            self._before = []
            own = self._lines(statement)
            lines += self._before + own
        self._before = outer
        return [f"    {line}" for line in lines]

    def _lines(self, statement: Statement) -> list[str]:  # noqa: PLR0911 - a case each
        match statement:
            case Assign(variable=variable, components=wanted, value=value):
                target = self.name(variable) + self.suffix(wanted, variable.type.width)
                return [f"{target} = {self.widened(value, len(wanted))};"]
            case Declare(variable=variable, value=value):
                return [self._declaration(variable, value)]
            case Store(element=element, value=value):
                return [f"{self.expression(element)} = {self.expression(value)};"]
            case Discard(condition=condition):
                return [f"if ({self._discarding(condition)}) discard;"]
            case Dead(instruction=instruction):
                return [f"// {print_instruction(instruction)}"]
            case Barrier():
                return ["barrier();"]
            case Return():
                return ["return;"]
            case Break():
                return ["break;"]
            case If():
                return self._choice(statement)
            case For():
                return self._loop(statement)
        raise AssertionError(statement)

    def _declaration(self, variable: Variable, value: Expression | None) -> str:
        kind, is_wide = variable.type, False
        if self._computes_wide and value is not None and variable.name == PART:
            self._wide_variables.add(variable)
            kind, is_wide = type_of(Kind.DOUBLE, kind.width), True
        # Mesa may turn !(a >= b) into a < b, which differs for NaN.
        precise = "" if kind.kind is Kind.INT else self.dialect.precise
        head = f"{precise}{kind.word} {self.name(variable)}"
        if value is None:
            return f"{head};"
        return f"{head} = {self.wide(value) if is_wide else self.widened(value, kind.width)};"

    def _discarding(self, condition: Expression) -> str:
        """The condition of a discard.

        In WebGL a constant one is hidden: a shader that is known to write nothing might not draw.
        """
        text = self.expression(condition)
        known = all(isinstance(leaf, Constant) for leaf in walk(condition) if not leaf.operands)
        if self.dialect.initialises or not known:
            return text
        self._hidden["zero"] = None
        return f"({text}) && zero < 1.0"

    def _choice(self, statement: If) -> list[str]:
        condition = self.expression(statement.condition)
        then = self.block(statement.then)
        if len(then) == 1 and not statement.otherwise and not then[0].startswith("    //"):
            return [f"if ({condition}) {then[0].strip()}"]
        lines = [f"if ({condition}) {{", *then]
        if statement.otherwise:
            lines += ["} else {", *self.block(statement.otherwise)]
        return [*lines, "}"]

    def _loop(self, loop: For) -> list[str]:
        name, first, last = self.name(loop.number), loop.first, loop.last
        step = f"{name}++" if loop.step == 1 else f"{name} += {loop.step}"
        head = f"for (int {name} = {self.expression(first)}; {name} < {self.expression(last)}; "
        return [f"{head}{step}) {{", *self.block(loop.body), "}"]

    def name(self, variable: Variable) -> str:
        """The name of a variable."""
        return variable_name(variable)

    # Expressions

    def widened(self, value: Expression, width: int) -> str:
        """An expression as a vector of that width. A number is repeated in each component."""
        text = self.expression(value)
        if width == 1 or value.type.width > 1:
            return text
        return f"{type_of(value.type.kind, width).word}({text})"

    def argument(self, value: Expression, width: int) -> str:
        """An argument of a function, as a vector of that width.

        `precise` does not cover the arguments of functions: NVIDIA's compiler contracts them, and
        undoes an fma. So an arithmetic argument gets a precise variable.
        """
        text = self.widened(value, width)
        contracts = any(_of_floats(part, _CONTRACTED) for part in walk(value))
        if not (self.dialect.precise and value.type.kind is Kind.FLOAT and contracts):
            return text
        name, self._arguments = f"argument{self._arguments}", self._arguments + 1
        kind = type_of(Kind.FLOAT, width).word
        self._before.append(f"{self.dialect.precise}{kind} {name} = {text};")
        return name

    def read(self, value: Read) -> str:
        text = self.name(value.variable) + self.suffix(value.components, value.variable.type.width)
        return f"{value.type.word}({text})" if value.variable in self._wide_variables else text

    @staticmethod
    @cache
    def suffix(components: Components, width: int) -> str:
        if components == tuple(range(width)):
            return ""
        return "." + "".join(COMPONENTS[c] for c in components)

    def compose(self, value: Compose) -> str:
        return f"{value.type.word}({', '.join(map(self.expression, _listed(value)))})"

    def call(self, value: Call) -> str:
        name = self._defined(value.function)
        operands = [self.argument(operand, operand.type.width) for operand in value.operands]
        return f"{name}({', '.join(operands)})"

    def _defined(self, function: Function) -> str:
        """The name of a function, which is spelled when it is first called."""
        if function.name not in self._functions:
            # Constants in a function's body need not be hidden. Those in its result must be,
            # whatever calls it first.
            hides, self._hides = self._hides, False
            parameters = ", ".join(f"{p.type.word} {self.name(p)}" for p in function.parameters)
            outer, self._before = self._before, []
            body = self.block(function.body)
            self._hides = self.exact
            result = self.expression(function.result)
            body += [f"    {line}" for line in self._before]
            self._hides, self._before = hides, outer
            head = f"{function.result.type.word} {function.name}({parameters}) {{"
            self._functions[function.name] = [head, *body, f"    return {result};", "}"]
        return function.name

    def constant(self, value: Constant) -> str:
        numbers, kind = value.values, value.type
        if kind.kind is not Kind.FLOAT:
            texts = [str(number).lower() for number in numbers]
            return texts[0] if len(texts) == 1 else f"{kind.word}({', '.join(texts)})"
        if kind.width == 1:
            return self._number(numbers[0])
        texts = [bare_literal(number) for number in numbers]
        text = f"{kind.word}({', '.join(texts[:1] if len(set(texts)) == 1 else texts)})"
        return f"{self.helper(CONSTANT, kind.width)}({text})" if self._hides else text

    def _number(self, value: float) -> str:
        """A number, computed from uniforms if it must be hidden."""
        text = literal(value)
        if not self._hides:
            return text
        if text == "0.0" or (text == "1.0" and self.dialect.initialises):
            name = "zero" if text == "0.0" else "one"
            self._hidden[name] = None
            return name
        return f"{self.helper(CONSTANT, 1)}({text})"

    def helper(self, helper: Helper, width: int) -> str:
        """The name of a helper that is called with numbers, or with vectors of that width."""
        self._helpers.setdefault(helper, set()).add(width)
        if helper is CONSTANT:
            self._hidden["zero"] = None
        return helper.name

    def _called(self, helper: Helper, operands: Sequence[Expression], width: int) -> str:
        texts = [self.argument(operand, width) for operand in operands]
        return f"{self.helper(helper, width)}({', '.join(texts)})"

    def operation(self, value: Operation) -> tuple[str, int]:
        width = value.type.width
        if self.dialect.precise and not self.exact and (parts := multiply_add(value)):
            return f"fma({', '.join(self.widened(part, width) for part in parts)})", ATOM
        if self.exact and self.dialect.precise and value.type.kind is Kind.FLOAT:
            if helper := EXACT_HELPERS.get(value.operator):
                return self._called(helper, value.operands, width), ATOM
        elif root := _reciprocal_root(value):
            return f"inversesqrt({self.expression(root)})", ATOM
        return super().operation(value)

    def other(self, value: Operation) -> tuple[str, int]:
        operator, operands, width = value.operator, value.operands, value.type.width
        match operator:
            case Operator.SELECT:
                return self._select(value)
            case Operator.SATURATE if not self.exact:
                return f"clamp({self.argument(operands[0], width)}, 0.0, 1.0)", ATOM
            case Operator.ROUND:
                return self._rounded(operands[0]), ATOM
            case Operator.NOT:
                return f"!{self.inside(operands[0], SIGN)}", SIGN
            case Operator.IS_NAN:
                bits = f"(floatBitsToUint({self.expression(operands[0])}) & 0x7fffffffu)"
                return f"{bits} > 0x7f800000u", COMPARISON
        return self._called(HELPERS[operator], operands, width), ATOM

    def _rounded(self, value: Expression) -> str:
        """A value rounded to the arithmetic; computed in double if a float could not hold it."""
        rounding = quantize(self.arithmetic)
        wide = self._wide_variables
        reads_wide = any(isinstance(part, Read) and part.variable in wide for part in walk(value))
        if not reads_wide and not (self._computes_wide and _rounds(value)):
            return self._called(rounding, (value,), value.type.width)
        self.helper(rounding, 1)
        name = self.helper(quantize_wide(self.arithmetic), value.type.width)
        return f"{name}({self.wide(value)})"

    def wide(self, value: Expression) -> str:  # noqa: PLR0911 - a case each
        """An expression in double. An operation without a double form is computed in float first.

        In another arithmetic than fp32 the reference machine computes an instruction in float64 and
        rounds its result once. A float is too narrow for that: a product of two fp24 numbers has 34
        bits.
        """
        match value:
            case Operation(operator=operator, operands=operands) if value.type.kind is Kind.FLOAT:
                parts = [self.wide(operand) for operand in operands]
                if operator in _ARITHMETIC:
                    return f"({parts[0]} {_ARITHMETIC[operator]} {parts[1]})"
                if operator in _OF_DOUBLES:
                    return f"{self.called[operator]}({', '.join(parts)})"
                if operator is Operator.NEGATE and _rounds(value):
                    return f"(-{parts[0]})"
            case Compose() if _rounds(value):
                parts = [self.wide(part) for part in _listed(value)]
                return f"{type_of(Kind.DOUBLE, value.type.width).word}({', '.join(parts)})"
            case Swizzle(operands=(vector,), components=components) if _rounds(vector):
                return f"{self.wide(vector)}{self.suffix(components, vector.type.width)}"
            case Read(variable=variable, components=components) if variable in self._wide_variables:
                return self.name(variable) + self.suffix(components, variable.type.width)
        return f"{type_of(Kind.DOUBLE, value.type.width).word}({self.expression(value)})"

    def operand(self, operation: Operation, value: Expression, binds: int) -> str:
        """An operand. A constant in a comparison, or a numerator of 1, is not hidden.

        Compilers handle these correctly. Other numerators are hidden: Mesa folds 0.0 / x to 0,
        though it is NaN if x is 0.
        """
        if isinstance(value, Constant) and value.type == FLOAT:
            divided = operation.operator is Operator.DIVIDE and value is operation.operands[0]
            if operation.operator in COMPARISONS or (divided and _is_one(value)):
                return literal(value.values[0])
        return self.inside(value, binds)

    def _select(self, value: Operation) -> tuple[str, int]:
        """A choice.

        Floats use a function: a compiler may turn an imprecise choice into a min or a max, which
        treat NaN differently.
        """
        (condition, *results), width = value.operands, value.type.width
        if value.type.kind is Kind.FLOAT and _of_floats(condition, COMPARISONS):
            assert isinstance(condition, Operation)
            texts = [self._compared(c, width) for c in condition.operands]
            texts += [self.argument(v, width) for v in results]
            return f"{self.helper(HELPERS[condition.operator], width)}({', '.join(texts)})", ATOM
        a, b = (
            self.widened(v, width) if v.type.width < width else self.inside(v, OR) for v in results
        )
        return f"{self.inside(condition, OR)} ? {a} : {b}", CHOICE

    def _compared(self, value: Expression, width: int) -> str:
        if not isinstance(value, Constant) or value.type.width > 1:
            return self.argument(value, width)
        text = literal(value.values[0])
        return text if width == 1 else f"vec{width}({text})"


def _of_floats(value: Expression, operators: Container[Operator]) -> bool:
    """Whether a value is one of these operations on floats."""
    return (
        isinstance(value, Operation)
        and value.operator in operators
        and value.operands[0].type.kind is Kind.FLOAT
    )


def _rounds(value: Expression) -> bool:
    """Whether an expression has an operation whose result may not fit a float."""
    return any(_of_floats(part, {*_ARITHMETIC, Operator.SQRT}) for part in walk(value))


def _reciprocal_root(value: Operation) -> Expression | None:
    """The operand x of a value 1/√x."""
    match value.operator, *value.operands:
        case Operator.DIVIDE, one, Operation(operator=Operator.SQRT, operands=(x,)) if _is_one(one):
            return x
    return None


def _is_one(value: object) -> bool:
    return isinstance(value, Constant) and set(value.values) == {1.0}


def _listed(value: Compose) -> tuple[Expression, ...]:
    """The arguments of a vector's constructor: one if all its components are the same."""
    parts = value.operands
    return parts[:1] if all(part is parts[0] for part in parts) else parts


def shader_text(head: Iterable[str], body: Iterable[str]) -> str:
    """A shader's text. body: the lines of main."""
    return "\n".join([*head, "", "void main() {", *body, "}", ""])
