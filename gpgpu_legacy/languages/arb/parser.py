"""The assembler: ARB_fragment_program 1.0 text to a Program.

syntax.py parses the text statement by statement. The assembler interprets the statements in order,
because the spec requires names to be declared before they are used. After a faulty statement it
continues after the semicolon, so that one run reports all independent faults. It does not report
faults that merely follow from an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from lark import Token

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.opcodes import ARBFP, NV_OPTIONS, OPCODES, CostClass
from gpgpu_legacy.isa.program import (
    CONDITION,
    DRAW_BUFFERS,
    FOG_INSTRUCTIONS,
    SHADOW,
    AttributeDeclaration,
    Fog,
    Instruction,
    Parameter,
    ParameterDeclaration,
    ParameterSpace,
    Program,
    Temporary,
)
from gpgpu_legacy.languages.arb import bindings
from gpgpu_legacy.languages.arb.bindings import Symbols
from gpgpu_legacy.languages.arb.flow import Flow
from gpgpu_legacy.languages.arb.instructions import InstructionReader, several_vectors
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS, HEADER, AssemblerLimits
from gpgpu_legacy.languages.arb.syntax import (
    END_OF_TEXT,
    GRAMMAR_SECTION,
    LONGEST_STATEMENT,
    STARTERS,
    Path,
    WrittenConstant,
    WrittenOperand,
    mnemonic_of,
    quoted,
    read_statement,
    tokens,
    words_of,
)
from gpgpu_legacy.languages.diagnostics import (
    MOST_FAULTS,
    EarlierFaultError,
    FaultError,
    Text,
    meant,
    offset_of,
    shortened,
)

_PRECISIONS = ("ARB_precision_hint_fastest", "ARB_precision_hint_nicest")
_FOGS = tuple(mode.value for mode in Fog)
_EXCLUSIVE = ((_FOGS, "3.11.4.5.1"), (_PRECISIONS, "3.11.4.5.2"))
OPTIONS = (*_FOGS, *_PRECISIONS, *DRAW_BUFFERS, SHADOW, *NV_OPTIONS)
"""The supported options. ATI_draw_buffers is the earlier name of ARB_draw_buffers."""

OPTION_SECTION = "3.11.4.5"


_BEFORE_HEADER = re.compile(rf"\A((?:\s|#[^\n]*\n)+){re.escape(HEADER)}")


def with_header_first(text: str) -> str:
    """The text with its header moved to the start: Mesa accepts white space and comments before it.

    The text after the header keeps its lines and columns.
    """
    return _BEFORE_HEADER.sub(lambda match: HEADER + match[1] + " " * len(HEADER), text)


def assemble(
    text: str,
    name: str = "program",
    *,
    limits: AssemblerLimits = DEFAULT_LIMITS,
) -> Program:
    """Assemble the text of a fragment program.

    text: the whole program, from `!!ARBfp1.0` to `END`.
    name: the text's name in messages, usually a file's path.
    limits: the resources and indices that a program may use.
    Raises AssemblyError with every fault found, up to MOST_FAULTS, each with its line and column,
    and InputError for a text that is too long.
    """
    if len(text) > limits.characters:
        raise InputError(
            f"{name} has {len(text)} characters; a program has at most {limits.characters}"
        )
    program = _Assembler(text, name, limits).program()
    names = {int(unit): re.sub(r"\W+", "_", name) for name, unit in _SAMPLER.findall(text)}
    program = replace(program, names=tuple(sorted(names.items())))
    lines = text.split("\n") if "  # " in text else []
    origins = {n: match[1] for n, line in enumerate(lines, 1) if (match := _ORIGIN.search(line))}
    if not origins:
        return program
    known = (replace(i, origin=origins.get(i.span.line, "")) for i in program.instructions)
    return replace(program, instructions=tuple(known))


_ORIGIN = re.compile(r";  # (.+?:\d+: .*)")
"""The comment in which the printer writes an instruction's origin."""

_SAMPLER = re.compile(
    r"^#var sampler\w+ ([\w.\[\]]*\w)\]? *:[^:\n]*: texunit (\d{1,2})\b", re.MULTILINE
)
"""The comment in which cgc, and the printer, write the name of a sampler."""


