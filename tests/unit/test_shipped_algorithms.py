"""The shipped algorithms against hand work and plain Python; their counts, chips and listing."""

from __future__ import annotations

from cmath import exp
from collections.abc import Callable
from functools import cache
from heapq import heappop, heappush
from itertools import accumulate, product
from math import fsum, pi
from typing import Any

import numpy as np
import pytest
from drawing import as_exact_as_it_can, on
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import (
    find_algorithm,
    products,
    shipped_algorithms,
)
from gpgpu_legacy.api.pipeline import Pipeline, find
from gpgpu_legacy.chips.check_plan import check_plan
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.chips.verdict import LoadAnswer
from gpgpu_legacy.count.closed_form import formulas
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.prepared import Prepared

F64 = NDArray[np.float64]

PASSES = tuple(one for one in shipped_algorithms() if one not in products())
every_algorithm = pytest.mark.parametrize("algorithm", PASSES, ids=lambda a: a.name)


def ran(name: str, values: Any, **parameters: Any) -> Any:
    """The only output of an algorithm for its only input, on the reference machine."""
    pipeline = find(name, **parameters)
    [operand] = pipeline.plan().operands
    [output] = pipeline.run({operand.name: values}, executor="numpy").outputs.values()
    return output


# Jacobi's relaxation -----------------------------------------------------------------------------


@settings(max_examples=20)
@given(st.integers(1, 9), st.integers(0, 6), st.integers(0, 2**16))
def test_steps_of_a_relaxation_are_those_of_plain_python(n: int, passes: int, seed: int) -> None:
    b = np.random.default_rng(seed).integers(-64, 64, (n, n)) / 4  # so that nothing rounds
    x = dict.fromkeys(product(range(n), repeat=2), 0.0)
    for _ in range(passes):
        x = {
            (i, j): (
                fsum(x.get(at, 0.0) for at in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)))
                + b[i, j]
            )
            / 4
            for i, j in x
        }
    found = ran("jacobi", b, n=n, passes=passes)
    assert all(found[at] == value for at, value in x.items())


# A sparse product -------------------------------------------------------------------------------


@on("numpy", "jit", "gl-raster", "gl-compute")
def test_rows_as_long_as_they_are_have_the_bits_of_padded_ones(
    name: str, ready: Callable[[str], Executor]
) -> None:
    machine = as_exact_as_it_can(ready(name), find("sparse-matrix-vector", rows=True).plan())
    padded, loops = (find("sparse-matrix-vector", n=9, longest=5, rows=r) for r in (False, True))
    inputs = loops.run(executor="numpy", seed=3).inputs
    x, y, columns = inputs["x"], inputs["y"], inputs["columns"].astype(int)
    dense, values, places = np.zeros((9, 9)), np.zeros((5, 9)), np.zeros((5, 9))
    for row, (first, end) in enumerate(inputs["extents"].astype(int)):
        np.add.at(dense[row], columns[first:end], inputs["values"][first:end])
        values[: end - first, row] = inputs["values"][first:end]
        places[: end - first, row] = columns[first:end]
    found = loops.run(inputs, executor="numpy").sum
    np.testing.assert_allclose(found, y + dense @ x, rtol=1e-6)
    alike = padded.run({"x": x, "y": y, "values": values, "columns": places}, executor="numpy")
    assert np.array_equal(alike.sum, found)
    run = loops.run(inputs, executor=name, machine=machine, check=True)
    np.testing.assert_allclose(run.sum, found, rtol=0 if machine.exact else 1e-6)
    assert run.max_error < 1e-6


@on("numpy", "jit", "gl-raster", "gl-compute")
def test_conjugate_gradients_take_the_matrix_by_rows(
    name: str, ready: Callable[[str], Executor]
) -> None:
    """Poisson's, as by the stencil, and another one, 5 instead of 4, as by elimination."""
    n, machine = 6, ready(name).name
    stencil, rows = (
        find("conjugate-gradient", n=n, tolerance=1e-5, matrix=matrix)
        for matrix in ("stencil", "rows")
    )
    run = rows.run(executor=machine, seed=3, check=True)
    alike = stencil.run({"b": run.inputs["b"]}, executor="numpy")
    np.testing.assert_allclose(run.x, alike.x, atol=1e-6)
    assert abs(run.iterations - alike.iterations) <= 1
    assert run.max_error < 1e-6
    values = np.where(run.inputs["values"] == 4, 5, -1)
    other = rows.run({**run.inputs, "values": values}, executor=machine, check=True)
    neighbours = np.eye(n, k=1) + np.eye(n, k=-1)
    dense = 5 * np.eye(n * n) - np.kron(neighbours, np.eye(n)) - np.kron(np.eye(n), neighbours)
    wanted = np.linalg.solve(dense, run.inputs["b"].ravel()).reshape(n, n)
    np.testing.assert_allclose(other.x, wanted, atol=1e-5)
    assert other.max_error < 1e-6


