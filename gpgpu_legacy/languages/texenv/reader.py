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
from collections.abc import Iterable, Sequence

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.frozen import frozen
from gpgpu_legacy.isa.ir import Program, TextureTarget, Vec4
from gpgpu_legacy.languages.diagnostics import FaultError, Text, meant, shortened
from gpgpu_legacy.languages.language import MOST_CHARACTERS
from gpgpu_legacy.languages.texenv.stages import program_of
from gpgpu_legacy.languages.texenv.state import (
    COMBINE,
    DOT_PRODUCTS,
    INITIAL_OPERANDS,
    INITIAL_SOURCES,
    MODES,
    MOST_UNITS,
    SCALES,
    SECTION,
    SOURCES,
    Combiner,
    CombinerArgument,
    CombinerFunction,
    CombinerOperand,
    TextureUnit,
)

HEADER = "!!texenv1.3"

UNCLAMPED = "CLAMP_FRAGMENT_COLOR FALSE"
"""The line of ARB_color_buffer_float: no stage clamps its result, as float textures want it."""

_TOKEN = re.compile(r"[ \t]*(?:(?P<word>-?[A-Za-z0-9_][A-Za-z0-9_.+]*|-?\.[0-9]+)|(?P<sign>[^\s]))")


def assemble(text: str, name: str = "texture environments") -> Program:
    """Assemble a text of texture environments.

    Raises AssemblyError with a fault for each wrong line, and InputError for a text that is too
    long. name: of the text in messages.
    """
    source = Text(text, name)
    units, clamped = _read(source)
    lines = {unit: source.position(start)[0] for unit, start in units.items()}
    state = (HEADER, *([] if clamped else [UNCLAMPED]), *map(str, units))
    return program_of(lines, state, name, clamped=clamped)


def read(state: tuple[str, ...]) -> tuple[list[TextureUnit], bool]:
    """The enabled units of a Program's state, and whether stages clamp their results."""
    units, clamped = _read(Text("\n".join(state), "state"))
    return list(units), clamped


def _read(source: Text) -> tuple[dict[TextureUnit, int], bool]:
    """The enabled units with the offsets of their lines, and whether stages clamp."""
    text, name = source.text, source.name
    if len(text) > MOST_CHARACTERS:
        raise InputError(f"{name} has {len(text)} characters; give at most {MOST_CHARACTERS}")
    if not text.startswith(HEADER):
        problem = f"texture environments begin with {HEADER}, with nothing before it"
        raise source.error([FaultError(problem, f"write {HEADER}", SECTION, 0)])
    faults: list[FaultError] = []
    units: dict[TextureUnit, int] = {}
    clamped = True
    for start, line in _lines(text):
        reader = _Line(start, line)
        try:
            if reader.peek() == UNCLAMPED.split(maxsplit=1)[0]:
                clamped = not reader.is_unclamped(first=not units)
            elif not reader.at_end:
                unit = reader.unit(max((u.number for u in units), default=-1))
                units[unit] = start
        except FaultError as fault:
            faults.append(fault)
    if not units and not faults:
        expected = "write a line such as TEXTURE0 2D MODULATE for each unit that is enabled"
        faults.append(FaultError("no texture unit is enabled", expected, SECTION, len(text)))
    faults += _missing_textures(units)
    if faults:
        raise source.error(sorted(faults, key=lambda fault: fault.offset))
    return units, clamped


def _lines(text: str) -> Iterable[tuple[int, str]]:
    """The logical lines after the header, without comments, with their offsets."""
    text = re.sub(r"#[^\n]*", lambda comment: " " * len(comment[0]), text)
    text = re.sub(r"\\[ \t\r]*\n", lambda end: " " * len(end[0]), text)
    start = len(HEADER)
    for line in text[start:].split("\n"):
        yield start, line
        start += len(line) + 1


