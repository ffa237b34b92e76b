"""The options of a verb that has many, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict


class CacheKeywords(TypedDict, total=False):
    """The options of a simulated cache.

    inputs: by name, for lookups that depend on data; samples without any. in_flight: the number of
    fragments, or of quads, in flight. raster, layout: the order of
    fragments and the texture layout. quads: draw in quads of 2×2 fragments. second_level: a cache
    behind it, shared by all textures. per_texture: each texture has a first level of its own.
    writes: `allocate` if a write that misses fills a line, else `no-allocate`. seed: of random
    replacement. every_pass: also simulate iterations that provably repeat others.
    """

    inputs: Mapping[str, Any]
    in_flight: int
    raster: str
    layout: str
    quads: bool
    second_level: str
    per_texture: bool
    writes: str
    seed: int
    every_pass: bool
