"""Reading text files, and writing files whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from gpgpu_legacy.errors import InputError


def read_text(path: Path, most: int | None = None) -> str:
    """The text of a file, with its line ends as they are.

    Text that is not UTF-8 is read as Latin-1, which shaders of the time have in their comments.
    Otherwise as `read_text_bytes`.
    """
    data = read_text_bytes(path, most)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def read_text_bytes(path: Path, most: int | None = None) -> bytes:
    """The bytes of a text file, for a reader that knows its encoding.

    most: the bytes that it may have. Raises InputError, in one line, where the file is missing,
    unreadable, longer or not text.
    """
    try:
        with path.open("rb") as file:
            data = file.read() if most is None else file.read(most + 1)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}") from None
    if most is not None and len(data) > most:
        raise InputError(f"{path} has more than {most} bytes, the most that such a file may have")
    if b"\0" in data:
        raise InputError(f"{path} is not a text file; it contains zero bytes")
    return data


def _reason(error: OSError | RuntimeError) -> str:
    """What the system says, in the middle of a sentence."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]


def check_folder(path: Path) -> None:
    """InputError where a file cannot be written, as far as that is known before it is.

    Its folder is missing or read-only, or the file is itself a folder.
    """
    try:
        _check_place(path)
    except (OSError, RuntimeError) as error:  # a name that is too long, links in a circle
        raise InputError(f"{path} cannot be written: {_reason(error)}") from None


def _check_place(path: Path) -> None:
    folder = path.parent
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; {path.name} needs a folder to be written to")
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")
    target = path.resolve()
    is_device = target.exists() and not target.is_file()
    if not is_device:
        _check_writable(target.parent)


def check_distinct(files: Mapping[str, Path | None]) -> None:
    """InputError where two of these, by what they are for, are one file; `check_folder` first."""
    known: dict[Path, str] = {}
    for name, path in files.items():
        if path is None:
            continue
        place = path.resolve()
        if place in known:
            raise InputError(f"{known[place]} and {name} are both {path}; give two files")
        known[place] = name


def _check_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"the folder {folder} cannot be written to; choose another one")


def check_output_folder(folder: Path) -> None:
    """InputError where a folder neither exists nor can be made, or cannot be written to."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give the name of a folder")
    above = folder.parent
    if not above.absolute().is_dir():
        raise InputError(f"there is no folder {above}; make it first")
    _check_writable(folder if folder.exists() else above.absolute())


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, where they are missing; InputError where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {_reason(error)}") from None


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a temporary file beside `path`, and then move it to `path`.

    Whatever interrupts this, `path` holds either its old content or all of the new one. Where it is
    a link, the file that it points to is replaced. A device or a pipe is written to directly.
    Raises InputError where the folder is missing or cannot be written to.
    """
    check_folder(path)
    path = path.resolve()
    if path.exists() and not path.is_file():
        try:
            write(path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {_reason(error)}") from None
        return
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise InputError(f"{path} cannot be written: {_reason(error)}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {_reason(error)}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The process's file mode mask, which temporary files ignore."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, in UTF-8."""
    write_whole(path, lambda to: _write(to, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