class _Assembler:
    """Interprets the statements of one text in order."""

    def __init__(self, text: str, name: str, limits: AssemblerLimits) -> None:
        self.text, self.limits = Text(text, name), limits
        self.faults: list[FaultError] = []
        self.symbols = Symbols()
        self.options: list[str] = []
        self.reader = InstructionReader(self.text, self.symbols, self.options, limits)
        self.options_may_follow = True
        self.temporaries: list[str] = []
        self.attributes: list[AttributeDeclaration] = []
        self.declarations: list[ParameterDeclaration] = []
        self.array_elements = 0
        self.blocks = Flow(self.reader)
        self.flow = self.blocks.statement
        self.words = dict(words_of())
        self.known: dict[str, Instruction] = {}
        """Instructions by their text, since unrolled programs repeat theirs. Nothing that follows
        an instruction changes what the same text means: no name is declared twice."""
        self.stream = tokens(text, len(HEADER), self.words)
        """The tokens that have not been read."""
        self.read: list[Token] = []
        """The tokens of the current statement."""
        self.broken_off = False
        """Whether a faulty statement without a semicolon ended the text; END is then optional."""

    def program(self) -> Program:
        if not self.text.text.startswith(HEADER):
            raise self.text.error([_header_fault(self.text.text)])
        self.statements()
        program = Program(
            (),
            tuple(self.temporaries),
            tuple(self.declarations),
            self.text.name,
            tuple(self.options),
            tuple(self.attributes),
        )
        if not self.faults:
            try:
                instructions = self.blocks.instructions(self.limits.instructions)
                program = replace(program, instructions=instructions)
                self.faults += check_limits(program, self.limits, len(self.text.text))
            except FaultError as fault:
                self.faults.append(fault)
        if self.faults:
            raise self.text.error(self.faults[:MOST_FAULTS])
        return program

    def statements(self) -> None:
        """Read up to END, the end of the text, or the MOST_FAULTS-th fault."""
        token = next(self.stream)
        while token.type not in ("END", END_OF_TEXT) and len(self.faults) < MOST_FAULTS:
            token = self.statement(token)
        if token.type == "END":
            after = next(self.stream)
            if after.type != END_OF_TEXT:
                problem = f"unexpected {quoted(after)} after END"
                expected = "END is the last thing in a program; put a # before the rest"
                self.faults.append(FaultError(problem, expected, GRAMMAR_SECTION, after))
        elif token.type == END_OF_TEXT and not self.broken_off:
            problem = "unexpected end of the text"
            expected = "expected END after the last statement"
            self.faults.append(FaultError(problem, expected, GRAMMAR_SECTION, token))

    def statement(self, head: Token) -> Token:
        """Read and interpret one statement; return the first token after it."""
        start = offset_of(head)
        end = self.text.text.find(";", start) + 1
        known = self.known.get(self.text.text[start:end])
        if known is not None:
            self.blocks.parts.append(replace(known, span=self.text.position(start)))
            self.stream = tokens(self.text.text, end, self.words)
            return next(self.stream)
        self.read = read = [head]
        try:
            if head.type == "NAME" and ":" in self.words and _COLON.match(self.text.text, start):
                next(self.stream)
                self.blocks.label(head)
                return next(self.stream)
            if head.type not in STARTERS:
                raise _no_statement(head, self.words)
            statement = read_statement(head, self.stream, read)
        except FaultError as fault:
            self.faults.append(fault)
            return self.recover()
        try:
            self.options_may_follow &= statement.data == "option"
            getattr(self, statement.data)(*statement.children)
        except (FaultError, EarlierFaultError) as fault:
            self.symbols.give_up(self.read)
            if isinstance(fault, FaultError):
                self.faults.append(fault)
        return next(self.stream)

    def recover(self) -> Token:
        """Skip to the next statement: after a semicolon, or at a keyword on a later line."""
        read = self.read
        head, token = read[0], read[-1]
        line = self.text.position(head).line
        while token.type not in ("_SEMICOLON", END_OF_TEXT):
            if len(read) > LONGEST_STATEMENT:
                token = Token(END_OF_TEXT, "")
                break
            if token.type in STARTERS and self.text.position(token).line != line:
                break
            token = next(self.stream)
            read.append(token)
        self.symbols.give_up(self.read)
        self.broken_off = token.type == END_OF_TEXT
        return next(self.stream) if token.type == "_SEMICOLON" else token

    def option(self, keyword: Token, name: Token) -> None:
        if not self.options_may_follow:
            raise FaultError(
                "OPTION must come before all other statements",
                "move it up, to the lines after the header",
                OPTION_SECTION,
                keyword,
            )
        if name not in OPTIONS:
            raise FaultError(
                f"OPTION {shortened(name)} is not supported",
                f"{meant(name, OPTIONS)}leave it out, or use one of {', '.join(OPTIONS)}",
                OPTION_SECTION,
                name,
            )
        for exclusive, section in _EXCLUSIVE:
            other = next((o for o in exclusive if o in self.options and o != name), None)
            if name in exclusive and other:
                problem = f"OPTION {name} conflicts with {other}"
                raise FaultError(problem, "leave one of the two out", section, name)
        if name not in self.options:
            self.options.append(str(name))
        if name in NV_OPTIONS:
            self.words |= words_of(tuple(o for o in self.options if o in NV_OPTIONS))
            self.symbols[CONDITION.name] = CONDITION

    def instruction(
        self, opcode: Token, first: WrittenOperand, test: Path | None, *rest: WrittenOperand
    ) -> None:
        instruction = self.reader.instruction(opcode, (first, *rest), test, self.read)
        start, end = offset_of(self.read[0]), offset_of(self.read[-1]) + 1
        self.known[self.text.text[start:end]] = instruction
        self.blocks.parts.append(instruction)

    # Declarations -------------------------------------------------------------------------

    def temp(self, _size: Token | None, _keyword: Token, *names: Token) -> None:
        for name in names:
            try:
                self.symbols.declare(name, Temporary(str(name)))
            except FaultError as fault:
                self.faults.append(fault)
            else:
                self.temporaries.append(str(name))

    def alias(self, _keyword: Token, new: Token, old: Token) -> None:
        self.symbols.declare(new, self.symbols.lookup(old))

    def attrib(self, _keyword: Token, name: Token, path: Path) -> None:
        _expect_head(path, "fragment", "an attribute", bindings.ATTRIBUTES)
        attribute, rest = bindings.attribute(path.elements, self.limits)
        bindings.no_suffix(rest, bindings.ATTRIBUTES)
        self.symbols.declare(name, attribute)
        self.attributes.append(AttributeDeclaration(str(name), attribute))

    def output(self, _size: Token | None, _keyword: Token, name: Token, path: Path) -> None:
        _expect_head(path, "result", "an output", bindings.RESULTS)
        register, rest = bindings.result(path.elements, self.limits, self.options)
        bindings.no_suffix(rest, bindings.RESULTS)
        self.symbols.declare(name, register)

    def param_single(self, _keyword: Token, name: Token, item: Path | WrittenConstant) -> None:
        (parameter,) = self.parameters(name, item, is_array=False)
        self.declare_parameters(name, replace(parameter, name=str(name)), is_array=False)

    def param_multiple(
        self,
        _keyword: Token,
        name: Token,
        size: Token | None,
        _brace: Token,
        *items: Path | WrittenConstant,
    ) -> None:
        parameters: list[Parameter] = []
        most = self.limits.parameters
        for item in items:
            parameters += self.parameters(name, item, is_array=True)
            if len(parameters) > most:
                problem = f"{name} has more elements than an array may have"
                raise _size_fault(problem, most, name)
        count = len(parameters)
        if size is not None:
            declared = bindings.integer(size)
            if not 1 <= declared <= most:
                raise _size_fault(f"an array cannot have {shortened(size)} elements", most, size)
            if declared != count:
                elements = "1 element" if declared == 1 else f"{declared} elements"
                raise FaultError(
                    f"{name} is declared with {elements} but bound to {count}",
                    f"write {name}[{count}], or leave the number out",
                    bindings.PARAMETERS,
                    size,
                )
        self.array_elements += count
        if self.array_elements > self.limits.array_elements:
            raise FaultError(
                f"the arrays up to {name} have {self.array_elements} elements",
                f"all arrays together have at most {self.limits.array_elements}",
                bindings.PARAMETERS,
                name,
            )
        named = (replace(p, name=f"{name}[{i}]") for i, p in enumerate(parameters))
        self.declare_parameters(name, *named, is_array=True)

    def declare_parameters(self, name: Token, *parameters: Parameter, is_array: bool) -> None:
        declaration = ParameterDeclaration(str(name), parameters, is_array)
        self.symbols.declare(name, declaration)
        self.declarations.append(declaration)

    def parameters(
        self, name: Token, item: Path | WrittenConstant, *, is_array: bool
    ) -> tuple[Parameter, ...]:
        """The parameters that an item of a PARAM binds."""
        if isinstance(item, WrittenConstant):
            return (Parameter(ParameterSpace.CONSTANT, value=item.value),)
        head = item.elements[0]
        if head.name not in ("program", "state"):
            raise FaultError(
                f"a parameter cannot be bound to {shortened(head.name)}",
                "bind it to program.local[n], program.env[n], a state vector, a number or a vector "
                "in braces",
                bindings.PARAMETERS,
                head.token,
            )
        bound, is_single, rest = bindings.parameters(item.elements, self.limits)
        bindings.no_suffix(rest, bindings.PARAMETERS)
        if not is_single and not is_array:
            raise FaultError(
                f"{name} is a single parameter but is bound to {several_vectors(bound)}",
                f"declare it as an array, {name}[], with the binding in braces",
                bindings.PARAMETERS,
                head.token,
            )
        return bound


