"""The memory that this process may still take, and the refusal of requests for more.

Systems promise more memory than they have, and kill the process that uses it. So code that is about
to take much asks here first, with an estimate that stands beside the allocation. The answer is a
snapshot: another process may take the same memory a second later.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import NoRoomError

SURELY_THERE = 2**25
"""Requests up to this many bytes are not checked: Python and its libraries take more, and a check
costs time.
"""


@frozen
class Room:
    """Memory that may still be taken. size_bytes: at least 0. owner: as in "this machine has"."""

    size_bytes: int
    owner: str

    def __str__(self) -> str:
        """The room in words for a message."""
        return f"{self.owner} {in_words(self.size_bytes)} free"


def free_memory() -> Room:
    """The memory that the machine and the container still leave."""
    import psutil

    machine = Room(psutil.virtual_memory().available, "this machine has")
    return min((machine, *_of_container()), key=lambda room: room.size_bytes)


def require_memory(needed_bytes: int, what: str, remedy: str) -> None:
    """Raise NoRoomError if that many bytes are not available.

    what: the thing that needs them, in words, in the singular. remedy: how to need less.
    """
    if needed_bytes <= SURELY_THERE:
        return
    room = free_memory()
    if needed_bytes > room.size_bytes:
        raise NoRoomError(f"{what} needs about {in_words(needed_bytes)}, and {room}; {remedy}")


def in_words(size_bytes: int) -> str:
    """A number of bytes for people: 37 GB, 1.5 GB, 640 MB."""
    value, unit = float(size_bytes), "bytes"
    for larger in ("kB", "MB", "GB", "TB", "PB", "EB"):
        if value < 999.5:
            break
        value, unit = value / 1000.0, larger
    digits = 1 if value < 9.95 and unit != "bytes" else 0
    return f"{value:,.{digits}f} {unit}"


# Containers ------------------------------------------------------------------------------------

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")

_FILES = {
    "": ("memory.max", "memory.current", "inactive_file"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
}
"""For versions 2 and 1 of cgroups: the files of the limit, the use, and its reclaimable part."""


def _of_container() -> Iterator[Room]:
    """The memory that this process's control groups and their parents leave it.

    A container may see its own group at the root, under the host's path for it.
    """
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:  # no Linux
        return
    for path in {line.split(":", 2)[-1].strip("/") for line in lines}:
        for controller, (limit, use, dropped) in _FILES.items():
            own = _CGROUPS / controller / path
            for group in (own, *own.parents):
                with suppress(OSError, ValueError):  # no such file, or no limit: `max`
                    most, used = (int((group / file).read_text()) for file in (limit, use))
                    words = (group / "memory.stat").read_text().split()
                    caches = int(words[words.index(dropped) + 1])
                    yield Room(max(0, most - used + caches), "this container has")
