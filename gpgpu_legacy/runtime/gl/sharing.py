"""OpenGL contexts that the threads of a process share, and objects that outlive their owners there.

A context is current on one thread at a time, so a thread that uses it holds its lock: `current`
takes the lock and makes the context current, in a few microseconds. One thread that served all
others would cost two thread switches per run, and each GL call would hold Python's lock anyway.

Drivers do not survive a fork: their threads are missing in the child, and the first wait for one
never ends. So a child of a process that has used OpenGL gets one clear error, and never waits for a
lock held at the fork.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, wraps
from threading import Lock, RLock, get_ident
from types import SimpleNamespace
from typing import Any, Generic, Protocol, TypeVar, cast
from weakref import WeakValueDictionary, finalize

import numpy as np

from gpgpu_legacy.decorators import frozen
from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.runtime.devices import is_gpu
from gpgpu_legacy.runtime.gl.egl import CurrentContext, SavedContext, leave_without_the_driver
from gpgpu_legacy.runtime.gl.headers import GL

_Handle = TypeVar("_Handle")
_Value = TypeVar("_Value")
_Context = TypeVar("_Context", bound="SharedContext[Any]")


class Releasable(Protocol):
    """An object of a context that can be released."""

    def release(self) -> object:
        """Release it; the context is current."""


@frozen
class GlName:
    """An object of OpenGL by its number, and the function that deletes such objects."""

    number: int
    delete: Any

    @classmethod
    def generated(cls, gl: Any, kind: str) -> GlName:
        """A new object. kind: in the plural, as in glGenTextures."""
        number = np.zeros(1, np.uint32)
        getattr(gl, f"glGen{kind}")(1, number)
        return cls(int(number[0]), getattr(gl, f"glDelete{kind}"))

    def release(self) -> None:
        """Delete it; the context is current."""
        self.delete(1, (self.number,))


PROBE = b"is anybody there"
"""Bytes that are written to a buffer and read back, to check whether a context still works."""


@cache
def _first_user() -> int:
    """The first process to use OpenGL: this one, or one that it was forked from."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=leave_without_the_driver)
    return os.getpid()


def _require_first_user() -> None:
    """Note a use of OpenGL; ExecutorUnavailableError if the parent has used it."""
    if _first_user() != os.getpid():
        raise ExecutorUnavailableError(
            "OpenGL was used in the process that this one was forked from, and drivers do not "
            "survive that; start processes by spawn, or choose the jit executor"
        )


def _lost() -> ExecutorUnavailableError:
    return ExecutorUnavailableError(
        "the driver has waited too long for the device and reset it, and has lost this process's "
        "OpenGL context; start a new process, with less work in one run"
    )


KEPT_PROGRAMS = 64
"""The number of unused programs that are kept."""


