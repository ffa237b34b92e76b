"""The rules of a fragment program that concern it as a whole, not one statement of it."""

from __future__ import annotations

from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.ir import Program, TextureTarget


def validate(program: Program, text: str) -> None:
    """Raise AssemblyError where `program`, assembled from `text`, breaks a rule of the whole."""
    _one_target_a_unit(program, text)


def _one_target_a_unit(program: Program, text: str) -> None:
    """A unit may be used with one texture target only (spec, section 3.11.6)."""
    targets: dict[int, TextureTarget] = {}
    for instruction in program.instructions:
        source = instruction.texture
        if source is None:
            continue
        before = targets.setdefault(source.unit, source.target)
        if before is not source.target:
            raise AssemblyError(
                f"texture[{source.unit}] is used as {source.target.value} here and as "
                f"{before.value} above; a unit has one target",
                text,
                instruction.span.line,
                instruction.span.column,
                program.name,
            )
