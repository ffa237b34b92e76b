"""The options of a verb that has many, by name."""

from __future__ import annotations

from typing import TypedDict


class CacheKeywords(TypedDict, total=False):
    """The options of a simulated cache.

    in_flight: the number of fragments, or of quads, in flight. raster, layout: the order of
    fragments and the texture layout. quads: draw in quads of 2×2 fragments. second_level: a cache
    behind it, shared by all textures. per_texture: each texture has a first level of its own.
    writes: `allocate` if a write that misses fills a line, else `no-allocate`. seed: of random
    replacement. every_pass: also simulate iterations that provably repeat others.
    """

    in_flight: int
    raster: str
    layout: str
    quads: bool
    second_level: str
    per_texture: bool
    writes: str
    seed: int
    every_pass: bool