def _missing_textures(units: dict[TextureUnit, int]) -> Iterable[FaultError]:
    """Arguments that name the texture of a unit that is not enabled (ARB_texture_env_crossbar)."""
    enabled = {f"TEXTURE{unit.number}" for unit in units}
    for unit, start in units.items():
        for argument in (*unit.rgb.arguments, *unit.alpha.arguments):
            if argument.source not in SOURCES and argument.source not in enabled:
                problem = f"unit {unit.number} reads {argument.source}, which is not enabled"
                expected = (
                    f"add a line {argument.source}, or use one of {', '.join(sorted(enabled))}"
                )
                yield FaultError(problem, expected, SECTION, start)
                break


@frozen
class _Token:
    text: str
    at: int


class _Line:
    """Reads one line."""

    def __init__(self, start: int, line: str) -> None:
        self._tokens = [
            _Token(match["word"] or match["sign"], start + match.start(match.lastgroup or 0))
            for match in _TOKEN.finditer(line)
            if match.lastgroup
        ]
        self._end = start + len(line.rstrip())
        self._next = 0

    @property
    def at_end(self) -> bool:
        """Whether nothing follows on the line."""
        return self._next == len(self._tokens)

    def peek(self) -> str:
        """The text of the next token; empty at the end of the line."""
        return "" if self.at_end else self._tokens[self._next].text

    def take(self) -> _Token:
        """The next token; empty at the end of the line."""
        token = _Token("", self._end) if self.at_end else self._tokens[self._next]
        self._next += 1
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is that one."""
        if self.peek() != text:
            return False
        self._next += 1
        return True

    def expect(self, text: str, what: str) -> None:
        """Take the next token, which must be that one."""
        token = self.take()
        if token.text != text:
            raise _unexpected(token, f"{what}: {text}")

    def among(self, names: Sequence[str], what: str) -> _Token:
        """Take the next token, which must be one of these names."""
        token = self.take()
        if token.text not in names:
            hint = meant(token.text, names)
            raise _unexpected(token, f"{hint}{what} is one of {', '.join(names)}")
        return token

    def done(self) -> None:
        """Nothing may follow."""
        if not self.at_end:
            raise _unexpected(self.take(), "expected the end of the line")

    def is_unclamped(self, *, first: bool) -> bool:
        """Whether CLAMP_FRAGMENT_COLOR is FALSE."""
        head = self.take()
        value = self.among(("TRUE", "FALSE"), head.text)
        self.done()
        if not first:
            expected = f"move {head.text} to the line behind {HEADER}"
            raise FaultError(f"{head.text} stands behind a unit", expected, SECTION, head.at)
        return value.text == "FALSE"

    def unit(self, last: int) -> TextureUnit:
        """A texture unit, after the unit `last`."""
        head = self.take()
        match = re.fullmatch(r"TEXTURE([0-9]{1,9})", head.text)
        if match is None:
            raise _unexpected(head, "a line begins with its unit, TEXTURE0, TEXTURE1 and so on")
        number = int(match[1])
        if number >= MOST_UNITS:
            expected = f"the units are TEXTURE0 to TEXTURE{MOST_UNITS - 1} (MAX_TEXTURE_UNITS)"
            raise FaultError(f"there is no unit {head.text}", expected, SECTION, head.at)
        if number <= last:
            expected = (
                "give each unit one line, in ascending order: unit n uses the result of n - 1"
            )
            raise FaultError(f"{head.text} stands behind TEXTURE{last}", expected, SECTION, head.at)
        targets = [target.value for target in TextureTarget if not target.is_shadow]
        target = TextureTarget(self.among(targets, "the target").text)
        mode = self.among((*MODES, COMBINE), "TEXTURE_ENV_MODE").text
        rgb, alpha = self.combine() if mode == COMBINE else MODES[mode]
        color = self.color() if self.accept("COLOR") else None
        self.done()
        return TextureUnit(number, target, mode, rgb, alpha, color)

    def combine(self) -> tuple[Combiner, Combiner]:
        """The two functions of COMBINE; each is by default OpenGL's initial MODULATE."""
        rgb = self.combiner(alpha=False) if self.accept("RGB") else _initial(alpha=False)
        return rgb, self.combiner(alpha=True) if self.accept("ALPHA") else _initial(alpha=True)

    def combiner(self, *, alpha: bool) -> Combiner:
        """`= FUNCTION(argument, …) * scale`."""
        part = "ALPHA" if alpha else "RGB"
        self.expect("=", f"behind {part} comes")
        allowed = [f.name for f in CombinerFunction if not (alpha and f in DOT_PRODUCTS)]
        function = CombinerFunction[self.among(allowed, f"COMBINE_{part}").text]
        arguments: list[CombinerArgument] = []
        if self.accept("("):
            while True:
                arguments.append(self.argument(len(arguments), function, alpha=alpha))
                if len(arguments) == function.arity:
                    break
                self.expect(
                    ",", f"{function.name} has {function.arity} arguments; the next follows"
                )
            self.expect(
                ")", f"{function.name} has {function.arity} arguments; behind the last comes"
            )
        else:
            arguments += _initial(function, alpha=alpha).arguments
        scale = self.scale(part) if self.accept("*") else 1
        return Combiner(function, tuple(arguments), scale)

    def scale(self, part: str) -> int:
        """The scale, one of three."""
        token = self.take()
        scale = next((s for s in SCALES if token.text in (str(s), f"{s}.0")), None)
        if scale is None:
            expected = "a scale is 1, 2 or 4 (INVALID_VALUE otherwise)"
            problem = f"{part}_SCALE is {shortened(token.text) or 'missing'}"
            raise FaultError(problem, expected, SECTION, token.at)
        return scale

    def argument(self, index: int, function: CombinerFunction, *, alpha: bool) -> CombinerArgument:
        """A source and perhaps an operand."""
        token = self.take()
        source, dot, operand = token.text.partition(".")
        crossed = re.fullmatch(r"TEXTURE[0-9]", source) and int(source[-1]) < MOST_UNITS
        if source not in SOURCES and not crossed:
            known = f"{', '.join(SOURCES)}, or TEXTUREn of an enabled unit"
            raise _unexpected(token, f"{meant(source, SOURCES)}a source is one of {known}")
        allowed = [o for o in CombinerOperand if o.is_alpha or not alpha]
        if not dot:
            return CombinerArgument(
                source, CombinerOperand.SRC_ALPHA if alpha else INITIAL_OPERANDS[index]
            )
        chosen = next((o for o in allowed if o.value == operand), None)
        if chosen is None:
            part = "ALPHA" if alpha else "RGB"
            names = ", ".join(o.value for o in allowed)
            problem = f"OPERAND{index}_{part} is {shortened(operand) or 'missing'}"
            expected = f"{meant(operand, [o.value for o in allowed])}it is one of {names}"
            raise FaultError(problem, expected, SECTION, token.at + len(source) + 1)
        return CombinerArgument(source, chosen)

    def color(self) -> Vec4:
        """`= (r, g, b, a)`, each in [0, 1], to which OpenGL clamps TEXTURE_ENV_COLOR."""
        self.expect("=", "behind COLOR comes")
        self.expect("(", "a colour has four numbers, the first after")
        numbers: list[float] = []
        for separator in (",", ",", ",", ")"):
            token = self.take()
            try:
                number = float(token.text)
            except ValueError:
                raise _unexpected(token, "expected a number") from None
            if not 0.0 <= number <= 1.0:
                problem = f"TEXTURE_ENV_COLOR has a component {token.text}"
                raise FaultError(
                    problem,
                    "OpenGL clamps it to [0, 1]; give a number in that range",
                    SECTION,
                    token.at,
                )
            numbers.append(number)
            self.expect(
                separator, "a colour has four numbers, red, green, blue and alpha; expected"
            )
        red, green, blue, opacity = numbers
        return red, green, blue, opacity


def _initial(function: CombinerFunction = CombinerFunction.MODULATE, *, alpha: bool) -> Combiner:
    """OpenGL's initial arguments."""
    operands = (CombinerOperand.SRC_ALPHA,) * 3 if alpha else INITIAL_OPERANDS
    pairs = zip(INITIAL_SOURCES, operands, strict=True)
    return Combiner(function, tuple(CombinerArgument(*pair) for pair in pairs)[: function.arity])


def _unexpected(token: _Token, expected: str) -> FaultError:
    problem = f"unexpected {shortened(token.text)}" if token.text else "the line ends too early"
    return FaultError(problem, expected, SECTION, token.at)
