"""Reads a text of texture environments as a Program, and reports faults in OpenGL's own words.

    !!texenv1.3
    TEXTURE0 RECT REPLACE
    TEXTURE1 2D COMBINE RGB = INTERPOLATE(TEXTURE, PREVIOUS, CONSTANT.SRC_ALPHA) * 2 \
                        ALPHA = REPLACE(PREVIOUS) COLOR = (0.5, 0.5, 0.5, 1)

A line enables one texture unit, in ascending order: the target whose texture it looks up, its
TEXTURE_ENV_MODE and, for COMBINE, the functions with their arguments and scales. An argument is a
source and, after a dot, an operand; by default both have OpenGL's initial values. A backslash at
the end of a line continues it, and comments begin with #.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from math import nan

from lark import Token

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.isa.combiners import (
    DOT_PRODUCTS,
    UNCLAMPED,
    Combiner,
    CombinerArgument,
    CombinerFunction,
    CombinerMode,
    CombinerOperand,
    CombinerSource,
)
from gpgpu_legacy.isa.program import FixedFunction, Program, Span, TextureTarget, TextureUnit, Vec4
from gpgpu_legacy.languages.diagnostics import FaultError, Text, meant, offset_of, shortened
from gpgpu_legacy.languages.language import MOST_CHARACTERS
from gpgpu_legacy.languages.texenv.stages import (
    HEADER,
    INITIAL_OPERANDS,
    MODES,
    combiner,
    program_of,
)

SECTION = "3.8.13 of OpenGL 1.3"

_SCALES = {"1": 1, "2": 2, "4": 4, "1.0": 1, "2.0": 2, "4.0": 4}
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.I)

MOST_UNITS = 8
"""Texture units that a text may use. OpenGL 1.3 promises 2; a GeForce3 has 4, Mesa 8."""

_BLANK = re.compile(r"\\[ \t\r]*(?:#[^\n]*)?\n|#[^\n]*")
"""The end of a line that is continued, and a comment."""

_TOKEN = re.compile(r"-?[0-9.]+[eE][+-]?[0-9]+\b|-?[A-Za-z0-9_][A-Za-z0-9_.+]*|-?\.[0-9]+|\S")


def assemble(text: str, name: str = "texture environments") -> Program:
    """Assemble a text of texture environments.

    name: the text's name in messages. Raises AssemblyError with a fault for each wrong line, and
    InputError for a text that is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{name} has {len(text)} characters; give at most {MOST_CHARACTERS}")
    source = Text(text, name)
    if not text.startswith(HEADER):
        problem = f"texture environments begin with {HEADER}, with nothing before it"
        raise source.error([FaultError(problem, f"write {HEADER}", SECTION, 0)])
    faults: list[FaultError] = []
    units: dict[TextureUnit, int] = {}
    clamped = True
    for start, line in _lines(text):
        reader = _Line(start, line)
        try:
            if reader.next == UNCLAMPED.partition(" ")[0]:
                clamped = not reader.is_unclamped(first=not units)
            elif reader.next:
                last = max((u.number for u in units), default=-1)
                unit = reader.unit(last, Span(source.position(start).line, 1))
                units[unit] = start
        except FaultError as fault:
            faults.append(fault)
    if not units and not faults:
        expected = "write a line such as TEXTURE0 2D MODULATE for each unit that is enabled"
        faults.append(FaultError("no texture unit is enabled", expected, SECTION, len(text)))
    faults += _missing_textures(units)
    if faults:
        raise source.error(sorted(faults, key=lambda fault: fault.offset))
    return program_of(FixedFunction(tuple(units), clamped), name)


def _lines(text: str) -> Iterable[tuple[int, str]]:
    """The logical lines after the header, without comments, with their offsets."""
    text = _BLANK.sub(lambda match: " " * len(match[0]), text)
    start = len(HEADER)
    for line in text[start:].split("\n"):
        yield start, line
        start += len(line) + 1


def _missing_textures(units: dict[TextureUnit, int]) -> Iterable[FaultError]:
    """Arguments that name the texture of a unit that is not enabled (ARB_texture_env_crossbar)."""
    enabled = [CombinerSource(unit.number) for unit in units]
    for unit, start in units.items():
        missing = [s for s in unit.sources if isinstance(s.value, int) and s not in enabled]
        for source in missing[:1]:
            problem = f"unit {unit.number} reads {source.name}, which is not enabled"
            others = ", ".join(other.name for other in enabled)
            expected = f"add a line {source.name}, or use one of {others}"
            yield FaultError(problem, expected, SECTION, start)


