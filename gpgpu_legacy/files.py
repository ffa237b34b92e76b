"""Text files read, and files written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gpgpu_legacy.errors import InputError


def read_json(path: Path, key: str) -> dict[str, Any]:
    """A JSON object that has the given key; InputError, in one line, where the file holds none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(data, dict) or key not in data:
        raise InputError(f"{path} holds no recorded results; it has no {key!r}")
    return data


def read_text(path: Path) -> str:
    """The text of a file, its line ends as they are; InputError, in one line, where it has none.

    Text that is not UTF-8 is taken for Latin-1, in which comments were written in their time.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    if b"\0" in data:
        raise InputError(f"{path} is no text; it holds zero bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def check_folder(path: Path) -> None:
    """InputError where the folder that `path` would stand in is missing, or `path` is a folder."""
    folder = path.parent
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; make it first")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file")


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Call `write` with a temporary file beside `path`, which then takes the place of `path`.

    Whatever interrupts it, `path` holds what it held before or all of what was written. A link
    stays a link: what it points to is replaced. A device or a pipe is written to as it is.
    Raises InputError where the folder is missing or cannot be written to.
    """
    check_folder(path)
    path = path.resolve()
    if path.exists() and not path.is_file():
        try:
            write(path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
        return
    try:
        handle, name = tempfile.mkstemp(
            prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent
        )
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The process's mask, which temporary files do not follow by themselves."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write a text file whole, in UTF-8."""
    write_whole(path, lambda to: _write(to, text))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
