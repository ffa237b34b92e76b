"""What the option parser objects to, in one line that says how to mend the call."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from gpgpu_legacy.errors import printable


def usage_message(error: Any) -> str:
    """An error of the option parser in one line: what is wrong, and how to mend it.

    Typer brings its own copy of the parser's errors in some versions and not in others, so they are
    told apart by name.
    """
    context = getattr(error, "ctx", None)
    command = _name(context)
    kind = type(error).__name__
    wording = _WORDINGS.get(kind, _other)
    problem = wording(error, context) or " ".join(error.format_message().split()).rstrip(".")
    see = "" if context is None or problem.endswith("?") else f"; see `{command} --help`"
    return printable(f"{problem}{see}")


def without_negations(command: Any, words: Sequence[str]) -> list[str]:
    """The words of a call without the old `--no-NAME` of flags, which have become plain.

    Each one takes back a flag before it, as it always did, and leaves a line on stderr.
    """
    flags = {
        f"--no-{name[2:]}": name
        for parameter in command.params
        if getattr(parameter, "is_flag", False) and not parameter.secondary_opts
        for name in parameter.opts
        if name.startswith("--")
    }
    kept: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*kept, *words[index:]]
        if word in flags:
            print(f"gpgpu-legacy: {word} is deprecated; leave it out", file=sys.stderr)
            kept = [before for before in kept if before != flags[word]]
        else:
            kept.append(word)
    return kept


def _name(context: Any) -> str:
    """`gpgpu-legacy run`, `gpgpu-legacy plan run`; `gpgpu-legacy` for what is of no command."""
    parent = getattr(context, "parent", None)
    return "gpgpu-legacy" if parent is None else f"{_name(parent)} {context.info_name}"


def _missing(error: Any, context: Any) -> str:
    parameter = error.param
    if parameter is None:
        return ""
    if parameter.param_type_name == "argument":
        return f"{context.info_name} needs {_shown(parameter)}"
    value = parameter.metavar or ""
    choices = parameter.get_missing_message(ctx=context) or ""
    choices = " ".join(choices.replace("Choose from:", "; choose from").split())
    return f"{context.info_name} needs {parameter.opts[-1]} {value}".rstrip() + choices


def _shown(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper())


def _no_such_option(error: Any, context: Any) -> str:
    known = sorted(name for name in error.possibilities or () if not name.startswith("--no-"))
    hint = f"; did you mean {' or '.join(known)}?" if known else ""
    return f"{context.info_name if context.parent else 'gpgpu-legacy'} has no option " + (
        f"{error.option_name}{hint}"
    )


def _bad_option(error: Any, _context: Any) -> str:
    option = error.option_name
    if match := re.search(r"requires (\d+) arguments", error.message):
        return f"{option} needs {match[1]} values"
    if "requires an argument" in error.message:
        return f"{option} needs a value"
    if "does not take a value" in error.message:
        return f"{option} is given a value; write it without one"
    return ""


def _other(error: Any, context: Any) -> str:
    if match := re.search(r"unexpected extra arguments?(?:\(s\))? \((.*)\)", error.message):
        return f"{context.info_name} has too many arguments; leave out {match[1]}"
    if error.message.startswith("Missing command"):
        return "a command is missing"
    match = re.match(r"No such command '(.*?)'\.?(?: Did you mean (.*)\?)?$", error.message)
    if match:
        near = (match[2] or "").replace("'", "").replace(", ", " or ")
        return f"there is no command {match[1]}" + (f"; did you mean {near}?" if near else "")
    return ""


_WORDINGS = {
    "MissingParameter": _missing,
    "NoSuchOption": _no_such_option,
    "BadOptionUsage": _bad_option,
}
