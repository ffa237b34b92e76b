"""Transactions and bank conflicts: hand work, and loops over threads written from the guide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import pytest
from buffers import bindings, buffer
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.count.coalescing import (
    CC1_1,
    FERMI,
    CoalescingRule,
    Transactions,
    transactions,
)
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.plan import ComputePass, Plan

GLOBAL, SHARED = "dobravec-bulic-global", "dobravec-bulic-shared"
TILED, MALI = "opengl-compute-tiled", "mali-sgemm"


def of_method(name: str, shape: tuple[int, int, int], rule: CoalescingRule) -> Transactions:
    m, l, n = shape  # noqa: E741
    return transactions(find_product(name).plan(m=m, l=l, n=n), rule)


# What is refused ---------------------------------------------------------------------------------


def test_too_many_accesses_to_follow_are_refused() -> None:
    with pytest.raises(PlanError, match=r"host\.comp: an invocation makes 2010000 accesses"):
        of_method("dobravec-bulic-host", (100, 100, 100), FERMI)
    assert of_method("dobravec-bulic-host", (2, 3, 4), FERMI).load_transactions == 48


# Thread by thread --------------------------------------------------------------------------------

Place = Callable[[int, int, int, int], int]
Guard = Callable[[int, int, int, int], bool]
"""Of work group x, y and thread x, y."""


def dispatch(
    body: str, local: tuple[int, int] = (4, 2), groups: tuple[int, int] = (3, 2), declared: str = ""
) -> ComputePass:
    text = f"""#version 430 core
