"""Completion by the shell: the names for each position."""

from __future__ import annotations

from gpgpu_legacy.cli.options import Names

PROGRAM = "gpgpu-legacy"


def chip_names(*_: object) -> Names:
    """Chips and APIs: ours, and those that were calibrated here."""
    from gpgpu_legacy.chips.profile import calibrated, profiles

    chips = (*profiles(), *calibrated())
    return ((name, chip.title) for chip in chips for name in (chip.name, *chip.aliases))


def executor_names(*_: object) -> Names:
    """Executors, whether they work here or not, and `auto`."""
    from gpgpu_legacy.runtime.executor import AUTO, executors

    yield AUTO, "what is expected to be done first"
    yield from ((executor.name, executor.summary) for executor in executors())


def algorithm_names(*_: object) -> Names:
    """Algorithms: ours, and those of other packages."""
    from gpgpu_legacy.algorithms.registry import all_algorithms

    return ((algorithm.name, algorithm.summary) for algorithm in all_algorithms())


def paper_names(*_: object) -> Names:
    """The papers."""
    from gpgpu_legacy.published import paper_ids

    return ((name, "") for name in paper_ids())


def section_names(*_: object) -> Names:
    """The sections of the page."""
    from gpgpu_legacy.page.sections import SECTIONS

    return ((name, "") for name in SECTIONS)


def arithmetic_names(*_: object) -> Names:
    """The arithmetics of the time."""
    from gpgpu_legacy.isa.arithmetic import ARITHMETICS

    return ((name, "") for name in ARITHMETICS)
