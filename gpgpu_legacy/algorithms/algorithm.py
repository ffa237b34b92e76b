"""An algorithm: who published it for graphics hardware, and the function that builds its plan."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass

from gpgpu_legacy.algorithms.parameters import Parameter, parameters_of
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.pipeline.builder import PlanBuilder

SHIPPED_IN = "gpgpu_legacy"
"""The package that an algorithm of our own comes from."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm in passes, as somebody published it for the graphics hardware of the time.

    name: on the command line, as in `bitonic-sort`. field: what it belongs to, such as `sorting`.
    source: who published it for such hardware, where and when. year: of that; None if unknown.
    summary: what it computes, in one line. build: builds the plan; its keyword parameters, with
    their defaults, are the algorithm's. `Annotated[int, "the meaning"]` says what one is. The
    builder has the reference function and sample inputs.
    aliases: other names. lacked: what the hardware or API of the day did not offer. package: that
    it comes from.
    """

    name: str
    year: int | None
    field: str
    source: str
    summary: str
    build: Callable[..., PlanBuilder]
    aliases: tuple[str, ...] = ()
    lacked: str = ""
    package: str = SHIPPED_IN

    def __post_init__(self) -> None:
        if not self.name or not callable(self.build):
            raise InputError("an algorithm has a name and a function that builds it; give both")

    @property
    def explanation(self) -> str:
        """How it works, in paragraphs: the docstring of the module that builds it."""
        module = sys.modules.get(getattr(self.build, "__module__", ""))
        return "" if module is None else inspect.getdoc(module) or ""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What its plans depend on, in the order in which `build` lists it."""
        return parameters_of(self.build)
