"""Which targets blending adds a product to: one multiply-add computes the product and adds it."""

from __future__ import annotations

from functools import lru_cache

from gpgpu_legacy.lower.content import Content, Draw
from gpgpu_legacy.lower.fused_body import fused_body
from gpgpu_legacy.lower.ir import Assign, Read, Role, multiply_add, walk


@lru_cache(maxsize=256)
def blended_products(content: Content) -> tuple[tuple[bool, ...], ...]:
    """For each target of each draw, whether blending adds a product to what it held.

    content: as of work groups, which has the extents of what dependent lookups read.
    """
    statements = fused_body(content, as_level=False)
    writes = (s for s in statements if isinstance(s, Assign) and s.variable.role is Role.OWN)
    found: list[tuple[bool, ...]] = []
    for member in content.body:
        if isinstance(member, Draw):
            found.append(tuple(_adds_a_product(next(writes)) for _ in member.targets))
        else:
            next(writes)
    return tuple(found)


def _adds_a_product(write: Assign) -> bool:
    """Whether a variable gets the sum of a product and itself, if it gets anything."""
    sums = filter(None, map(multiply_add, walk(write.value)))
    return any(
        isinstance(addend, Read)
        and (addend.variable, addend.components) == (write.variable, write.components)
        for _, _, addend in sums
    )
