"""The command that says what this machine can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpgpu_legacy.cli.frame import answers

if TYPE_CHECKING:
    from gpgpu_legacy.api.doctor import Diagnosis


@answers("doctor")
def doctor() -> Diagnosis:
    """Say which executors work here, and how to mend those that do not."""
    from gpgpu_legacy.api.doctor import diagnose

    return diagnose()
