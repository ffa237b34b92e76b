"""OpenGL contexts that all threads of a process take turns at, and what outlives its owner there.

A context is current on one thread at a time, so whoever uses it holds its lock: `current` takes it
and makes the context current, which costs a few microseconds; a thread that owned the context and
served the others would cost two changes of thread a run, and each GL call would hold Python's lock
in any case.

Drivers do not survive a fork: their threads are missing in the child, and the first wait for one
never ends. So a child of a process that has used OpenGL gets one clear error, and no lock that
somebody held when it was forked is ever asked for.
"""

from __future__ import annotations

import ctypes
import os
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from threading import Lock, RLock, get_ident
from typing import Any, Generic, Protocol, TypeVar, cast
from weakref import WeakValueDictionary, finalize

from gpgpu_legacy.errors import ExecutorUnavailableError

_Handle = TypeVar("_Handle")
_Value = TypeVar("_Value")
_Context = TypeVar("_Context", bound="SharedContext[Any]")


class Releasable(Protocol):
    """An object of a context that can be given back."""

    def release(self) -> object:
        """Give it back; the context is current."""


def _leave_without_the_driver() -> None:
    """Have this process, which was forked, end without the exit handlers of C libraries.

    Mesa's waits for threads that only the parent has: it crashes, or never ends. Python's own
    handlers have run by then; C's files are flushed. It needs the GNU C library.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # handlers registered last run first
        libc.on_exit(libc._exit, None)
        libc.__cxa_atexit(libc.fflush, None, None)


PROBE = b"is anybody there"
"""What is written to a buffer, and read back, to learn whether a context still works."""


class _Process:
    """Which process was the first to use OpenGL, of this one and those that it was forked from."""

    def __init__(self) -> None:
        self._first_user: int | None = None

    def begin(self) -> None:
        """OpenGL is used from now on; ExecutorUnavailableError where the parent has used it."""
        if self._first_user is None:
            self._first_user = os.getpid()
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_leave_without_the_driver)
        if self._first_user != os.getpid():
            raise ExecutorUnavailableError(
                "OpenGL was used in the process that this one was forked from, and drivers do not "
                "survive that; start processes by spawn, or choose the jit executor"
            )


_PROCESS = _Process()


def _lost() -> ExecutorUnavailableError:
    return ExecutorUnavailableError(
        "the driver has reset the device and given this process's OpenGL context up, after waiting "
        "too long for it; start a new process, with less to do in one run"
    )


class SharedContext(ABC, Generic[_Handle]):
    """An OpenGL context that any thread may use, one at a time."""

    def __init__(self, kept_programs: int = 64) -> None:
        """kept_programs: how many that no prepared plan uses any more are kept."""
        self._lock = Lock()
        self._owner: int | None = None  # the thread that holds the lock
        self._before: list[object] = []  # what was current before each use of that thread
        self._pid = os.getpid()
        self._lost = False
        self._discarded: deque[Releasable] = deque()
        self.programs = ContentCache(kept_programs)

    @property
    @abstractmethod
    def handle(self) -> _Handle:
        """What OpenGL is called through."""

    @abstractmethod
    def finish(self) -> None:
        """Wait until all that was asked for is done; the context is current."""

    @abstractmethod
    def _answers(self) -> bool:
        """Whether what is written to a new buffer is read back; the context is current."""

    @abstractmethod
    def _is_current(self) -> bool:
        """Whether it is current on this thread; False where that cannot be told."""

    @abstractmethod
    def _make_current(self) -> None:
        """Make it current on this thread."""

    @abstractmethod
    def _save(self) -> object:
        """Whichever context is current on this thread."""

    @abstractmethod
    def _restore(self, before: object) -> None:
        """Make current on this thread what was so when it was saved."""

    def require_own_process(self) -> None:
        """Raise ExecutorUnavailableError in a process that was forked from the context's own.

        And where the driver has given the context up.
        """
        if not self.is_of_this_process:
            _PROCESS.begin()
        if self._lost:
            raise _lost()

    def require_answers(self) -> None:
        """Raise ExecutorUnavailableError where the driver has given the context up; it is current.

        A driver resets a device that it has waited for too long; from then on all calls of its
        contexts do nothing, in silence.
        """
        self._lost = not self._answers()
        if self._lost:
            raise _lost()

    @property
    def is_of_this_process(self) -> bool:
        """Whether the context was made in this process, and not in one that it was forked from."""
        return self._pid == os.getpid()

    @property
    def is_usable(self) -> bool:
        """Whether it is of this process and works: else there is nothing in it to release."""
        return self.is_of_this_process and not self._lost

    @contextmanager
    def current(self) -> Iterator[_Handle]:
        """The context is current inside the block; what was current before is so again after it.

        One thread at a time is let in; it may use the context again inside. Gives the handle.
        """
        self.require_own_process()
        if self._owner == get_ident():
            if self._is_current():
                yield self.handle
                return
            with self._made_current():
                yield self.handle
            return
        with self._lock:
            self._owner = get_ident()
            try:
                with self._made_current():
                    self.collect()
                    yield self.handle
            finally:
                self._owner = None

    @contextmanager
    def _made_current(self) -> Iterator[None]:
        self._before.append(self._save())
        try:
            self._make_current()
            yield
        finally:
            self._restore(self._before.pop())

    @contextmanager
    def released(self) -> Iterator[None]:
        """Inside a use of the context: without it, as if this thread had not begun to use it.

        Other threads may use it in the block, and so may this one, by `current`. After it nothing
        can be relied on of what was bound or set before.
        """
        if self._owner != get_ident():
            raise RuntimeError("the context is released by the thread that uses it")
        before, self._before = self._before, []
        self._restore(before[-1])
        self._owner = None
        self._lock.release()
        try:
            yield
        finally:
            self.require_own_process()
            self._lock.acquire()
            self._owner, self._before = get_ident(), before
            before[-1] = self._save()
            self._make_current()

    # What outlives its owner ------------------------------------------------------------------

    def program(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """What was compiled under a key, or is now by `make`; the context is current.

        It lives as long as somebody refers to it, and longer while it is among the last used.
        """
        return cast(_Value, self.programs.get(key, make))

    def discard(self, objects: Iterable[Releasable]) -> None:
        """Have objects released as soon as the context is current, last first. Any thread may."""
        self._discarded.extend(reversed(list(objects)))

    def release_with(self, owner: object, objects: list[Releasable]) -> finalize[[Any], object]:
        """Discard the objects that are in a list when its owner is no more."""
        finalizer = finalize(owner, self.discard, objects)
        finalizer.atexit = False
        return finalizer

    def collect(self) -> None:
        """Release what was discarded; the context is current."""
        while self._discarded:
            self._discarded.popleft().release()


class ContentCache:
    """Values by content: all that somebody refers to, and the last few that nobody does."""

    def __init__(self, kept: int) -> None:
        """kept: how many are referred to from here."""
        self._kept = kept
        self._alive: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
        self._recent: OrderedDict[Hashable, Any] = OrderedDict()
        self.made = 0

    def __len__(self) -> int:
        """How many there are."""
        return len(self._alive)

    def get(self, key: Hashable, make: Callable[[], object]) -> object:
        """The value of a key, made where there is none; it becomes the one used last."""
        value = self._alive.get(key)
        if value is None:
            value = make()
            self.made += 1
            self._alive[key] = value
        self._recent[key] = value
        self._recent.move_to_end(key)
        if len(self._recent) > self._kept:
            self._recent.popitem(last=False)
        return value


class OnePerProcess(Generic[_Context]):
    """The one context of its kind in the process, made when it is first asked for."""

    def __init__(self, make: Callable[[], _Context]) -> None:
        """make: raises ExecutorUnavailableError where there can be none; it is then tried again."""
        self._make, self._lock = make, RLock()
        self._made: _Context | None = None
        self._problem: ExecutorUnavailableError | None = None

    def __call__(self) -> _Context:
        """The context; ExecutorUnavailableError where there is none, and in a forked process."""
        try:
            _PROCESS.begin()  # before the lock, which the parent may have held
        except ExecutorUnavailableError as error:
            raise self._problem or error from None
        if self._made is None:
            with self._lock:
                if self._made is None:
                    self._made = self._try()
        return self._made

    def _try(self) -> _Context:
        try:
            return self._make()
        except ExecutorUnavailableError as error:
            self._problem = error
            raise
