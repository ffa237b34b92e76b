"""Arrays to buffers and back by way of mapped memory, and plans whose buffers are used again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from drawing import assert_same_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.errors import NoDeviceRoomError
from gpgpu_legacy.runtime import schedule
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.gl import core
from gpgpu_legacy.runtime.gl import staging as gl_staging
from gpgpu_legacy.runtime.gl.staging import MappedStaging, mapped_staging
from gpgpu_legacy.runtime.workers import Task, start

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def context(ready: Callable[[str], Executor]) -> core.GlContext:
    ready("gl-compute")
    return core.compute_context()


def mapped(context: core.GlContext, slots: int, slot_bytes: int) -> MappedStaging:
    staging = MappedStaging.mapped(context, slots, slot_bytes)
    if staging is None:
        pytest.skip("this driver maps no memory for good")
    return staging


@settings(max_examples=40)
@given(
    slots=st.integers(2, 14),
    slot_floats=st.integers(1, 40),
    least=st.sampled_from([1, 64, 1 << 20]),
    sizes=st.lists(st.integers(0, 700), min_size=1, max_size=5),
    workers=st.sampled_from([start, Task, lambda _: None]),  # which are free, busy, or not there
)
def test_buffers_get_all_bytes_and_give_them_back(
    context: core.GlContext, sizes: list[int], workers: Callable[..., object], **limits: int
) -> None:
    """Whoever copies, in pieces of any size; what lies behind the array stays."""
    rng = np.random.default_rng(len(sizes))
    arrays = [rng.integers(0, 2**32, n, np.uint32).view(np.float32) for n in sizes]
    with pytest.MonkeyPatch.context() as patch, context.current() as handle:
        patch.setattr(gl_staging, "LEAST_PIECE_BYTES", limits["least"])
        patch.setattr(gl_staging, "LEAST_SHARED_BYTES", 1)
        patch.setattr(schedule, "_ROW_BYTES", 8)
        patch.setattr(schedule, "start", workers)
        staging = mapped(context, limits["slots"], 4 * limits["slot_floats"])
        staging._loading = loaded = Task(int)
        loaded.run()
        buffers = [handle.buffer(np.full(n + 3, 7.0, np.float32)) for n in sizes]
        for array, buffer in zip(arrays, buffers, strict=True):
            sent = array.copy()
            staging.send(sent, buffer)
            sent[:] = -1.0  # what was sent may change at once
        for array, buffer in zip(arrays, buffers, strict=True):
            found = np.full_like(array, 5.0)
            staging.fetch(found, buffer)
            np.testing.assert_array_equal(found.view(np.uint32), array.view(np.uint32))
            behind = np.frombuffer(buffer.read(), np.float32)[len(array) :]
            assert (behind == 7.0).all()
            buffer.release()


def test_the_driver_copies_where_it_maps_nothing(
    context: core.GlContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.arange(1000, dtype=np.float32)
    mapped_staging.cache_clear()
    monkeypatch.setattr(MappedStaging, "mapped", lambda *_: None)
    with context.current() as handle:
        staging, buffer = mapped_staging(context), handle.buffer(reserve=4000)
        assert not isinstance(staging, MappedStaging)
        staging.send(values, buffer)
        found = np.zeros_like(values)
        staging.fetch(found, buffer)
        buffer.release()
    mapped_staging.cache_clear()
    assert_same_bits(found, values)


def test_a_buffer_that_the_device_has_no_room_for_is_refused(context: core.GlContext) -> None:
    """moderngl gives one all the same, and what it is to hold is lost without a word."""
    with context.current():
        with pytest.raises(NoDeviceRoomError, match=r"no room for a buffer of 1\.1 PB; make"):
            context.buffer(1 << 50)
        context.buffer(4).release()
