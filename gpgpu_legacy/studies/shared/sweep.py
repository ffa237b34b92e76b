"""Sweeps: a function of many items, on processes here or on the workers of a cluster.

Any executor of `concurrent.futures` can run a sweep. Results come in the order of the items, and
are the same on every executor. A sweep that ends early keeps its results: the next sweep of the
same function and items, by the same code, goes on from them. A complete sweep forgets them.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from threading import Event, Thread
from time import monotonic
from typing import TypeVar

from gpgpu_legacy import code_cache
from gpgpu_legacy.errors import InputError, reason_of
from gpgpu_legacy.files import package_digest
from gpgpu_legacy.runtime.devices import thread_count

T = TypeVar("T")
R = TypeVar("R")

KEEP_EVERY_S = 2.0
CONNECT_S, WATCH_S = 10, 2.0
_NOTHING = pickle.dumps({})


def sweep(
    function: Callable[[T], R],
    items: Collection[T],
    pool: Executor | None = None,
    done: Callable[[T, R], object] = lambda item, result: None,
) -> list[R]:
    """The results of a function for every item, in the order of the items.

    function: one of a module, or a `partial` of one whose bound arguments change no result. All
    that changes a result is in the items, and in their repr. pool: None for this thread alone.
    done: called on this thread as results come, first with those that were kept, and once for equal
    items. A result that is None is not kept.
    """
    by_name = {repr(item): item for item in items}
    source = getattr(function, "func", function)
    key = "\n".join(("sweep", package_digest(), source.__module__, source.__qualname__, *by_name))
    kept: dict[str, R] = pickle.loads(code_cache.read(key) or _NOTHING)
    results, saved = dict(kept), monotonic()
    for name, result in kept.items():
        done(by_name[name], result)
    missing = {name: item for name, item in by_name.items() if name not in kept}
    try:
        for name, result in _run(function, missing, pool):
            results[name] = result
            if result is not None:
                kept[name] = result
            if monotonic() - saved > KEEP_EVERY_S:
                code_cache.keep(key, pickle.dumps(kept))
                saved = monotonic()
            done(by_name[name], result)
    finally:
        code_cache.keep(key, pickle.dumps(kept) if len(kept) < len(by_name) else _NOTHING)
    return [results[repr(item)] for item in items]


def _run(
    function: Callable[[T], R], items: Mapping[str, T], pool: Executor | None
) -> Iterator[tuple[str, R]]:
    if pool is None:
        yield from ((name, function(item)) for name, item in items.items())
        return
    futures = {pool.submit(function, item): name for name, item in items.items()}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def workers(cluster: str = "") -> Iterator[Executor]:
    """The workers of sweeps: a process for each processor here, or those of a Dask cluster.

    cluster: the address of its scheduler, such as tcp://10.0.0.1:8786; empty for processes here.
    Raises InputError if the workers die, and if no scheduler answers. Leaving the block ends the
    work.
    """
    try:
        with _cluster(cluster) if cluster else _processes() as pool:
            yield pool
    except (BrokenExecutor, CancelledError):
        kept = code_cache.why_nothing_is_kept() or "what is done is kept: run it again to go on"
        raise InputError(f"the workers {f'of {cluster} ' * bool(cluster)}died; {kept}") from None


@contextmanager
def _processes() -> Iterator[Executor]:
    # Forked processes have no OpenGL: see runtime/gl/sharing.py. Only the parent is interrupted.
    pool = ProcessPoolExecutor(
        thread_count(), get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_IGN)
    )
    children = set(active_children())
    try:
        yield pool
    except BaseException:
        for child in {*active_children()} - children:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    """The executor of a cluster; its client closes when the last worker is gone."""
    try:
        import dask

        dask.config.set({"logging": {"distributed": "critical", "distributed.client": "critical"}})
        from distributed import Client, KilledWorker
    except ImportError:
        raise InputError("--dask needs Dask: pip install 'gpgpu-legacy[dask]'") from None
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address}: {reason_of(error)}") from None
    over = Event()

    def watch() -> None:
        with suppress(OSError, RuntimeError):  # the client was closed meanwhile
            while not over.wait(WATCH_S):
                if not client.scheduler_info()["workers"]:
                    client.close()

    with client:
        try:
            digests = {*client.run(package_digest).values()}
        except ImportError:
            digests = set()
        if digests != {package_digest()}:
            raise InputError(f"{address} has workers without this gpgpu_legacy, or no workers")
        Thread(target=watch, daemon=True).start()
        try:
            yield client.get_executor()
        except KilledWorker:
            raise CancelledError from None
        finally:
            over.set()
