"""Budgets that end anywhere: nothing is lost from the account, and what is exceeded is told."""

from __future__ import annotations

from functools import cache
from itertools import count
from time import perf_counter

import pytest
from attacks import ATTACK

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache import run as cache_run_module
from gpgpu_legacy.cache import simulate as simulate_module
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.run import cache_run
from gpgpu_legacy.cache.simulate import Simulated
from gpgpu_legacy.measure.budget import GRACE_S, Budget
from gpgpu_legacy.plan.plan import Plan

MEMORY = Memory((parse_cache("2K,4way,64B"),))
METHODS = ("hall-carr-hart-single", "larson-mcallister", "dobravec-bulic-shared")


@cache
def plan_of(method: str, size: int, largest: int) -> Plan:
    product = find_product(method)
    textures = {"largest_texture": largest} if "largest_texture" in product.parameters else {}
    return product.plan(n=size, **textures)


@cache
def whole(method: str, size: int, largest: int) -> Simulated:
    return cache_run(plan_of(method, size, largest), MEMORY)


def test_a_simulation_that_is_cut_short_accounts_for_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock goes on by a second whenever it is read, so it ends at any step of the way."""
    random = ATTACK.random("cut short")
    for _ in range(ATTACK.count(12, 400)):
        case = random.choice(METHODS), random.choice((33, 64, 70)), random.choice((32, 64))
        plan, full = plan_of(*case), whole(*case)
        clock = count()
        for module in (simulate_module, cache_run_module):
            monkeypatch.setattr(module, "monotonic", lambda clock=clock: float(next(clock)))
        result = cache_run(plan, MEMORY, budget_s=float(random.randrange(2, 400)))
        assert result.accesses + result.accesses_left_out == full.accesses
        done = result.iterations_simulated + result.iterations_repeated
        assert done + result.iterations_left_out == result.iterations == full.iterations
        assert (result.accesses_left_out == 0) == result.exact
        assert result.accesses_left_out >= 0


def test_simulations_of_large_products_keep_their_budget() -> None:
    """Planning is what cannot be stopped; it takes less than a second for these."""
    random = ATTACK.random("large products")
    for _ in range(ATTACK.count(1, 12)):
        size, method = random.randrange(2000, 60_000), random.choice(METHODS[:2])
        plan = plan_of(method, size, 8192)
        started = perf_counter()
        result = cache_run(plan, MEMORY, budget_s=0.5)
        assert perf_counter() - started < 0.5 + 4.0  # a busy core
        assert not result.exact


def test_what_is_exceeded_is_told() -> None:
    random = ATTACK.random("exceeded")
    for _ in range(ATTACK.count(50, 1000)):
        now = [0.0]
        budget = Budget(random.uniform(0, 100), clock=lambda now=now: now[0])
        now[0] = random.uniform(0, 200)
        over_s = now[0] - budget.seconds
        told = budget.overrun
        assert (told is not None) == (over_s > GRACE_S)
        if told is not None:
            assert f"exceeded by {over_s:.1f} s" in told
            assert f"of {budget.seconds:g} s" in told


def test_without_a_limit_nothing_is_exceeded() -> None:
    assert Budget(float("inf")).overrun is None
