"""Coalescing: the memory transactions and bank conflicts of dispatches, on two GPU generations.

The threads of a work group are numbered x first. A fixed number of consecutive threads, a half-warp
or a warp, makes a memory request together; the last request of a work group may have fewer threads.
Buffers are aligned to 256 bytes, as cudaMalloc aligns them, and words have 4 bytes. No cache is
assumed: `bytes_transacted` is the sum over requests, each by itself.

Most addresses are a base, equal in a work group, plus an offset that is the same in all work
groups. The cost of such an access depends on the base only modulo a segment, so it is computed once
for each remainder. All other accesses are computed work group by work group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpgpu_legacy.count.traffic import Additive, count_compute_pass, distinct_dispatches
from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import PlanError
from gpgpu_legacy.interp.kernel import AddressMachine, Mask, WorkGroups
from gpgpu_legacy.isa.expressions import Element
from gpgpu_legacy.isa.kernel import control_uniforms
from gpgpu_legacy.plan.plan import ComputePass, Plan, constant_groups

WORD_BYTES = 4
BATCH_THREADS = 1 << 22  # invocations per batch: index arrays of at most 32 MiB
LARGEST_TRACE = 1 << 18  # accesses of one invocation: some ten seconds


@frozen
class CoalescingRule:
    """How a GPU generation serves memory requests.

    request_threads: the threads that make a request together, a half-warp or a warp.
    segment_bytes: the size of a transaction and its alignment.
    scattered_bytes: if given, a request is coalesced only if thread k accesses word k of one
    segment (threads may be inactive); otherwise every active thread makes a transaction of this
    size. If None, each segment that a request touches is one transaction, in any order of threads.
    banks: the banks of shared memory; word w is in bank w mod banks.
    one_broadcast: a step of a shared read broadcasts only one word, and serves one word in each of
    the other banks. Without it, each bank broadcasts one word in each step.
    source: where the rule is published.
    """

    name: str
    request_threads: int
    segment_bytes: int
    scattered_bytes: int | None
    banks: int
    one_broadcast: bool
    source: str


CC1_1 = CoalescingRule(
    name="cc1.1",
    request_threads=16,
    segment_bytes=64,
    scattered_bytes=32,
    banks=16,
    one_broadcast=True,
    source="NVIDIA CUDA C Programming Guide 4.x, Compute Capability 1.x: Global Memory, Devices of "
    "Compute Capability 1.0 and 1.1; Shared Memory, 32-Bit Broadcast Access",
)
CC1_LEAST = replace(
    CC1_1,
    name="cc1-least",
    segment_bytes=32,
    scattered_bytes=None,
    source="NVIDIA CUDA C Programming Guide 4.x, Compute Capability 1.x: no such chip caches "
    "global memory or moves less than 32 bytes, so each rule of theirs moves at least the 32-byte "
    "segments that a request touches (GeForce 9400M, whose published times refute cc1.1)",
)
FERMI = CoalescingRule(
    name="fermi",
    request_threads=32,
    segment_bytes=128,
    scattered_bytes=None,
    banks=32,
    one_broadcast=False,
    source="NVIDIA CUDA C Programming Guide 4.x, Compute Capability 2.x: Global Memory (lines of "
    "128 bytes, as the first-level cache has them; stores are counted by the same lines); Shared "
    "Memory (Quadro 4000: 2.0)",
)
RULES = {rule.name: rule for rule in (CC1_1, CC1_LEAST, FERMI)}
"""The rules by name."""


@frozen
class Transactions(Additive):
    """The memory transactions of a plan under one rule.

    load_transactions, store_transactions: of global memory; load_bytes, store_bytes: their bytes.
    shared_requests: requests to shared memory, one for each access of a half-warp or warp.
    shared_replays: the extra steps of these requests because of bank conflicts.
    """

    load_transactions: int = 0
    store_transactions: int = 0
    load_bytes: int = 0
    store_bytes: int = 0
    shared_requests: int = 0
    shared_replays: int = 0

    @property
    def bytes_transacted(self) -> int:
        """Global loads and stores together, in bytes moved."""
        return self.load_bytes + self.store_bytes


def transactions(plan: Plan, rule: CoalescingRule) -> Transactions:
    """The memory transactions and bank conflicts of a plan's dispatches under a rule.

    Raises PlanError for a plan with passes other than dispatches, for a kernel whose control flow
    or addresses depend on data, and for more accesses per invocation than LARGEST_TRACE.
    """
    known: dict[ComputePass, Transactions] = {}
    total = Transactions()
    for count, pass_ in plan.weighted_passes():
        if not isinstance(pass_, ComputePass):
            raise PlanError(
                f"{plan.name} draws; memory transactions are counted for dispatches only, so "
                "choose a method of kernels"
            )
        controlling = control_uniforms(pass_.kernel, indices=True)
        for times, dispatch in distinct_dispatches(pass_, count, controlling):
            if dispatch not in known:
                known[dispatch] = _of_dispatch(plan, dispatch, rule)
            total += known[dispatch].times(times)
    return total


def _of_dispatch(plan: Plan, pass_: ComputePass, rule: CoalescingRule) -> Transactions:
    for array in pass_.kernel.shared:
        if array.element.size_bytes != WORD_BYTES:
            raise PlanError(
                f"{pass_.kernel.name}: bank conflicts are counted for 4-byte words, but "
                f"{array.name} holds {array.element.word}; use a float, int or uint array"
            )
    accesses = count_compute_pass(plan, pass_).accesses
    if accesses > LARGEST_TRACE * pass_.invocations:
        raise PlanError(
            f"{pass_.kernel.name}: an invocation makes {accesses // pass_.invocations} accesses; "
            f"the limit is {LARGEST_TRACE}; choose a smaller product"
        )
    textures = {b.binding: plan.texture(b.texture) for b in pass_.buffers}
    lengths = {
        b.name: textures[b.binding].extent.width * textures[b.binding].extent.height
        for b in pass_.kernel.buffers
    }
    alike = Counter[_Alike]()
    groups_x, groups_y = constant_groups(pass_.groups)
    rows = max(1, BATCH_THREADS // (groups_x * pass_.kernel.threads))
    for y in range(0, groups_y, rows):
        grid = WorkGroups((0, y), (groups_x, min(rows, groups_y - y)))
        _AccessCounter(pass_, grid, lengths, rule, alike).run()
    local = pass_.kernel.local_size[::-1]
    costs = (_cost(rule, local, access).times(count) for access, count in alike.items())
    return sum(costs, Transactions())


_Words = NDArray[np.int64]
_Active = NDArray[np.bool_]

_Frozen = tuple[tuple[int, ...], bytes]
"""The shape and the numbers of an array that broadcasts to the invocations of a work group."""

_Alike = tuple[bool, bool, _Frozen, _Frozen]
"""An access: whether to shared memory, whether a store, the words, and the active invocations."""


def _frozen(array: NDArray[Any]) -> _Frozen:
    return array.shape, array.tobytes()


def _thawed(frozen: _Frozen, dtype: type[np.generic], local: tuple[int, int]) -> NDArray[Any]:
    """The array that `_frozen` took, with an element for each invocation."""
    shape, data = frozen
    return np.broadcast_to(np.frombuffer(data, dtype).reshape(shape), local).ravel()


class _AccessCounter(AddressMachine):
    """A counter of the accesses of work groups; those that must cost the same share a count."""

    def __init__(
        self,
        pass_: ComputePass,
        grid: WorkGroups,
        lengths: dict[str, int],
        rule: CoalescingRule,
        alike: Counter[_Alike],
    ) -> None:
        super().__init__(pass_, grid, lengths)
        self.rule, self.alike = rule, alike

    def access(self, element: Element, *, store: bool) -> None:
        """Add one access by the active invocations.

        A shift of a work group's addresses by a period does not change what it costs.
        """
        index, shared = self.flat_index(element), element.array.is_shared
        period = self.rule.banks if shared else self.rule.segment_bytes // WORD_BYTES
        base = index[:, :, :1, :1]
        relative = index - base
        if not (relative == relative[:1, :1]).all():
            words = np.broadcast_to(index - base // period * period, self.shape)
            active = np.broadcast_to(True if self.mask is None else self.mask, self.shape)
            words = np.where(active, words, 0)
            for row in np.ndindex(self.groups):
                self.alike[shared, store, _frozen(words[row]), _frozen(active[row])] += 1
            return
        patterns, numbers = _patterns(self.mask)
        keys = numbers * period + base[:, :, 0, 0] % period
        weight = prod(self.groups) // keys.size
        frequencies = np.bincount(keys.ravel(), minlength=len(patterns) * period)
        for key in np.flatnonzero(frequencies).tolist():
            number, remainder = divmod(key, period)
            access = _frozen(relative[0, 0] + remainder), _frozen(patterns[number])
            self.alike[shared, store, *access] += int(frequencies[key]) * weight


def _cost(rule: CoalescingRule, local: tuple[int, int], access: _Alike) -> Transactions:
    """The cost of an access by one work group. local: its size, y first."""
    shared, store, addresses, pattern = access
    words, active = _thawed(addresses, np.int64, local), _thawed(pattern, np.bool_, local)
    number, size = 0, 0
    for start in range(0, words.size, rule.request_threads):
        request = slice(start, start + rule.request_threads)
        threads = np.flatnonzero(active[request])
        if threads.size == 0:
            continue
        accessed = words[request][threads]
        if shared:
            number += 1
            size += shared_steps(rule, accessed, store=store) - 1
        else:
            transacted, moved = global_request(rule, threads, accessed)
            number, size = number + transacted, size + moved
    if shared:
        return Transactions(shared_requests=number, shared_replays=size)
    if store:
        return Transactions(store_transactions=number, store_bytes=size)
    return Transactions(load_transactions=number, load_bytes=size)


_NO_MASK: tuple[list[_Active], _Words] = [np.ones((1, 1), np.bool_)], np.zeros((1, 1), np.int64)


def _patterns(mask: Mask) -> tuple[list[_Active], _Words]:
    """The distinct masks of the work groups, and the index of each work group's mask."""
    if mask is None:
        return _NO_MASK
    rows = mask.reshape(mask.shape[0] * mask.shape[1], -1)
    _, first, numbers = np.unique(
        np.packbits(rows, axis=1), axis=0, return_index=True, return_inverse=True
    )
    patterns = [rows[row].reshape(mask.shape[2:]) for row in first]
    return patterns, numbers.reshape(mask.shape[:2])


