"""Sections of the page, made by two processes at once: the slowest take as long as the others."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpgpu_legacy.page.section import Section
from gpgpu_legacy.page.sections import check_name, section_of

_SLOW = ("loaded", "cache", "exercises")  # exercises ask what loads, too

_CODE = f"from {__name__} import send; send()"


def sections_of(names: Sequence[str]) -> list[Section]:
    """The sections of these names. Raises InputError where there is none of a name."""
    for name in names:
        check_name(name)
    slow = [name for name in names if name in _SLOW]
    if len(slow) in (0, len(names)):
        return [section_of(name) for name in names]
    with _process(slow) as process:
        made = {name: section_of(name) for name in names if name not in slow}
        made |= dict(zip(slow, _received(process, slow), strict=True))
    return [made[name] for name in names]


def send() -> None:
    """Write the sections that the arguments name to standard output."""
    pickle.dump([section_of(name) for name in sys.argv[1:]], sys.stdout.buffer)


@contextmanager
def _process(names: Sequence[str]) -> Iterator[subprocess.Popen[bytes] | None]:
    """A process that sends sections; None where none can be started."""
    command = [sys.executable, "-P", "-c", _CODE, *names]
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
    except OSError:
        yield None
        return
    with process:
        try:
            yield process
        finally:
            process.kill()


def _received(process: subprocess.Popen[bytes] | None, names: Sequence[str]) -> list[Section]:
    """What a process sends; made here where it fails, so that a fault is said here."""
    if process is not None:
        sent, _ = process.communicate()
        if process.returncode == 0:
            sections: list[Section] = pickle.loads(sent)
            return sections
    return [section_of(name) for name in names]
