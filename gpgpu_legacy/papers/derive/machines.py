"""Chips, processors and caches: facts of their profiles, blocks that fit, misses, least times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.api.fit import fit
from gpgpu_legacy.cache.access import parse_access
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.cache.host import Hierarchy, Paging
from gpgpu_legacy.cache.simulate import Simulated, cache_run, memory_bytes, operand_tallies
from gpgpu_legacy.chips.check import check_program
from gpgpu_legacy.chips.hosts import Capability, Host, Processor
from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.isa.expressions import (
    Element,
    Read,
    Swizzle,
)
from gpgpu_legacy.isa.kernel import parts
from gpgpu_legacy.isa.statements import (
    Loop,
    Store,
    statements_below,
)
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value, each_pass
from gpgpu_legacy.papers.host_misses import HostMisses, simulate_host
from gpgpu_legacy.papers.published.schema import PlanChange
from gpgpu_legacy.plan.plan import ComputePass, FragmentPass, Plan
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Prediction, Rates
from gpgpu_legacy.predict.work import count_accesses

# Facts --------------------------------------------------------------------------------------------


def fact(inputs: Inputs, chip: str, fact: str, most: bool = False) -> Value:
    """A number of a chip, a processor or a compute capability, such as `hardware.memory_mib`.

    most: the largest, where boards or drivers differ.
    """
    known = inputs.fact(chip, fact)
    return known.most if most else known.value


def rate_over_memory(profile: Profile, request_bytes: int, bits: int = 0) -> Value:
    """The most bytes that texture units look up in a second, over those that memory gives.

    bits: of a texel; if 0, shared memory serves the requests.
    """
    rates = Rates(profile.hardware)
    requests = (rates.lookups(bits) if bits else rates.shared_memory()).per_second
    memory = rates.memory().per_second
    assert requests is not None and memory is not None
    return requests * request_bytes / memory


# Compute capabilities -----------------------------------------------------------------------------


def largest_square_block(capability: Capability, powers_of_two: bool = False) -> Value:
    """The largest b whose b×b threads are no more than a compute capability allows in a block."""
    b = math.isqrt(capability.block_threads.value)
    return 1 << (b.bit_length() - 1) if powers_of_two else b


def threads_at_a_time(
    inputs: Inputs, chip: str, capability: Capability, blocks: Sequence[int]
) -> Value:
    """The most threads that a chip has at a time, with blocks of b×b threads, for each b.

    A multiprocessor limits threads, warps and blocks; registers may leave fewer.
    """
    multiprocessors = inputs.fact(chip, "hardware.multiprocessors").value

    def at_a_time(threads: int) -> float:
        resident = min(
            capability.resident_blocks.value,
            capability.resident_warps.value // math.ceil(threads / capability.warp_threads.value),
            capability.resident_threads.value // threads,
        )
        return float(multiprocessors * resident * threads)

    return tuple(at_a_time(b * b) for b in blocks)


# Programs -----------------------------------------------------------------------------------------


def largest_block(profile: Profile, method: str, size: int) -> Value:
    """The largest b whose program, as it is written, loads by a chip's or an API's limits."""
    fits = fit(find_product(method), profile, {"n": size, "accumulate": Accumulate.COPY}).largest
    return min(largest.value or 0 for largest in fits if largest.coordinates_first is None)


def exceeds_a_limit(product: Product, profile: Profile) -> bool:
    """Whether a plan's programs exceed a limit of a chip or an API."""
    return any(check_program(program, profile).exceeded for program in product.plan.programs())


# A host -------------------------------------------------------------------------------------------


def least_host_time(product: Product, host: Host) -> Value:
    """Milliseconds of a host's additions, each of which waits for the one before it.

    All additions of one element's sum follow one another; those of different elements do, too, but
    for the few that a processor begins early.
    """
    additions = product.counts.arithmetic / 2
    return additions * host.double_add_clocks.value / host.clock_ghz.value * 1e-6


