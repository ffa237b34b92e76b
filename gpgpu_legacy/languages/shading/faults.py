"""Faults in a Cg text, found after it is parsed: each names its construct, and the first one ends
the compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import TypeVar

from gpgpu_legacy.errors import InputError, hint
from gpgpu_legacy.isa.opcodes import OPCODES
from gpgpu_legacy.isa.program import Program, Span

PROFILES = {"arbfp1": False, "fp40": True, "ps_3_0": True}
"""The profiles of the time that may be asked for, and whether they have NVIDIA's instructions."""

T = TypeVar("T")


class Fault(Exception):  # noqa: N818 — it becomes an AssemblyError, which is the error
    """What is wrong, what was expected or how to mend it, and where."""

    def __init__(self, message: str, at: Span) -> None:
        super().__init__(message.strip())
        self.at = at


class TooLong(Fault):
    """A text that does not fit a straight line."""


def fitted(
    compiled: Callable[..., T],
    profile: str,
    programs: Callable[[T], Iterable[Program]],
) -> T:
    """Compile into a straight line, if the text fits one and the profile leaves the choice, else
    with `branching`.

    programs: gives the programs of a result, which may have NVIDIA's instructions if the profile
    does.
    """
    if profile and profile not in PROFILES:
        raise InputError(f"there is no profile {profile}; {hint(profile, PROFILES)}")
    try:
        result = compiled(branching=PROFILES.get(profile, False))
    except TooLong as fault:
        if PROFILES.get(profile):
            raise
        if profile:
            problem, _, _ = str(fault).partition(";")
            expected = f"{profile} has no branches: name another profile, or none"
            raise Fault(f"{problem}; {expected}", fault.at) from None
        result = compiled(branching=True)
    for instruction in chain(*(p.instructions for p in programs(result))):
        if not PROFILES.get(profile, True) and OPCODES[instruction.mnemonic].option:
            raise Fault(
                f"{profile} has no derivatives, and no levels of detail that are given; "
                "name another profile, or none",
                instruction.span,
            )
    return result
