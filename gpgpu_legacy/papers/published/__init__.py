"""The papers as data: what they printed, and where.

Nothing is recomputed here; the rest of papers/ does that.
"""

from __future__ import annotations

from pathlib import Path


def paper_ids() -> list[str]:
    """The ids of the papers, from their files' names alone."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.toml"))
    return [name.replace("_", "-") for name in names]