# Predictions --------------------------------------------------------------------------------------


def predicted_bottleneck(
    inputs: Inputs, product: Product, chip: str, cached: bool = True, lookup_clocks: int = 0
) -> Value:
    """The bottleneck of a product on a chip by `predict`: memory, lookups, arithmetic, …

    cached: False for a chip without a texture cache, where every lookup goes to memory.
    lookup_clocks: of four floats, if not those of the chip's profile.
    """
    if lookup_clocks:
        inputs = replace(inputs, facts={(chip, "hardware.lookup_clocks_128_bits"): lookup_clocks})
    moved = product.counts.bytes_requested + product.counts.copy_bytes
    profile = inputs.profile(chip)
    binds = predict(product.plan, profile, memory_bytes=None if cached else moved).binds
    assert binds is not None
    return binds.removesuffix(" behind the cache")


# Processors beside graphics chips -----------------------------------------------------------------

_FLOAT_BYTES = 4


def processor_peak(processor: Processor, precision: str = "single") -> float:
    """The peak GFLOPS of a processor in single or double precision."""
    per_clock: int = getattr(processor, f"flops_per_clock_{precision}").value
    return processor.clock_ghz.value * per_clock


def memory_over_arithmetic(processor: Processor, size: int, blocked: bool = True) -> Value:
    """The time of memory over that of arithmetic, in an n×n product of floats at both peaks.

    blocked: three square blocks, of A, B and C, share the cache; without blocks, each of the n³
    steps fetches an element of B.
    """
    side = math.isqrt(processor.cache_kib.value * 1024 // (3 * _FLOAT_BYTES)) if blocked else 1
    fetched = 2 * size**3 / side if blocked else size**3
    memory_s = _FLOAT_BYTES * fetched / (processor.memory_gb_per_s.value * 1e9)
    return memory_s / (2 * size**3 / (processor_peak(processor) * 1e9))


def lines_per_set(size: int, sets: int, line_bytes: int) -> Value:
    """Lines of a column of n floats in each set of a cache that the column falls into."""
    lines = {i * 4 * size // line_bytes for i in range(size)}
    return len(lines) / len({line % sets for line in lines})


def pages(size: int, page_bytes: int) -> float:
    """Pages for each element of a column of an n×n matrix."""
    return len({i * 4 * size // page_bytes for i in range(size)}) / size


@cache
def _simulated(plan: Plan, cache: str, raster: str, layout: str, in_flight: int) -> Simulated:
    """A plan's accesses, in a cache that all its textures share."""
    access = parse_access(layout, raster, in_flight=in_flight)
    return cache_run(plan, Memory((parse_cache(cache),)), access)


def share_from_memory(
    product: Product, *, cache: str, raster: str, layout: str = "linear", in_flight: int = 1,
    blending: bool = True,
) -> float:  # fmt: skip
    """Bytes from memory for each byte looked up in A and B, simulated in a cache of all textures.

    Fewer partial sums or fewer lookups do not lower it. in_flight: the fragments in flight.
    blending: whether blending reads the framebuffer through that cache, too.
    """
    plan = product.plan
    if not blending:
        plan = each_pass(
            plan, lambda p: replace(p, blend=None) if isinstance(p, FragmentPass) else p
        )
    tallies = operand_tallies(plan, _simulated(plan, cache, raster, layout, in_flight))
    of = [(tally.bytes_from_memory, tally.bytes_requested) for tally in tallies]
    from_memory, requested = map(sum, zip(*of, strict=True))
    return from_memory / requested


def bytes_behind_cache(
    product: Product, *, cache: str, raster: str = "scan", layout: str = "linear",
    in_flight: int = 1,
) -> Value:  # fmt: skip
    """Bytes between memory and a simulated cache, copies included."""
    return memory_bytes(_simulated(product.plan, cache, raster, layout, in_flight))


def host_misses(host: Host, size: int, of: str) -> Value:
    """Simulated misses of level 2 or of the DTLB for each inner iteration of the host's product.

    Pages are perfectly coloured. Two rows of C are counted, after one that fills the caches.
    """
    result = _host_misses(host.hierarchy, size)
    return result.misses if of == "level 2" else result.dtlb_misses


@cache
def _host_misses(hierarchy: Hierarchy, size: int) -> HostMisses:
    return simulate_host(size, [(hierarchy, Paging())])[0]


# Loads --------------------------------------------------------------------------------------------


def _pass(product: Product) -> ComputePass:
    """The dispatch that computes a product; the first of several."""
    return next(product.plan.only(ComputePass))


def loads_of_an_iteration(product: Product, array: str) -> Value:
    """Elements of an array that an iteration of a kernel's loop loads."""
    [loop] = [statement for statement in _pass(product).kernel.body if isinstance(statement, Loop)]
    loads = (part for part in parts(*loop.body) if isinstance(part, Element))
    return sum(load.array.name == array for load in loads)


def elements_loaded(product: Product) -> Value:
    """Elements of A and of B that an invocation of a kernel loads, on average."""
    simulated = _simulated(product.plan, "8K,4way,64B", "scan", "linear", 1)
    tallies = operand_tallies(product.plan, simulated)
    return tuple(one.bytes_requested / (_FLOAT_BYTES * product.size**2) for one in tallies)


def components_stored(product: Product) -> Value:
    """Components of vectors that a kernel adds to the element that it stores."""
    inside = statements_below(_pass(product).kernel.body)
    stored = parts(*(statement.value for statement in inside if isinstance(statement, Store)))
    return sum(
        isinstance(part, Swizzle)
        or (isinstance(part, Read) and len(part.components) < part.variable.type.width)
        for part in stored
    )


def saving_by_vectors(product: Product) -> float:
    """Loads and stores of a kernel if each were of one element, over those that it makes."""
    counts = product.counts
    return (counts.global_loads + counts.global_stores) / count_accesses(product.plan)


# Bounds -------------------------------------------------------------------------------------------


@cache
def _prediction(product: Product, profile: Profile, rule: str | None) -> Prediction:
    return predict(product.plan, profile, rule=rule)


def least_time(
    product: Product, profile: Profile, rule: str | None = None, term: str = ""
) -> float:
    """The least milliseconds of a product on a chip by `predict`, without transfers.

    rule: of coalescing, in place of the profile's. term: one term of the bound, alone.
    """
    prediction = _prediction(product, profile, rule)
    seconds = {"": prediction.compute_seconds, **{t.name: t.seconds for t in prediction.terms}}[
        term
    ]
    assert seconds is not None
    return 1e3 * seconds


def least_transfer_time(product: Product, profile: Profile) -> Value:
    """The least milliseconds of a product's transfers by `predict`."""
    seconds = _prediction(product, profile, None).transfer_seconds
    assert seconds is not None
    return 1e3 * seconds


def sizes_in_time(
    inputs: Inputs, product: Product, profile: Profile, cell: Rounded, claims: Sequence[str]
) -> Value:
    """The sizes, of those printed in these claims of the paper, that a printed time can be of.

    cell: has the time. It can be of a size whose least time is no longer.
    """
    printed = (inputs.paper.claim(claim).published for claim in claims)
    return tuple(
        float(n)
        for n in printed
        if isinstance(n, int) and least_time(replace(product, size=n), profile) <= cell.high
    )


# A listing as it is printed -----------------------------------------------------------------------


def least_time_with_reads(product: Product, profile: Profile, read: str, times: float) -> Value:
    """The least milliseconds of a kernel whose compiler merges reads of shared memory.

    read: the text of one of its reads, which counts `times` as often as the text has it: 0 if it
    is free, a quarter if four elements are read at once.
    """
    free = least_time(replace(product, change=PlanChange(text=read)), profile)
    return free + times * (least_time(product, profile) - free)
