"""Predicted times beside published and measured ones; the log is in predict/."""

from __future__ import annotations

from gpgpu_legacy.api.command.frame import answers
from gpgpu_legacy.predict.mispredictions import Mispredictions, compare_all


@answers("study mispredictions")
def mispredictions_command() -> Mispredictions:
    """Compare predicted with published and measured times, with the reason for each difference.

    The exit code is 1 if a prediction differs from the recorded one.
    """
    return compare_all()
