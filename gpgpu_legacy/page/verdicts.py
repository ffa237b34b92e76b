"""The claims of the papers with their recorded verdicts, as the page shows them."""

from __future__ import annotations

from dataclasses import dataclass

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit.record import VerdictRecord, Verdicts
from gpgpu_legacy.published.claims import Claim
from gpgpu_legacy.published.papers import Paper


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its recorded verdict."""

    paper: Paper
    claim: Claim
    entry: VerdictRecord

    @property
    def name(self) -> str:
        """The paper's id, a slash and the claim's: what `audit.claim` is in the address."""
        return f"{self.paper.id}/{self.claim.id}"


def judged(paper: Paper, verdicts: Verdicts) -> dict[str, Judged]:
    """The claims of a paper with their verdicts, by the claims' ids and in their order.

    Raises InputError where the verdicts lack a claim.
    """
    found = {}
    for claim in paper.claims:
        name = f"{paper.id} {claim.id}"
        if name not in verdicts.claims:
            raise InputError(
                f"no verdict is recorded on {name}; run `gpgpu-legacy audit --record FILE`"
            )
        found[claim.id] = Judged(paper, claim, verdicts.claims[name])
    return found
