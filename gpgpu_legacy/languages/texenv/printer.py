"""Prints texture environments, each unit on a line of its own."""

from __future__ import annotations

from gpgpu_legacy.isa.combiners import UNCLAMPED, Combiner, CombinerMode
from gpgpu_legacy.isa.program import FixedFunction, Program, TextureUnit
from gpgpu_legacy.languages.texenv.stages import HEADER


def print_state(state: FixedFunction) -> str:
    """The canonical text, which assembles to the same state."""
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
