"""Prepared plans that stay prepared between runs, as many as memory has room for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from gpgpu_legacy.memory import free_memory
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.prepared import Prepared

LEAST_BYTES, MOST_BYTES = 2 << 30, 8 << 30  # the most is also to fit a GPU's memory
_SHARE = 8  # of the memory that is free
_MATRICES = 6  # float32: A, B, C, C's second framebuffer, and two for transfers

Key = TypeVar("Key")


def held_bytes() -> int:
    """How much memory plans that stay prepared may take, all together."""
    return max(LEAST_BYTES, min(MOST_BYTES, free_memory().size_bytes // _SHARE))


def fit_at_once(plan_bytes: int) -> int:
    """How many prepared plans of that size fit in what may be held; at least 1."""
    return max(1, held_bytes() // max(1, plan_bytes))


def bytes_of(plan: Plan) -> int:
    """About how many bytes a prepared plan takes: textures, and what is transferred."""
    moved = sum(matrix.rows * matrix.columns for matrix in (*plan.operands, *plan.results))
    return 4 * moved + plan.texture_bytes


def products_at_once(size: int) -> int:
    """How many prepared products of n×n matrices fit in what may be held; at least 1."""
    return fit_at_once(_MATRICES * 4 * size**2)


class Pool(Generic[Key]):
    """Prepared plans by key. To make room, the least recently used one is closed."""

    def __init__(self, most: int) -> None:
        """most: how many stay prepared, at least 1."""
        self._most = most
        self._held: dict[Key, Prepared] = {}  # the last used at the end

    def take(self, key: Key, prepare: Callable[[], Prepared]) -> tuple[Prepared, bool]:
        """The prepared plan of that key, and whether it was prepared just now."""
        prepared = self._held.pop(key, None)
        is_new = prepared is None
        if prepared is None:
            while len(self._held) >= self._most:
                self.drop(next(iter(self._held)))
            prepared = prepare()
        self._held[key] = prepared
        return prepared, is_new

    def drop(self, key: Key) -> None:
        """Close the plan of that key, if it is prepared."""
        prepared = self._held.pop(key, None)
        if prepared is not None:
            prepared.close()

    def close(self) -> None:
        """Close all plans."""
        for key in list(self._held):
            self.drop(key)
