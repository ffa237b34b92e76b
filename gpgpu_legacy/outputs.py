"""The one writer of all results: files, and folders of them, whole or not at all.

A file is written beside the place that it will take, and is moved there when it is whole. Nothing
is forced to the disk: that takes longer than many a command, and results can be made again.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from gpgpu_legacy.drafts import Stream, draft_file, draft_folder, sweep
from gpgpu_legacy.ending import held_together
from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.targets import can_make_files, target_of

Write = Callable[[IO[bytes]], object]
"""What fills a file that is open for writing."""


def check_writable(path: Path) -> None:
    """InputError where a file cannot be written, as far as that can be found out before it is.

    Its folder is missing or read-only; it is itself a folder, a device, a pipe or a socket; it is
    write-protected; its name is too long, or a link in a circle. Finding out leaves no trace.
    """
    with _explained(path):
        target_of(path)


def check_distinct(files: Mapping[str, Path | None]) -> None:
    """InputError where two of these, by what they are for, are one file; `check_writable` first."""
    known: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        with _explained(path):  # there may be no current folder
            place = Path(os.path.realpath(path))
        if place in known:
            raise InputError(f"{known[place]} and {name} are both {path}; give two files")
        known[place] = name


def check_not_read(output: Path, inputs: Mapping[str, Path | None]) -> None:
    """InputError where an output is one of the files that the same command reads."""
    for name, path in inputs.items():
        with suppress(OSError):  # one that is not there, or that cannot be read, is no output
            if path is not None and output.exists() and path.samefile(output):
                raise InputError(
                    f"{output} is also read, as {name}; give another name for what is written"
                )


def check_output_folder(folder: Path, names: tuple[str, ...] = ()) -> None:
    """InputError where files cannot be written to a folder, which is made where it is missing.

    names: the files that will be written there.
    """
    with _explained(folder):
        _check_folder(folder, names)


def _check_folder(folder: Path, names: tuple[str, ...]) -> None:
    if "\0" in str(folder):
        raise InputError("no folder's name has a zero byte in it; give another name")
    if folder.is_dir():
        if not can_make_files(folder):
            raise InputError(f"the folder {folder} cannot be written to; choose another one")
        known: dict[Path, str] = {}
        for name in names:
            place = target_of(folder / name).path
            if place in known:
                raise InputError(f"{known[place]} and {name} in {folder} are links to one file")
            known[place] = name
        return
    if os.path.lexists(folder):
        is_link = folder.is_symlink()
        what = "a link to what is not there" if is_link and not folder.exists() else "a file"
        raise InputError(f"{folder} is {what}; give the name of a folder")
    above = folder.absolute().parent
    if above.exists() and not above.is_dir():
        raise InputError(f"{folder.parent} is a file; {folder.name} needs a folder to be made in")
    if not above.is_dir():
        raise InputError(f"there is no folder {folder.parent}; make it first")
    if not can_make_files(above):
        raise InputError(f"the folder {folder.parent} cannot be written to; choose another one")


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing; InputError where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {reason_of(error)}") from None


def write_whole(path: Path, write: Write) -> None:
    """Let `write` fill a file, and give it this path when it is whole.

    Whatever interrupts this, `path` holds either its old content or all of the new one, and nothing
    else is left. Where it is a link, the file that it points to is replaced. A file that is
    replaced leaves its permissions, its extended attributes and, where the system permits it, its
    owner to the new one. Its other names, if it has hard links, keep the old content.
    Raises InputError where `check_writable` does, and where the disk is full.
    """
    _write_all({path: write})


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, in UTF-8."""
    write_whole(path, text_writer(text))


def text_writer(text: str) -> Write:
    """What fills a file with this text, in UTF-8."""
    return lambda to: to.write(text.encode("utf-8"))


def write_folder(folder: Path, files: Mapping[str, Write]) -> None:
    """Write files of a folder: first all of them as drafts, and then all take their names.

    A folder that is not there appears with all its files at once. In one that is there the files
    are replaced one by one in their order, as `write_whole` does, so that only a machine that stops
    within that moment leaves files of before beside those of now; and its other files stay.
    Raises InputError where `check_output_folder` does, and where the disk is full.
    """
    check_output_folder(folder, tuple(files))
    if folder.is_dir():
        _write_all({folder / name: write for name, write in files.items()})
        return
    above = folder.absolute().parent
    with _explained(folder):
        sweep(above)
        with draft_folder(above) as draft:
            for name, write in files.items():
                _fill(draft / name, write)
            with held_together():
                draft.rename(folder)


def _write_all(files: Mapping[Path, Write]) -> None:
    """Write drafts of all files, and then move each to its place."""
    moves = []
    with ExitStack() as drafts:
        for path, write in files.items():
            with _explained(path):
                target = target_of(path)
                sweep(target.path.parent)
                draft = drafts.enter_context(draft_file(target.path.parent, target.mode))
                _fill(draft, write)
                target.give_over(draft)
                moves.append((path, draft, target.path))
        with held_together():
            for path, draft, place in moves:
                with _explained(path):
                    draft.replace(place)


def _fill(draft: Path, write: Write) -> None:
    with io.BufferedWriter(Stream(draft, "w")) as file:
        write(file)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """InputError, in one line, for whatever the system refuses in the block."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {reason_of(error)}") from None
