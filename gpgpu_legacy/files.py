"""Reading text files."""

from __future__ import annotations

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
        raise InputError(f"{path} cannot be read: {reason_of(error)}") from None
    if most is not None and len(data) > most:
        raise InputError(f"{path} has more than {most} bytes, the most that such a file may have")
    if b"\0" in data:
        raise InputError(f"{path} is not a text file; it contains zero bytes")
    return data


def reason_of(error: OSError | RuntimeError) -> str:
    """What the system says, in the middle of a sentence."""
    text = getattr(error, "strerror", None) or str(error)
    return text[:1].lower() + text[1:]
