"""The commands `plan VERB`: what can be done with anyone's algorithm."""

from gpgpu_legacy.cli.plan import look, measure, run

__all__ = ["look", "measure", "run"]
