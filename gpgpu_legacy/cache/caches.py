"""Caches as data: size, ways, line and policy, and their spelling."""

from __future__ import annotations

import re
from enum import Enum

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import InputError, as_whole

_EXAMPLE = 'for example "8K,4way,64B" or "32K,fully,128B,fifo"'
_PART = re.compile(
    r"(?P<line>[0-9]{1,15})b|(?P<size>[0-9]{1,15}[km]?)|(?P<ways>[0-9]{1,15})-?ways?"
    r"|(?P<all_ways>direct|fully)|(?P<policy>lru|fifo|random|plru|random-plru)"
)
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20}


class Policy(Enum):
    """The rule that chooses the line to evict from a full set.

    LRU: the least recently used. FIFO: the oldest. RANDOM: any. PLRU, tree pseudo-LRU: each node of
    a binary tree over the ways has a bit that points away from the half used last, and the bits
    lead to the line that is evicted. If the ways are an odd number times a power of two, there is a
    tree for each such power, and the least recently used tree evicts (24 ways are 3 trees of 8, 7
    ways are plain LRU). RANDOM_PLRU: the same, but a random tree evicts.
    """

    LRU = "lru"
    FIFO = "fifo"
    RANDOM = "random"
    PLRU = "plru"
    RANDOM_PLRU = "random-plru"

    @property
    def is_random(self) -> bool:
        """Whether evictions depend on random numbers."""
        return self in {Policy.RANDOM, Policy.RANDOM_PLRU}


@frozen
class Cache:
    """A set-associative cache; line l belongs to set `l % sets`, for any number of sets.

    Raises InputError if the size is not a whole number of sets, or the line is not a power of two.
    """

    size_bytes: int
    ways: int
    line_bytes: int
    policy: Policy = Policy.LRU

    def __post_init__(self) -> None:
        if min(self.size_bytes, self.ways, self.line_bytes) < 1:
            raise InputError("a cache's size, ways and line must be at least 1")
        if self.line_bytes & (self.line_bytes - 1):
            raise InputError(
                f"a cache line has {self.line_bytes} bytes; the number must be a power of two"
            )
        set_bytes = self.ways * self.line_bytes
        if self.size_bytes % set_bytes:
            raise InputError(
                f"a cache of {self.size_bytes} bytes does not divide into sets of {self.ways} "
                f"lines of {self.line_bytes} bytes; make the size a multiple of {set_bytes}"
            )

    @property
    def sets(self) -> int:
        return self.size_bytes // (self.ways * self.line_bytes)

    @property
    def lines(self) -> int:
        return self.size_bytes // self.line_bytes

    def __str__(self) -> str:
        """The spelling that `parse_cache` reads."""
        ways = f"{self.ways}way"
        if self.ways == self.lines:
            ways = "fully"
        if self.ways == 1:
            ways = "direct"
        policy = "" if self.policy is Policy.LRU else f",{self.policy.value}"
        return f"{_short(self.size_bytes)},{ways},{self.line_bytes}B{policy}"


@frozen
class Memory:
    """One or two levels of cache in front of memory, and how writes pass through them.

    levels: level 1 first. per_texture: each region has a level 1 of its own; level 2 is always
    shared. allocate: a write that misses fills the line, and dirty lines are written back when they
    are evicted; otherwise writes fill nothing and go through to memory. seed: of random
    replacement, which is deterministic.

    Raises InputError for more than two levels, or a level 2 with shorter lines than level 1.
    """

    levels: tuple[Cache, ...]
    per_texture: bool = False
    allocate: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        as_whole("seed", self.seed)
        if len(self.levels) not in {1, 2}:
            raise InputError(f"there are {len(self.levels)} levels of cache; give one or two")
        if self.levels[-1].line_bytes < self.levels[0].line_bytes:
            raise InputError(
                f"level 2 has lines of {self.levels[-1].line_bytes} bytes, level 1 of "
                f"{self.levels[0].line_bytes}; give level 2 lines at least as long"
            )

    def __str__(self) -> str:
        levels = " + ".join(map(str, self.levels))
        shared = " a texture" if self.per_texture else ""
        return f"{levels}{shared}, {'write-allocate' if self.allocate else 'write-through'}"


def parse_cache(text: str) -> Cache:
    """A cache from its size, ways, line and policy, in any order: `8K,4way,64B,fifo`.

    The size is in bytes, or with K or M after it; ways are `4way`, `direct` or `fully`; the line's
    bytes end in B; the policy is lru (the default), fifo, random, plru or random-plru. Raises
    InputError.
    """
    given: dict[str, str] = {}
    for part in text.lower().replace(" ", "").split(","):
        match = _PART.fullmatch(part)
        if match is None or match.lastgroup is None:
            raise InputError(
                f'cache "{text}": "{part}" is not a size, ways, a line or a policy; write it '
                f"{_EXAMPLE}"
            )
        what = match.lastgroup.removeprefix("all_")
        if what in given:
            raise InputError(f'cache "{text}": the {what} is given twice; write it {_EXAMPLE}')
        given[what] = match[match.lastgroup]
    for what in ("size", "ways", "line"):
        if what not in given:
            raise InputError(f'cache "{text}" has no {what}; write it {_EXAMPLE}')
    number = given["size"].rstrip("km")
    size_bytes = int(number) * _SIZES[given["size"].removeprefix(number)]
    line_bytes, ways = int(given["line"]), given["ways"]
    named = {"direct": 1, "fully": max(1, size_bytes // max(1, line_bytes))}
    policy = Policy(given.get("policy", Policy.LRU.value))
    return Cache(size_bytes, named[ways] if ways in named else int(ways), line_bytes, policy)


def _short(size_bytes: int) -> str:
    """A size with the largest suffix that divides it."""
    for suffix in ("m", "k"):
        if size_bytes % _SIZES[suffix] == 0:
            return f"{size_bytes // _SIZES[suffix]}{suffix.upper()}"
    return str(size_bytes)
