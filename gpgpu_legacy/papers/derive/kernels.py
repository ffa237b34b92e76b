"""Kernels: the elements that they load, and bounds of printed times, all of them by `predict`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.count.kernels import count_compute_pass
from gpgpu_legacy.ir.expressions import (
    Constant,
    Element,
    Expression,
    Read,
    Swizzle,
)
from gpgpu_legacy.ir.kernel import parts
from gpgpu_legacy.ir.statements import (
    Loop,
    Store,
    statements_below,
    with_expressions,
)
from gpgpu_legacy.papers.derive.inputs import Inputs, Product, Rounded, Value
from gpgpu_legacy.plan.plan import ComputePass
from gpgpu_legacy.predict.model import predict
from gpgpu_legacy.predict.prediction import Prediction
from gpgpu_legacy.predict.work import count_accesses
from gpgpu_legacy.published.schema import ProgramChange

# Loads --------------------------------------------------------------------------------------------


def _pass(product: Product) -> ComputePass:
    """The dispatch that computes a product; the first of several."""
    passes = (pass_ for _, pass_ in product.plan.weighted_passes())
    return next(pass_ for pass_ in passes if isinstance(pass_, ComputePass))


def loads_of_an_iteration(product: Product, array: str) -> Value:
    """Elements of an array that an iteration of a kernel's loop loads."""
    [loop] = [statement for statement in _pass(product).kernel.body if isinstance(statement, Loop)]
    loads = (part for part in parts(*loop.body) if isinstance(part, Element))
    return sum(load.array.name == array for load in loads)


def elements_loaded(product: Product, arrays: Sequence[str]) -> Value:
    """Elements of these arrays, which it only reads, that an invocation of a kernel loads."""

    def loads(without: str = "") -> float:
        def changed(node: Expression) -> Expression:
            lost = isinstance(node, Element) and node.array.name == without
            return Constant((0.0,), node.type) if lost else node

        pass_ = _pass(product)
        body = tuple(with_expressions(statement, changed) for statement in pass_.kernel.body)
        other = replace(pass_, kernel=replace(pass_.kernel, body=body))
        counted = count_compute_pass(product.plan, other)
        return counted.global_loads / counted.invocations

    return tuple(loads() - loads(array) for array in arrays)


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
    """The sizes, of those that claims of the paper print, that a printed time can be of.

    size: of the cell that has the time. It can be of a size whose least time is no longer.
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
    free = least_time(replace(product, change=ProgramChange(text=read)), profile)
    return free + times * (least_time(product, profile) - free)
