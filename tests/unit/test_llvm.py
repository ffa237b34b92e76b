"""Native code of fused passes: what it computes, its words, its cache on disk, its memory."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from drawing import (
    EXACT,
    Image,
    draw,
    execute,
    fragment_texcoords,
    program,
    show,
    texture,
)

from gpgpu_legacy.interp.numeric import Storage
from gpgpu_legacy.isa import opcodes
from gpgpu_legacy.isa.opcodes import ARBFP, Opcode
from gpgpu_legacy.lower.analysis.fusion import FusedPasses, fused_steps
from gpgpu_legacy.lower.analysis.register_tile import MOST_VECTORS
from gpgpu_legacy.lower.emit.llvm_fused import Code, VectorUnit, emit_fused_passes
from gpgpu_legacy.lower.fused.content import ROOM, UnsupportedError, native_content
from gpgpu_legacy.lower.machine_code import TargetProcessor
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.numbers import Affine, constant_vector
from gpgpu_legacy.plan.plan import (
    Binding,
    FragmentPass,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    FORMATS,
    R32F,
    RGBA32F,
    Extent,
    Format,
    Rect,
    Texture,
)
from gpgpu_legacy.runtime.executor import find_executor
from gpgpu_legacy.runtime.native import native_code, roomy, vector_lanes
from gpgpu_legacy.runtime.schedule import RepeatRun, Staging, native_passes

JIT = find_executor("jit")
NARROW, WIDE = VectorUnit(4, 16), VectorUnit(16, 32)

READ = ["TEX R0, fragment.texcoord[0], texture[0], RECT;"]
TWICE = program(*READ, "ADD result.color, R0, R0;")


def single(
    *lines: str, size: tuple[int, int] = (5, 3), target: Format = R32F, source: Format = R32F
) -> Plan:
    each = FragmentPass(
        program(*READ, *lines),
        (Binding(0, "A"),),
        ("P",),
        Rect(0, 0, *size),
        (fragment_texcoords(0, *size),),
    )
    textures = (texture("P", *size, target), texture("A", *size, source))
    return Plan("native", (), (), textures, (), (each,), ())


def fused_of(plan: Plan) -> tuple[FusedPasses, dict[str, Texture]]:
    [fused] = fused_steps(plan)
    assert isinstance(fused, FusedPasses)
    return fused, {each.name: each for each in plan.textures}


def code_of(plan: Plan, processor: VectorUnit = WIDE, *, exact: bool = False) -> Code:
    content, _ = native_content(*fused_of(plan))
    return emit_fused_passes(content, processor, exact=exact)


# The code ----------------------------------------------------------------------------------------


SQUARE = 16785408.0  # of 4097 as float32 rounds it; 1 is left


@pytest.mark.parametrize(
    ("line", "target", "blend"),
    [
        (f"MAD result.color, R0, R0, -{SQUARE};", "r32f", None),
        (f"MAD result.color, R0, R0, -{SQUARE};", "unorm8", None),
        ("MUL result.color, R0, R0;", "r32f", ADD),
    ],
)
def test_only_the_default_contracts(line: str, target: str, blend: Blend | None) -> None:
    import llvmlite.binding as llvm

    def left(*, exact: bool) -> float:
        [texel] = draw(
            program(*READ, line), (1, 1), executor=JIT, machine=replace(EXACT, exact=exact),
            textures={0: np.float32([[[4097.0]]])}, texcoords=[fragment_texcoords(0, 1, 1)],
            target=FORMATS[target], blend=blend, initial=(-SQUARE,) * 4,
        )[0]  # fmt: skip
        return float(texel[0])

    assert left(exact=True) == 0
    if llvm.get_host_cpu_features().get("fma", True):
        assert left(exact=False) == 1


LINES = {
    opcodes.VECTOR_OP: "{0} R1, R0;",
    opcodes.SCALAR_OP: "{0} R1, R0.x;",
    opcodes.BINARY_SCALAR_OP: "{0} R1, R0.x, R0.y;",
    opcodes.BINARY_OP: "{0} R1, R0, R0;",
    opcodes.TERNARY_OP: "{0} R1, R0, R0, R0;",
    opcodes.SWIZZLE_OP: "{0} R1, R0, x, -y, 0, 1;",
    opcodes.SAMPLE_OP: "{0} R1, R0, texture[0], RECT;",
    opcodes.KILL_OP: "{0} R0;",
}
APPROXIMATE = {"EX2", "LG2", "SIN", "COS", "SCS", "POW", "LIT"}


@pytest.mark.parametrize("row", ARBFP.values(), ids=ARBFP)
def test_what_libraries_round_differently_is_not_exact(row: Opcode) -> None:
    plan = single(LINES[row.shape].format(row.mnemonic), "MOV result.color, R1;", target=RGBA32F)
    assert code_of(plan)
    if row.mnemonic not in APPROXIMATE:
        assert code_of(plan, exact=True)
        return
    with pytest.raises(UnsupportedError, match=r"^(exp2|log2|sin|cos|power) to the last bit$"):
        code_of(plan, exact=True)


def test_half_floats_need_instructions_for_them() -> None:
    plan = single("MOV result.color, R0;", source=FORMATS["r16f"])
    with pytest.raises(UnsupportedError, match="r16f"):
        code_of(plan, replace(WIDE, halves=False))
    assert code_of(single("MOV result.color, R0;"), replace(WIDE, halves=False))


def test_a_texture_whose_texels_32_bits_do_not_count_is_refused() -> None:
    fused, textures = fused_of(single("MOV result.color, R0;"))
    textures["A"] = replace(textures["A"], extent=Extent(1 << 16, 1 << 15))
    with pytest.raises(UnsupportedError, match="2³¹"):
        emit_fused_passes(native_content(fused, textures)[0], WIDE, exact=False)


def test_corners_that_bend_in_a_later_iteration_are_refused() -> None:
    """Flat in the first iteration; one corner moves on faster than the others."""
    plan = single("MOV result.color, fragment.texcoord[0];")
    [each] = plan.steps
    assert isinstance(each, FragmentPass)

    def moving(step: float) -> Plan:
        flat = fragment_texcoords(0, 5, 3).corners
        a, b, c, d = (
            (Affine(constant_vector(corner)[0], by), *corner[1:])
            for corner, by in zip(flat, (1.0, 1.0, step, 1.0), strict=True)
        )
        drawn = replace(each, texcoords=(Texcoords(0, (a, b, c, d)),))  # type: ignore[arg-type]
        return replace(plan, steps=(Repeat(3, (drawn,)),))

    assert code_of(moving(1.0))
    with pytest.raises(UnsupportedError, match="two triangles"):
        code_of(moving(2.0))


# Memory ------------------------------------------------------------------------------------------


def guarded(each: Texture) -> tuple[Storage, list[np.ndarray]]:
    """Storage whose planes stand between words that no run may change; past its rows is NaN."""
    storage, wholes = roomy(each), []
    for number, plane in enumerate(storage.planes):
        rows, length = plane.shape[0], plane.strides[0] // plane.itemsize
        whole = np.full((rows + 2, length), 77, plane.dtype)
        whole[1:-1] = 55
        whole[1:-1, : plane.shape[1]] = plane
        storage.planes[number] = whole[1:-1, : plane.shape[1]]
        wholes.append(whole)
    return storage, wholes


@pytest.mark.parametrize("texel_format", ["r32f", "rgba16f", "unorm8"])
@pytest.mark.parametrize(
    ("extent", "rect"),
    [
        ((1, 1), Rect(0, 0, 1, 1)),
        ((64, 5), Rect(0, 0, 64, 5)),
        ((65, 9), Rect(0, 0, 65, 9)),
        ((70, 9), Rect(3, 1, 20, 7)),
        ((9, 17), Rect(8, 0, 1, 17)),
    ],
    ids=str,
)
def test_nothing_outside_of_the_rectangle_is_written(
    extent: tuple[int, int], rect: Rect, texel_format: str
) -> None:
    """By hand: 1 in the rectangle, what was there before in the texels around it."""
    each = FragmentPass(program("MOV result.color, 1;"), (), ("P",), rect)
    target = texture("P", *extent, FORMATS[texel_format], (0.5, 0.5, 0.5, 0.5))
    fused, textures = fused_of(Plan("guarded", (), (), (target,), (), (each,), ()))
    storage, wholes = guarded(target)
    expected = storage.texels()[..., 0].copy()
    expected[rect.y : rect.y + rect.height, rect.x : rect.x + rect.width] = 1.0
    content, arguments = native_content(fused, textures)
    code = native_code(content, exact=True)
    RepeatRun(native_passes(code, arguments, {"P": storage}, Staging(), 1)).run()
    for channel, whole in enumerate(wholes):
        np.testing.assert_array_equal(storage.texels()[..., channel], expected)
        assert (whole[[0, -1]] == 77).all()


def test_no_row_is_shorter_than_a_tile_that_runs_over_its_end() -> None:
    """A tile begins left of a row's end and is at most ROOM texels wide."""
    assert vector_lanes() * MOST_VECTORS <= ROOM
    for width in (1, 63, 64, 65, 127, 128, 1000):
        [plane] = roomy(texture("P", width, 2, R32F)).planes
        assert plane.shape == (2, width)
        assert plane.strides[0] // plane.itemsize >= width + ROOM


