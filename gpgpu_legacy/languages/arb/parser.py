"""The assembler: ARB_fragment_program 1.0 text to a Program.

syntax.py reads the text statement by statement; the class here gives the names their meaning in the
order in which the statements stand, as the spec asks: a name is declared before it is used. A wrong
statement is left behind at its semicolon and the next one is looked at, so that independent faults
are reported in one go; what is wrong only because of an earlier fault is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from lark import Token

from gpgpu_legacy.arguments import as_instance, as_text
from gpgpu_legacy.isa.ir import (
    DRAW_BUFFERS,
    IDENTITY,
    Attribute,
    AttributeDeclaration,
    DestinationRegister,
    Dst,
    Fog,
    Instruction,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    ResultRegister,
    SourceRegister,
    Span,
    Src,
    Temporary,
    TextureSource,
    TextureTarget,
)
from gpgpu_legacy.isa.opcodes import OPCODES, RESERVED_WORDS, Operand
from gpgpu_legacy.languages.arb import bindings
from gpgpu_legacy.languages.arb.diagnostics import (
    MOST_FAULTS,
    EarlierFaultError,
    FaultError,
    Text,
    nearest,
    offset_of,
    shortened,
)
from gpgpu_legacy.languages.arb.lexer import END_OF_TEXT, STARTERS, tokens
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS, Limits
from gpgpu_legacy.languages.arb.operands import (
    DESTINATIONS,
    OPERANDS,
    extended_swizzle,
    swizzle,
    write_mask,
)
from gpgpu_legacy.languages.arb.syntax import (
    GRAMMAR_SECTION,
    LONGEST_STATEMENT,
    AliasStatement,
    BindingStatement,
    Constant,
    InstructionStatement,
    OptionStatement,
    ParamStatement,
    Path,
    PathElement,
    Statement,
    TempStatement,
    WrittenOperand,
    form,
    found,
    read_statement,
)
from gpgpu_legacy.languages.arb.validate import check_limits

HEADER = "!!ARBfp1.0"

_Symbol = Temporary | Attribute | ResultRegister | ParameterDeclaration

_PRECISIONS = ("ARB_precision_hint_fastest", "ARB_precision_hint_nicest")
_FOGS = tuple(mode.value for mode in Fog)
_EXCLUSIVE = ((_FOGS, "3.11.4.5.1"), (_PRECISIONS, "3.11.4.5.2"))
OPTIONS = (*_FOGS, *_PRECISIONS, *DRAW_BUFFERS)
"""The options that are supported. ATI_draw_buffers is ARB_draw_buffers by its earlier name."""

ARRAYS = "3.11.4.2"
OPTION_SECTION = "3.11.4.5"
TEXTURES = "3.11.6"
VARIABLES = "3.11.3"


def assemble(text: str, name: str = "program", *, limits: Limits = DEFAULT_LIMITS) -> Program:
    """Assemble the text of a fragment program.

    text: the whole program, from `!!ARBfp1.0` to `END`.
    name: what messages call the text, a file's path as a rule.
    limits: which indices there are and how much a program may use.
    Raises AssemblyError with the faults that were found, each with its place, and InputError for
    a text that is no str.
    """
    as_text("text", text, "the text of a program as a str")
    as_text("name", name, "a name for messages")
    as_instance("limits", limits, Limits)
    return _Assembler(text, name, limits).program()


class _Assembler:
    """Reads the statements once, keeping the names declared so far."""

    def __init__(self, text: str, name: str, limits: Limits) -> None:
        self.text, self.limits = Text(text, name), limits
        self.faults: list[FaultError] = []
        self.symbols: dict[str, _Symbol] = {}
        self.given_up = set[str]()
        """Names whose declaration is wrong, or whose being undeclared is reported already."""
        self.options: list[str] = []
        self.options_may_follow = True
        self.temporaries: list[str] = []
        self.attributes: list[AttributeDeclaration] = []
        self.declarations: list[ParameterDeclaration] = []
        self.instructions: list[Instruction] = []
        self.targets: dict[int, TextureTarget] = {}
        self.read: list[Token] = []
        """The tokens of the statement that is looked at."""
        self.broken_off = False
        """Whether the last statement had a fault and no semicolon, so that END is not missed."""

    def program(self) -> Program:
        if not self.text.text.startswith(HEADER):
            raise self.text.error([_header_fault(self.text.text)])
        self.statements(tokens(self.text.text, len(HEADER)))
        program = Program(
            tuple(self.instructions),
            tuple(self.temporaries),
            tuple(self.declarations),
            self.text.name,
            tuple(self.options),
            tuple(self.attributes),
        )
        if not self.faults:
            self.faults += check_limits(program, self.limits, len(self.text.text))
        if self.faults:
            raise self.text.error(self.faults)
        return program

    def statements(self, stream: Iterator[Token]) -> None:
        """Read up to END, or to the end of the text, or until there are faults enough."""
        token = next(stream)
        while token.type not in ("END", END_OF_TEXT) and len(self.faults) < MOST_FAULTS:
            token = self.statement(token, stream)
        if token.type == "END":
            after = next(stream)
            if after.type != END_OF_TEXT:
                problem = f"unexpected {found(after)} after END"
                expected = "END is the last thing in a program; put a # before what follows it"
                self.faults.append(FaultError(problem, expected, GRAMMAR_SECTION, after))
        elif token.type == END_OF_TEXT and not self.broken_off:
            problem = "unexpected end of the text"
            expected = "expected END after the last statement"
            self.faults.append(FaultError(problem, expected, GRAMMAR_SECTION, token))

    def statement(self, head: Token, stream: Iterator[Token]) -> Token:
        """Read one statement and give it its meaning; the first token after it."""
        self.read = read = [head]
        try:
            if head.type not in STARTERS:
                raise _no_statement(head)
            statement = read_statement(head, stream, read)
        except FaultError as fault:
            self.faults.append(fault)
            return self.recover(stream)
        try:
            self.meaning(statement)
        except (FaultError, EarlierFaultError) as fault:
            self.give_up()
            if isinstance(fault, FaultError):
                self.faults.append(fault)
        return next(stream)

    def recover(self, stream: Iterator[Token]) -> Token:
        """Go on to the next statement: behind a semicolon, or at a keyword on a further line."""
        read = self.read
        head, token = read[0], read[-1]
        line = self.text.place(offset_of(head))[0]
        while token.type not in ("_SEMICOLON", END_OF_TEXT):
            if len(read) > LONGEST_STATEMENT:
                token = Token(END_OF_TEXT, "")
                break
            if token.type in STARTERS and self.text.place(offset_of(token))[0] != line:
                break
            token = next(stream)
            read.append(token)
        self.give_up()
        self.broken_off = token.type == END_OF_TEXT
        return next(stream) if token.type == "_SEMICOLON" else token

    def give_up(self) -> None:
        """Let no name that a wrong declaration would have declared be called undeclared."""
        head = self.read[0]
        if head.type not in ("TEMP", "PARAM", "ATTRIB", "OUTPUT", "ALIAS"):
            return
        for before, token in pairwise(self.read):
            if token.type == "NAME" and (before is head or before.type == "_COMMA"):
                if head.type == "TEMP":
                    self.symbols.setdefault(str(token), Temporary(str(token)))
                self.given_up.add(str(token))

    def meaning(self, statement: Statement) -> None:
        if isinstance(statement, OptionStatement):
            self.option(statement)
            return
        self.options_may_follow = False
        match statement:
            case InstructionStatement():
                self.instruction(statement)
            case ParamStatement():
                self.param(statement)
            case TempStatement():
                self.temp(statement)
            case AliasStatement():
                self.declare(statement.new, self.lookup(statement.old))
            case BindingStatement() if statement.keyword.type == "ATTRIB":
                self.attrib(statement)
            case BindingStatement():
                self.output(statement)

    # Declarations -------------------------------------------------------------------------

    def option(self, statement: OptionStatement) -> None:
        name, at = str(statement.name), statement.name
        if not self.options_may_follow:
            at = statement.keyword
            expected = "move it up, to the lines after the header"
            raise FaultError(
                "OPTION stands before all other statements", expected, OPTION_SECTION, at
            )
        if name not in OPTIONS:
            near = nearest(name, OPTIONS)
            meant = f"did you mean {near}? " if near else ""
            expected = f"{meant}leave it out; known are {', '.join(OPTIONS)}"
            problem = f"OPTION {shortened(name)} is not supported"
            raise FaultError(problem, expected, OPTION_SECTION, at)
        for exclusive, section in _EXCLUSIVE:
            other = next((o for o in exclusive if o in self.options and o != name), None)
            if name in exclusive and other:
                problem = f"OPTION {name} cannot be together with {other}"
                raise FaultError(problem, "leave one of the two out", section, at)
        if name not in self.options:
            self.options.append(name)

    def declare(self, token: Token, symbol: _Symbol) -> None:
        if token in self.symbols:
            problem = f"{shortened(token)} is declared twice"
            raise FaultError(problem, "give it another name", VARIABLES, token)
        self.symbols[str(token)] = symbol

    def temp(self, statement: TempStatement) -> None:
        for name in statement.names:
            try:
                self.declare(name, Temporary(str(name)))
            except FaultError as fault:
                self.faults.append(fault)
                if len(self.faults) == MOST_FAULTS:
                    break
            else:
                self.temporaries.append(str(name))

    def attrib(self, statement: BindingStatement) -> None:
        elements = statement.path.elements
        self.expect_head(elements, "fragment", "an attribute", bindings.ATTRIBUTES)
        attribute, rest = bindings.attribute(elements, self.limits)
        bindings.no_suffix(rest, bindings.ATTRIBUTES)
        self.declare(statement.name, attribute)
        self.attributes.append(AttributeDeclaration(str(statement.name), attribute))

    def output(self, statement: BindingStatement) -> None:
        elements = statement.path.elements
        self.expect_head(elements, "result", "an output", bindings.RESULTS)
        register, rest = bindings.result(elements, self.limits, self.options)
        bindings.no_suffix(rest, bindings.RESULTS)
        self.declare(statement.name, register)

    def expect_head(
        self, elements: tuple[PathElement, ...], head: str, what: str, section: str
    ) -> None:
        if elements[0].name != head:
            problem = f"{what} cannot be bound to {shortened(elements[0].name)}"
            expected = f"expected a binding that begins with {head}."
            raise FaultError(problem, expected, section, elements[0].token)

    def param(self, statement: ParamStatement) -> None:
        name = statement.name
        parameters: list[Parameter] = []
        for item in statement.items:
            parameters += self.param_item(item, statement)
            if len(parameters) > self.limits.parameters:
                problem = f"{name} has more elements than an array may have"
                expected = f"its size is from 1 to {self.limits.parameters}"
                raise FaultError(problem, expected, bindings.PARAMETERS, name)
        if not statement.is_array:
            named = [replace(parameters[0], name=str(name))]
        else:
            self.check_size(statement, len(parameters))
            named = [replace(p, name=f"{name}[{i}]") for i, p in enumerate(parameters)]
        declaration = ParameterDeclaration(str(name), tuple(named), statement.is_array)
        self.declare(name, declaration)
        self.declarations.append(declaration)

    def check_size(self, statement: ParamStatement, count: int) -> None:
        size = statement.size
        if size is None:
            return
        declared, at = bindings.integer(size), size
        if not 1 <= declared <= self.limits.parameters:
            problem = f"an array cannot have {shortened(size)} elements"
            allowed = f"its size is from 1 to {self.limits.parameters}"
            raise FaultError(problem, allowed, bindings.PARAMETERS, at)
        if declared != count:
            elements = "1 element" if declared == 1 else f"{declared} elements"
            problem = f"{statement.name} is declared with {elements} but bound to {count}"
            expected = f"write {statement.name}[{count}], or leave the number out"
            raise FaultError(problem, expected, bindings.PARAMETERS, at)

    def param_item(self, item: Path | Constant, statement: ParamStatement) -> tuple[Parameter, ...]:
        if isinstance(item, Constant):
            return (self.constant(item),)
        head = item.elements[0]
        if head.name not in ("program", "state"):
            problem = f"a parameter cannot be bound to {shortened(head.name)}"
            expected = (
                "bind it to program.local[n], program.env[n], a state vector, a number or a vector "
                "in braces"
            )
            raise FaultError(problem, expected, bindings.PARAMETERS, head.token)
        bound = bindings.parameters(item.elements, self.limits)
        bindings.no_suffix(bound.rest, bindings.PARAMETERS)
        if not bound.is_single and not statement.is_array:
            name = statement.name
            problem = f"{name} is a single parameter but is bound to {_several(bound)}"
            expected = f"declare it as an array, {name}[], with the binding in braces"
            raise FaultError(problem, expected, bindings.PARAMETERS, head.token)
        return bound.parameters

    def constant(self, constant: Constant) -> Parameter:
        if constant.fifth is not None:
            expected = "leave out what comes after the fourth"
            at = constant.fifth
            raise FaultError("a vector has 1 to 4 components", expected, bindings.PARAMETERS, at)
        return Parameter(ParameterSpace.CONSTANT, value=constant.value)

    # Instructions -------------------------------------------------------------------------

    def instruction(self, statement: InstructionStatement) -> None:
        token = statement.opcode
        mnemonic = token.removesuffix("_SAT")
        kinds = _KINDS[mnemonic]
        operands = statement.operands
        if len(operands) != len(kinds):
            raise self.wrong_count(statement, len(kinds))
        dst: Dst | None = None
        sources: list[Src] = []
        unit, target = None, None
        for kind, operand in zip(kinds, operands, strict=True):
            match kind:
                case Operand.DESTINATION:
                    dst = self.destination(operand)
                case Operand.VECTOR | Operand.SCALAR | Operand.REGISTER:
                    sources.append(self.source(operand, kind))
                case Operand.TEXTURE_UNIT:
                    unit = self.texture_unit(operand)
                case Operand.TEXTURE_TARGET:
                    target = self.texture_target(operand, unit)
        if Operand.EXTENDED_SWIZZLE in kinds:
            sources[0] = extended_swizzle(sources[0], operands[-4:])
        texture = None if unit is None or target is None else TextureSource(unit, target)
        span = Span(*self.text.place(offset_of(token)))
        self.instructions.append(
            Instruction(mnemonic, dst, tuple(sources), texture, len(mnemonic) < len(token), span)
        )

    def wrong_count(self, statement: InstructionStatement, count: int) -> FaultError:
        """The fault of a wrong number of operands: at the comma too many, or at the semicolon."""
        token, operands = statement.opcode, statement.operands
        mnemonic = token.removesuffix("_SAT")
        names = ", ".join(kind.value for kind in OPCODES[mnemonic].shape.value)
        plural = "s" if count > 1 else ""
        problem = f"{mnemonic} takes {count} operand{plural} ({names}), found {len(operands)}"
        at = self.read[-1]
        if len(operands) > count:
            extra = operands[count].token
            at = next(before for before, token in pairwise(self.read) if token is extra)
        return FaultError(problem, f"as in {form(token)}", OPCODES[mnemonic].spec, at)

    def destination(self, operand: WrittenOperand) -> Dst:
        item = operand.item
        if operand.sign is not None or not isinstance(item, Path):
            problem = f"{found(operand.token)} cannot be written to"
            expected = "a destination is a temporary or a result register, without a sign"
            raise FaultError(problem, expected, DESTINATIONS, operand.token)
        elements = item.elements
        head = elements[0]
        register: DestinationRegister
        if head.name == "result":
            register, rest = bindings.result(elements, self.limits, self.options)
            return Dst(register, write_mask(rest))
        if head.token.type == "BINDING":
            raise _not_written(head)
        symbol = self.lookup(head.token)
        if not isinstance(symbol, Temporary | ResultRegister):
            raise _not_written(head)
        bindings.no_index(head, VARIABLES)
        return Dst(symbol, write_mask(elements[1:]))

    def source(self, operand: WrittenOperand, kind: Operand) -> Src:
        item, suffix = operand.item, operand.suffix
        register: SourceRegister
        rest: bindings.Elements
        if isinstance(item, Path):
            register, rest = self.source_register(item.elements)
        elif isinstance(item, Constant):
            register = self.constant(item)
            rest = () if suffix is None else (PathElement(suffix, None, None),)
        else:
            problem = f"unexpected {found(item)}"
            expected = "expected a register or a constant"
            raise FaultError(problem, expected, OPERANDS, item)
        if kind is Operand.REGISTER:
            self.bare(operand, rest)
        if kind is Operand.SCALAR and not rest:
            expected = "write which, as in R0.x" if isinstance(item, Path) else "as in {2}.x"
            at = operand.token
            raise FaultError("a scalar operand needs one component", expected, OPERANDS, at)
        selectors = swizzle(rest, scalar=kind is Operand.SCALAR) if rest else IDENTITY
        return Src(register, selectors, _SIGNS[operand.sign == "-"])

    def bare(self, operand: WrittenOperand, rest: bindings.Elements) -> None:
        """The operand before an extended swizzle has neither sign nor suffix of its own."""
        token = operand.sign or (rest[0].token if rest else None)
        if token is not None:
            problem = f"unexpected {found(token)}"
            expected = "the extended swizzle carries the signs, as in SWZ R0, R1, -x, y, 0, 1;"
            raise FaultError(problem, expected, OPCODES["SWZ"].spec, token)

    def texture_unit(self, operand: WrittenOperand) -> int:
        item = operand.item
        if operand.sign is None and isinstance(item, Path):
            first, *rest = item.elements
            if first.name == "texture" and not rest and first.last is None:
                return bindings.single_index(first, self.limits.texture_image_units, TEXTURES)
        problem = f"unexpected {found(operand.token)}"
        expected = "expected a texture image unit, as in texture[0]"
        raise FaultError(problem, expected, TEXTURES, operand.token)

    def texture_target(self, operand: WrittenOperand, unit: int | None) -> TextureTarget:
        item, at = operand.item, operand.token
        text = str(operand.token)
        is_one = isinstance(item, Token) or (
            isinstance(item, Path) and len(item.elements) == 1 and item.elements[0].first is None
        )
        if not is_one or text not in _TARGETS:
            near = nearest(text, _TARGETS)
            meant = f"did you mean {near}? " if near else ""
            expected = f"{meant}expected a texture target: {', '.join(_TARGETS)}"
            raise FaultError(f"unexpected {found(operand.token)}", expected, TEXTURES, at)
        target = _TARGETS[text]
        assert unit is not None
        before = self.targets.setdefault(unit, target)
        if before is not target:
            problem = f"texture[{unit}] is used as {text} here and as {before.value} above"
            raise FaultError(problem, "a unit has one target; use another unit", TEXTURES, at)
        return target

    # Registers ----------------------------------------------------------------------------

    def lookup(self, token: Token) -> _Symbol:
        symbol = self.symbols.get(str(token))
        if symbol is not None:
            return symbol
        if token in self.given_up:
            raise EarlierFaultError
        self.given_up.add(str(token))
        near = nearest(token, self.symbols)
        expected = f"did you mean {near}?" if near else "declare it before it is used"
        problem = f"{shortened(token)} is not declared"
        raise FaultError(problem, expected, VARIABLES, token)

    def source_register(
        self, elements: tuple[PathElement, ...]
    ) -> tuple[SourceRegister, bindings.Elements]:
        head = elements[0]
        if head.token.type == "BINDING":
            return self.binding(elements)
        symbol = self.lookup(head.token)
        if isinstance(symbol, ParameterDeclaration):
            return element_of(symbol, head), elements[1:]
        if isinstance(symbol, ResultRegister):
            raise _not_read(head)
        bindings.no_index(head, VARIABLES)
        return symbol, elements[1:]

    def binding(
        self, elements: tuple[PathElement, ...]
    ) -> tuple[SourceRegister, bindings.Elements]:
        head = elements[0]
        match head.name:
            case "fragment":
                return bindings.attribute(elements, self.limits)
            case "program" | "state":
                bound = bindings.parameters(elements, self.limits)
                if bound.is_single:
                    return bound.parameters[0], bound.rest
                problem = f"an operand reads one parameter, not {_several(bound)}"
                expected = "name one, as in program.env[0] or state.matrix.mvp.row[0]"
                raise FaultError(problem, expected, OPERANDS, head.token)
            case "result":
                raise _not_read(head)
        problem = f"unexpected {found(head.token)}"
        expected = "a texture is read by TEX, TXP and TXB; expected a register or a constant"
        raise FaultError(problem, expected, OPERANDS, head.token)


# The header and the heads of statements ---------------------------------------------------------


def _header_fault(text: str) -> FaultError:
    first = text.lstrip(" \t\r\n\ufeff")[: len(HEADER)]
    problem = f"a fragment program begins with {HEADER}, with nothing before it"
    if not text:
        expected = "the text is empty"
    elif first == HEADER:
        expected = "remove what stands before it"
    elif first.startswith("!!ARBvp"):
        expected = "this is a vertex program"
    elif first.startswith("!!"):
        expected = f"found {first!r}, which is another language"
    else:
        expected = f"found {text[: len(HEADER)]!r}"
    return FaultError(problem, expected, GRAMMAR_SECTION, 0)


def _no_statement(head: Token) -> FaultError:
    """The fault of a statement that begins with no keyword and no opcode."""
    word, at = shortened(head), head
    if head.type == "CHARACTER":
        problem = f"the character {found(head)} cannot stand here"
        return FaultError(problem, "expected a statement or END", GRAMMAR_SECTION, at)
    if head.type != "NAME":
        expected = "expected a statement or END"
        if head.type == "_SEMICOLON":
            expected += "; there are no empty statements"
        return FaultError(f"unexpected {found(head)}", expected, GRAMMAR_SECTION, at)
    mnemonic = head.removesuffix("_SAT")
    if mnemonic in OPCODES and not OPCODES[mnemonic].saturable:
        problem = f"{head} is not an opcode"
        return FaultError(problem, f"{mnemonic} has no result to saturate", GRAMMAR_SECTION, at)
    words = sorted(RESERVED_WORDS - {"fragment", "program", "result", "state", "texture"})
    near = nearest(head, words)
    expected = f"did you mean {near}?" if near else f"known are {', '.join(sorted(OPCODES))}"
    return FaultError(f"{word} is not an opcode or a keyword", expected, GRAMMAR_SECTION, at)


# Operands ----------------------------------------------------------------------------------------

_KINDS = {
    mnemonic: [
        kind
        for kind in row.shape.value
        for _ in range(4 if kind is Operand.EXTENDED_SWIZZLE else 1)
    ]
    for mnemonic, row in OPCODES.items()
}
"""The operands of each opcode as they are written: an extended swizzle as four."""

_TARGETS = {target.value: target for target in TextureTarget}
_SIGNS = ((False,) * 4, (True,) * 4)


def _several(bound: bindings.Bound) -> str:
    return f"{len(bound.parameters)} vectors, a range or a matrix"


def _not_written(head: PathElement) -> FaultError:
    problem = f"{shortened(head.name)} cannot be written"
    expected = "a destination is a temporary or a result register"
    return FaultError(problem, expected, DESTINATIONS, head.token)


def _not_read(head: PathElement) -> FaultError:
    problem = f"{shortened(head.name)} is a result and can only be written"
    expected = "keep the value in a temporary and read that"
    return FaultError(problem, expected, bindings.RESULTS, head.token)


def element_of(declaration: ParameterDeclaration, use: PathElement) -> Parameter:
    """The parameter that a use of a declared name reads."""
    if not declaration.is_array:
        bindings.no_index(use, ARRAYS)
        return declaration.parameters[0]
    size = len(declaration.parameters)
    if use.first is None or use.last is not None:
        problem = f"{shortened(use.name)} is an array"
        expected = f"name one element, from {use.name}[0] on to [{size - 1}]"
        raise FaultError(problem, expected, ARRAYS, use.token)
    index = bindings.checked_index(use.first, size, use.name, ARRAYS)
    return declaration.parameters[index]