def _expect_head(path: Path, head: str, what: str, section: str) -> None:
    first = path.elements[0]
    if first.name != head:
        problem = f"{what} cannot be bound to {shortened(first.name)}"
        expected = f"expected a binding that begins with {head}."
        raise FaultError(problem, expected, section, first.token)


def _size_fault(problem: str, most: int, at: Token) -> FaultError:
    return FaultError(problem, f"its size is from 1 to {most}", bindings.PARAMETERS, at)


# The header and the heads of statements ---------------------------------------------------------


def _header_fault(text: str) -> FaultError:
    first = with_header_first(text.lstrip("\ufeff"))[: len(HEADER)]
    problem = f"a fragment program begins with {HEADER}, with nothing before it"
    if not text:
        expected = "the text is empty"
    elif first == HEADER:
        expected = "remove what is before it, or take it as Mesa does: --lenient, lenient=True"
    elif first.startswith("!!ARBvp"):
        expected = "this is a vertex program"
    elif first.startswith("!!"):
        expected = f"found {first!r}, which is another language"
    else:
        expected = f"found {text[: len(HEADER)]!r}"
    return FaultError(problem, expected, GRAMMAR_SECTION, 0)


_COLON = re.compile(r"[A-Za-z0-9_$]+[ \t\r\n]*:")


