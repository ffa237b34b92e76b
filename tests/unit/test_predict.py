"""Predictions: terms worked out by hand, what is unknown, the commands and the roofline."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from click.testing import CliRunner
from drawing import program, show, texture
from hypothesis import given, settings
from plans import Made, plans

from gpgpu_legacy.algorithms.matmul.product import Accumulate
from gpgpu_legacy.algorithms.registry import find_product
from gpgpu_legacy.cache.access import DEFAULT_ACCESS
from gpgpu_legacy.cache.caches import Memory, parse_cache
from gpgpu_legacy.chips.profile import find_profile
from gpgpu_legacy.cli import app
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.plan.expand import passes
from gpgpu_legacy.plan.plan import (
    Binding,
    BufferBinding,
    ComputePass,
    CopyPass,
    FragmentPass,
    Repeat,
)
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Rect, TextureKind
from gpgpu_legacy.predict.model import memory_behind, predict, predict_passes, predict_plan
from gpgpu_legacy.predict.prediction import Prediction, Rates, TimeStage
from gpgpu_legacy.predict.work import Work, count_work

N, B = 256, 32


def predicted(chip: str, method: str, n: int = N, **options: object) -> Prediction:
    return predict(find_product(method).plan(n=n, **options), find_profile(chip))


def seconds(found: Prediction, name: str) -> float | None:
    return next(term.seconds for term in found.terms if term.name == name)


def test_the_terms_of_the_multichannel_product_on_a_radeon_by_hand() -> None:
    """Hall, Carr & Hart's counts: (n/2)²·n/(2b) fragments, 2b + 1 lookups, 3b + 4 instructions."""
    found = predicted("radeon-9800-xt", "hall-carr-hart-multi", block=B)
    passes, area = N // 2 // B, (N // 2) ** 2
    fragments = passes * area
    assert seconds(found, "lookups") == pytest.approx(fragments * (2 * B + 1) * 4 / (8 * 412e6))
    assert seconds(found, "arithmetic") == pytest.approx(fragments * (3 * B + 4) / (26.4e9 / 8))
    assert seconds(found, "fill") == pytest.approx(fragments / (8 * 412e6))
    read = area + 2 * B * (N // 2)  # F, and b columns and rows of texels
    assert seconds(found, "memory") == pytest.approx(passes * 16 * (read + area) / 23.36e9)
    assert seconds(found, "copies") == pytest.approx(passes * 2 * 16 * area / 23.36e9)
    assert seconds(found, "upload") == pytest.approx(2 * 4 * N**2 / 2.1e9)
    assert seconds(found, "read-back") == pytest.approx(4 * N**2 / 0.266e9)  # PCI at 66 MHz
    assert found.binds == "lookups"
    drawn, copied = seconds(found, "lookups"), seconds(found, "copies")
    assert drawn is not None and copied is not None
    assert found.compute_seconds == pytest.approx(drawn + copied)


def test_a_bound_takes_the_best_of_all_boards() -> None:
    """DDR2 gives an 8600M GT 12.8 GB/s, GDDR3 22.4; with the slower one a bound would not hold."""
    memory = Rates(find_profile("geforce-8600m-gt").hardware).memory()
    assert memory.per_second == pytest.approx(22.4e9)
    assert [fact.value for fact in memory.facts] == [22.4]


def test_a_rate_that_is_not_known_is_unknown_and_never_nothing() -> None:
    found = predicted("quadro-4000", "hall-carr-hart-single")
    assert seconds(found, "lookups") is None
    assert {"lookups", "passes"} <= {term.name for term in found.terms if term.seconds is None}
    nothing = predicted("3dlabs-p10", "hall-carr-hart-single", accumulate=Accumulate.BLEND)
    assert nothing.seconds is not None  # the bus and the memory are known
    assert predicted("geforce-fx-5200", "hall-carr-hart-single").compute_seconds is None
    assert predicted("geforce-fx-5200", "hall-carr-hart-single").seconds is None


def test_a_warp_reads_shared_memory_in_two_clocks() -> None:
    """The tiled kernel on 8 multiprocessors of 950 MHz: two words a multiply-add, 32 at once."""
    found = predicted("quadro-4000", "opengl-compute-tiled", n=512)
    least = 2 * 512**3 / 32 * 2 / (8 * 950e6)
    took = seconds(found, "shared memory")
    assert took is not None and least <= took <= 1.1 * least
    assert found.bottleneck is not None and found.bottleneck.stage is TimeStage.DISPATCH


def test_a_core_starts_an_access_a_clock_of_a_number_or_of_a_vec4() -> None:
    """Four products load four numbers of B, in a column, and a vec4 of A; C is read and written."""
    found = predicted("mali-t604", "mali-sgemm", n=256)
    accesses = 256**3 * 5 / 4 + 2 * 256**2
    assert counts(found)["loads and stores"] == accesses
    assert found.compute_seconds == pytest.approx(accesses / (4 * 533e6))
    assert "loads and stores" not in counts(predicted("quadro-4000", "opengl-compute-tiled", n=64))


VECTORS = """\
#version 430 core
layout(local_size_x = 4) in;
layout(std430, binding = 0) readonly buffer In { float a[]; };
layout(std430, binding = 1) buffer Out { float c[]; };
void main() {
    int i = int(gl_GlobalInvocationID.x);
    vec4 v = vec4(a[i], a[i + 1], a[i + 2], a[i + 3]) + vec4(a[i], a[i + 2], a[i + 1], a[i + 3]);
    c[i] = v.x + v.y;
}
"""


def test_only_consecutive_elements_are_a_vector() -> None:
    """Of two vec4, one is loaded at once, one number by number; both are added as four numbers."""
    textures = [replace(texture(n, 16, 1, R32F), kind=TextureKind.BUFFER) for n in ("A", "C")]
    pass_ = ComputePass(
        parse_kernel(VECTORS, "vectors"), (BufferBinding(0, "A"), BufferBinding(1, "C")), (), (3, 1)
    )
    found = predict(show([pass_], textures[1], others=textures[:1]), find_profile("mali-t604"))
    assert counts(found)["loads and stores"] == 12 * (1 + 4 + 1)
    assert counts(found)["arithmetic"] == 12 * (4 + 1)


def test_transfers_are_copies_where_the_host_shares_the_memory() -> None:
    """A, B and C of a GeForce 9400M, which has no bus of its own, at 17.056 GB/s."""
    found = predicted("geforce-9400m-g", "dobravec-bulic-shared", n=80, block=8)
    assert found.transfer_seconds == pytest.approx(3 * 4 * 80**2 / 17.056e9)
    assert predicted("h100-sxm5", "mali-sgemm", n=8).transfer_seconds is None  # its bus is unknown


def test_chained_passes_keep_their_sums_and_copy_nothing() -> None:
    apart = predicted("xeon-gl-raster", "hall-carr-hart-multi")
    fused = predicted("xeon-jit", "hall-carr-hart-multi")
    fragments = (N // 2) ** 3 // B
    assert "copies" in counts(apart) and "copies" not in counts(fused)
    assert counts(apart)["lookups"] == fragments * (2 * B + 1)
    assert counts(fused)["lookups"] == fragments * 2 * B
    assert counts(fused)["passes"] == 1


def counts(found: Prediction) -> dict[str, float]:
    return {term.name: term.count for term in found.terms}


def fact(found: Prediction, name: str) -> float:
    return float(getattr(find_profile(found.chip).hardware, name).value)


# Commands ---------------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def test_predict_says_what_binds_and_what_does_not_load() -> None:
    """What is said is short; all terms, with their rates and sources, are told by --all."""
    words = ("predict", "hall-carr-hart-multi", "n=256", "block=32", "--chip", "radeon-9800-xt")
    code, out = run(*words)
    assert code == 0
    assert "The bottleneck is lookups (drawing): 4\u202f259\u202f840 lookups" in out
    assert "does not load" in out and "without the fixed cost of 8 passes." in out
    assert "each microsecond of it adds 0.008 ms" in out
    assert "texture units 8 (W, high)" in out and "arithmetic width" not in out
    _, whole = run(*words, "--all")
    assert "arithmetic width" in whole and "draw multi.fp" in whole
    _, text = run(*words, "--json")
    data = json.loads(text)
    assert (data["binds"], data["parameters"]["block"]) == ("lookups", 32)
    assert data["gflops"] == pytest.approx(2e-9 * 256**3 / data["compute_seconds"])
    assert [t["name"] for t in data["terms"] if t["binds"]] == ["lookups"]
    assert [term["name"] for term in data["terms"] if term["seconds"] is None] == ["passes"]
    assert all(term["facts"] for term in data["terms"] if term["seconds"] is not None)


def test_a_simulated_cache_says_what_memory_serves() -> None:
    """16 texels of a column lie 512 bytes apart, in 2 sets of one line each: none in B is found."""
    words = ("hall-carr-hart-multi", "n=64", "block=16", "--cache", "1K,direct,64B", "--json")
    code, out = run("predict", *words, "--chip", "radeon-9800-xt")
    assert code == 0
    predicted = json.loads(out)
    terms = {term["name"]: term for term in predicted["terms"]}
    code, out = run("cache", *words)
    cached = json.loads(out)
    served = cached["bytes_from_memory"] + cached["bytes_to_memory"]
    assert {one["name"]: one["read_hits"] for one in cached["regions"]}["B"] == 0
    assert terms["memory behind the cache"]["count"] == served > cached["bytes_requested"]
    assert terms["memory behind the cache"]["seconds"] == pytest.approx(served / 23.36e9)
    assert not {"memory", "copies"} & terms.keys()
    assert predicted["memory_bytes"] == served


# Predictions of any plan --------------------------------------------------------------------------

RADEON = find_profile("radeon-9700-pro")


def work_of(made: Made) -> Work:
    return count_work(made.plan, Rates(RADEON.hardware))


@given(plans())
@settings(max_examples=20, deadline=None)
def test_the_work_of_any_plan_is_what_its_passes_count(made: Made) -> None:
    """The counter of plans reads each pass by itself; a chip of the time fuses none."""
    work, counts = work_of(made), count_plan(replace(made.plan, inputs=(), outputs=()))
    run = list(passes(made.plan))
    drawn = [p for p in run if isinstance(p, FragmentPass)]
    assert work.lookups.total() == counts.lookup
    assert work.fills.total() + work.blends.total() == sum(
        p.drawn.area * len(p.targets) for p in drawn
    )
    assert work.instructions + counts.blend == counts.arithmetic
    assert work.copy_bytes == counts.copy_bytes
    initial = count_plan(replace(made.plan, inputs=(), outputs=(), steps=())).clear_bytes
    assert work.clear_bytes == counts.clear_bytes - initial
    assert work.passes == len(run)


def test_a_lookup_at_unknown_places_reads_no_more_than_it_can() -> None:
    """4 of 64 × 64 texels at most: a fragment looks one up, wherever it is, and writes one."""
    look = program(
        "TEX R0, fragment.position, texture[0], RECT;",
        "TEX result.color, R0, texture[0], RECT;",
    )
    p, q = texture("P", 64, 64, R32F), texture("Q", 64, 64, R32F)
    drawn = FragmentPass(look, (Binding(0, "P"),), ("Q",), Rect(0, 0, 2, 2))
    work = count_work(show([drawn], q, others=[p]), Rates(RADEON.hardware))
    assert work.memory_bytes == 4 * (4 + 4 + 4)


# By pass ----------------------------------------------------------------------------------------

XT = find_profile("radeon-9800-xt")  # 26.4 GFLOPS in vectors, 8 pipelines of 412 MHz, 23.36 GB/s
FILL = program("MOV R0, 1;", "ADD R0, R0, 1;", "ADD R0, R0, 2;", "MOV result.color, R0;")


def filled(target: str, rect: Rect) -> FragmentPass:
    return FragmentPass(FILL, (), (target,), rect)


def test_only_components_that_the_target_keeps_are_computed() -> None:
    """Of the four instructions on 64 fragments; a driver removes the others."""
    for form, kept in ((R32F, 1), (RGBA32F, 4)):
        plan = show([filled("Q", Rect(0, 0, 8, 8))], texture("Q", 8, 8, form))
        work = count_work(plan, Rates(RADEON.hardware))
        assert (work.instructions, work.components) == (4 * 64, kept * 4 * 64)


def test_each_pass_is_bound_by_its_own_unit() -> None:
    """4 instructions on 4096 fragments, five times; 2 · 4 bytes copied a texel, four times."""
    p, q = texture("P", 64, 64, R32F, None), texture("Q", 64, 64, R32F)
    whole = Rect(0, 0, 64, 64)
    steps = [Repeat(4, (filled("P", whole), CopyPass("P", whole, "Q", whole))), filled("P", whole)]
    plan = show(steps, q, others=[p])
    fill, copy = predict_passes(plan, XT)
    assert fill.seconds == pytest.approx(5 * 4096 * 4 / (26.4e9 / 8))
    assert (fill.binds, fill.runs, fill.numbers) == ("arithmetic", 5, "1, 3, 5, … 9")
    assert copy.seconds == pytest.approx(4 * 2 * 4 * 4096 / 23.36e9)
    assert (copy.binds, copy.runs, copy.numbers) == ("copies", 4, "2, 4, 6, … 8")
    whole_plan = predict(plan, XT).compute_seconds
    assert whole_plan == pytest.approx(fill.seconds + copy.seconds)


def test_fused_passes_are_one_row() -> None:
    whole = Rect(0, 0, 8, 8)
    look = program("TEX R0, fragment.position, texture[0], RECT;", "ADD result.color, R0, 1;")
    p, q = texture("P", 8, 8, R32F), texture("Q", 8, 8, R32F)
    there = FragmentPass(look, (Binding(0, "P"),), ("Q",), whole)
    back = FragmentPass(look, (Binding(0, "Q"),), ("P",), whole)
    plan = show([Repeat(50, (there, back))], p, others=[q])
    [fused] = predict_passes(plan, find_profile("xeon-jit"))
    assert (len(fused.what), fused.runs) == (2, 100)
    [apart] = predict_passes(plan, find_profile("xeon-gl-raster"))  # there and back are one work
    assert (len(apart.what), apart.runs, apart.numbers) == (1, 100, "1–100")
    assert fused.seconds is not None and apart.seconds is not None
    assert fused.seconds < apart.seconds


# Predictions of plans ---------------------------------------------------------------------------


def test_a_simulated_cache_replaces_what_memory_serves() -> None:
    cache = partial(memory_behind, Memory((parse_cache("1K,direct,64B"),)), DEFAULT_ACCESS)
    p = find_product("hall-carr-hart-multi").builder(n=32, block=4)
    predicted = predict_plan(p, "radeon-9800-xt", cache)
    assert predicted.memory_bytes == cache(p) > 0
    counts = {term.name: term.count for term in predicted.terms}
    assert counts["memory behind the cache"] == predicted.memory_bytes
