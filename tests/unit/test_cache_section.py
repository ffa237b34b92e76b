"""The section about caches has the claim and the recorded ratios."""

from __future__ import annotations

from gpgpu_legacy.page.sections.cache import make_section


def test_the_claim_stands_beside_its_ratio() -> None:
    html = make_section().html
    assert "#audit.claim=hall-carr-hart-2003/section-6-cache-coherence" in html
    # The audit's number: docs/explanation/caches.md has it from the same setting.
    assert '<td class="better" style="--much: 0.25">0.71</td>' in html  # log₂(1/0.71)/2
    assert "3, 11, 13 and 17 of 30 settings" in " ".join(html.split())
