"""What is simulated: a machine, its paging, and how its level 2 replaces lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpgpu_legacy.arguments import as_member
from gpgpu_legacy.cache.caches import Policy
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.cache.paging import Paging, parse_paging
from gpgpu_legacy.chips.hosts import Host, find_host, hosts
from gpgpu_legacy.serial import Record

PAGINGS = ("coloured", "miscoloured:0.01", "random", "xnu")
PSEUDO_PAGING, PSEUDO_POLICIES = "xnu", (Policy.PLRU, Policy.RANDOM_PLRU)
"""The first machine has pseudo-LRU with this paging, too, unless pagings or policies are given."""


class Case(Record):
    """machine: its name. paging: as `parse_paging` reads it, with this seed. policy: of level 2."""

    machine: str
    paging: str
    policy: Policy = Policy.LRU
    seed: int = 0

    @property
    def host(self) -> Host:
        """The machine."""
        return find_host(self.machine)

    @property
    def pages(self) -> Paging:
        """The mapping of its pages."""
        return parse_paging(self.paging, self.seed)

    @property
    def hierarchy(self) -> Hierarchy:
        """The machine's, with that policy."""
        own = self.host.hierarchy
        return replace(own, l2=replace(own.l2, policy=self.policy))

    @property
    def name(self) -> str:
        """The machine, the paging, and the policy if it is not LRU."""
        policy = "" if self.policy is Policy.LRU else f", {self.policy.value}"
        return f"{self.machine}, {self.paging}{policy}"


def make_cases(
    machines: Sequence[str] = (),
    pagings: Sequence[str] = (),
    policies: Sequence[str] = (),
    seed: int = 0,
) -> list[Case]:
    """These machines with all these pagings and policies; by default all, PAGINGS, and LRU.

    If neither pagings nor policies are given, there is the first machine with pseudo-LRU, too.
    Raises InputError.
    """
    names = [find_host(name).name for name in machines] or [host.name for host in hosts()]
    kinds = [str(parse_paging(text, seed)) for text in pagings or PAGINGS]
    replaced = [as_member("policy", text.strip().lower(), Policy) for text in policies]
    cases = [
        Case(machine=name, paging=kind, policy=policy, seed=seed)
        for name in names
        for policy in replaced or [Policy.LRU]
        for kind in kinds
    ]
    if not pagings and not policies:
        cases[len(PAGINGS) : len(PAGINGS)] = [
            Case(machine=names[0], paging=PSEUDO_PAGING, policy=policy, seed=seed)
            for policy in PSEUDO_POLICIES
        ]
    return cases
