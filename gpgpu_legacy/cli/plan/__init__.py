"""The commands `plan VERB`: what can be done with anyone's algorithm."""

from gpgpu_legacy.cli.plan import cost, look, measure, run

__all__ = ["cost", "look", "measure", "run"]