layout(local_size_x = {local[0]}, local_size_y = {local[1]}, local_size_z = 1) in;
layout(std430, binding = 0) readonly buffer buffer_A {{ float A[]; }};
layout(std430, binding = 1) buffer buffer_R {{ float R[]; }};
{declared}
void main()
{{
    int x = int(gl_LocalInvocationID.x), y = int(gl_LocalInvocationID.y);
    int i = int(gl_WorkGroupID.x), j = int(gl_WorkGroupID.y);
    {body}
}}
"""
    return ComputePass(parse_kernel(text, "test.comp"), bindings("A", "R"), (), groups)


def plan_of(*steps: ComputePass) -> Plan:
    return Plan("test", (), (), (buffer("A", 64, 64), buffer("R", 64, 64)), (), steps, ())


def requests(
    pass_: ComputePass, size: int, place: Place, guard: Guard
) -> Iterator[list[tuple[int, int]]]:
    """The (number in the request, word) of the active threads of every request that has any."""
    across, up = pass_.groups
    for j, i in product(range(up), range(across)):
        for start in range(0, pass_.kernel.threads, size):
            result = []
            for thread in range(start, min(start + size, pass_.kernel.threads)):
                y, x = divmod(thread, pass_.kernel.local_size[0])
                if guard(i, j, x, y):
                    result.append((thread - start, place(i, j, x, y)))
            if result:
                yield result


def cc1_1_global(request: list[tuple[int, int]]) -> list[int]:
    """Sizes of the transactions: Compute Capability 1.x, Devices of Compute Capability 1.0, 1.1."""
    segments = {word // 16 for _, word in request}
    in_sequence = all(word % 16 == thread for thread, word in request)
    return [64] if len(segments) == 1 and in_sequence else [32 for _ in request]


def fermi_global(request: list[tuple[int, int]]) -> list[int]:
    return [128 for _ in {word * 4 // 128 for _, word in request}]


def conflicts(words: set[int], banks: int) -> int:
    """The most words that lie in one bank, less one."""
    return max(sum(word % banks == bank for word in words) for bank in range(banks)) - 1


FACTORS = st.tuples(*[st.sampled_from([0, 1, 2, 3, 8, 15, 16, 17, 32, 64])] * 4, st.integers(0, 40))
LOCALS = st.sampled_from(
    [(1, 1), (2, 2), (4, 4), (8, 8), (16, 2), (5, 3), (7, 5), (32, 2), (40, 1)]
)
GUARDS: list[tuple[str, Guard]] = [
    ("true", lambda i, j, x, y: True),
    ("x < 3", lambda i, j, x, y: x < 3),
    ("x > 1", lambda i, j, x, y: x > 1),
    ("x + 3 * i < 9", lambda i, j, x, y: x + 3 * i < 9),
    ("x + y != 2 * j", lambda i, j, x, y: x + y != 2 * j),
    ("i + j == 5", lambda i, j, x, y: i + j == 5),
]
SHAPES: list[tuple[str, Callable[[Place], Place]]] = [
    ("p", lambda p: p),
    ("p % 23", lambda p: lambda i, j, x, y: p(i, j, x, y) % 23),
    ("p / 3", lambda p: lambda i, j, x, y: p(i, j, x, y) // 3),
    ("p * (i + 1)", lambda p: lambda i, j, x, y: p(i, j, x, y) * (i + 1)),
    ("1000 - p", lambda p: lambda i, j, x, y: 1000 - p(i, j, x, y)),
]


class Access(NamedTuple):
    """What every thread does. affine: declares p, with the constant `end`. guard, index: texts."""

    local: tuple[int, int]
    affine: str
    end: int
    guard: str
    holds: Guard
    index: str
    place: Place


def access(
    factors: tuple[int, ...],
    local: tuple[int, int],
    guard: tuple[str, Guard],
    shape: tuple[str, Callable[[Place], Place]],
) -> Access:
    a, b, c, d, e = factors
    affine = f"int p = {a} * x + {b} * y + {c} * i + {d} * j + {e};"
    place = shape[1](lambda i, j, x, y: a * x + b * y + c * i + d * j + e)
    return Access(local, affine, e, *guard, shape[0], place)


ACCESSES = st.builds(access, FACTORS, LOCALS, st.sampled_from(GUARDS), st.sampled_from(SHAPES))


@settings(max_examples=40)
@given(ACCESSES)
def test_transactions_thread_by_thread(of: Access) -> None:
    """Affine addresses, and addresses that are not; guards that tear requests apart."""
    body = f"{of.affine} if ({of.guard}) R[{of.index}] = A[{of.end} + x];"
    for rule, size, served in ((CC1_1, 16, cc1_1_global), (FERMI, 32, fermi_global)):
        pass_ = dispatch(body, of.local)
        result = transactions(plan_of(pass_), rule)
        stored = [served(r) for r in requests(pass_, size, of.place, of.holds)]
        loaded = [served(r) for r in requests(pass_, size, lambda i, j, x, y: of.end + x, of.holds)]
        assert result == Transactions(
            sum(map(len, loaded)), sum(map(len, stored)), sum(map(sum, loaded)),
            sum(map(sum, stored)),
        )  # fmt: skip


@given(ACCESSES)
def test_bank_conflicts_thread_by_thread(of: Access) -> None:
    """Stores under both rules, loads under Fermi's; the 9400M's loads are searched for below."""
    store, load = f"S[{of.index}] = 1.0;", f"float f = S[{of.index}];"
    for rule, size, statement in ((CC1_1, 16, store), (FERMI, 32, store), (FERMI, 32, load)):
        body = f"{of.affine} if ({of.guard}) {{ {statement} }}"
        pass_ = dispatch(body, of.local, declared="shared float S[8192];")
        result = transactions(plan_of(pass_), rule)
        made = list(requests(pass_, size, of.place, of.holds))
        assert result.load_transactions == result.store_transactions == 0
        assert result.shared_requests == len(made)
        replays = [conflicts({word for _, word in request}, rule.banks) for request in made]
        assert result.shared_replays == sum(replays)


@cache
def fewest_steps(left: tuple[int, ...]) -> int:
    """32-Bit Broadcast Access, step by step, with every choice that the guide leaves open.

    left: the words of the threads that still wait, in order.
    """
    if not left:
        return 0
    result = []
    for broadcast in set(left):
        others = [
            sorted({word for word in left if word % 16 == bank and word != broadcast})
            for bank in sorted({word % 16 for word in left} - {broadcast % 16})
        ]
        for chosen in product(*others):
            waiting = [word for word in left if word != broadcast]
            for word in chosen:
                waiting.remove(word)
            result.append(1 + fewest_steps(tuple(waiting)))
    return min(result)