# Reductions --------------------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., float]] = {"max": max, "min": min, "sum": fsum}


@settings(max_examples=40)
@given(st.integers(1, 20), st.sampled_from(sorted(FUNCTIONS)), st.integers(0, 2**16))
def test_a_reduction_is_that_of_plain_python(n: int, operation: str, seed: int) -> None:
    """Of any size; below 0 alone and above 0 alone, too, where padding with 0 would show."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-99, 99, (n, n)) / 4 + rng.choice([-100, 0, 100])
    found = ran("reduction", values, n=n, operation=operation)
    assert found.shape == ()
    assert found == FUNCTIONS[operation](values.reshape(-1).tolist())


# The bitonic sort --------------------------------------------------------------------------------


@cache
def sorter(n: int) -> Prepared:
    return find_executor("numpy").prepare(find_algorithm("bitonic-sort").plan(n=n))


def in_order(values: F64) -> Any:
    [found] = sorter(values.size).run({"values": values.astype(np.float32)}).outputs.values()
    return found.reshape(-1)


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_the_network_sorts_all_zeros_and_ones_and_therefore_everything(n: int) -> None:
    """Knuth's 0-1 principle: a network of comparisons that sorts these sorts any numbers."""
    for bits in product((0.0, 1.0), repeat=n):
        assert in_order(np.array(bits)).tolist() == sorted(bits)


@settings(max_examples=30)
@given(st.integers(0, 10), st.integers(0, 2**16), st.sampled_from([3, 2**20]))
def test_numbers_are_sorted_as_python_sorts_them(stages: int, seed: int, among: int) -> None:
    values = np.random.default_rng(seed).integers(-among, among, 2**stages) / 4
    assert in_order(values).tolist() == sorted(values.tolist())


# The Game of Life --------------------------------------------------------------------------------


def generations(cells: F64, count: int) -> Any:
    height, width = cells.shape
    return ran("life", cells, width=width, height=height, generations=count)


@settings(max_examples=25)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 4), st.integers(0, 2**16))
def test_generations_are_those_of_plain_python(
    height: int, width: int, count: int, seed: int
) -> None:
    given_cells = (np.random.default_rng(seed).random((height, width)) < 0.4).astype(float)
    cells = given_cells.astype(int).tolist()
    for _ in range(count):
        around = [
            [
                sum(
                    cells[(i + di) % height][(j + dj) % width]
                    for di, dj in product((-1, 0, 1), repeat=2)
                    if (di, dj) != (0, 0)
                )
                for j in range(width)
            ]
            for i in range(height)
        ]
        cells = [
            [int(n == 3 or (n == 2 and cells[i][j] == 1)) for j, n in enumerate(row)]
            for i, row in enumerate(around)
        ]
    assert np.array_equal(generations(given_cells, count), cells)


# Prefix sums, transforms, shortest ways, bodies, filters ------------------------------------------


@settings(max_examples=20)
@given(st.integers(1, 70), st.integers(0, 2**16))
def test_prefix_sums_are_those_of_plain_python(n: int, seed: int) -> None:
    values = np.random.default_rng(seed).integers(-64, 64, n)
    assert ran("prefix-sum", values, n=n).tolist() == list(accumulate(values.tolist()))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 1), (8, 1), (1, 4), (4, 8), (16, 2)])
def test_a_transform_is_the_sum_that_defines_it(n: int, m: int) -> None:
    values = np.random.default_rng(n + m).integers(-9, 9, (m, n, 2)) / 4
    found = ran("fft", values, n=n, m=m)
    for v, u in product(range(m), range(n)):
        wanted = sum(
            complex(*values[y, x]) * exp(-2j * pi * (u * x / n + v * y / m))
            for y, x in product(range(m), range(n))
        )
        assert complex(*found[v, u]) == pytest.approx(wanted, abs=1e-4)
    back = ran("fft", found, n=n, m=m, inverse=True)
    np.testing.assert_allclose(back, values, atol=1e-5)


