"""Texture environments as a Program, with one lookup and one stage for each unit, and as text.

All textures are looked up first. A stage then computes scale · function(arguments) for RGB and for
alpha, in one instruction if both agree. Scales are applied to an operand, which is exact, so that a
result is rounded once, and clamped to [0, 1] by the `_SAT` of the stage's last instruction.

The modes of OpenGL 1.0 and 1.1 are combinations, too, by table 3.23. Textures are RGBA; one with
fewer channels fills the others as a lookup does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

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
from gpgpu_legacy.isa.program import (
    Attribute,
    AttributeKind,
    Dst,
    FixedFunction,
    Instruction,
    Mask,
    Parameter,
    ParameterSpace,
    Program,
    ResultKind,
    ResultRegister,
    Selector,
    SourceRegister,
    Src,
    Temporary,
    TextureSource,
    TextureUnit,
)

HEADER = "!!texenv1.3"


INITIAL_SOURCES = (CombinerSource.TEXTURE, CombinerSource.PREVIOUS, CombinerSource.CONSTANT)
"""The initial sources of COMBINE's three arguments (table 6.17)."""

_COLORS, _ALPHAS = (CombinerOperand.SRC_COLOR,) * 3, (CombinerOperand.SRC_ALPHA,) * 3

INITIAL_OPERANDS = {"RGB": (*_COLORS[:2], CombinerOperand.SRC_ALPHA), "ALPHA": _ALPHAS}
"""The initial operands of COMBINE_RGB's and of COMBINE_ALPHA's arguments."""


def combiner(
    function: CombinerFunction,
    operands: tuple[CombinerOperand, ...],
    sources: tuple[CombinerSource, ...] = INITIAL_SOURCES,
) -> Combiner:
    """A function of these operands of these sources, as many as it has arguments."""
    arguments = map(CombinerArgument, sources[: function.arity], operands)
    return Combiner(function, tuple(arguments))


_TEXTURE, _PREVIOUS, _CONSTANT = ((source,) for source in INITIAL_SOURCES)
_BOTH = _PREVIOUS + _TEXTURE
_MODULATED = combiner(CombinerFunction.MODULATE, _ALPHAS, _BOTH)

MODES = {
    CombinerMode.REPLACE: (
        combiner(CombinerFunction.REPLACE, _COLORS, _TEXTURE),
        combiner(CombinerFunction.REPLACE, _ALPHAS, _TEXTURE),
    ),
    CombinerMode.MODULATE: (
        combiner(CombinerFunction.MODULATE, _COLORS, _BOTH),
        _MODULATED,
    ),
    CombinerMode.DECAL: (
        combiner(
            CombinerFunction.INTERPOLATE, INITIAL_OPERANDS["RGB"], _TEXTURE + _PREVIOUS + _TEXTURE
        ),
        combiner(CombinerFunction.REPLACE, _ALPHAS, _PREVIOUS),
    ),
    CombinerMode.BLEND: (
        combiner(CombinerFunction.INTERPOLATE, _COLORS, _CONSTANT + _BOTH),
        _MODULATED,
    ),
    CombinerMode.ADD: (
        combiner(CombinerFunction.ADD, _COLORS, _BOTH),
        _MODULATED,
    ),
}
"""The computations of modes other than COMBINE for RGB and alpha (tables 3.22, 3.23, RGBA)."""


_RGB, _ALPHA = (True, True, True, False), (False, False, False, True)
_RGBA = (True,) * 4
_W = (Selector.W,) * 4
_COLOR = Attribute(AttributeKind.COLOR)


def program_of(state: FixedFunction, name: str) -> Program:
    """The Program that implements a state."""
    units = state.units
    instructions = [
        Instruction(
            "TEX",
            Dst(_texel(unit.number)),
            (Src(Attribute(AttributeKind.TEXCOORD, unit.number)),),
            TextureSource(unit.number, unit.target),
            span=unit.span,
        )
        for unit in units
    ]
    primary: SourceRegister = _COLOR
    reads_color = any(CombinerSource.PRIMARY_COLOR in unit.sources for unit in units)
    if state.clamped and (reads_color or CombinerSource.PREVIOUS in units[0].sources):
        primary = Temporary("primary")  # section 2.13.6: colours are clamped before they get here
        clamp = Instruction("MOV", Dst(primary), (Src(_COLOR),), saturate=True, span=units[0].span)
        instructions.append(clamp)
    previous = primary
    for unit in units:
        stage = _Stage(unit, primary, previous, state.clamped)
        if unit is units[-1]:
            instructions += stage.instructions(ResultRegister(ResultKind.COLOR))
        else:
            previous = Temporary(f"stage{unit.number}")
            instructions += stage.instructions(previous)
    written = (i.register for i in instructions)
    temporaries = dict.fromkeys(r.name for r in written if isinstance(r, Temporary))
    return Program(tuple(instructions), tuple(temporaries), name=name, state=state)


def _texel(number: int) -> Temporary:
    return Temporary(f"texture{number}")


