"""The assembler: ARB_fragment_program 1.0 text to a Program.

Lark turns the text into statements (grammar.lark); the class here gives the names their meaning
in the order in which the statements stand, as the spec asks: a name is declared before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TypeVar

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput

from gpgpu_legacy.asm.validate import validate
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    IDENTITY,
    Attribute,
    AttributeKind,
    DestinationRegister,
    Dst,
    Instruction,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Span,
    Src,
    Temporary,
    TextureSource,
    TextureTarget,
)
from gpgpu_legacy.isa.opcodes import OPCODES, RESERVED_WORDS, Opcode, Operand

HEADER = "!!ARBfp1.0"

_Node = Tree[Token]
_Register = TypeVar("_Register", Attribute, ResultRegister)
_Symbol = Temporary | Attribute | ResultRegister | ParameterDeclaration
_LETTERS = {letter: Selector(i % 4) for i, letter in enumerate(COMPONENTS + "rgba")}


def assemble(text: str, name: str = "program") -> Program:
    """Assemble the text of a fragment program.

    text: the whole program, from `!!ARBfp1.0` to `END`.
    name: what messages call the text, a file's path as a rule.
    Raises AssemblyError, with line, column and caret, at the first fault.
    """
    if not text.startswith(HEADER):
        raise AssemblyError(
            f"a fragment program begins with {HEADER}, with nothing before it", text, 1, 1, name
        )
    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(error, text, name) from None
    program = _Assembler(text, name).program(tree)
    validate(program, text)
    return program


@cache
def _parser() -> Lark:
    grammar = files("gpgpu_legacy.asm").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, start="program", parser="lalr", propagate_positions=True)


_EXPECTATIONS = {
    "SEMICOLON": "';'",
    "COMMA": "','",
    "NAME": "a name",
    "EQUAL": "'='",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "LSQB": "'['",
    "RSQB": "']'",
    "DOT": "'.'",
    "INTEGER": "an integer",
    "FLOAT": "a number",
    "SIGN": "a sign",
    "TARGET": "a texture target",
    "__ANON_0": "'..'",
}


def _syntax_error(error: UnexpectedInput, text: str, name: str) -> AssemblyError:
    line, column = error.line, error.column
    if isinstance(error, UnexpectedCharacters):
        problem = f"the character {error.char!r} cannot stand here"
        return AssemblyError(problem, text, line, column, name)
    token = getattr(error, "token", None)
    accepts: set[str] = getattr(error, "expected", set())
    expected = sorted({_EXPECTATIONS.get(terminal, terminal) for terminal in accepts})
    if token is None or token.type == "$END":
        lines = text.splitlines()
        line, column = len(lines), len(lines[-1]) + 1
        found = "the end of the text"
    else:
        found = repr(str(token))
    problem = f"unexpected {found}; expected {' or '.join(expected)}"
    return AssemblyError(problem, text, line, column, name)


@dataclass(frozen=True, slots=True)
class _Element:
    """One step of a dotted path: `texcoord[1]`, or `xyzw`."""

    name: str
    first: int | None
    last: int | None
    token: Token

    @property
    def plain(self) -> bool:
        """Whether it has no index."""
        return self.first is None

    @property
    def single(self) -> bool:
        """Whether it has no range for an index."""
        return self.last is None


class _Assembler:
    """Walks the statements once, keeping the names declared so far."""

    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
        self.symbols: dict[str, _Symbol] = {}
        self.temporaries: list[str] = []
        self.declarations: list[ParameterDeclaration] = []
        self.instructions: list[Instruction] = []

    def error(self, problem: str, at: Token | _Node) -> AssemblyError:
        place = at if isinstance(at, Token) else at.meta
        return AssemblyError(problem, self.text, place.line or 1, place.column or 1, self.name)

    def program(self, tree: _Node) -> Program:
        statements: dict[str, Callable[[_Node], None]] = {
            "option": self.option,
            "instruction": self.instruction,
            "attrib": self.attrib,
            "param_single": self.param_single,
            "param_multiple": self.param_multiple,
            "temp": self.temp,
            "output": self.output,
            "alias": self.alias,
        }
        for node in tree.children:
            if isinstance(node, Tree):
                statements[node.data](node)
        return Program(
            tuple(self.instructions), tuple(self.temporaries), tuple(self.declarations), self.name
        )

    # Statements ---------------------------------------------------------------------------

    def option(self, node: _Node) -> None:
        token = _token(node, 0)
        raise self.error(f"OPTION {token} is not supported; leave it out", token)

    def declare(self, token: Token, symbol: _Symbol) -> None:
        if token in RESERVED_WORDS:
            raise self.error(f"{token} is a reserved word and cannot name a variable", token)
        if token in self.symbols:
            raise self.error(f"{token} is declared twice; give it another name", token)
        self.symbols[str(token)] = symbol

    def temp(self, node: _Node) -> None:
        for child in node.children:
            assert isinstance(child, Token)
            self.declare(child, Temporary(str(child)))
            self.temporaries.append(str(child))

    def attrib(self, node: _Node) -> None:
        register = self.whole_binding(_tree(node, 1), "fragment", self.attribute)
        self.declare(_token(node, 0), register)

    def output(self, node: _Node) -> None:
        register = self.whole_binding(_tree(node, 1), "result", self.result)
        self.declare(_token(node, 0), register)

    def alias(self, node: _Node) -> None:
        new, old = _token(node, 0), _token(node, 1)
        self.declare(new, self.lookup(old))

    def param_single(self, node: _Node) -> None:
        token, item = _token(node, 0), _tree(node, 1)
        parameters = self.param_item(item)
        if len(parameters) != 1:
            raise self.error(
                f"{token} is a single parameter but is bound to {len(parameters)}; "
                f"declare it as an array, {token}[]",
                item,
            )
        self.declare_parameters(token, [replace(parameters[0], name=str(token))], is_array=False)

    def param_multiple(self, node: _Node) -> None:
        token, size, *items = node.children
        assert isinstance(token, Token)
        parameters = [p for item in items for p in self.param_item(item)]
        if size is not None and int(str(size)) != len(parameters):
            raise self.error(
                f"{token} is declared with {size} elements but bound to {len(parameters)}", token
            )
        named = [replace(p, name=f"{token}[{i}]") for i, p in enumerate(parameters)]
        self.declare_parameters(token, named, is_array=True)

    def declare_parameters(
        self, token: Token, parameters: list[Parameter], *, is_array: bool
    ) -> None:
        declaration = ParameterDeclaration(str(token), tuple(parameters), is_array)
        self.declare(token, declaration)
        self.declarations.append(declaration)

    def param_item(self, node: Tree[Token] | Token | None) -> list[Parameter]:
        assert isinstance(node, Tree)
        if node.data == "path":
            elements = _elements(node)
            if elements[0].name != "program":
                raise self.error(
                    "a parameter is bound to program.local[n], program.env[n], a number or a "
                    "vector in braces",
                    node,
                )
            parameters, rest = self.program_parameters(elements)
            if rest:
                raise self.error("a binding takes no suffix", rest[0].token)
            return parameters
        return [self.constant(node)]

    def instruction(self, node: _Node) -> None:
        token = _token(node, 0)
        opcode, saturate = self.opcode(token)
        operands = [child for child in node.children[1:] if isinstance(child, Tree)]
        kinds = _flatten(opcode.shape.value)
        if len(operands) != len(kinds):
            raise self.error(
                f"{opcode.mnemonic} takes {len(kinds)} operands "
                f"({', '.join(kind.value for kind in opcode.shape.value)}), found {len(operands)}",
                token,
            )
        dst: Dst | None = None
        sources: list[Src] = []
        selectors: list[_Node] = []
        unit, target = None, None
        for kind, operand in zip(kinds, operands, strict=True):
            match kind:
                case Operand.DESTINATION:
                    dst = self.destination(operand)
                case Operand.VECTOR | Operand.SCALAR | Operand.REGISTER:
                    sources.append(self.source(operand, kind))
                case Operand.EXTENDED_SWIZZLE:
                    selectors.append(operand)
                case Operand.TEXTURE_UNIT:
                    unit = self.texture_unit(operand)
                case Operand.TEXTURE_TARGET:
                    target = self.texture_target(operand)
        if selectors:
            sources[0] = _with_selectors(sources[0], self.extended_swizzle(selectors))
        texture = None if unit is None or target is None else TextureSource(unit, target)
        span = Span(token.line or 1, token.column or 1)
        self.instructions.append(
            Instruction(opcode.mnemonic, dst, tuple(sources), texture, saturate, span)
        )

    def opcode(self, token: Token) -> tuple[Opcode, bool]:
        mnemonic = str(token).removesuffix("_SAT")
        saturate = mnemonic != token
        row = OPCODES.get(mnemonic)
        if row is None or (saturate and not row.saturable):
            known = ", ".join(sorted(OPCODES))
            raise self.error(f"{token} is not an opcode known here; known are {known}", token)
        return row, saturate

    # Operands -----------------------------------------------------------------------------

    def destination(self, operand: _Node) -> Dst:
        sign, item = operand.children
        if sign is not None or not isinstance(item, Tree) or item.data != "path":
            raise self.error("a destination is a temporary or a result register", operand)
        elements = _elements(item)
        register: DestinationRegister
        if elements[0].name == "result":
            register, rest = self.result(elements)
        else:
            symbol, rest = self.lookup(elements[0].token), elements[1:]
            if not isinstance(symbol, Temporary | ResultRegister):
                raise self.error(
                    f"{elements[0].name} cannot be written; a destination is a temporary or a "
                    "result register",
                    item,
                )
            self.no_index(elements[0])
            register = symbol
        return Dst(register, self.write_mask(rest))

    def write_mask(self, rest: list[_Element]) -> tuple[bool, bool, bool, bool]:
        if not rest:
            return (True, True, True, True)
        selected = self.letters(rest, "a write mask")
        indices = [selector.value for selector in selected]
        if indices != sorted(set(indices)):
            raise self.error(
                "a write mask names each component once, in the order xyzw or rgba", rest[0].token
            )
        return (0 in indices, 1 in indices, 2 in indices, 3 in indices)

    def source(self, operand: _Node, kind: Operand) -> Src:
        sign, item = operand.children
        if not isinstance(item, Tree):
            raise self.error("expected a register or a constant", operand)
        negative = sign is not None and sign == "-"
        register: SourceRegister
        if item.data == "path":
            register, rest = self.source_register(_elements(item))
            is_number = False
        else:
            value, suffix = item.children
            assert isinstance(value, Tree)
            register, rest = self.constant(value), _suffix(suffix)
            is_number = value.data == "number"
        if kind is Operand.REGISTER and (rest or sign is not None):
            raise self.error("the extended swizzle carries the signs and selectors", operand)
        if kind is Operand.SCALAR and not rest and not is_number:
            raise self.error("a scalar operand needs one component, as in R0.x", item)
        swizzle = self.swizzle(rest, scalar=kind is Operand.SCALAR)
        return Src(register, swizzle, (negative,) * 4)

    def swizzle(
        self, rest: list[_Element], *, scalar: bool
    ) -> tuple[Selector, Selector, Selector, Selector]:
        if not rest:
            return IDENTITY
        selected = self.letters(rest, "a swizzle")
        if len(selected) == 1:
            return (selected[0],) * 4
        if len(selected) != 4 or scalar:
            wanted = "1 letter" if scalar else "1 or 4 letters"
            raise self.error(f"a swizzle has {wanted} here", rest[0].token)
        return (selected[0], selected[1], selected[2], selected[3])

    def letters(self, rest: list[_Element], what: str) -> list[Selector]:
        element = rest[0]
        if len(rest) > 1:
            raise self.error(f"nothing may follow {what}", rest[1].token)
        if not element.plain:
            raise self.error(f"only {what} may follow here", element.token)
        if not (set(element.name) <= set(COMPONENTS) or set(element.name) <= set("rgba")):
            raise self.error(
                f"{what} is made of x, y, z, w or of r, g, b, a, not both", element.token
            )
        return [_LETTERS[letter] for letter in element.name]

    def extended_selector(self, operand: _Node) -> tuple[Selector, bool]:
        sign, item = operand.children
        text = _flat_text(item)
        constants = {"0": Selector.ZERO, "1": Selector.ONE}
        selector = constants.get(text) or _LETTERS.get(text)
        is_vector = isinstance(item, Tree) and any(item.find_data("vector"))
        if selector is None or is_vector:
            raise self.error("an extended swizzle is made of 0, 1 and components", operand)
        return selector, sign == "-"

    def extended_swizzle(self, operands: list[_Node]) -> list[tuple[Selector, bool]]:
        selectors = [self.extended_selector(operand) for operand in operands]
        families = set[bool]()
        for operand in operands:
            letter = _flat_text(operand.children[1])
            families |= {letter in COMPONENTS} if letter.isalpha() else set()
            if len(families) > 1:
                raise self.error(
                    "an extended swizzle is made of x, y, z, w or of r, g, b, a, not both", operand
                )
        return selectors

    def texture_unit(self, operand: _Node) -> int:
        sign, item = operand.children
        if sign is None and isinstance(item, Tree) and item.data == "path":
            first, *rest = _elements(item)
            if first.name == "texture" and not rest and first.single:
                return first.first or 0
        raise self.error("expected a texture image unit, as in texture[0]", operand)

    def texture_target(self, operand: _Node) -> TextureTarget:
        sign, item = operand.children
        names = [target.value for target in TextureTarget]
        if sign is not None or _flat_text(item) not in names:
            raise self.error(f"expected a texture target: {', '.join(names)}", operand)
        return TextureTarget(_flat_text(item))

    # Registers ----------------------------------------------------------------------------

    def lookup(self, token: Token) -> _Symbol:
        symbol = self.symbols.get(str(token))
        if symbol is None:
            raise self.error(f"{token} is not declared; declare it before it is used", token)
        return symbol

    def no_index(self, *elements: _Element) -> None:
        for element in elements:
            if not element.plain:
                raise self.error(f"{element.name} is no array", element.token)

    def source_register(self, elements: list[_Element]) -> tuple[SourceRegister, list[_Element]]:
        head = elements[0]
        if head.name == "fragment":
            return self.attribute(elements)
        if head.name == "program":
            parameters, rest = self.program_parameters(elements)
            if len(parameters) != 1:
                raise self.error("an operand reads one parameter, not a range", head.token)
            return parameters[0], rest
        if head.name == "result":
            raise self.error("result registers can only be written", head.token)
        if head.name == "state":
            raise self.error("state bindings are not supported; bind program.env", head.token)
        symbol = self.lookup(head.token)
        if isinstance(symbol, ResultRegister):
            raise self.error(f"{head.name} is a result and can only be written", head.token)
        if isinstance(symbol, ParameterDeclaration):
            return self.element_of(symbol, head), elements[1:]
        self.no_index(head)
        return symbol, elements[1:]

    def element_of(self, declaration: ParameterDeclaration, use: _Element) -> Parameter:
        if not declaration.is_array:
            self.no_index(use)
            return declaration.parameters[0]
        size = len(declaration.parameters)
        if use.first is None or use.last is not None or use.first >= size:
            raise self.error(
                f"{use.name} is an array; name one element, from {use.name}[0] on to [{size - 1}]",
                use.token,
            )
        return declaration.parameters[use.first]

    def whole_binding(
        self,
        node: _Node,
        space: str,
        resolve: Callable[[list[_Element]], tuple[_Register, list[_Element]]],
    ) -> _Register:
        elements = _elements(node)
        if elements[0].name != space:
            raise self.error(f"expected a binding that begins with {space}.", node)
        register, rest = resolve(elements)
        if rest:
            raise self.error("a binding takes no suffix", rest[0].token)
        return register

    def attribute(self, elements: list[_Element]) -> tuple[Attribute, list[_Element]]:
        self.no_index(elements[0])
        item = elements[1] if len(elements) > 1 else elements[0]
        if item.name == AttributeKind.TEXCOORD.value:
            if not item.single:
                raise self.error("one texture coordinate set is read, not a range", item.token)
            return Attribute(AttributeKind.TEXCOORD, item.first or 0), elements[2:]
        kinds = {
            "color": AttributeKind.COLOR,
            "fogcoord": AttributeKind.FOGCOORD,
            "position": AttributeKind.POSITION,
        }
        if item.name not in kinds:
            raise self.error(
                "fragment attributes are fragment.color, .texcoord[n], .fogcoord and .position",
                elements[0].token,
            )
        self.no_index(item)
        kind, rest = kinds[item.name], elements[2:]
        which = rest[0].name if kind is AttributeKind.COLOR and rest else ""
        if which in ("primary", "secondary"):
            self.no_index(rest[0])
            kind = AttributeKind.SECONDARY_COLOR if which == "secondary" else kind
            rest = rest[1:]
        return Attribute(kind), rest

    def result(self, elements: list[_Element]) -> tuple[ResultRegister, list[_Element]]:
        names = {kind.value: kind for kind in ResultKind}
        if len(elements) < 2 or elements[1].name not in names:
            raise self.error("results are result.color and result.depth", elements[0].token)
        self.no_index(*elements[:2])
        return ResultRegister(names[elements[1].name]), elements[2:]

    def program_parameters(
        self, elements: list[_Element]
    ) -> tuple[list[Parameter], list[_Element]]:
        self.no_index(elements[0])
        spaces = {"local": ParameterSpace.LOCAL, "env": ParameterSpace.ENV}
        item = elements[1] if len(elements) > 1 else None
        if item is None or item.name not in spaces or item.first is None:
            raise self.error(
                "program parameters are program.local[n] and program.env[n]", elements[0].token
            )
        last = item.first if item.last is None else item.last
        if last < item.first:
            raise self.error(f"the range {item.first}..{last} runs backwards", item.token)
        space = spaces[item.name]
        return [Parameter(space, i) for i in range(item.first, last + 1)], elements[2:]

    def constant(self, node: _Node) -> Parameter:
        if node.data == "vector":
            numbers = [_number(child) for child in node.children]
            if len(numbers) > 4:
                raise self.error("a vector has 1 to 4 components", node)
            x, y, z, w = numbers + [0.0, 0.0, 0.0, 1.0][len(numbers) :]
            return Parameter(ParameterSpace.CONSTANT, value=(x, y, z, w))
        value = _number(node)
        return Parameter(ParameterSpace.CONSTANT, value=(value,) * 4)


# Trees --------------------------------------------------------------------------------------


def _token(node: _Node, index: int) -> Token:
    child = node.children[index]
    assert isinstance(child, Token)
    return child


def _tree(node: _Node, index: int) -> _Node:
    child = node.children[index]
    assert isinstance(child, Tree)
    return child


def _flatten(kinds: tuple[Operand, ...]) -> list[Operand]:
    """One entry an operand as written: the extended swizzle is written as four."""
    return [k for kind in kinds for k in [kind] * (4 if kind is Operand.EXTENDED_SWIZZLE else 1)]


def _flat_text(item: Tree[Token] | Token | None) -> str:
    if isinstance(item, Tree):
        return "".join(str(token) for token in item.scan_values(lambda value: value is not None))
    return str(item)


def _elements(path: _Node) -> list[_Element]:
    elements = []
    for child in path.children:
        assert isinstance(child, Tree)
        token, index = child.children
        assert isinstance(token, Token)
        first, last = (None, None) if index is None else index.children  # type: ignore[union-attr]
        elements.append(
            _Element(
                str(token),
                None if first is None else int(str(first)),
                None if last is None else int(str(last)),
                token,
            )
        )
    return elements


def _suffix(token: Tree[Token] | Token | None) -> list[_Element]:
    """The suffix of a constant, as the rest of a path."""
    return [_Element(str(token), None, None, token)] if isinstance(token, Token) else []


def _number(node: Tree[Token] | Token | None) -> float:
    """The value of a `number` or a `signed_number`; 4-vectors hold Python floats."""
    assert isinstance(node, Tree)
    if node.data == "number":
        return float(str(node.children[0]))
    sign, number = node.children
    return -_number(number) if sign == "-" else _number(number)


def _with_selectors(src: Src, selectors: list[tuple[Selector, bool]]) -> Src:
    (x, nx), (y, ny), (z, nz), (w, nw) = selectors
    return Src(src.register, (x, y, z, w), (nx, ny, nz, nw))
