"""Kernels: the loads of an iteration, and the least times that loads and dispatches allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.kernel.ir import Assign, Component, Element, For, Kernel, Node, Vector, walk
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import TimeStage
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
    """The accesses of an invocation of a kernel with one loop: in an iteration, and outside it."""

    iteration: tuple[_Access, ...]
    besides: tuple[_Access, ...]
    iterations: float

    def sum(self, of: Callable[[_Access], int]) -> float:
        """A number of each access, over all of them."""
        return self.iterations * sum(map(of, self.iteration)) + sum(map(of, self.besides))

    @property
    def accesses(self) -> float:
        """Its loads and stores; that of a vec4 is one."""
        return self.sum(lambda access: 1)


def _invocation(product: Product) -> _Invocation:
    """The accesses of an invocation; its iterations are those that account for all loads."""
    kernel = _kernel(product)
    [loop] = [statement for statement in kernel.body if isinstance(statement, For)]
    inside = tuple(_accesses(*loop.body))
    besides = tuple(_accesses(*(statement for statement in kernel.body if statement is not loop)))
    loaded, once = (sum(a.elements for a in at if not a.is_store) for at in (inside, besides))
    of_one = product.counts.global_loads / product.counts.invocations
    return _Invocation(inside, besides, (of_one - once) / loaded)


def loads_of_an_iteration(product: Product, array: str) -> Value:
    """Elements of an array that an iteration of a kernel's loop loads."""
    accesses = _invocation(product).iteration
    return sum(access.elements for access in accesses if access.array == array)


def elements_loaded(product: Product, arrays: Sequence[str]) -> Value:
    """Elements of these arrays that an invocation of a kernel loads."""
    of_one = _invocation(product)

    def loaded(array: str) -> int:
        return int(of_one.sum(lambda a: 0 if a.is_store or a.array != array else a.elements))

    return tuple(map(loaded, arrays))


def components_stored(product: Product) -> Value:
    """Components of vectors that a kernel adds to the element that it stores."""
    assignments = (node for node in walk(*_kernel(product).body) if isinstance(node, Assign))
    stored = [assign.value for assign in assignments if isinstance(assign.target, Element)]
    return sum(isinstance(node, Component) for node in walk(*stored))


def vectors_save_accesses(product: Product) -> Value:
    """Whether a kernel makes fewer loads and stores than if each were of one element."""
    return saving_by_vectors(product) > 1.0


def saving_by_vectors(product: Product) -> float:
    """Loads and stores of a kernel if each were of one element, over those that it makes."""
    invocation = _invocation(product)
    return invocation.sum(lambda access: access.elements) / invocation.accesses


# Least times by loads -----------------------------------------------------------------------------


def least_access_time(inputs: Inputs, product: Product, chip: str) -> float:
    """Milliseconds that the loads and stores of a kernel take on a chip at the least."""
    names = "core_clock_mhz", "cores", "accesses_per_clock"
    clock, cores, starts = (inputs.fact(chip, f"hardware.{name}").most for name in names)
    per_ms = 1e3 * clock * cores * starts
    return _invocation(product).accesses * product.counts.invocations / per_ms


def sizes_in_time(
    inputs: Inputs, product: Product, cell: Rounded, chip: str, claims: Sequence[str]
) -> Value:
    """The sizes, of those that claims of the paper print, that a printed time can be of.

    size: of the cell that has the time. It can be of a size whose loads and stores take no longer.
    """
    printed = (inputs.paper.claim(claim).published for claim in claims)
    return tuple(
        float(n)
        for n in printed
        if isinstance(n, int)
        and least_access_time(inputs, replace(product, size=n), chip) <= cell.high
    )


def cores_needed(inputs: Inputs, product: Product, cell: Rounded, chip: str, claim: str) -> Value:
    """Cores at a chip's clock that could make the loads and stores of a size in a printed time."""
    n, cores = inputs.paper.claim(claim).published, inputs.fact(chip, "hardware.cores")
    assert isinstance(n, int)
    return least_access_time(inputs, replace(product, size=n), chip) * cores.most / cell.high


# A product on a chip ------------------------------------------------------------------------------


def least_product_time(inputs: Inputs, peak_gflops: float, size: int, chip: str) -> Value:
    """Milliseconds for 2n³ operations at a chip's peak, or for three matrices at its bandwidth."""
    moved = 3 * 4 * size**2 / inputs.fact(chip, "hardware.memory_gb_per_s").most
    return 1e-6 * max(2 * size**3 / peak_gflops, moved)


def predicted_time(product: Product, profile: Profile) -> Value:
    """Milliseconds that `predict` gives a kernel at the least, without transfers."""
    return _least_ms(product, profile)


@cache
def _least_ms(product: Product, profile: Profile) -> float:
    seconds = predict(product.plan, profile).stage_seconds(TimeStage.DISPATCH)
    assert seconds is not None
    return 1e3 * seconds


# A listing as it is printed -----------------------------------------------------------------------


def least_time_as_printed(product: Product, peak_gflops: float) -> Value:
    """Milliseconds that all arithmetic of a listing, dispatched as printed, takes at peak rate."""
    return product.listing.counts.arithmetic / peak_gflops * 1e-6


def least_shared_time_as_printed(
    product: Product, profile: Profile, read: str, times: float
) -> Value:
    """Milliseconds of a listing's requests to shared memory, dispatched as printed.

    read: the text of one of its reads, which counts `times` as often as the text has it: 0 if it
    is free, a quarter if four elements are read at once.
    """
    free = replace(product.listing, change=ProgramChange(text=read))
    least = _least_ms(free, profile)
    return least + times * (_least_ms(product.listing, profile) - least)


def time_by_another_size(
    inputs: Inputs, product: Product, table: str, series: str, of: int
) -> Value:
    """A time of a listing by the printed one of another size, in proportion to the arithmetic.

    of: that size. Both are dispatched as printed.
    """
    ours, theirs = product.listing, replace(product.listing, size=of)
    printed = inputs.cell(table, series, of).value
    return printed * ours.counts.arithmetic / theirs.counts.arithmetic


def rate_as_printed(product: Product, cell: Rounded) -> Value:
    """GFLOPS that a printed time implies, if everything dispatched as printed is executed."""
    return product.listing.counts.arithmetic * 1e-6 / cell.value