@dataclass
class _Stage:
    """One unit's instructions. previous: the result of the unit before, or else the colour."""

    unit: TextureUnit
    primary: SourceRegister
    previous: SourceRegister
    clamped: bool
    code: list[Instruction] = field(default_factory=list)

    def instructions(self, result: Temporary | ResultRegister) -> list[Instruction]:
        """The instructions of a stage; the last ones write its result."""
        for mask, combiner in self._parts():
            self._combine(combiner, Dst(result, mask))
        return self.code

    def _parts(self) -> Iterator[tuple[Mask, Combiner]]:
        """RGB and alpha; together if one instruction computes both."""
        rgb, alpha = self.unit.rgb, self.unit.alpha
        if rgb.function is CombinerFunction.DOT3_RGBA:
            # COMBINE_ALPHA is ignored, ALPHA_SCALE is not.
            alpha = replace(rgb, scale=alpha.scale)
        if _of_sources(rgb) == _of_sources(alpha):
            yield _RGBA, rgb
        else:
            yield _RGB, rgb
            yield _ALPHA, alpha

    def _combine(self, combiner: Combiner, dst: Dst) -> None:
        function, scale = combiner.function, float(combiner.scale)
        a, *rest = (self._operand(argument) for argument in combiner.arguments)
        if function in DOT_PRODUCTS:  # 4·Σ(a - ½)·(b - ½) is Σ(2a - 1)·(2b - 1)
            left = self._temporary("MAD", a, _constant(2.0 * scale), _constant(-scale))
            right = self._temporary("MAD", rest[0], _constant(2.0), _constant(-1.0))
            self._emit("DP3", dst, left, right)
        elif function is CombinerFunction.ADD_SIGNED:
            total = self._temporary("ADD", a, rest[0])
            self._emit("MAD", dst, total, _constant(scale), _constant(-0.5 * scale))
        elif function is CombinerFunction.INTERPOLATE:
            b, weight = rest
            self._emit("LRP", dst, weight, self._scaled(a, scale), self._scaled(b, scale))
        elif function in (CombinerFunction.ADD, CombinerFunction.SUBTRACT) and scale != 1.0:
            factor = scale if function is CombinerFunction.ADD else -scale
            self._emit("MAD", dst, rest[0], _constant(factor), self._scaled(a, scale))
        else:
            self._emit(_PLAIN[function], dst, self._scaled(a, scale), *rest)

    def _operand(self, argument: CombinerArgument) -> Src:
        match argument.source:
            case CombinerSource.TEXTURE:
                register: SourceRegister = _texel(self.unit.number)
            case CombinerSource.PREVIOUS:
                register = self.previous
            case CombinerSource.PRIMARY_COLOR:
                register = self.primary
            case CombinerSource.CONSTANT if self.unit.color is not None:
                register = Parameter(ParameterSpace.CONSTANT, value=self.unit.color)
            case CombinerSource.CONSTANT:
                binding = f"state.texenv[{self.unit.number}].color"
                register = Parameter(ParameterSpace.STATE, binding=binding)
                if self.clamped:
                    register = self._temporary("MOV", Src(register), saturate=True).register
            case crossed:
                register = Temporary(crossed.name.lower())
        src = Src(register, _W) if argument.operand.is_alpha else Src(register)
        if not argument.operand.is_complement:
            return src
        return self._temporary("SUB", _constant(1.0), src)

    def _scaled(self, src: Src, scale: float) -> Src:
        return src if scale == 1.0 else self._temporary("MUL", src, _constant(scale))

    def _temporary(self, mnemonic: str, *srcs: Src, saturate: bool = False) -> Src:
        register = Temporary(f"unit{self.unit.number}_{len(self.code)}")
        self._add(mnemonic, Dst(register), srcs, saturate=saturate)
        return Src(register)

    def _emit(self, mnemonic: str, dst: Dst, *srcs: Src) -> None:
        self._add(mnemonic, dst, srcs, saturate=self.clamped)

    def _add(self, mnemonic: str, dst: Dst, srcs: tuple[Src, ...], *, saturate: bool) -> None:
        self.code.append(Instruction(mnemonic, dst, srcs, saturate=saturate, span=self.unit.span))


_PLAIN = {
    CombinerFunction.REPLACE: "MOV",
    CombinerFunction.MODULATE: "MUL",
    CombinerFunction.ADD: "ADD",
    CombinerFunction.SUBTRACT: "SUB",
}


def _of_sources(combiner: Combiner) -> tuple[object, ...]:
    """What a combiner computes, whether of its sources' colours or of their alpha."""
    arguments = [(a.source, a.operand.is_complement) for a in combiner.arguments]
    return combiner.function, combiner.scale, arguments


def _constant(number: float) -> Src:
    return Src(Parameter(ParameterSpace.CONSTANT, value=(number,) * 4))


# Text ---------------------------------------------------------------------------------------------


def print_state(program: Program) -> str:
    """The canonical text of a state's program, which assembles to the same state."""
    state = program.state
    assert state is not None
    clamp = [] if state.clamped else [UNCLAMPED]
    return "\n".join([HEADER, *clamp, *map(_unit, state.units), ""])


def stages(program: Program) -> dict[int, str]:
    """The text of each texture environment that a program stands for, by its line."""
    units = program.state.units if program.state else ()
    return {unit.span.line: _unit(unit) for unit in units}


def _unit(unit: TextureUnit) -> str:
    parts = [f"TEXTURE{unit.number}", unit.target.value, unit.mode.name]
    if unit.mode is CombinerMode.COMBINE:
        parts += [f"RGB = {_combiner(unit.rgb)}", f"ALPHA = {_combiner(unit.alpha)}"]
    if unit.color is not None:
        parts.append(f"COLOR = ({', '.join(map(repr, unit.color))})")
    return " ".join(parts)


def _combiner(combiner: Combiner) -> str:
    arguments = ", ".join(f"{a.source.name}.{a.operand.name}" for a in combiner.arguments)
    scale = f" * {combiner.scale}" if combiner.scale != 1 else ""
    return f"{combiner.function.name}({arguments}){scale}"
