"""Completion by the shell: the names for each position, and the protocol of bash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from gpgpu_legacy.cli.options import Names

PROGRAM = "gpgpu-legacy"

_AFTER_REPLIES = "    return 0"
_NO_SPACE = "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"


@add_completion_class
class _Bash(BashComplete):
    """Bash, which splits words at `=`: NAME=VALUE arrives as three; only the last is replaced."""

    source_template = BashComplete.source_template.replace(
        _AFTER_REPLIES, _NO_SPACE + _AFTER_REPLIES
    )

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the completed one, and its beginning, joined again."""
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        for word in (*args, incomplete):
            if words and (word == "=" or words[-1].endswith("=")):
                words[-1] += word
            else:
                words.append(word)
        return words[:-1], words[-1]

    def format_completion(self, item: CompletionItem) -> str:
        """The answer to bash; for NAME=VALUE only the value."""
        name, equals, value = str(item.value).partition("=")
        return f"{item.type},{value if equals and value else name + equals}"


# Names ------------------------------------------------------------------------------------------


def chip_names(*_: object) -> Names:
    """Chips and APIs: ours, and those that were calibrated here."""
    from gpgpu_legacy.chips.profile import calibrated, profiles

    chips = (*profiles(), *calibrated())
    return ((name, chip.title) for chip in chips for name in (chip.name, *chip.aliases))


def executor_names(*_: object) -> Names:
    """Executors, whether they work here or not, and `auto`."""
    from gpgpu_legacy.runtime.registry import AUTO, executors

    yield AUTO, "what is expected to be done first"
    yield from ((executor.name, executor.summary) for executor in executors())


def algorithm_names(*_: object) -> Names:
    """Algorithms: ours, and those of other packages."""
    from gpgpu_legacy.algorithms.registry import all_algorithms

    return ((algorithm.name, algorithm.summary) for algorithm in all_algorithms())


def word_names(before: Sequence[str], start: str) -> Names:
    """The words after a verb: algorithms, and after one, its parameters and inputs."""
    from gpgpu_legacy.algorithms.registry import shipped_algorithms

    known = {name: a for a in shipped_algorithms() for name in (a.name, *a.aliases)}
    words = [known[word] for word in before if word in known]
    name, equals, _ = start.partition("=")
    offered: Iterable[tuple[str, str]] = ((word, a.summary) for word, a in known.items())
    for algorithm in words:
        parameter = algorithm.parameters.get(name) if equals else None
        if parameter is not None:
            offered = ((f"{name}={choice}", "") for choice in parameter.choices)
        elif not equals:
            inputs = ((f"{one}=", "a file") for one in algorithm.builder().operands)
            own = ((f"{one.name}=", one.meaning) for one in algorithm.parameters.values())
            offered = (*own, *inputs, *offered)
    return iter(offered)


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
