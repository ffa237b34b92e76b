"""Kernels: what an iteration loads, and the least times that their loads and dispatches leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.kernel.ir import Assign, Component, Element, For, Kernel, Node, Vector, walk
from gpgpu_legacy.papers.derive.inputs import Inputs, Product
from gpgpu_legacy.papers.derive.registry import Value, derivation, of_product
from gpgpu_legacy.papers.derive.times import cell, peak_gflops
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Stage
from gpgpu_legacy.published.schema import ProgramChange

# Loads --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Access:
    """A load or a store of one or, as a vec4 of consecutive loads, of four elements."""

    array: str
    elements: int
    is_store: bool = False


def _kernel(product: Product) -> Kernel:
    """The kernel that computes a product; the first of several."""
    passes = (pass_ for _, pass_ in product.plan.weighted_passes())
    return next(pass_.kernel for pass_ in passes if isinstance(pass_, ComputePass))


def _accesses(*nodes: Node) -> Iterator[_Access]:
    """The loads and stores of nodes, each as often as the text has it."""
    for node in nodes:
        match node:
            case Assign(target=Element() as target):
                yield _Access(target.array, 1, is_store=True)
                yield from _accesses(*target.indices, node.value)
            case Vector(parts=(Element() as first, *others)) if all(
                isinstance(part, Element) and part.array == first.array for part in others
            ):
                yield _Access(first.array, 1 + len(others))
            case Element():
                yield _Access(node.array, 1)
                yield from _accesses(*node.indices)
            case _:
                yield from _accesses(*node.children)


@dataclass(frozen=True, slots=True)
class _Invocation:
    """What an invocation of a kernel with one loop accesses: in an iteration, and besides."""

    iteration: tuple[_Access, ...]
    besides: tuple[_Access, ...]
    iterations: float

    @property
    def elements(self) -> Counter[str]:
        """The elements that it loads, by array."""
        total: Counter[str] = Counter()
        for times, accesses in ((self.iterations, self.iteration), (1, self.besides)):
            for access in accesses:
                if not access.is_store:
                    total[access.array] += int(times * access.elements)
        return total

    @property
    def accesses(self) -> float:
        """Its loads and stores; that of a vec4 is one."""
        return self.iterations * len(self.iteration) + len(self.besides)

    @property
    def accesses_without_vectors(self) -> float:
        """Its loads and stores, if each were of one element."""
        inside, outside = (sum(a.elements for a in at) for at in (self.iteration, self.besides))
        return self.iterations * inside + outside


def _invocation(product: Product) -> _Invocation:
    """The accesses of an invocation; its iterations are those that account for all loads."""
    kernel = _kernel(product)
    [loop] = [statement for statement in kernel.body if isinstance(statement, For)]
    inside = tuple(_accesses(*loop.body))
    besides = tuple(_accesses(*(statement for statement in kernel.body if statement is not loop)))
    loaded, once = (sum(a.elements for a in at if not a.is_store) for at in (inside, besides))
    of_one = product.counts.global_loads / product.counts.invocations
    return _Invocation(inside, besides, (of_one - once) / loaded)


@of_product
def loads_of_an_iteration(inputs: Inputs, product: Product, array: str) -> Value:
    """Elements of an array that an iteration of a kernel's loop loads."""
    accesses = _invocation(product).iteration
    return sum(access.elements for access in accesses if access.array == array)


@of_product
def elements_loaded(inputs: Inputs, product: Product, arrays: Sequence[str]) -> Value:
    """Elements of these arrays that an invocation of a kernel loads."""
    elements = _invocation(product).elements
    return tuple(elements[array] for array in arrays)


@of_product
def components_stored(inputs: Inputs, product: Product) -> Value:
    """Components of vectors that a kernel adds to the element that it stores."""
    assignments = (node for node in walk(*_kernel(product).body) if isinstance(node, Assign))
    stored = [assign.value for assign in assignments if isinstance(assign.target, Element)]
    return sum(isinstance(node, Component) for node in walk(*stored))


@derivation
def vectors_save_accesses(inputs: Inputs, method: str, size: int) -> Value:
    """Whether a kernel makes fewer loads and stores than if each were of one element."""
    return saving_by_vectors(inputs, method, size) > 1.0