def _no_statement(head: Token, words: Mapping[str, str]) -> FaultError:
    """The fault of a statement that begins with neither a keyword nor an opcode."""
    word, at = shortened(head), head
    if head.type == "CHARACTER":
        return FaultError(
            f"unexpected character {quoted(head)}",
            "expected a statement or END",
            GRAMMAR_SECTION,
            at,
        )
    if head.type == "REFUSED":
        return FaultError(f"{word} is not supported", "compute it in another way", "3.11.5", at)
    if head.type != "NAME":
        expected = "expected a statement or END"
        if head.type == "_SEMICOLON":
            expected += "; there are no empty statements"
        return FaultError(f"unexpected {quoted(head)}", expected, GRAMMAR_SECTION, at)
    mnemonic = mnemonic_of(head)
    row = OPCODES.get(mnemonic)
    if row is not None and mnemonic not in words:
        option = f"OPTION {row.option}"
        expected = f"add {option}; after the header"
        return FaultError(f"{word} needs {option}", expected, OPTION_SECTION, at)
    if row is not None and not row.saturable and head.endswith("_SAT"):
        return FaultError(
            f"{head} is not an opcode", f"{mnemonic} has no result to saturate", GRAMMAR_SECTION, at
        )
    starters = sorted(known for known, kind in words.items() if kind in STARTERS)
    return FaultError(
        f"{word} is not an opcode or a keyword",
        meant(head, starters).strip() or f"known are {', '.join(sorted(ARBFP))}",
        GRAMMAR_SECTION,
        at,
    )


_LIMITS, _FOG = "3.11.3.6", "3.11.4.5.1"


def check_limits(program: Program, limits: AssemblerLimits, end: int) -> list[FaultError]:
    """A fault for each limit that a program exceeds, with the resources of its fog option.

    end: the length of the text in characters, where these faults are reported.
    """
    fog = program.fog
    of_fog = FOG_INSTRUCTIONS[fog] if fog else 0
    one = 1 if fog else 0
    lookups = sum(i.opcode.cost is not CostClass.ARITHMETIC for i in program.instructions)
    total = len(program.instructions)
    attributes = {d.attribute for d in program.attributes} | {*program.attributes_read}
    bound = (p for declaration in program.parameters for p in declaration.parameters)
    every = (*bound, *program.parameters_read)
    parameters = {(p.space, p.index, p.binding, p.value) for p in every}
    used = (
        ("instructions", total, limits.instructions, of_fog),
        ("ALU instructions", total - lookups, limits.alu_instructions, of_fog),
        ("texture instructions", lookups, limits.texture_instructions, 0),
        ("temporaries", len(program.temporaries), limits.temporaries, one),
        ("attributes", len(attributes), limits.attributes, one),
        ("parameters", len(parameters), limits.parameters, 2 * one),
    )
    return [
        FaultError(
            f"the program uses {count} {what}",
            f"at most {most - taken} are allowed" + (f" with {fog.value}" if fog else ""),
            _FOG if taken else _LIMITS,
            end,
        )
        for what, count, most, taken in used
        if count > most - taken
    ]