class _Line:
    """Reads one line, whose last token is empty."""

    def __init__(self, start: int, line: str) -> None:
        tokens = [Token("", match[0], start + match.start()) for match in _TOKEN.finditer(line)]
        self._left = [Token("", "", start + len(line.rstrip())), *reversed(tokens)]

    @property
    def next(self) -> Token:
        """The next token; empty at the end of the line."""
        return self._left[-1]

    def take(self) -> Token:
        """The next token, which is then read."""
        return self._left.pop() if self.next else self.next

    def accept(self, text: str) -> bool:
        """Take the next token if it is that one."""
        return self.next == text and bool(self.take())

    def expect(self, text: str, what: str) -> None:
        """Take the next token, which must be that one."""
        token = self.take()
        if token != text:
            raise _unexpected(token, f"{what}: {text}")

    def among(self, names: Collection[str], what: str) -> str:
        """Take the next token, which must be one of these names."""
        token = self.take()
        if token not in names:
            hint = meant(token, names)
            raise _unexpected(token, f"{hint}{what} is one of {', '.join(names)}")
        return token

    def done(self) -> None:
        """Raise FaultError if anything follows."""
        if self.next:
            raise _unexpected(self.next, "expected the end of the line")

    def is_unclamped(self, *, first: bool) -> bool:
        """Whether CLAMP_FRAGMENT_COLOR is FALSE. first: whether no unit comes before."""
        head = self.take()
        value = self.among(("TRUE", "FALSE"), head)
        self.done()
        if not first:
            expected = f"move {head} to the line behind {HEADER}"
            raise FaultError(f"{head} stands behind a unit", expected, SECTION, head)
        return value == "FALSE"

    def unit(self, last: int, span: Span) -> TextureUnit:
        """A texture unit, after the unit `last`."""
        head = self.take()
        match = re.fullmatch(r"TEXTURE([0-9]{1,9})", head)
        if match is None:
            raise _unexpected(head, "a line begins with its unit, TEXTURE0, TEXTURE1 and so on")
        number = int(match[1])
        if number >= MOST_UNITS:
            expected = f"the units are TEXTURE0 to TEXTURE{MOST_UNITS - 1} (MAX_TEXTURE_UNITS)"
            raise FaultError(f"there is no unit {head}", expected, SECTION, head)
        if number <= last:
            expected = (
                "give each unit one line, in ascending order: unit n uses the result of n - 1"
            )
            raise FaultError(f"{head} stands behind TEXTURE{last}", expected, SECTION, head)
        targets = [target.value for target in TextureTarget if not target.is_shadow]
        target = TextureTarget(self.among(targets, "the target"))
        mode = CombinerMode[self.among(CombinerMode.__members__, "TEXTURE_ENV_MODE")]
        rgb, alpha = MODES.get(mode) or (self.combiner("RGB"), self.combiner("ALPHA"))
        color = self.color() if self.accept("COLOR") else None
        self.done()
        return TextureUnit(number, target, mode, rgb, alpha, color, span)

    def combiner(self, part: str) -> Combiner:
        """`RGB = FUNCTION(argument, …) * scale`; by default OpenGL's initial MODULATE."""
        if not self.accept(part):
            return combiner(CombinerFunction.MODULATE, INITIAL_OPERANDS[part])
        self.expect("=", f"behind {part} comes")
        allowed = [f.name for f in CombinerFunction if part == "RGB" or f not in DOT_PRODUCTS]
        function = CombinerFunction[self.among(allowed, f"COMBINE_{part}")]
        arguments = combiner(function, INITIAL_OPERANDS[part]).arguments
        if self.accept("("):
            has = f"{function.name} has {function.arity} arguments"
            arguments = (self.argument(part, 0),)
            for index in range(1, function.arity):
                self.expect(",", f"{has}; the next follows")
                arguments += (self.argument(part, index),)
            self.expect(")", f"{has}; behind the last comes")
        scale = self.among(_SCALES, f"{part}_SCALE") if self.accept("*") else "1"
        return Combiner(function, arguments, _SCALES[scale])

    def argument(self, part: str, index: int) -> CombinerArgument:
        """A source and perhaps an operand."""
        token = self.take()
        name, dot, operand = token.partition(".")
        source = CombinerSource.__members__.get(name)
        if source is None:
            names = [s.name for s in CombinerSource if isinstance(s.value, str)]
            known = f"{', '.join(names)}, or TEXTUREn of an enabled unit"
            raise _unexpected(token, f"{meant(name, names)}a source is one of {known}")
        if not dot:
            return CombinerArgument(source, INITIAL_OPERANDS[part][index])
        allowed = [o.name for o in CombinerOperand if o.is_alpha or part == "RGB"]
        if operand not in allowed:
            problem = f"OPERAND{index}_{part} is {shortened(operand) or 'missing'}"
            expected = f"{meant(operand, allowed)}it is one of {', '.join(allowed)}"
            raise FaultError(problem, expected, SECTION, offset_of(token) + len(name) + 1)
        return CombinerArgument(source, CombinerOperand[operand])

    def color(self) -> Vec4:
        """`= (r, g, b, a)`, each in [0, 1], to which OpenGL clamps TEXTURE_ENV_COLOR."""
        self.expect("=", "behind COLOR comes")
        self.expect("(", "a colour has four numbers, the first after")
        numbers: list[float] = []
        for separator in ",,,)":
            token = self.take()
            number = float(token) if _NUMBER.fullmatch(token) else nan
            if not 0.0 <= number <= 1.0:
                written = shortened(token) or "that is missing"
                problem = f"TEXTURE_ENV_COLOR has a component {written}"
                expected = "give a number from 0 to 1, to which OpenGL clamps it"
                raise FaultError(problem, expected, SECTION, token)
            numbers.append(number)
            self.expect(separator, "a colour has the numbers red, green, blue and alpha; expected")
        red, green, blue, opacity = numbers
        return red, green, blue, opacity


def _unexpected(token: Token, expected: str) -> FaultError:
    problem = f"unexpected {shortened(token)}" if token else "the line ends too early"
    return FaultError(problem, expected, SECTION, token)
