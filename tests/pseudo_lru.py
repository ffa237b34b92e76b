"""Tree pseudo-LRU in plain Python, with lines that stay in their ways and a bit for each node."""

from __future__ import annotations

from gpgpu_legacy.cache.caches import Cache, Policy


class Random:
    """Marsaglia's xorshift generator, from a seed."""

    def __init__(self, seed: int) -> None:
        self.x = ((seed + 1) * 0x9E3779B97F4A7C15) % 2**64

    def below(self, end: int) -> int:
        self.x ^= (self.x << 13) % 2**64
        self.x ^= self.x >> 7
        self.x ^= (self.x << 17) % 2**64
        return (self.x >> 16) % end


class Trees:
    """A set of pseudo-LRU as hardware has it: lines stay in their ways, and each node has a bit.

    points: for each node of a tree, by its path from the root, the half to which its bit points.
    order: the trees in order of use.
    """

    def __init__(self, ways: int) -> None:
        self.depth = (ways & -ways).bit_length() - 1
        self.lines: list[list[int] | None] = [None] * ways
        self.order = list(range(ways >> self.depth))
        self.points: dict[tuple[int, str], str] = {}

    def path(self, way: int) -> tuple[int, str]:
        tree, leaf = divmod(way, 1 << self.depth)
        return tree, f"{leaf:0{self.depth}b}" if self.depth else ""

    def use(self, way: int) -> None:
        tree, path = self.path(way)
        self.order.remove(tree)
        self.order.insert(0, tree)
        for level, half in enumerate(path):
            self.points[tree, path[:level]] = "1" if half == "0" else "0"

    def rank(self, way: int) -> tuple[int, list[bool]]:
        """The place of its tree in `order`; whether each node, from the root on, points to it."""
        tree, path = self.path(way)
        points = [
            self.points.get((tree, path[:level]), "1") == half for level, half in enumerate(path)
        ]
        return self.order.index(tree), points

    def victim(self, place: int) -> int:
        """The way to which the bits of the tree in this place of `order` lead."""
        tree = self.order[place]
        path = ""
        while len(path) < self.depth:
            path += self.points.get((tree, path), "1")
        return (tree << self.depth) + int(path or "0", 2)


class PlainTrees:
    """The cache `Plain` with pseudo-LRU."""

    def __init__(self, cache: Cache, seed: int) -> None:
        self.cache = cache
        self.trees = [Trees(cache.ways) for _ in range(cache.sets)]
        self.random = Random(seed)

    @property
    def sets(self) -> list[list[list[int]]]:
        return [[line for line in tree.lines if line] for tree in self.trees]

    def look(self, line: int, *, fill: bool, dirty: bool) -> tuple[bool, list[int] | None]:
        trees = self.trees[line % self.cache.sets]
        for way, held in enumerate(trees.lines):
            if held and held[0] == line:
                held[1] |= dirty
                trees.use(way)
                return True, None
        if not fill:
            return False, None
        empty = [way for way, held in enumerate(trees.lines) if not held]
        if empty:
            way = max(empty, key=trees.rank)
        elif self.cache.policy is Policy.PLRU:
            way = trees.victim(-1)
        else:
            way = trees.victim(self.random.below(len(trees.order)))
        victim, trees.lines[way] = trees.lines[way], [line, int(dirty)]
        trees.use(way)
        return False, victim
