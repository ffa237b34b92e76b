"""Bounds on printed times: by a chip's rates, and by a host's chain of additions."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from gpgpu_legacy.count.coalescing import CC1_1, RULES, Rule, Transactions, transactions
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation
from gpgpu_legacy.predict.rates import Rates

# No multiprocessor of compute capability 1.x caches global memory or moves less than 32 bytes, so
# that no rule of these chips moves fewer bytes for a request than the 32-byte segments it touches.
_LEAST = replace(CC1_1, name="least", segment_bytes=32, scattered_bytes=None)


@derivation
def least_kernel_time(
    inputs: Inputs, method: str, chip: str, size: int, block: int, *, dynamic: bool = False,
    rule: str = _LEAST.name,
) -> float:  # fmt: skip
    """Milliseconds that a kernel takes at least: arithmetic, memory or shared memory alone.

    Each at the chip's highest rate. rule: how memory serves the requests of half-warps; the least
    of all is a transaction for every 32 bytes that a request touches.
    """
    product = inputs.product(method, size, block, dynamic=dynamic)
    rules: dict[str, Rule] = {**RULES, _LEAST.name: _LEAST}
    moved = _moved(product, rules[rule])
    rates = Rates(inputs.profile(chip).hardware)
    terms = (
        (product.counts.arithmetic, rates.kernel_arithmetic()),
        (moved.bytes_transacted, rates.memory()),
        (moved.shared_requests + moved.shared_replays, rates.shared_memory()),
    )
    return 1e3 * max(count / rate.per_second for count, rate in terms if rate.per_second)


@derivation
def quotient_of_least_times(
    inputs: Inputs, *, method: str, chip: str, size: int, over_block: int, under_block: int,
    over_dynamic: bool = False,
) -> Value:  # fmt: skip
    """The least time of a kernel over that with other blocks, or without dynamic shared arrays."""
    over = least_kernel_time(inputs, method, chip, size, over_block, dynamic=over_dynamic)
    return over / least_kernel_time(inputs, method, chip, size, under_block)


@cache
def _moved(product: Product, rule: Rule) -> Transactions:
    return transactions(product.plan, rule)


@derivation
def least_host_time(inputs: Inputs, method: str, machine: str, size: int) -> Value:
    """Milliseconds of a host's additions, each of which waits for the one before it.

    All additions of one element's sum follow one another; those of different elements do, too, but
    for the few that a processor begins early.
    """
    host = inputs.host(machine)
    additions = inputs.product(method, size).counts.arithmetic / 2
    return additions * host.double_add_clocks.value / host.clock_ghz.value * 1e-6


@derivation
def shared_against_memory(inputs: Inputs, chip: str) -> Value:
    """The rate of a chip's shared memory over that of its memory, each at its highest."""
    rates = Rates(inputs.profile(chip).hardware)
    requests, memory = rates.shared_memory().per_second, rates.memory().per_second
    assert requests is not None and memory is not None
    request_bytes = 4 * CC1_1.banks  # a word from each bank
    return requests * request_bytes / memory
