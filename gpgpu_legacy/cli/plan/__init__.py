"""The commands `plan VERB`: what can be done with anyone's algorithm."""

from gpgpu_legacy.cli.plan import measure

__all__ = ["measure"]