def global_request(rule: CoalescingRule, threads: _Words, words: _Words) -> tuple[int, int]:
    """The transactions of one request to global memory, and the bytes that they move.

    threads: the active threads, at least one, numbered within the request. words: the index of the
    word in the buffer that each of them accesses.
    """
    segment = rule.segment_bytes // WORD_BYTES
    if rule.scattered_bytes is None:
        touched = len(np.unique(words // segment))
        return touched, touched * rule.segment_bytes
    starts = words - threads
    if starts[0] % segment == 0 and (starts == starts[0]).all():
        return 1, rule.segment_bytes
    return threads.size, threads.size * rule.scattered_bytes


def shared_steps(rule: CoalescingRule, words: _Words, *, store: bool) -> int:
    """The steps that serve one request to shared memory; 1 without bank conflicts.

    words: the index of the word that each active thread accesses. Threads that store to the same
    word count as one. NVIDIA's guide does not say which word a step broadcasts if it can broadcast
    only one; the count is the smallest that any choice allows.
    """
    distinct, readers = np.unique(words, return_counts=True)
    if store or not rule.one_broadcast:
        return int(np.bincount(distinct % rule.banks).max())
    banks: dict[int, list[int]] = {}
    for word, count in zip(distinct.tolist(), readers.tolist(), strict=True):
        banks.setdefault(word % rule.banks, []).append(count)
    steps = max(map(len, banks.values()))
    while sum(_broadcasts(counts, steps) for counts in banks.values()) > steps:
        steps += 1
    return steps


def _broadcasts(readers: list[int], steps: int) -> int:
    """The number of broadcasts by which a bank serves all readers in `steps` steps.

    readers: the number of threads that read each word of the bank; there are at most `steps` words.
    In a step a bank serves one reader, or all readers of the word that is broadcast.
    """
    left, needed = sum(readers), 0
    for count in sorted(readers, reverse=True):
        if left <= steps:
            break
        left, needed = left - (count - 1), needed + 1
    return needed
