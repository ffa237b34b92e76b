"""Files, the user's folders, and what lies beside the package.

Files are read up to a limit, and written whole or not at all. A checkout has shaders/, benchmarks/
and docs/ beside the package, and a commit.

A file is written under a temporary name beside its own, and renamed when it is whole. Nothing is
synced to the disk: that takes longer than many commands, and results can be computed again.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO

from gpgpu_legacy.errors import InputError, reason_of

if TYPE_CHECKING:
    from jinja2 import Template

MOST_TEXT_BYTES = 2**24
"""Bytes of a text file, unless its reader sets a smaller limit. Any real file is smaller, and any
machine's memory much larger.
"""

Write = Callable[[IO[bytes]], object]
"""A function that writes into an open file."""

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
_STREAMS = ("/dev/std", "/dev/fd/", "/proc/")


def _kind(mode: int) -> str:
    """The kind of thing at a path that is not a file, in words; empty for a file."""
    return "" if stat.S_ISREG(mode) else _KINDS.get(stat.S_IFMT(mode), "a device")


# Reading -----------------------------------------------------------------------------------------


def read_text(path: Path, most: int = MOST_TEXT_BYTES) -> str:
    """The text of a file, with its own line ends.

    Text that is not UTF-8 is read as Latin-1, which shaders of the time use in comments. The
    limit and the errors are those of `read_text_bytes`.
    """
    return _decoded(read_text_bytes(path, most))


def read_text_bytes(path: Path, most: int = MOST_TEXT_BYTES) -> bytes:
    """The bytes of a text file, for a reader that knows its encoding.

    What editors on Windows add is left out: a byte order mark, and Ctrl-Z at the end. most: the
    bytes that the file may have. Raises InputError if the file is longer or is not text, and as
    `open_data` does.
    """
    with open_data(path) as file:
        return _text(file, str(path), most)


def read_standard_input(most: int = MOST_TEXT_BYTES) -> str:
    """The text on standard input, up to its end; errors as in `read_text`."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give the name of a file")
    return _decoded(_text(sys.stdin.buffer, "standard input", most))


def open_data(path: Path) -> BinaryIO:
    """A file, opened for reading; InputError if there is none, or it cannot be read.

    Pipes and devices are refused, so that no reader waits or reads forever.
    """
    try:
        kind = _kind(path.stat().st_mode)
        if not kind:
            return path.open("rb")
    except FileNotFoundError:
        shipped = "; `gpgpu-legacy examples` writes those of the package"
        how = shipped if path.parts[:1] == ("shaders",) else ""
        raise InputError(f"there is no file {path}{how}") from None
    except (OSError, ValueError) as error:  # a ValueError for a path with a zero byte
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    is_pipe = kind == "a pipe"
    mend = "write what comes through it to a file first" if is_pipe else "give the name of a file"
    raise InputError(f"{path} is {kind}; {mend}")


def _text(file: IO[bytes], name: str, most: int) -> bytes:
    try:
        data = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {reason_of(error)}") from None
    if len(data) > most:
        raise InputError(f"{name} has more than {most} bytes, the most that such a file may have")
    if b"\0" in data:
        raise InputError(f"{name} is not a text file; it contains zero bytes")
    return data.removeprefix(BOM_UTF8).removesuffix(b"\x1a")


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


# Checks before writing --------------------------------------------------------------------------


def check_writable(path: Path) -> None:
    """Raise InputError if a file cannot be written, as far as is known in advance.

    The reasons: its folder is missing or read-only; it is itself a folder, a device, a pipe or a
    socket; it is write-protected; its name is too long, or a link in a circle.
    """
    with _explained(path):
        _target(path)


def check_distinct(files: Mapping[str, Path]) -> None:
    """Raise InputError if two of these files, named by their purpose, are the same."""
    known: dict[str, str] = {}
    for name, path in files.items():
        other = known.setdefault(os.path.realpath(path), name)
        if other != name:
            raise InputError(f"{other} and {name} are both {path}; give two files")


