"""Options that take several values: `--size 256 512`, in every command."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from typer.core import TyperCommand, TyperOption

from gpgpu_legacy.cli.commands import printable
from gpgpu_legacy.cli.file_options import check_files
from gpgpu_legacy.numerals import integer_in

_TYPED = "gpgpu_legacy.typed"
"""The key, in the parser's context, of the words that a shell asks about."""


class Lists(TyperCommand):
    """A command in which an option may be followed by several values, or be given several times.

    Words that cannot be further values are arguments: a program after `--texture 0=a.png`. A
    subclass names options that were renamed; their old spellings work for one version.
    """

    renamed: ClassVar[Mapping[str, str]] = {}
    """The new spelling by the old one."""

    def get_help(self, ctx: Any) -> str:
        """The help, in characters that stdout has."""
        return printable(super().get_help(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat the option before each further value, as the parser expects it."""
        if ctx.resilient_parsing:  # a shell asks
            ctx.meta[_TYPED] = list(args)
            return super().parse_args(ctx, list(_repeated(args, self._lists)))
        words = list(_current(args, self.renamed))
        return super().parse_args(ctx, list(_repeated(words, self._lists)))

    def invoke(self, ctx: Any) -> Any:
        """Run the command, if none of its files gets in the way of another."""
        check_files(self.params, ctx.params)
        return super().invoke(ctx)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What may stand next, for a shell: among others, a further value of an option."""
        options = [word for word in ctx.meta.get(_TYPED, ()) if word.startswith("-")]
        option = self._lists.get(options[-1]) if options else None
        if option is None or incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return option.shell_complete(ctx, incomplete)

    @property
    def _lists(self) -> dict[str, TyperOption]:
        """The options that take several values, by name."""
        return {
            name: parameter
            for parameter in self.params
            if isinstance(parameter, TyperOption) and parameter.multiple
            for name in parameter.opts
        }


def _repeated(args: Iterable[str], lists: Mapping[str, TyperOption]) -> Iterator[str]:
    option, values = "", 0
    for word in args:
        if word.startswith("-") and integer_in(word) is None:
            option, values = word, 0
        else:
            if option in lists and values and _fits(lists[option], word):
                yield option
            values += 1
        yield word


def _fits(option: TyperOption, word: str) -> bool:
    """Whether a word may be a further value of an option; else it is an argument of the command."""
    shape = option.metavar or ""
    if "=" in shape:
        return "=" in word
    return integer_in(word) is not None or shape not in {"N …", "B …"}


def _current(args: Iterable[str], renamed: Mapping[str, str]) -> Iterator[str]:
    """The words with old spellings of options replaced, each with a line on stderr."""
    for word in args:
        is_short = not word.startswith("--")
        option, equals, value = (word[:2], "", word[2:]) if is_short else word.partition("=")
        new = renamed.get(option)
        if new is None:
            yield word
            continue
        print(f"gpgpu-legacy: {option} is deprecated; write {new}", file=sys.stderr)
        yield f"{new}{equals}" if is_short else f"{new}{equals}{value}"
        if is_short and value:
            yield value
