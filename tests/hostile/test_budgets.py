"""Budgets that end anywhere: work stops in time, and what is exceeded is told."""

from __future__ import annotations

from time import perf_counter

import pytest
from attacks import ATTACK

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.simulate import cache_run
from gpgpu_legacy.measure.timing import Budget, BudgetSpentError

MEMORY = Memory((parse_cache("2K,4way,64B"),))
METHODS = ("hall-carr-hart-single", "larson-mcallister")


def test_simulations_of_large_products_keep_their_budget() -> None:
    """Planning is what cannot be stopped; it takes less than a second for these."""
    random = ATTACK.random("large products")
    for _ in range(ATTACK.count(1, 12)):
        size, method = random.randrange(2000, 60_000), random.choice(METHODS)
        plan = find_product(method).plan(n=size, largest_texture=8192)
        started = perf_counter()
        with pytest.raises(BudgetSpentError):
            cache_run(plan, MEMORY, progress=Budget(0.5).until_spent())
        assert perf_counter() - started < 0.5 + 4.0  # a busy core


def test_without_a_limit_nothing_is_exceeded() -> None:
    assert Budget(float("inf")).overrun is None