def check_not_read(output: Path, inputs: Mapping[str, Path | None]) -> None:
    """Raise InputError if an output is one of the files that the same command reads."""
    for name, path in inputs.items():
        with suppress(OSError):  # a missing or unreadable file is not an output
            if path is not None and path.samefile(output):
                raise InputError(f"{output} is also read, as {name}; give the output another name")


def check_output_folder(folder: Path, names: tuple[str, ...] = ()) -> None:
    """Raise InputError if files cannot be written to a folder, or a missing one cannot be made.

    names: the files that will be written there. Nothing is written or made yet.
    """
    with _explained(folder):
        if not folder.is_dir():
            if os.path.lexists(folder):
                raise InputError(f"{folder} is a file; give the name of a folder")
            _target(folder)
            return
        _check_folder(folder)
        for name in names:
            _target(folder / name)


def _target(path: Path) -> Path:
    """The file that a path names, after all links; InputError if it cannot be written."""
    if str(path.absolute()).startswith(_STREAMS):
        _refuse(path, "a stream")
    target = Path(os.path.realpath(path))
    folder = (target if path.is_symlink() else path).parent
    if not folder.is_dir():
        if folder.exists():
            raise InputError(f"{folder} is a file; {path.name} needs a folder to be written to")
        raise InputError(f"there is no folder {folder}; make it first")
    with suppress(FileNotFoundError):
        kind = _kind(target.stat().st_mode)
        if kind == "a folder":
            raise InputError(f"{path} is a folder; give the name of a file")
        if kind:
            _refuse(path, kind)
        if not os.access(target, os.W_OK):
            raise InputError(
                f"{path} is write-protected; give another name, or allow writing to it first"
            )
    _check_folder(folder)
    return target


def _check_folder(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the folder {folder} cannot be written to; choose another one")


def _refuse(path: Path, kind: str) -> None:
    raise InputError(f"{path} is {kind}; give the name of a file, or redirect the command's output")


# Writing -----------------------------------------------------------------------------------------


def make_folder(folder: Path) -> None:
    """Make a folder and its missing parents; InputError if that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {reason_of(error)}") from None


def write_whole(path: Path, write: Write) -> None:
    """Let `write` fill a file, and give it this path when it is whole.

    Even if this is interrupted, `path` holds either its old content or all of the new one. If it is
    a link, the file that it points to is replaced. The new file keeps the permissions of the old.
    Raises InputError as `check_writable` does, and if the disk is full.
    """
    _write_all({path: write})


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, in UTF-8."""
    write_whole(path, text_writer(text))


def text_writer(text: str) -> Write:
    """A function that writes this text into a file, in UTF-8."""
    return lambda to: to.write(text.encode("utf-8"))


def write_folder(folder: Path, files: Mapping[str, Write]) -> None:
    """Write files to a folder: all under temporary names first, and then rename them.

    A new folder appears with all its files at once. In an existing one, the files are replaced in
    their order, and its other files stay. Raises InputError as `check_output_folder` does, and if
    the disk is full.
    """
    check_output_folder(folder, tuple(files))
    if folder.is_dir():
        _write_all({folder / name: write for name, write in files.items()})
        return
    with _explained(folder), _draft(folder.absolute().parent) as draft:
        draft.mkdir()
        for name, write in files.items():
            _fill(draft / name, write)
        draft.rename(folder)


def _write_all(files: Mapping[Path, Write]) -> None:
    """Write all files under temporary names, and then rename each."""
    moves = []
    with ExitStack() as drafts:
        for path, write in files.items():
            with _explained(path):
                target = _target(path)
                draft = drafts.enter_context(_draft(target.parent))
                draft.touch()
                if target.exists():
                    shutil.copymode(target, draft)
                _fill(draft, write)
                moves.append((path, draft, target))
        for path, draft, target in moves:
            with _explained(path):
                draft.replace(target)


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """A temporary name in this folder; a file that still has it at the end is removed."""
    draft = folder / f".gpgpu-legacy-{os.urandom(8).hex()}"
    try:
        yield draft
    finally:
        if draft.is_dir():
            shutil.rmtree(draft, ignore_errors=True)
        else:
            draft.unlink(missing_ok=True)


class _Stream(io.FileIO):
    """A file that hides its descriptor, so that NumPy and Pillow write through its methods.

    With a descriptor, they report a full disk as too few numbers written, or as encoder error -2.
    """

    def fileno(self) -> int:
        """Raise OSError, as there is no descriptor to give."""
        raise io.UnsupportedOperation("this file has no descriptor")


def _fill(draft: Path, write: Write) -> None:
    with io.BufferedWriter(_Stream(draft, "w")) as file:
        write(file)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into an InputError of one line."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {reason_of(error)}") from None


