"""The shipped algorithms on every executor: the reference machine's bits, and the right results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawing import EXACT, as_exact_as_it_can, assert_same_bits, on

from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.plan.plan import FragmentPass
from gpgpu_legacy.runtime.executor import Executor, executors

drawing = on(*(each.name for each in executors() if FragmentPass in each.capabilities.passes))

CASES: list[tuple[str, dict[str, Any]]] = [
    ("jacobi", {"n": 9, "passes": 5}),
    ("reduction", {"n": 8, "operation": "max"}),
    ("reduction", {"n": 11, "operation": "sum"}),
    ("bitonic-sort", {"n": 128}),
    ("conjugate-gradient", {"n": 9}),
    ("fluid", {"n": 8, "steps": 2, "passes": 6}),
    ("life", {"width": 8, "height": 16, "generations": 4}),
    ("prefix-sum", {"n": 37}),
    ("fft", {"n": 8, "m": 4}),
    ("floyd-warshall", {"n": 9}),
    ("n-body", {"n": 6, "steps": 2}),
    ("image-filter", {"width": 8, "height": 6}),
    ("mandelbrot", {"width": 12, "height": 9, "trips": 20}),
    ("sparse-matrix-vector", {"n": 10, "longest": 6}),
]

ROUNDED = ("conjugate-gradient", "fluid", "fft", "n-body", "image-filter", "sparse-matrix-vector")
"""Those with reciprocals, angles or multiply-adds, which an assembler may round otherwise."""


@pytest.mark.parametrize(("algorithm", "parameters"), CASES)
@drawing
def test_every_executor_has_the_reference_machines_bits(
    ready: Callable[[str], Executor], name: str, algorithm: str, parameters: dict[str, Any]
) -> None:
    pipeline = find(algorithm, **parameters)
    machine = as_exact_as_it_can(ready(name), pipeline.plan())
    run = pipeline.run(executor=name, machine=machine, seed=4, check=True)
    wanted = pipeline.run(run.inputs, executor="numpy", machine=EXACT)
    for output, values in run.outputs.items():
        if machine.exact or algorithm not in ROUNDED:
            assert_same_bits(values, wanted.outputs[output])
        else:
            np.testing.assert_allclose(values, wanted.outputs[output], rtol=1e-4, atol=1e-5)
    assert run.max_error == pytest.approx(0, abs=1e-6 if machine.exact else 1e-5)


@drawing
def test_a_sort_of_a_few_thousand_numbers(ready: Callable[[str], Executor], name: str) -> None:
    pipeline = find("bitonic-sort", n=2048)
    machine = as_exact_as_it_can(ready(name), pipeline.plan())
    values = np.random.default_rng(6).permutation(2048) - 1000
    run = pipeline.run(values=values, executor=name, machine=machine)
    assert np.array_equal(run.sorted, np.arange(2048) - 1000)
