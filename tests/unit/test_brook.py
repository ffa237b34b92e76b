"""Brook's kernels as passes: expected values are NumPy's, written by hand from the language."""

from __future__ import annotations

from functools import reduce
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import as_exact_as_it_can
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gpgpu_legacy import Pipeline, assemble, disassemble
from gpgpu_legacy.api.host.streams import scatter_rounds
from gpgpu_legacy.errors import GpgpuLegacyError, InputError
from gpgpu_legacy.languages.brook.kernels import Kernels
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.pipeline.storage import Iterator
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.machine import Machine

F32 = NDArray[np.float32]

TEXT = """
typedef struct Pair_t { float2 a; float b; } Pair;
kernel void saxpy(float alpha, float x<>, float y<>, out float z<>) { z = alpha * x + y; }
kernel void copy(float a<>, out float b<>) { b = a; }
kernel void place(out float4 p<>) { p = indexof(p); }
kernel void of_input(float a<>, out float4 p<>) { p = indexof(a); }
kernel void fetch1(float i<>, float g[], out float r<>) { r = g[i]; }
kernel void fetch2(float2 i<>, float g[][], out float r<>) { r = g[i]; }
kernel void fetch3(float3 i<>, float g[][][], out float r<>) { r = g[i]; }
kernel void fetch4(float4 i<>, float g[][][][], out float r<>) { r = g[i]; }
kernel void rows(float2 i<>, float g[][], out float r<>) { r = g[i.y][i.x]; }
kernel void both(float a<>, float b<>, out float s<>, out float d<>) { s = a + b; d = a - b; }
kernel void swapped(Pair p<>, out Pair q<>) { q.a = p.a.yx; q.b = p.b + 1; }
kernel void second(Pair g[], out float r<>) { r = g[2].b + g[0].a.y; }
kernel void count(iter float2 i<>, out float2 r<>) { r = i; }
kernel void twice(float a<>, out float b<>) { float t; copy(a, t); saxpy(1, t, t, b); }
kernel void power(float a<>, float n, out float r<>) {
  float i; r = 1; for (i = 0; i < n; i += 1) r *= a;
}
kernel void affine(float2 a<>, float2 r<>, out float2 s<>) { s = a; }
reduce void compose(reduce float2 r<>, float2 a<>) { r = float2(r.x * a.x, r.x * a.y + r.y); }
kernel void orbit(float4 x<>, float4 y<>, out float4 s<>, out float4 d<>) {
  float4 a = x, b = y, t; int i;
  for (i = 0; i < 24; i++) { t = a * a - b * b + x; b = a * b + y; a = t; }
  s = a; d = b;
}
kernel void endless(float a<>, out float b<>) { b = a; for (;;) b = b * 2; }
reduce void weighted(float a<>, float w[], reduce float r<>) { r += a * w[1]; }
"""

KERNELS = Kernels(parse(TEXT, "kernels.br"))


def _ran(p: Pipeline, executor: str = "numpy", **inputs: Any) -> dict[str, F32]:
    return dict(p.run(inputs, executor=executor, exact=_is_exact(p, executor)).outputs)


def _is_exact(p: Pipeline, executor: str) -> bool:
    """Whether an executor promises the reference machine's bits."""
    return as_exact_as_it_can(find_executor(executor), p.plan(), Machine(exact=True)).exact


def _numbers(*extents: int) -> F32:
    """0, 1, 2 … in rows."""
    return np.arange(prod(extents), dtype=np.float32).reshape(extents)


def test_a_call_by_position_and_by_name_costs_what_the_expression_says(tmp_path: Path) -> None:
    file = tmp_path / "kernels.br"
    file.write_text(TEXT, encoding="utf-8")
    p = Pipeline("saxpy")
    x, y = (p.stream(name, "float", (3, 5), given=True) for name in "xy")
    z, w = (p.stream(name, "float", (3, 5)) for name in "zw")
    p.call(f"{file}:saxpy", 2.5, x, y, z)
    p.call(f"{file}:saxpy", z=w, y=x, x=z, alpha=-1)
    p.output("w", w)
    a, b = _numbers(3, 5), np.float32(0.25) * _numbers(3, 5)[::-1]
    assert np.array_equal(_ran(p, x=a, y=b)["w"], a - (np.float32(2.5) * a + b))
    costs = p.count().total
    assert (costs.passes, costs.lookup, costs.arithmetic) == (2, 60, 30)