# The user's folders -------------------------------------------------------------------------------

NAME = "gpgpu-legacy"


def cache_folder() -> Path:
    """The folder for files that can be made again, such as machine code; it may not exist yet.

    Raises InputError where the user has no home.
    """
    from platformdirs import user_cache_path

    return _folder(user_cache_path, "XDG_CACHE_HOME")


def data_folder() -> Path:
    """The folder for results about this machine, such as tuning; it may not exist yet.

    Raises InputError where the user has no home.
    """
    from platformdirs import user_data_path

    return _folder(user_data_path, "XDG_DATA_HOME")


def _folder(path_of: Callable[..., Path], variable: str) -> Path:
    try:
        folder = path_of(NAME, appauthor=False)
    except RuntimeError:  # from platformdirs, if there is no home; its older versions ignore that
        folder = Path()
    if not folder.is_absolute():
        raise InputError(f"you have no home folder; set HOME, or {variable}, to one")
    return folder


# Files that ship with the package ---------------------------------------------------------------


def shader_folder() -> Path:
    """The folder of the shaders: in the installed package, or at the top of a checkout."""
    return _shipped("shaders")


def recorded_file(name: str) -> Path:
    """A file of recorded measurements in benchmarks/, such as `lineage-h100.json`."""
    return _shipped("benchmarks") / name


def documentation_file(name: str) -> Path:
    """A page of docs/ that the package reads, such as `glossary.md`."""
    return _shipped("docs") / name


def _shipped(name: str) -> Path:
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def shader_text(path: str, **parameters: int | str | bool) -> str:
    """The text of a shader; a template (.j2), which unrolls loops, is rendered.

    path: relative to shaders/, such as `hall_carr_hart_2003/multi.fp.j2`. parameters: the variables
    of the template; jinja2 raises an error for a missing one.
    """
    text = (shader_folder() / path).read_text(encoding="utf-8")
    return _template(text).render(parameters) if path.endswith(".j2") else text


@cache
def _template(text: str) -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string(text)


# The origin of a result ---------------------------------------------------------------------------


@cache
def package_version() -> str | None:
    """The version of gpgpu_legacy; None if it runs without being installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("gpgpu-legacy")
    except PackageNotFoundError:
        return None


@cache
def package_digest() -> str:
    """A digest of all files that results may depend on: the package's, and those beside it."""
    folders = Path(__file__).resolve().parent, shader_folder(), _shipped("benchmarks")
    files = [path for folder in folders for path in sorted(folder.rglob("*.*")) if path.is_file()]
    files.append(documentation_file("glossary.md"))
    digests = (sha256(file.read_bytes()).digest() for file in files if file.suffix != ".pyc")
    return sha256(b"".join(digests)).hexdigest()


@cache
def library_versions() -> str:
    """Python's version, and the names and versions of all installed distributions."""
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")}
    return " ".join((sys.version, *sorted(installed)))


def checkout() -> Path | None:
    """The checkout of the project that the package runs from; None if it is installed."""
    root = Path(__file__).resolve().parent.parent
    return root if (root / ".git").exists() else None


@cache
def commit() -> str | None:
    """The commit of the checkout that the package runs from, with a + if files differ from it.

    None if the package is installed, or if git fails.
    """
    import subprocess

    root = checkout()
    if root is None:
        return None
    try:
        head, changes = (
            subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain"))
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head + "+" * bool(changes)
