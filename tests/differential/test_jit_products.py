"""Products on jit however the work is cut up and on either kind of vector, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import plan_of

from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.lower import machine_code
from gpgpu_legacy.runtime import schedule, workers
from gpgpu_legacy.runtime.executor import Executor
from gpgpu_legacy.runtime.executors.jit import EXECUTOR as JIT
from gpgpu_legacy.runtime.executors.numpy_machine import EXECUTOR as NUMPY
from gpgpu_legacy.runtime.machine import Machine
from gpgpu_legacy.runtime.prepared import F32

METHODS = ("larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi")


def cancelling(rows: int, columns: int, seed: int) -> F32:
    """Whole numbers of 12 bits and a power of two: any product of them is a float32, hardly any
    sum of such products is, and what is left of a sum depends on its order."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(-2047, 2048, (rows, columns))
    return np.ldexp(whole, rng.integers(-9, 10, (rows, columns))).astype(np.float32)


def product(name: str, a: F32, b: F32, machine: Machine, executor: Executor) -> F32:
    plan = plan_of(find_product(name), (*a.shape, b.shape[1]), block=16)
    return executor.run(plan, {"A": a, "B": b}, machine).outputs["C"]


@dataclass(frozen=True, slots=True)
class Cut:
    """How work is cut up: bytes of a panel's part and of all panels, a piece, threads."""

    panel_bytes: int
    staged_bytes: int
    piece_rows: int
    piece_columns: int
    threads: int

    @contextmanager
    def applied(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schedule, "_PANEL_BYTES", self.panel_bytes)
            patch.setattr(schedule, "_STAGED_BYTES", self.staged_bytes)
            patch.setattr(schedule, "_PIECE_ROWS", self.piece_rows)
            patch.setattr(schedule, "_PIECE_COLUMNS", self.piece_columns)
            for module in (schedule, workers):
                patch.setattr(module, "thread_count", lambda: self.threads)
            yield


CUTS = st.builds(
    Cut,
    st.sampled_from([1, 20_000, 1 << 20]),
    st.sampled_from([1, 50_000, 1 << 20]),
    st.sampled_from([8, 40, 1000]),
    st.sampled_from([16, 64, 1000]),
    st.integers(1, 5),
)
SHAPES = st.builds(
    lambda rows, blocks, columns: (2 * rows, 16 * blocks, 2 * columns),
    st.integers(8, 50),
    st.integers(1, 6),
    st.integers(1, 65),
)


@pytest.mark.parametrize("name", METHODS)
@given(shape=SHAPES, cut=CUTS, seed=st.integers(0, 1000))
@settings(max_examples=6, deadline=None)
def test_sums_keep_their_levels_and_order_however_work_is_cut_up(
    name: str, shape: tuple[int, int, int], cut: Cut, seed: int
) -> None:
    """In default mode too: where products are exact, contraction changes nothing."""
    a, b = cancelling(*shape[:2], seed), cancelling(*shape[1:], seed + 1)
    expected = product(name, a, b, Machine(exact=True), NUMPY)
    with cut.applied():
        for exact in (False, True):
            found = product(name, a, b, Machine(exact=exact), JIT)
            np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("name", (*METHODS, "opengl-compute-tiled", "mali-sgemm"))
def test_code_without_avx512_gives_the_same_bits(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contraction is the same on both; a processor without AVX-512 has the same code twice."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(size).astype(np.float32) for size in ((70, 64), (64, 90)))
    found = []
    for value in (None, machine_code.OFF):
        if value is not None:
            monkeypatch.setenv(machine_code.AVX512, value)
        found.append(product(name, a, b, Machine(), JIT))
    np.testing.assert_array_equal(found[0].view(np.uint32), found[1].view(np.uint32))


def test_another_word_for_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine_code.AVX512, "perhaps")
    with pytest.raises(InputError, match="GPGPU_LEGACY_AVX512 is 'perhaps'; set it to off"):
        machine_code.this_processor()