@settings(max_examples=10)
@given(st.integers(1, 12), st.integers(0, 2**16))
def test_the_shortest_ways_are_those_of_dijkstra(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    roads = np.where(rng.random((n, n)) < 0.3, rng.integers(1, 50, (n, n)), np.inf)
    found = ran("floyd-warshall", np.where(np.eye(n), 0, roads), n=n)
    for start in range(n):
        done: dict[int, float] = {}
        queue = [(0.0, start)]
        while queue:
            far, node = heappop(queue)
            if node not in done:
                done[node] = far
                for to in np.flatnonzero(np.isfinite(roads[node])):
                    heappush(queue, (far + roads[node, to], int(to)))
        assert found[start].tolist() == [done.get(node, np.inf) for node in range(n)]


@pytest.mark.parametrize("block", [1, 2, 3])
def test_two_bodies_come_back_after_a_turn(block: int) -> None:
    """On circles around their centre. Half the time step errs by a quarter: the order is two."""
    masses, distance = (3.0, 1.0), 1.0
    turn = 2 * pi / np.sqrt(sum(masses) / distance**3)
    bodies = np.array([[-0.25, 0, 0, 3], [0.75, 0, 0, 1]])
    velocities = np.array([[0, -0.25, 0], [0, 0.75, 0]]) * 2 * pi / turn
    errors = []
    for steps in (40, 80):
        pipeline = find("n-body", n=2, block=block, steps=steps, step=turn / steps, softening=1e-9)
        run = pipeline.run(bodies=bodies, velocities=velocities, executor="numpy")
        errors.append(np.abs(run.moved - bodies).max())
    assert errors[0] < 0.05
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_a_filter_of_a_point_is_its_gaussian_and_keeps_what_is_even() -> None:
    picture = np.zeros((9, 9, 4))
    picture[4, 4], picture[..., 3] = (1, 2, 0, 0), 5
    blurred = ran("image-filter", picture, width=9, height=9, sigma=1.0, amount=-1)
    bell = {k: np.exp(-(k**2) / 2) for k in range(-3, 4)}
    total = sum(bell.values()) ** 2
    for y, x in product(range(9), repeat=2):
        wanted = bell.get(y - 4, 0) * bell.get(x - 4, 0) / total
        assert blurred[y, x].tolist() == pytest.approx([wanted, 2 * wanted, 0, 5], abs=1e-6)
    sharper = ran("image-filter", picture, width=9, height=9, sigma=1.0, amount=2)
    np.testing.assert_allclose(sharper, 3 * picture - 2 * blurred, atol=1e-5)


# All of them -------------------------------------------------------------------------------------

SMALL: dict[str, dict[str, Any]] = {
    "jacobi": {"n": 12, "passes": 9},
    "reduction": {"n": 11, "operation": "sum"},
    "bitonic-sort": {"n": 128},
    "conjugate-gradient": {"n": 11},
    "fluid": {"n": 9, "steps": 3, "passes": 5},
    "life": {"width": 13, "height": 7, "generations": 5},
    "prefix-sum": {"n": 100},
    "fft": {"n": 16, "m": 4, "inverse": True},
    "floyd-warshall": {"n": 12},
    "n-body": {"n": 11, "steps": 3},
    "image-filter": {"width": 9, "height": 5},
    "mandelbrot": {"width": 13, "height": 9, "trips": 20},
    "sparse-matrix-vector": {"n": 11, "longest": 6},
}


@every_algorithm
def test_the_reference_agrees_on_samples(algorithm: Algorithm) -> None:
    pipeline = Pipeline.of(algorithm, SMALL.get(algorithm.name, {}))
    assert pipeline.run(executor="numpy", seed=2, check=True).max_error == pytest.approx(
        0, abs=1e-6
    )


@every_algorithm
def test_each_loads_on_a_radeon_9700_as_it_comes(algorithm: Algorithm) -> None:
    verdict = check_plan(algorithm.plan(), find_profile("r300"))
    assert verdict.answer is LoadAnswer.LOADS, verdict


@every_algorithm
def test_each_has_everything_that_a_reader_asks_for(algorithm: Algorithm) -> None:
    assert algorithm.year is not None
    assert str(algorithm.year) in algorithm.source
    assert algorithm.package == "gpgpu_legacy"
    assert algorithm.summary and algorithm.lacked and algorithm.field
    assert len(algorithm.summary) < 80
    assert len(algorithm.explanation.split("\n\n")) > 4
    assert all(parameter.meaning for parameter in algorithm.parameters.values())
    plan = algorithm.plan()
    assert plan.name == algorithm.name
    assert count_plan(plan).passes > 1


@pytest.mark.parametrize(
    ("name", "mistake", "message"),
    [
        ("jacobi", {"passes": -1}, "a repeat of -1 iterations"),
        ("reduction", {"operation": "mean"}, "operation is 'mean'; give one of max, min, sum"),
        ("bitonic_sort", {"n": 100}, "n is 100; .* power of two, such as 128"),
        ("fft", {"n": 8, "m": 12}, "m is 12; an fft takes a power of two, such as 16"),
        ("mandelbrot", {"block": 256}, "block is 256; it must be from 1 to 255"),
    ],
)
def test_a_parameter_that_does_not_fit_is_one_line(
    name: str, mistake: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        find_algorithm(name).plan(**mistake)


# Closed forms ------------------------------------------------------------------------------------


def plan_of(name: str, **fixed: Any) -> Callable[..., Plan]:
    def build(n: int) -> Plan:
        pictures = "life", "image-filter", "mandelbrot"
        sizes = {"width": n, "height": n} if name in pictures else {"n": n}
        return find_algorithm(name).plan(**sizes, **fixed)

    return build


@pytest.mark.parametrize(
    ("name", "fixed", "wanted"),
    [
        ("bitonic-sort", {}, {
            "passes": "log(n, 2)*(log(n, 2) + 1)/2",
            "fragments": "n*log(n, 2)*(log(n, 2) + 1)/2",
            "lookup": "n*log(n, 2)*(log(n, 2) + 1)",
        }),
        ("reduction", {}, {
            "passes": "log(n, 2)",
            "fragments": "(n**2 - 1)/3",
            "lookup": "4*(n**2 - 1)/3",
            "arithmetic": "n**2 - 1",
        }),
        ("jacobi", {"passes": 50}, {
            "passes": "50", "fragments": "50*n**2", "lookup": "250*n**2", "arithmetic": "250*n**2",
        }),
        ("fluid", {"steps": 10, "passes": 20}, {"draws": "260", "lookup": "1230*n**2"}),
        ("life", {"generations": 100}, {
            "passes": "100", "fragments": "100*n**2", "lookup": "900*n**2",
        }),
        ("prefix-sum", {}, {"passes": "log(n, 2)", "lookup": "2*n*log(n, 2)"}),
        ("fft", {}, {"passes": "2*log(n, 2)", "lookup": "4*n**2*log(n, 2)"}),
        ("floyd-warshall", {}, {"passes": "n", "lookup": "3*n**3"}),
        ("n-body", {"steps": 1}, {"passes": "n/4 + 2", "lookup": "3*n**2/2 + 4*n"}),
        ("image-filter", {}, {"passes": "3", "lookup": "16*n**2"}),
        ("mandelbrot", {"trips": 40}, {"passes": "8", "lookup": "15*n**2"}),
        ("sparse-matrix-vector", {}, {"passes": "4", "lookup": "52*n"}),
    ],
)  # fmt: skip
def test_closed_forms_come_out_of_counts(
    name: str, fixed: dict[str, Any], wanted: dict[str, str]
) -> None:
    import sympy

    found = formulas(plan_of(name, **fixed))
    for count, formula in wanted.items():
        text = found[count].formula
        assert text is not None, count
        assert sympy.simplify(sympy.sympify(text) - sympy.sympify(formula)) == 0, count


# The registry and the command --------------------------------------------------------------------


def test_the_list_has_every_algorithm_with_year_field_and_source(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("algorithms")
    assert code == 0
    flat = " ".join(out.split())
    for algorithm in shipped_algorithms():
        assert algorithm.name in flat
        assert str(algorithm.year) in flat
    assert "Purcell et al. 2003" in flat
