"""Programs in the whole of ARB_fragment_program 1.0, as text, valid by construction.

`Writer` makes them at random from every rule of the specification's grammar (section 3.11.2): all
opcodes and operand shapes, declarations of every kind, options, attributes, state, results. Their
results do not matter here; they may read what was never written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from gpgpu_legacy.isa.opcodes import ARBFP, OperandKind

TARGETS = ("1D", "2D", "3D", "CUBE", "RECT")
LETTERS = ("xyzw", "rgba")
MASKS = [
    "".join(letters[c] for c in range(4) if bits >> c & 1)
    for letters in LETTERS
    for bits in range(1, 16)
]
NAMES = [
    "a",
    "b",
    "R0",
    "R1",
    "t0",
    "$",
    "$1",
    "_",
    "x",
    "xyzw",
    "rgba",
    "w",
    "color",
    "row",
    "env",
    "local",
    "light",
    "matrix",
    "primary",
    "texcoord",
    "SAT",
    "OP",
    "KIL_SAT",
    "MAD_sat",
    "mov",
    "end",
    "fog",
    "texture0",
    "states",
    "a_longer_name_than_that",
    "ARL",
    "vertex",
    "D",
    "e1",
]
OPTIONS = (
    ("ARB_fog_exp", "ARB_fog_exp2", "ARB_fog_linear"),
    ("ARB_precision_hint_fastest", "ARB_precision_hint_nicest"),
    ("ARB_draw_buffers",),
)
ATTRIBUTES = [
    *(f"fragment.{name}" for name in ["color", "color.primary", "color.secondary", "fogcoord"]),
    *(f"fragment.{name}" for name in ("position", "texcoord", "texcoord[0]", "texcoord[7]")),
]
_FACES = ("", ".front", ".back")
_COLORS = ["ambient", "diffuse", "specular"]
VECTORS = [
    *(f"state.material{f}.{p}" for f in _FACES for p in [*_COLORS, "emission", "shininess"]),
    *(
        f"state.light[{n}].{p}"
        for n in (0, 7)
        for p in [*_COLORS, "position", "attenuation", "spot.direction", "half"]
    ),
    "state.lightmodel.ambient",
    *(f"state.lightmodel{f}.scenecolor" for f in _FACES),
    *(f"state.lightprod[{n}]{f}.{p}" for n in (0, 7) for f in _FACES for p in _COLORS),
    *(f"state.texenv{n}.color" for n in ("", "[0]", "[7]")),
    "state.fog.color",
    "state.fog.params",
    "state.depth.range",
]
MATRICES = [
    f"state.matrix.{name}{modifier}"
    for name in (
        *("modelview", "modelview[0]", "projection", "mvp", "texture", "texture[7]"),
        *("program[0]", "program[7]"),
    )
    for modifier in ("", ".inverse", ".transpose", ".invtrans")
]
ROWS = [f"{matrix}.row[{row}]" for matrix in MATRICES for row in range(4)]

TOKENS = re.compile(
    r"[A-Za-z_$][\w$]*|[123]D\b"
    r"|\d+\.(?!\.)\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|\d+(?:[eE][+-]?\d+)?"
    r"|\.\.|\S"
)


def tokens(text: str) -> list[str]:
    """The tokens of a program after its header."""
    return TOKENS.findall(re.sub(r"#[^\r\n]*", "", text.removeprefix("!!ARBfp1.0")))


def joined(words: Sequence[str]) -> str:
    """A program of tokens, with space only where two of them would become one."""
    text, last = "!!ARBfp1.0\n", ""
    for word in words:
        apart = re.match(r"[\w$]", word) and re.search(r"[\w$]$", last)
        text += (" " if apart else "") + word + ("\n" if word == ";" else "")
        last = word
    return text + "\n"


class Writer:
    """Writes one program; `random` decides everything."""

    def __init__(self, random: Random, most: int = 8) -> None:
        self.random, self.most = random, most
        self.options: list[str] = []
        self.names = random.sample(NAMES, len(NAMES))
        self.temporaries: list[str] = []
        self.sources: list[str] = []
        self.outputs: list[str] = []
        self.targets: dict[int, str] = {}

    def one(self, choices: Sequence[str]) -> str:
        return self.random.choice(choices)

    def text(self) -> str:
        for exclusive in OPTIONS:
            if self.random.random() < 0.3:
                self.options.append(self.one(exclusive))
        lines = [f"OPTION {option};" for option in self.options]
        for _ in range(self.random.randint(1, self.most)):
            lines.append(self.declaration() if self.random.random() < 0.4 else self.instruction())
        return "\n".join(["!!ARBfp1.0", *lines, "END", ""])

    # Declarations --------------------------------------------------------------------------

    def declaration(self) -> str:
        if not self.names:
            return self.instruction()
        kinds = (self.attrib, self.output, self.alias, self.param, self.array, self.temp)
        return self.random.choice(kinds)(self.names.pop())

    def attrib(self, name: str) -> str:
        self.sources.append(name)
        return f"ATTRIB {name} = {self.one(ATTRIBUTES)};"

    def output(self, name: str) -> str:
        self.outputs.append(name)
        return f"OUTPUT {name} = {self.result()};"

    def param(self, name: str) -> str:
        self.sources.append(name)
        return f"PARAM {name} = {self.one((self.vector(), self.constant()))};"

    def temp(self, name: str) -> str:
        others = [self.names.pop() for _ in range(self.random.randrange(3)) if self.names]
        self.temporaries += [name, *others]
        return f"TEMP {', '.join([name, *others])};"

    def alias(self, name: str) -> str:
        among = [
            names for names in (self.temporaries, self.sources, self.outputs)
            if [n for n in names if "[" not in n]
        ]  # fmt: skip
        if not among:
            return self.temp(name)
        names = self.random.choice(among)
        old = self.one([n for n in names if "[" not in n])
        names.append(name)
        return f"ALIAS {name} = {old};"

    def array(self, name: str) -> str:
        items, size = [], 0
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.randrange(5)
            first = self.random.randrange(4)
            last = self.random.randint(first, 3)
            if kind == 0:
                items.append(self.one(MATRICES))
                size += 4
            elif kind in (1, 2):
                start = (self.one(MATRICES) + ".row", "program.env", "program.local")
                items.append(f"{self.one(start)}[{first}..{last}]")
                size += last - first + 1
            else:
                items.append(self.vector() if kind == 3 else self.constant())
                size += 1
        self.sources += [f"{name}[{i}]" for i in range(size)]
        written = self.one(("", str(size)))
        return f"PARAM {name}[{written}] = {{ {', '.join(items)} }};"

    def vector(self) -> str:
        """A state vector or a program parameter."""
        n = self.random.randrange(256)
        given = (f"program.env[{n}]", f"program.local[{n}]")
        return self.one((self.one(VECTORS), self.one(ROWS), *given))

    def number(self) -> str:
        return self.one(
            ("0", "1", "2.5", ".5", "3.", "1e3", "1E-2", "2.5e+10", "7.e1", ".1e-5", "007", "0.1",
             "1e38", "123456789", repr(self.random.uniform(0, 100)))
        )  # fmt: skip

    def braces(self) -> str:
        numbers = [
            self.one(("", "", "-", "+")) + self.number() for _ in range(self.random.randint(1, 4))
        ]
        return "{" + ", ".join(numbers) + "}"

    def constant(self) -> str:
        """A constant as PARAM takes it: a signed number or a vector."""
        return self.one((self.one(("", "-", "+")) + self.number(), self.braces()))

    def result(self) -> str:
        if "ARB_draw_buffers" in self.options:
            return self.one(("result.color[3]", "result.color[0]", "result.depth", "result.color"))
        return self.one(("result.color", "result.depth"))

    # Instructions --------------------------------------------------------------------------

    def instruction(self) -> str:
        row = ARBFP[self.one(sorted(ARBFP))]
        saturate = self.one(("", "_SAT" * row.saturable))
        kinds = [kind for kind in row.shape if kind is not OperandKind.TEXTURE_TARGET]
        return f"{row.mnemonic}{saturate} {', '.join(map(self.operand, kinds))};"

    def operand(self, kind: OperandKind) -> str:
        match kind:
            case OperandKind.DESTINATION:
                return self.destination()
            case OperandKind.SCALAR:
                return self.scalar()
            case OperandKind.REGISTER:
                return self.register()
            case OperandKind.EXTENDED_SWIZZLE:
                letters = self.one(LETTERS) + "01"
                chosen = [self.one(("", "-", "+")) + self.one(letters) for _ in range(4)]
                return ", ".join(chosen)
            case OperandKind.TEXTURE_UNIT:
                unit = self.random.randrange(16)
                target = self.targets.setdefault(unit, self.one(TARGETS))
                return f"texture{self.one(('', '[0]')) if unit == 0 else f'[{unit}]'}, {target}"
        return self.source()

    def destination(self) -> str:
        register = self.one([*self.temporaries, *self.outputs, self.result()])
        return register + self.one(("", "", "." + self.one(MASKS)))

    def register(self) -> str:
        kinds = [ATTRIBUTES, [self.vector()], [self.number()], [self.braces()]]
        kinds += [names for names in (self.temporaries, self.sources) if names] * 3
        return self.one(self.random.choice(kinds))

    def source(self) -> str:
        register, letters = self.register(), self.one(LETTERS)
        suffix = self.one(("", "." + self.one(letters), "." + self.four(letters)))
        return self.one(("", "", "-", "+")) + _with_suffix(register, suffix)

    def scalar(self) -> str:
        suffix = "." + self.one(self.one(LETTERS))
        return self.one(("", "", "-", "+")) + _with_suffix(self.register(), suffix)

    def four(self, letters: str) -> str:
        return "".join(self.one(letters) for _ in range(4))


def _with_suffix(register: str, suffix: str) -> str:
    """The register with the suffix; a space keeps `3` and `.x` from becoming `3.` and `x`."""
    apart = " " if suffix and re.fullmatch(r"\d+\.?", register) else ""
    return register.rstrip(".") + apart + suffix if apart else register + suffix
