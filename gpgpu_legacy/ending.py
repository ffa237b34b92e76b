"""How a signal ends the program: at once, in one line, with nothing half-done left behind.

An exception would not do. Raised inside a callback of numba, of a driver or of the garbage
collector it is lost, raised during an import it leaves half of a module, and raised twice it
interrupts the cleaning up. So the handler itself removes what is half-written, says so, and exits.

Only the command line asks for it. In a program that imports the package, signals are that
program's own, and Python's KeyboardInterrupt cleans up on its way.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
from _thread import RLock, get_ident, start_new_thread
from contextlib import contextmanager

TYPE_CHECKING = False  # the module typing takes long to import, and a signal may come meanwhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType
    from typing import NoReturn

ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGXCPU")
"""The signals that end the program in this way, where the system has them."""

INTERRUPTED = "gpgpu-legacy: interrupted"

_OF_A_SIGNAL = 128
"""What shells add to a signal's number to make an exit code."""


class _Process:
    """A process: what it cleans up before it ends, and what it finishes before that.

    Lists are appended to and popped from, which no signal and no thread can interrupt.
    """

    def __init__(self) -> None:
        self.cleanups: list[Callable[[], object]] = []
        self.holds: list[None] = []
        self.asked: list[int] = []
        self.unsaid = [INTERRUPTED]
        self.masks: list[set[int]] = []
        self.ending = RLock()
        self.enders: list[int] = []


_PROCESS = _Process()


def end_on_signals() -> None:
    """From now on, the signals of ENDING end this process; those that are ignored stay so."""
    for number in _numbers():
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _handle)
    if os.name == "posix":
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        start_new_thread(_watch, (reader,))
        os.register_at_fork(before=_block, after_in_child=_forget, after_in_parent=_unblock)
    atexit.register(_ignore)  # called last of all, as it comes first


def _block() -> None:
    """Hold signals back during a fork, when a child would tell its parent's thread of its own."""
    _PROCESS.masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, _numbers()))


def _unblock() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _PROCESS.masks.pop())


def _forget() -> None:
    """Leave the signals of a forked child to itself: nothing of its parent's is its to clean up."""
    signal.set_wakeup_fd(-1)
    for number in _numbers():
        if signal.getsignal(number) is _handle:
            is_key = number == signal.SIGINT
            signal.signal(number, signal.default_int_handler if is_key else signal.SIG_DFL)
    _unblock()


def _ignore() -> None:
    """Let the interpreter close in peace: everything is done, and its handlers are going."""
    for number in _numbers():
        signal.signal(number, signal.SIG_IGN)


def _numbers() -> list[int]:
    return [getattr(signal, name) for name in ENDING if hasattr(signal, name)]


def before_the_end(clean: Callable[[], object]) -> None:
    """Call this before a signal ends the process. It must not wait for anything."""
    _PROCESS.cleanups.append(clean)


@contextmanager
def cleaned_up_by(clean: Callable[[], object]) -> Iterator[None]:
    """In the block, `clean` is called before a signal ends the process."""
    before_the_end(clean)
    try:
        yield
    finally:
        _PROCESS.cleanups.remove(clean)


@contextmanager
def held_together() -> Iterator[None]:
    """What the block does, a signal waits for: it should take no longer than a few system calls."""
    _PROCESS.holds.append(None)
    try:
        if _PROCESS.asked:
            _end()
        yield
    finally:
        _PROCESS.holds.pop()
        if _PROCESS.asked and not _PROCESS.holds:
            _end()


def _handle(number: int, _: FrameType | None) -> None:
    """Python's handler, which runs in the main thread, between two of its steps."""
    _PROCESS.asked.append(number)
    if not _PROCESS.holds and get_ident() not in _PROCESS.enders:
        _end()


def _watch(reader: int) -> None:
    """Wait for a signal beside the main thread, which may be in compiled code for long."""
    while True:
        for number in os.read(reader, 64):
            if signal.getsignal(number) is _handle:
                _handle(number, None)


def _end() -> NoReturn:
    """Clean up and exit. Another thread that comes here waits; another signal changes nothing."""
    _PROCESS.ending.acquire()
    _PROCESS.enders.append(get_ident())
    try:
        for clean in reversed(_PROCESS.cleanups):
            _try(clean)
        _try(_say)
    finally:
        os._exit(_OF_A_SIGNAL + _PROCESS.asked[0])


def _say() -> None:
    """Say that the program was interrupted, once, past anything that buffers."""
    text = _PROCESS.unsaid.pop()
    if sys.__stderr__ is not None:  # else its number may be some other file's
        after_the_key = "\n" * os.isatty(2)  # a terminal shows ^C
        os.write(2, f"{after_the_key}{text}\n".encode())


def _try(do: Callable[[], object]) -> None:
    """Do this as far as it can be done: nothing keeps the process from ending."""
    try:
        do()
    except Exception:
        return