# The cache ---------------------------------------------------------------------------------------

SCRIPT = """
import sys
import numpy as np
from gpgpu_legacy import code_cache, run_program
compiled = []
keep = code_cache.keep
code_cache.keep = lambda key, content: (compiled.append(key), keep(key, content))
text = "!!ARBfp1.0\\nADD result.color, fragment.position, 1;\\nEND\\n"
found = run_program(text, 3, 2, executor="jit")
assert found[1, 2].tolist() == [3.5, 2.5, 1.5, 2.0], found[1, 2]
print(sum(key.startswith("llvm ") for key in compiled))
"""


def compiled_in_a_process(folder: Path) -> int:
    """How many modules a process with that cache folder had to compile."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder)}
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_code_is_kept_for_later_processes(tmp_path: Path) -> None:
    assert compiled_in_a_process(tmp_path) == 2  # the pass, and the loop over passes
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    kept, *_ = (path for path in files if b"ELF" in path.read_bytes()[:99])
    assert compiled_in_a_process(tmp_path) == 0
    whole = kept.read_bytes()
    kept.write_bytes(whole[:100] + b"?" + whole[101:])  # of any damage: test_code_cache.py
    assert compiled_in_a_process(tmp_path) == 1
    assert kept.read_bytes() == whole


def test_code_is_compiled_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, given = show_twice()
    execute(plan, given, JIT)
    monkeypatch.setattr(TargetProcessor, "load", lambda *_, **__: pytest.fail("compiled again"))
    execute(plan, given, JIT)


def show_twice() -> tuple[Plan, dict[str, Image]]:
    size = (33, 29)
    texels = np.random.default_rng(3).uniform(-1, 1, (29, 33, 4)).astype(np.float32)
    step: Step = FragmentPass(
        TWICE, (Binding(0, "A"),), ("P",), Rect(0, 0, *size), (fragment_texcoords(0, *size),)
    )
    return show([step], texture("P", *size, RGBA32F), {"A": texels}), {"A": Image(texels)}
