"""The files that the words of a command name: none is written twice, or both read and written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gpgpu_legacy.errors import InputError

WRITTEN = frozenset({
    "--animate", "--dump", "--heat-map", "--output", "--plot", "--plots", "--record-to",
})  # fmt: skip
"""The options whose files are written; the words of all others may name files that are read."""

_CONTINUED = "--resume"
"""The option whose file may be written again, with more in it."""


PICTURE, FILM, RECORD = "FILE.png|svg|pdf", "FILE.png|gif", "JSON"
"""What stands in the help for a picture that has lines, for one that may move, and for results."""


def check_files(parameters: Iterable[Any], values: Mapping[str, Any]) -> None:
    """InputError where a command would write a file twice, or over one that it reads.

    So it is for a picture or results whose names end otherwise, or that have no folder.
    parameters: those of the command. values: what is given for each, by its name.
    """
    written: dict[str, Path] = {}
    read: dict[str, Path] = {}
    shapes = {}
    for parameter in parameters:
        if _CONTINUED in parameter.opts:
            continue
        is_written = not WRITTEN.isdisjoint(parameter.opts)
        for number, path in enumerate(_paths(values.get(parameter.name))):
            name = _spelled(parameter) + f" {number + 1}" * bool(number)
            if is_written:
                written[name], shapes[path] = path, parameter.metavar
            elif os.path.isfile(path):  # noqa: PTH113 - of any name, however long
                read[name] = path
    if not written:
        return
    from gpgpu_legacy.files import check_distinct, check_not_read

    check_distinct(written)
    for path, shape in shapes.items():
        check_not_read(path, read)
        if shape == RECORD:
            check_output(path, ".json")
        if shape == FILM:
            check_output(path, ".png", ".gif")
        if shape == PICTURE:
            from gpgpu_legacy.present.plot import check_figure

            check_figure(path)


def check_output(path: Path, *suffixes: str) -> None:
    """InputError for a file to write with another suffix, or in no folder."""
    from gpgpu_legacy.files import check_writable

    check_writable(path)
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path} should end in {' or '.join(suffixes)}")


def _paths(value: Any) -> Iterator[Path]:
    """The paths that a value may stand for: its own, or what NAME=FILE gives."""
    if isinstance(value, list | tuple):
        for each in value:
            yield from _paths(each)
    elif isinstance(value, Path):
        yield value
    elif isinstance(value, str) and value:
        _, _, file = value.rpartition("=")
        yield Path(file)


def _spelled(parameter: Any) -> str:
    """How the help calls an option or an argument."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).split()[0].strip("[].")
