"""What is simulated: a machine, its paging, and how its level 2 replaces lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpgpu_legacy.cache.caches import Policy
from gpgpu_legacy.cache.host import Hierarchy
from gpgpu_legacy.cache.paging import Paging, parse_paging
from gpgpu_legacy.chips.hosts import Host
from gpgpu_legacy.errors import InputError

PAGINGS = ("coloured", "miscoloured:0.01", "random", "xnu")
PSEUDO_PAGING, PSEUDO_POLICIES = "xnu", ("plru", "random-plru")
"""The first machine has pseudo-LRU with this paging, too, unless pagings or policies are given."""


@dataclass(frozen=True, slots=True)
class Case:
    """policy: of level 2."""

    host: Host
    paging: Paging
    policy: Policy = Policy.LRU

    @property
    def hierarchy(self) -> Hierarchy:
        """The machine's, with that policy."""
        own = self.host.hierarchy
        return replace(own, l2=replace(own.l2, policy=self.policy))

    @property
    def name(self) -> str:
        """The machine, the paging, and the policy if it is not LRU."""
        policy = "" if self.policy is Policy.LRU else f", {self.policy.value}"
        return f"{self.host.name}, {self.paging}{policy}"


def make_cases(
    hosts: Sequence[Host],
    pagings: Sequence[str] | None = None,
    policies: Sequence[str] | None = None,
    seed: int = 0,
) -> list[Case]:
    """All machines with all these pagings and policies; by default PAGINGS, and LRU.

    If neither are given, there is the first machine with pseudo-LRU, too. Raises InputError.
    """
    kinds = [parse_paging(text, seed) for text in pagings or PAGINGS]
    replaced = [parse_policy(text) for text in policies or (Policy.LRU.value,)]
    cases = [Case(host, kind, policy) for host in hosts for policy in replaced for kind in kinds]
    if not pagings and not policies:
        pseudo = [
            Case(hosts[0], parse_paging(PSEUDO_PAGING, seed), parse_policy(text))
            for text in PSEUDO_POLICIES
        ]
        cases[len(PAGINGS) : len(PAGINGS)] = pseudo
    return cases


def parse_policy(text: str) -> Policy:
    """A replacement policy from its name; else InputError."""
    names = [policy.value for policy in Policy]
    if text.strip().lower() in names:
        return Policy(text.strip().lower())
    raise InputError(f'policy "{text}" is unknown; write one of {", ".join(names)}')
