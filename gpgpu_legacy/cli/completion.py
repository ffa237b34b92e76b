"""Completion by the shell: which names may stand where, and how a shell is taught to ask.

A shell asks by the environment variable _GPGPU_LEGACY_COMPLETE, as Typer and Click define it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, MutableMapping, Sequence

from gpgpu_legacy.errors import InputError

PROGRAM = "gpgpu-legacy"
VARIABLE = "_GPGPU_LEGACY_COMPLETE"
SHELLS = ("bash", "zsh", "fish")

SHOW, INSTALL = "--show-completion", "--install-completion"


# What a shell asks ------------------------------------------------------------------------------


def asked_words(environment: MutableMapping[str, str]) -> list[str] | None:
    """The words of the command line that a shell asks about, as far as they are typed.

    None where no shell asks. bash leaves them in COMP_WORDS, the others in _TYPER_COMPLETE_ARGS.
    """
    if not environment.get(VARIABLE, "").startswith("complete"):
        return None
    line = environment.get("COMP_WORDS") or environment.get("_TYPER_COMPLETE_ARGS", "")
    try:
        return shlex.split(line)[1:]
    except ValueError:  # a quotation mark is open
        return line.split()[1:]


def with_shell_found(words: Sequence[str], environment: MutableMapping[str, str]) -> list[str]:
    """The words of a call where `--show-completion zsh` or `--install-completion zsh` may be.

    Typer finds the shell by itself; one that is named is put where Typer looks for it. Raises
    InputError for an unknown shell.
    """
    if len(words) != 2 or words[0] not in {SHOW, INSTALL}:
        return list(words)
    option, shell = words
    if shell not in SHELLS:
        raise InputError(f"{option} is {shell!r}; choose from {', '.join(SHELLS)}")
    if option == SHOW:
        environment[VARIABLE] = f"source_{shell}"
        return []
    environment[_NAMED] = "1"
    return [option, shell]


_NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
"""Where Typer looks before it takes the shell from the option, and not from the process above."""


# Names ------------------------------------------------------------------------------------------

Names = Iterator[tuple[str, str]]
"""Names that fit, each with a word about it."""


def method_names(incomplete: str) -> Names:
    """Methods of matrix products, and their aliases."""
    from gpgpu_legacy.algorithms.registry import methods

    for method in methods():
        for name in (method.name, *method.aliases):
            if name.startswith(incomplete):
                yield name, method.paper


def chip_names(incomplete: str) -> Names:
    """Chips and APIs: ours, and those that were calibrated here."""
    from gpgpu_legacy.chips.profile import calibrated, profiles

    for profile in (*profiles(), *calibrated()):
        for name in (profile.name, *profile.aliases):
            if name.startswith(incomplete):
                yield name, profile.title


def executor_names(incomplete: str) -> Names:
    """Executors, whether they work here or not, and `auto`."""
    from gpgpu_legacy.runtime.registry import AUTO, executors

    every = ((AUTO, "the first that fits"), *((e.name, e.summary) for e in executors()))
    return ((name, summary) for name, summary in every if name.startswith(incomplete))


def algorithm_names(incomplete: str) -> Names:
    """Algorithms: ours, and those of other packages."""
    from gpgpu_legacy.algorithms.registry import all_algorithms

    for algorithm in all_algorithms():
        if algorithm.name.startswith(incomplete):
            yield algorithm.name, algorithm.summary


def paper_names(incomplete: str) -> Names:
    """The papers."""
    from gpgpu_legacy.published import paper_ids

    return ((name, "") for name in paper_ids() if name.startswith(incomplete))


def section_names(incomplete: str) -> Names:
    """The sections of the page."""
    from gpgpu_legacy.page.sections import SECTIONS

    return ((name, "") for name in SECTIONS if name.startswith(incomplete))


def arithmetic_names(incomplete: str) -> Names:
    """The arithmetics of the time."""
    from gpgpu_legacy.isa.arithmetic import ARITHMETICS

    return ((name, "") for name in ARITHMETICS if name.startswith(incomplete))


def format_names(incomplete: str) -> Names:
    """The formats of texels."""
    from gpgpu_legacy.plan.formats import FORMATS

    return ((name, "") for name in FORMATS if name.startswith(incomplete))
