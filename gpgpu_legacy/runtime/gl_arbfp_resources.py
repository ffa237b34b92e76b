"""What a driver says that a fragment program uses."""

from __future__ import annotations

from ctypes import byref, c_int, c_uint
from dataclasses import dataclass

from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.runtime.gl_arbfp_context import context
from gpgpu_legacy.runtime.gl_arbfp_programs import generate, load_text
from gpgpu_legacy.runtime.gl_headers import GL


@dataclass(frozen=True, slots=True)
class Resources:
    """What a program uses, as a driver counts it."""

    instructions: int
    alu_instructions: int
    tex_instructions: int
    tex_indirections: int
    temporaries: int
    parameters: int
    attributes: int


@dataclass(frozen=True, slots=True)
class ProgramResources:
    """A driver's counts of a program: of its text, and of what the driver has made of it."""

    text: Resources
    native: Resources
    under_native_limits: bool


_TEXT_COUNTS = (
    *(GL.PROGRAM_INSTRUCTIONS, GL.PROGRAM_ALU_INSTRUCTIONS, GL.PROGRAM_TEX_INSTRUCTIONS),
    *(GL.PROGRAM_TEX_INDIRECTIONS, GL.PROGRAM_TEMPORARIES, GL.PROGRAM_PARAMETERS),
    GL.PROGRAM_ATTRIBS,
)
_NATIVE_COUNTS = (
    *(GL.PROGRAM_NATIVE_INSTRUCTIONS, GL.PROGRAM_NATIVE_ALU_INSTRUCTIONS),
    *(GL.PROGRAM_NATIVE_TEX_INSTRUCTIONS, GL.PROGRAM_NATIVE_TEX_INDIRECTIONS),
    *(GL.PROGRAM_NATIVE_TEMPORARIES, GL.PROGRAM_NATIVE_PARAMETERS, GL.PROGRAM_NATIVE_ATTRIBS),
)


def program_resources(text: str) -> ProgramResources:
    """What the driver says that a program uses (ARB_fragment_program, section 6.1.12).

    NVIDIA's driver counts texture indirections; Mesa gives 0 and counts END as an instruction.
    Raises PlanError, with the driver's own words, where it refuses the program, and
    ExecutorUnavailableError where there is no driver.
    """
    shared = context()
    with shared.current() as gl:
        name = generate(gl.glGenProgramsARB)
        try:
            refusal = load_text(shared, GL.FRAGMENT_PROGRAM, name, text)
            if refusal:
                raise PlanError(f"{shared.renderer} refuses the program {refusal}")

            def ask(what: int) -> int:
                count = c_int()
                gl.glGetProgramivARB(GL.FRAGMENT_PROGRAM, what, byref(count))
                return count.value

            return ProgramResources(
                Resources(*map(ask, _TEXT_COUNTS)),
                Resources(*map(ask, _NATIVE_COUNTS)),
                bool(ask(GL.PROGRAM_UNDER_NATIVE_LIMITS)),
            )
        finally:
            gl.glDeleteProgramsARB(1, byref(c_uint(name)))
