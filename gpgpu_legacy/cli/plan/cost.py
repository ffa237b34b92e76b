"""The commands `plan cache` and others that say what a plan costs, without running it."""

from __future__ import annotations

from gpgpu_legacy.cli.cache import (
    AccessOptions,
    CacheCommand,
    CacheOutput,
    MemoryOptions,
    simulate_cases,
)
from gpgpu_legacy.cli.groups import grouped
from gpgpu_legacy.cli.plan.options import RecipeOptions, plan_app


@plan_app.command("cache", cls=CacheCommand)
@grouped
def cache_command(
    recipe: RecipeOptions,
    memories: MemoryOptions,
    accesses: AccessOptions,
    report: CacheOutput,
) -> None:
    """Simulate a plan's lookups and writes through a cache: hits, misses, bytes from memory.

    --cache, --raster and --layout take several values; every combination is simulated.
    """
    from gpgpu_legacy.studies.cache_sweep.model import Planned, plan_cases

    report.check(memories)
    built = recipe.built()
    planned = Planned(built.plan, tuple(built.parameters.items()))
    simulate_cases(plan_cases(planned, memories.memories(), accesses.orders()), report)