@derivation
def saving_by_vectors(inputs: Inputs, method: str, size: int) -> float:
    """Loads and stores of a kernel if each were of one element, over those that it makes."""
    invocation = _invocation(inputs.product(method, size))
    return invocation.accesses_without_vectors / invocation.accesses


# Least times by loads -----------------------------------------------------------------------------


@derivation
def least_access_time(inputs: Inputs, method: str, size: int, chip: str) -> float:
    """Milliseconds that the loads and stores of a kernel take on a chip at the least."""
    product = inputs.product(method, size)
    names = "core_clock_mhz", "cores", "accesses_per_clock"
    clock, cores, starts = (inputs.fact(chip, f"hardware.{name}").most for name in names)
    per_ms = 1e3 * clock * cores * starts
    return _invocation(product).accesses * product.counts.invocations / per_ms


@derivation
def sizes_in_time(
    inputs: Inputs, *, method: str, chip: str, table: str, series: str, size: int,
    claims: Sequence[str],
) -> Value:  # fmt: skip
    """The sizes, of those that claims of the paper print, that a printed time can be of.

    size: of the cell that has the time. It can be of a size whose loads and stores take no longer.
    """
    printed = (inputs.paper.claim(claim).published for claim in claims)
    time = cell(inputs, table, series, size).high
    return tuple(
        float(n)
        for n in printed
        if isinstance(n, int) and least_access_time(inputs, method, n, chip) <= time
    )


@derivation
def cores_needed(
    inputs: Inputs, *, method: str, chip: str, table: str, series: str, size: int, claim: str
) -> Value:
    """Cores at a chip's clock that could make the loads and stores of a size in a printed time."""
    n, cores = inputs.paper.claim(claim).published, inputs.fact(chip, "hardware.cores")
    assert isinstance(n, int)
    time = cell(inputs, table, series, size).high
    return least_access_time(inputs, method, n, chip) * cores.most / time


# A product on a chip ------------------------------------------------------------------------------


@derivation
def least_product_time(inputs: Inputs, size: int, chip: str) -> Value:
    """Milliseconds for 2n³ operations at a chip's peak, or for three matrices at its bandwidth."""
    moved = 3 * 4 * size**2 / inputs.fact(chip, "hardware.memory_gb_per_s").most
    return 1e-6 * max(2 * size**3 / peak_gflops(inputs, chip), moved)


# A listing as it is printed -----------------------------------------------------------------------


@derivation
def least_time_as_printed(inputs: Inputs, method: str, size: int, chip: str) -> Value:
    """Milliseconds that all arithmetic of a listing, dispatched as printed, takes at peak rate."""
    return inputs.printed(method, size).counts.arithmetic / peak_gflops(inputs, chip) * 1e-6


@derivation
def least_shared_time_as_printed(
    inputs: Inputs, *, method: str, size: int, chip: str, read: str, times: float
) -> Value:
    """Milliseconds of a listing's requests to shared memory, dispatched as printed.

    read: the text of one of its reads, which counts `times` as often as the text has it: 0 if it
    is free, a quarter if four elements are read at once.
    """
    product, profile = inputs.printed(method, size), inputs.profile(chip)
    free = replace(product, change=ProgramChange(text=read))
    least = _least_ms(free, profile)
    return least + times * (_least_ms(product, profile) - least)


@of_product
def predicted_time(inputs: Inputs, product: Product, chip: str) -> Value:
    """Milliseconds that `predict` gives a kernel at the least, without transfers."""
    return _least_ms(product, inputs.profile(chip))


@cache
def _least_ms(product: Product, profile: Profile) -> float:
    seconds = predict(product.plan, profile).stage_seconds(Stage.DISPATCH)
    assert seconds is not None
    return 1e3 * seconds


@derivation
def time_by_another_size(
    inputs: Inputs, *, method: str, table: str, series: str, size: int, of: int
) -> Value:
    """A time of a listing by the printed one of another size, in proportion to the arithmetic.

    of: that size. Both are dispatched as printed.
    """
    ours, theirs = (inputs.printed(method, n).counts.arithmetic for n in (size, of))
    return cell(inputs, table, series, of).value * ours / theirs


@derivation
def rate_as_printed(inputs: Inputs, method: str, table: str, series: str, size: int) -> Value:
    """GFLOPS that a printed time implies, if everything dispatched as printed is executed."""
    operations = inputs.printed(method, size).counts.arithmetic
    return operations * 1e-6 / cell(inputs, table, series, size).value