class SharedContext(ABC, Generic[_Handle]):
    """An OpenGL context that any thread may use, one at a time.

    Nobody else changes its state. `gl` has OpenGL's own functions.
    """

    def __init__(
        self, handle: _Handle, gl: SimpleNamespace, current: CurrentContext | None
    ) -> None:
        """Take over a context that is current.

        handle: what `current` yields. current: access to what is current on a thread, if the
        context came through EGL.
        """
        self.handle, self.gl = handle, gl
        self._current, self._native = current, current.handle() if current else None
        self.renderer, self.version = self.string(GL.RENDERER), self.string(GL.VERSION)
        self._lock = Lock()
        self._owner: int | None = None  # the thread that holds the lock
        self._before: list[SavedContext | None] = []  # what was current before that thread's uses
        self._pid = os.getpid()
        self._lost = False
        self._discarded: deque[Releasable] = deque()
        self.programs = ContentCache(KEPT_PROGRAMS)
        self._query: GlName | None = None
        for capability in (GL.DITHER, GL.FRAMEBUFFER_SRGB):
            gl.glDisable(capability)
        for direction in (GL.PACK_ALIGNMENT, GL.UNPACK_ALIGNMENT):
            gl.glPixelStorei(direction, 1)

    @property
    def device_name(self) -> str:
        """The renderer and the version of its driver."""
        return f"{self.renderer}, OpenGL {self.version}"

    @property
    def is_hardware(self) -> bool:
        """Whether the renderer is a GPU."""
        return is_gpu(self.renderer)

    def string(self, name: int) -> str:
        """A string of OpenGL's, empty if it has none; the context is current."""
        value = self.gl.glGetString(name)
        return value.decode("ascii", "replace") if value else ""

    def integer(self, name: int) -> int:
        """The value of a state variable or limit of one integer; the context is current."""
        values = np.zeros(1, np.int32)
        self.gl.glGetIntegerv(name, values)
        return int(values[0])

    def finish(self) -> None:
        """Wait until all earlier calls are done; the context is current."""
        self.gl.glFinish()

    @contextmanager
    def elapsing(self) -> Iterator[None]:
        """Let the device time the calls of a block; the context is current, and stays so."""
        if self._query is None:
            self._query = GlName.generated(self.gl, "Queries")
        self.gl.glBeginQuery(GL.TIME_ELAPSED, self._query.number)
        try:
            yield
        finally:
            self.gl.glEndQuery(GL.TIME_ELAPSED)

    def elapsed_s(self) -> float:
        """The device's seconds for the calls of the last `elapsing` block, once they are done."""
        assert self._query is not None
        nanoseconds = np.zeros(1, np.uint64)
        self.gl.glGetQueryObjectui64v(self._query.number, GL.QUERY_RESULT, nanoseconds)
        return int(nanoseconds[0]) * 1e-9

    @abstractmethod
    def _make_current(self) -> None:
        """Make it current on this thread."""

    def _leave(self) -> None:
        """Make no context current on this thread, without EGL."""

    def _answers(self) -> bool:
        """Whether a new buffer can be written and read back; the context is current."""
        gl, answer = self.gl, np.zeros(len(PROBE), np.uint8)
        buffer = GlName.generated(gl, "Buffers")
        gl.glBindBuffer(GL.ARRAY_BUFFER, buffer.number)
        gl.glBufferData(GL.ARRAY_BUFFER, len(PROBE), PROBE, GL.STREAM_READ)
        gl.glGetBufferSubData(GL.ARRAY_BUFFER, 0, len(PROBE), answer.ctypes.data)
        gl.glBindBuffer(GL.ARRAY_BUFFER, 0)
        buffer.release()
        return answer.tobytes() == PROBE

    def _is_current(self) -> bool:
        return self._current is not None and self._current.handle() == self._native

    def _save(self) -> SavedContext | None:
        return self._current.save() if self._current else None

    def _restore(self, before: SavedContext | None) -> None:
        if self._current and before:
            self._current.restore(before)
        elif not self._before:
            self._leave()

    def require_own_process(self) -> None:
        """Raise ExecutorUnavailableError in a forked process, or if the context is lost."""
        if not self.is_of_this_process:
            _require_first_user()
        if self._lost:
            raise _lost()

    def require_answers(self) -> None:
        """Raise ExecutorUnavailableError if the driver has lost the context, which is current.

        A driver resets a device that it has waited for too long; from then on all calls of its
        contexts silently do nothing.
        """
        self._lost = not self._answers()
        if self._lost:
            raise _lost()

    @property
    def is_of_this_process(self) -> bool:
        """Whether this process created the context, and not one that it was forked from."""
        return self._pid == os.getpid()

    @property
    def is_usable(self) -> bool:
        """Whether it is of this process and works; if not, it holds nothing to release."""
        return self.is_of_this_process and not self._lost

    @contextmanager
    def current(self) -> Iterator[_Handle]:
        """Make the context current in the block, and restore afterwards what was current before.

        One thread at a time enters; it may enter again inside. Yields the handle.
        """
        self.require_own_process()
        if self._owner == get_ident():
            with nullcontext() if self._is_current() else self._as_current():
                yield self.handle
            return
        with self._lock:
            self._owner = get_ident()
            try:
                with self._as_current():
                    self.collect()
                    yield self.handle
            finally:
                self._owner = None

    @contextmanager
    def _as_current(self) -> Iterator[None]:
        self._before.append(self._save())
        try:
            self._make_current()
            yield
        finally:
            self._restore(self._before.pop())

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release the context for a block inside of `current`.

        Other threads may use it in the block, and so may this one, by `current`. After the block
        the state of the context is unknown.
        """
        if self._owner != get_ident():
            raise RuntimeError("only the thread that uses the context releases it")
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

    # Objects of former owners -----------------------------------------------------------------

    def program(self, key: Hashable, make: Callable[[], _Value]) -> _Value:
        """The program of a key, which `make` compiles if there is none; the context is current.

        It lives as long as something refers to it, and longer while it was used recently.
        """
        return cast(_Value, self.programs.get(key, make))

    def discard(self, objects: Iterable[Releasable]) -> None:
        """Release objects, last first, at the next use of the context. Any thread may call it."""
        self._discarded.extend(reversed(list(objects)))

    def release_with(self, owner: object, objects: list[Releasable]) -> None:
        """Discard the objects of a list when their owner is collected."""
        finalizer = finalize(owner, self.discard, objects)
        finalizer.atexit = False

    def collect(self) -> None:
        """Release the discarded objects; the context is current."""
        while self._discarded:
            self._discarded.popleft().release()


class _Key:
    """A key whose hash is computed once: that of a long program takes a while."""

    __slots__ = ("_content", "_hash")

    def __init__(self, content: Hashable) -> None:
        self._content, self._hash = content, hash(content)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._content == other._content


class ContentCache:
    """Values by content: all that are in use, and the last few that were."""

    def __init__(self, kept: int) -> None:
        """kept: how many recently used values stay alive."""
        self._kept = kept
        self._alive: WeakValueDictionary[_Key, Any] = WeakValueDictionary()
        self._recent: OrderedDict[_Key, Any] = OrderedDict()
        self.created = 0

    def __len__(self) -> int:
        """The number of values."""
        return len(self._alive)

    def get(self, content: Hashable, make: Callable[[], object]) -> object:
        """The value of a key, created if there is none; it becomes the most recent one."""
        key = _Key(content)
        value = self._alive.get(key)
        if value is None:
            value = make()
            self.created += 1
            self._alive[key] = value
        self._recent[key] = value
        self._recent.move_to_end(key)
        if len(self._recent) > self._kept:
            self._recent.popitem(last=False)
        return value


def one_per_process(make: Callable[[], _Context]) -> Callable[[], _Context]:
    """A function that makes a process's only context of its kind when it is first called.

    It raises ExecutorUnavailableError in a forked process, and what `make` raises; then the next
    call tries again.
    """
    lock, made = RLock(), cache(make)

    @wraps(make)
    def context() -> _Context:
        _require_first_user()  # before the lock, which the parent may have held
        with lock:
            return made()

    return context
