"""What a peer of a plan is: a program of today's that computes the same.

It is nobody's business how a peer does that: by a CUDA kernel a pass, or by a loop that a compiler
spreads over all cores. It brings the inputs to its device once. After that it starts, computes and
is asked for its outputs as often as wanted, and only computing is timed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from gpgpu_legacy.isa.arithmetic import F32


class PeerRun(Protocol):
    """A peer whose inputs are on its device."""

    def start(self) -> object:
        """Put everything as it is before the first pass; not timed."""

    def compute(self) -> object:
        """Run all passes, and return when they are done."""

    def outputs(self) -> Any:
        """What was computed: the output, or a mapping of outputs by name; not timed."""


OpenPeer = Callable[[Mapping[str, F32], Mapping[str, Any]], PeerRun]
"""Brings inputs, by name, to the peer's device, given the parameters that the plan was built with.

It may raise anything, such as where the device or a library is missing: a benchmark says so."""
