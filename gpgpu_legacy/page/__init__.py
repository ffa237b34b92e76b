"""The page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpgpu_legacy.page.one_plan import plan_page as plan_page

__all__ = ["plan_page"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gpgpu_legacy.page import one_plan

    return one_plan.plan_page