# Shapes ------------------------------------------------------------------------------------------

SIZES = {1: 20_000, 2: 9_000, 3: 40, 4: 9}
"""The largest extent to try, by the number of dimensions."""


@st.composite
def resized(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of an output, and those of an input that fit it."""
    rank = draw(st.integers(1, 4))
    most = int(SIZES[rank] ** (1 / 2)) if rank == 2 else SIZES[rank]
    pairs = []
    for _ in range(rank):
        small, factor = draw(st.integers(1, most)), draw(st.integers(1, 4))
        pair = (small, min(small * factor, most // small * small))
        pairs.append(pair if draw(st.booleans()) else pair[::-1])
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


@settings(max_examples=25)
@given(shapes=resized())
def test_an_input_is_repeated_or_skipped_to_fit_the_output(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    out, into = shapes
    p = Pipeline("resize")
    a, b = p.stream("a", "float", into, given=True), p.stream("b", "float", out)
    index = p.stream("i", "float4", out)
    p.call(KERNELS.find("copy"), a, b)
    p.call(KERNELS.find("of_input"), a, index)
    p.output("b", b)
    p.output("i", index)
    chosen = np.ix_(*(np.arange(m) * n // m for m, n in zip(out, into, strict=True)))
    ran = _ran(p, a=_numbers(*into))
    assert np.array_equal(ran["b"], _numbers(*into)[chosen])
    for d, along in enumerate(np.broadcast_arrays(*chosen)[::-1]):
        assert np.array_equal(ran["i"][..., d], along)


@st.composite
def domains(draw: st.DrawFn) -> tuple[tuple[int, ...], list[slice], tuple[int, ...], list[slice]]:
    """Two shapes with domains of equal extents."""
    rank = draw(st.integers(1, 4))
    sides = []
    for _ in range(rank):
        size = draw(st.integers(1, 12_000 if rank == 1 else 40 if rank == 2 else 9))
        side = []
        for _ in range(2):
            start, rest = draw(st.integers(0, 30 if rank < 3 else 3)), draw(st.integers(0, 3))
            side.append((start + size + rest, slice(start, start + size)))
        sides.append(side)
    one, other = zip(*sides, strict=True)
    return tuple(n for n, _ in one), [s for _, s in one], tuple(n for n, _ in other), [
        s for _, s in other
    ]  # fmt: skip


@settings(max_examples=25)
@given(shapes=domains(), executor=st.sampled_from(["numpy", "jit"]))
def test_an_output_domain_leaves_the_rest_untouched(
    shapes: tuple[tuple[int, ...], list[slice], tuple[int, ...], list[slice]], executor: str
) -> None:
    into, read, out, written = shapes
    p = Pipeline("domains")
    a, b = p.stream("a", "float", into, given=True), p.stream("b", "float", out, given=True)
    index = p.stream("i", "float4", out, given=True)
    ends = [
        ([s.start for s in part[::-1]], [s.stop for s in part[::-1]]) for part in (read, written)
    ]
    p.call(KERNELS.find("copy"), a.domain(*ends[0]), b.domain(*ends[1]))
    p.call(KERNELS.find("place"), index.domain(*ends[1]))
    p.output("b", b)
    p.output("i", index)
    start = np.full((*out, 4), -1, np.float32)
    ran = _ran(p, executor, a=_numbers(*into), b=start[..., 0], i=start)
    wanted = start[..., 0].copy()
    wanted[tuple(written)] = _numbers(*into)[tuple(read)]
    assert np.array_equal(ran["b"], wanted)
    sizes = [s.stop - s.start for s in written]
    for d, along in enumerate(np.indices(sizes)[::-1]):
        wanted = start[..., 0].copy()
        wanted[tuple(written)] = along
        assert np.array_equal(ran["i"][..., d], wanted)


@pytest.mark.parametrize(
    "extents", [(7,), (20_000,), (6, 5), (4, 9_000), (7, 8, 9), (3, 4, 5, 6), (2, 90, 91, 92)]
)
def test_a_gather_takes_x_first_and_rounds(extents: tuple[int, ...]) -> None:
    rng, rank = np.random.default_rng(3), len(extents)
    places = rng.integers(0, extents, (50, rank))
    p = Pipeline("gather")
    i = p.stream("i", f"float{rank}" if rank > 1 else "float", 50, given=True)
    g = p.stream("g", "float", extents, given=True)
    r = p.stream("r", "float", 50)
    p.call(KERNELS.find(f"fetch{rank}"), i, g, r)
    p.output("r", r)
    wanted = _numbers(*extents)[tuple(places.T)]
    index = (places[:, ::-1] + rng.uniform(-0.25, 0.25, places.shape)).astype(np.float32)
    ran = _ran(p, i=index[:, 0] if rank == 1 else index, g=_numbers(*extents))
    assert np.array_equal(ran["r"], wanted)


def test_rows_come_first_in_brackets_and_the_texture_clamps() -> None:
    p = Pipeline("rows")
    i, g = p.stream("i", "float2", 4, given=True), p.stream("g", "float", (3, 4), given=True)
    r, s = p.stream("r", "float", 4), p.stream("s", "float", 4)
    p.call(KERNELS.find("rows"), i, g, r)
    p.call(KERNELS.find("fetch2"), i, g.domain((1, 1), (4, 3)), s)
    p.output("r", r)
    p.output("s", s)
    ran = _ran(p, i=[[1, 2], [-5, 1], [9, 9], [0, 0]], g=_numbers(3, 4))
    assert ran["r"].tolist() == [9, 4, 11, 0]
    assert ran["s"].tolist() == [10, 8, 11, 5]


# Kinds of parameters -----------------------------------------------------------------------------


def test_structs_lie_in_a_texture_for_each_field() -> None:
    pair = KERNELS.type("Pair")
    p = Pipeline("struct")
    s, t = p.stream("s", pair, (2, 3), given=True), p.stream("t", pair, (2, 3))
    line, r = p.stream("line", pair, 4, given=True), p.stream("r", "float", 1)
    p.call(KERNELS.find("swapped"), s, t)
    p.call(KERNELS.find("second"), line, r)
    p.output("t", t)
    p.output("r", r)
    given_ = _numbers(2, 3, 3)
    ran = _ran(p, s=given_, line=_numbers(4, 3))
    assert np.array_equal(ran["t"], given_[..., [1, 0, 2]] + np.float32([0, 0, 1]))
    assert ran["r"].tolist() == [8 + 1]


@pytest.mark.parametrize("extents", [(10,), (4, 6)])
def test_iterators_leave_their_end_out(extents: tuple[int, ...]) -> None:
    p = Pipeline("iterator")
    r = p.stream("r", "float2", extents)
    p.call(KERNELS.find("count"), Iterator(extents, (9, 1.5), (-1, 4)), r)
    p.output("r", r)
    x, y = np.indices(extents)[::-1] if len(extents) > 1 else [np.arange(10)] * 2
    wanted = np.stack([9 - 10 / extents[-1] * x, 1.5 + 2.5 / extents[0] * y], -1)
    assert np.allclose(_ran(p)["r"], wanted, rtol=0, atol=1e-6)


def test_results_beyond_the_draw_buffers_take_passes() -> None:
    costs = {}
    for targets in (1, 8):
        p = Pipeline("both")
        a, b = (p.stream(name, "float", 9, given=True) for name in "ab")
        s, d = p.stream("s", "float", 9), p.stream("d", "float", 9)
        p.call(KERNELS.find("both"), a, b, s, d, targets=targets)
        p.output("s", s)
        p.output("d", d)
        ran = _ran(p, a=_numbers(9), b=np.ones(9, np.float32))
        assert np.array_equal(ran["s"] - ran["d"], np.full(9, 2, np.float32))
        costs[targets] = p.count().total.passes
    assert costs == {1: 2, 8: 1}


@pytest.mark.parametrize("most", [500, 40, 17])
def test_a_long_kernel_is_cut_into_passes(most: int) -> None:
    p = Pipeline("orbit")
    x, y = (p.stream(name, "float4", (3, 5), given=True) for name in "xy")
    s, d = p.stream("s", "float4", (3, 5)), p.stream("d", "float4", (3, 5))
    p.call(KERNELS.find("orbit"), x, y, s, d, targets=2, instructions=most)
    p.output("s", s)
    p.output("d", d)
    a, b = np.random.default_rng(2).uniform(-0.5, 0.2, (2, 3, 5, 4)).astype(np.float32)
    c, e = a.copy(), b.copy()
    for _ in range(24):
        c, e = c * c - e * e + a, c * e + b
    ran = _ran(p, x=a, y=b)
    assert np.array_equal(ran["s"], c, equal_nan=True)
    assert np.array_equal(ran["d"], e, equal_nan=True)
    lengths = [len(q.instructions) for q in p.plan().programs()]
    assert max(lengths) <= most
    assert len(lengths) == {500: 1, 40: 3, 17: 8}[most]


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_stream_is_input_and_output_of_one_call(is_whole: bool) -> None:
    p = Pipeline("accumulate")
    a, b = (p.stream(name, "float", 20, given=True) for name in "ab")
    with p.repeat(3):
        one, other = (a, b) if is_whole else (a.domain(5, 9), b.domain(5, 9))
        p.call(KERNELS.find("both"), one, other, other, one)
    p.output("a", a)
    p.output("b", b)
    x, y = _numbers(20), 100 * _numbers(20)
    at = slice(None) if is_whole else slice(5, 9)
    wanted = [x.copy(), y.copy()]
    for _ in range(3):
        wanted[1][at], wanted[0][at] = wanted[0][at] + wanted[1][at], wanted[0][at] - wanted[1][at]
    ran = _ran(p, a=x, b=y)
    assert np.array_equal([ran["a"], ran["b"]], wanted)


# Reductions --------------------------------------------------------------------------------------


@st.composite
def reduced(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank = draw(st.integers(1, 3))
    most = {1: 200, 2: 24, 3: 9}[rank]
    pairs = [(draw(st.integers(1, 3)), draw(st.integers(1, most))) for _ in range(rank)]
    return tuple(a * b for a, b in pairs), tuple(a for a, _ in pairs)


def _composed(values: F32, out: tuple[int, ...]) -> F32:
    """x → a x + b of each block, one after another; every element is exact."""
    blocks = [n // m for n, m in zip(values.shape, out, strict=False)]
    made = np.empty((*out, 2), np.float32)
    for at in np.ndindex(*out):
        block = values[tuple(slice(i * n, (i + 1) * n) for i, n in zip(at, blocks, strict=True))]
        made[at] = reduce(
            lambda r, a: np.array([r[0] * a[0], r[0] * a[1] + r[1]], np.float32),
            block.reshape(-1, 2),
        )
    return made


@settings(max_examples=25)
@given(shapes=reduced())
def test_a_reduction_keeps_the_order_of_the_elements(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    into, out = shapes
    rng = np.random.default_rng(prod(into))
    values = rng.integers(-9, 9, (*into, 2)).astype(np.float32)
    values[..., 0] = rng.choice([-1, 1], into)
    p = Pipeline("reduce")
    a, r = p.stream("a", "float2", into, given=True), p.stream("r", "float2", out)
    p.call(KERNELS.find("compose"), r, a)
    p.output("r", r)
    p.output("whole", p.call(KERNELS.find("compose"), a))
    ran = _ran(p, a=values)
    assert np.array_equal(ran["r"], _composed(values, out))
    assert np.array_equal(ran["whole"][0], _composed(values, (1,) * len(into)).reshape(2))


def test_a_reduction_once_changes_each_element() -> None:
    p = Pipeline("once")
    a, r = p.stream("a", "float", 6, given=True), p.stream("r", "float", 6, given=True)
    w = p.stream("w", "float", 2, given=True)
    p.call(KERNELS.find("weighted").once(), a, w, r)
    p.output("r", r)
    ran = _ran(p, a=_numbers(6), r=np.full(6, 100, np.float32), w=[0, 3])
    assert np.array_equal(ran["r"], 100 + 3 * _numbers(6))


def test_scatter_goes_in_rounds_without_a_second_write_to_an_address() -> None:
    rng = np.random.default_rng(0)
    addresses = rng.integers(0, 7, 40)
    memory, wanted = np.zeros(7), np.zeros(7)
    for element in range(40):  # an order counts: each write halves what was there
        wanted[addresses[element]] = wanted[addresses[element]] / 2 + element
    for elements in scatter_rounds(addresses):
        at = addresses[elements]
        assert len({*at}) == len(at)
        memory[at] = memory[at] / 2 + elements
    assert np.array_equal(memory, wanted)


# Doors and mistakes ------------------------------------------------------------------------------


def _everything() -> tuple[Pipeline, dict[str, F32]]:
    """Domains, translation, structs, several results, iterators, loops and reductions at once."""
    p, pair = Pipeline("everything"), KERNELS.type("Pair")
    a, b = (p.stream(name, "float", (3, 9000), given=True) for name in "ab")
    s = p.stream("s", pair, (4, 5, 6), given=True)
    t, line = p.stream("t", pair, (4, 5, 6)), p.stream("line", "float2", 12_000)
    with p.repeat(2):
        p.call(KERNELS.find("both"), a, b, b, a)
        p.call(KERNELS.find("copy"), b.domain((7, 0), (807, 1)), a.domain((100, 1), (900, 2)))
    p.call(KERNELS.find("swapped"), s, t)
    p.call(KERNELS.find("count"), Iterator((12_000,), (1, 1), (1.001, 4)), line)
    p.output("sums", p.call(KERNELS.find("compose"), line))
    for name, stream in (("a", a), ("b", b), ("t", t), ("line", line)):
        p.output(name, stream)
    rng = np.random.default_rng(5)
    sizes = {"a": (3, 9000), "b": (3, 9000), "s": (4, 5, 6, 3)}
    return p, {k: rng.integers(-99, 99, n).astype(np.float32) for k, n in sizes.items()}


@pytest.mark.parametrize(
    "executor",
    ["jit", *(pytest.param(e, marks=pytest.mark.gl) for e in ("gl-raster", "gl-compute"))],
)
def test_executors_agree_with_the_reference_machine(executor: str) -> None:
    """In bits where it promises them; else a multiply-add may be rounded once."""
    p, inputs = _everything()
    wanted = _ran(p, **inputs)
    near = 0.0 if _is_exact(p, executor) else 1e-5
    for name, values in _ran(p, executor, **inputs).items():
        np.testing.assert_allclose(values, wanted[name], rtol=near, err_msg=name)


def test_the_text_of_a_program_shows_the_lines_of_its_kernel() -> None:
    p = Pipeline("lines")
    a, r = p.stream("a", "float", 4, given=True), p.stream("r", "float", 4)
    p.call(KERNELS.find("power"), a, 2, r)
    [program] = p.plan().programs()
    text = disassemble(program)
    line = TEXT.split("\n").index("  float i; r = 1; for (i = 0; i < n; i += 1) r *= a;")
    mark = f"  # kernels.br:{line + 1}: float i; r = 1; for (i = 0; i < n; i += 1) r *= a;"
    assert mark in text
    assert disassemble(assemble(text)) == text
    assert all(i.span.line in {line, line + 1} for i in program.instructions)


@pytest.mark.parametrize(
    ("kernel", "arguments", "message"),
    [
        ("sapxy", "a", "kernels.br has no kernel sapxy; did you mean saxpy?"),
        ("saxpy", "1 v a b", "x is stream v; give a stream of float, not of float2"),
        ("copy", "a c", "reads a of a vector of 10 for a vector of 7; give as many dimensions"),
        ("both", "a a b c", "writes b of a vector of 10 and c of a vector of 7"),
        ("fetch2", "v a b", "g is stream a; give a stream of 2 dimensions, not of 1"),
        ("count", "a v", "i is stream a; give an Iterator"),
        ("endless", "a b", "kernels.br:27:56: this loop has no end"),
    ],
)
def test_mistakes_take_one_line(kernel: str, arguments: str, message: str) -> None:
    p = Pipeline("mistakes")
    sizes = {"a": 10, "b": 10, "c": 7, "v": 10, "w": 3, "m": (4, 5)}
    streams = {
        name: p.stream(name, "float2" if name in "vw" else "float", size, given=True)
        for name, size in sizes.items()
    }
    with pytest.raises(GpgpuLegacyError) as error:
        p.call(KERNELS.find(kernel), *(streams.get(x) or float(x) for x in arguments.split()))
    assert message in str(error.value).split("\n")[0]


def test_shapes_that_do_not_fit_take_one_line() -> None:
    p = Pipeline("shapes")
    a = p.stream("a", "float", 10)
    with pytest.raises(
        InputError, match="domain from 3 to 11 is not in stream a of a vector of 10"
    ):
        a.domain(3, 11)
    with pytest.raises(InputError, match="q of 9000×9000 fits no texture as it is"):
        p.stream("q", "float", (9000, 9000))
    with pytest.raises(InputError, match="saxpy has no parameter w; choose from alpha, x, y, z"):
        p.call(KERNELS.find("saxpy"), 1, a, a, w=a)
    with pytest.raises(GpgpuLegacyError, match="1:45: a kernel of this name is above; give each"):
        Kernels(parse(2 * "kernel void a(out float b<>) {} ", "a.br")).find("a")
