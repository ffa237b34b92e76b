"""The plans that measure a machine's ceilings: each does one thing, as often as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gpgpu_legacy.algorithms.matmul.tiles import corners
from gpgpu_legacy.languages.arb.shaders import load_program
from gpgpu_legacy.lower.workgroups import GroupShape
from gpgpu_legacy.plan.formats import R32F, RGBA32F, Format
from gpgpu_legacy.plan.numbers import Affine
from gpgpu_legacy.plan.plan import (
    Binding,
    Blend,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
    Step,
    Texcoords,
)
from gpgpu_legacy.plan.textures import (
    ONE_PER_TEXEL,
    Extent,
    Input,
    Matrix,
    Output,
    Rect,
    Region,
    Texture,
    TextureKind,
)
from gpgpu_legacy.runtime.executor import Timings

ARITHMETIC, TILES = "fragment_peak_gflops", "tiles_at_once"
SIDE = {R32F: 1024, RGBA32F: 512}  # the textures of a product of 1024×1024 matrices
TILED_SIDE = {R32F: 2048, RGBA32F: 1024}  # 256 tiles
COPY_SIDE, TRANSFER_SIDE = 2048, 1024
TILE = GroupShape()  # for fragments of four channels
STEPS = 32  # of a program's loop, which is unrolled
MANY = 8  # multiply-adds for two lookups, four times those of the multichannel product
MOST_ITERATIONS = 64
_LONG = 4096  # most iterations where all of them look up the same texels
_SHORT_PASSES = 16  # passes of one fragment in an iteration, since none can be shorter


@dataclass(frozen=True, slots=True)
class Task:
    """What measures one ceiling.

    name: of its field in the profile. build: the plan, of a number of iterations. work: of an
    iteration, in the unit of the rate. seconds: which of the times is measured. slowness: the
    ceiling is seconds over work, not work over seconds. of_tiles: only executors that compute tiles
    have this ceiling.
    """

    name: str
    build: Callable[[int], Plan]
    work: float
    seconds: Callable[[Timings], float] = lambda timings: timings.compute_s
    most_iterations: int = MOST_ITERATIONS
    slowness: bool = False
    of_tiles: bool = False


def tasks(*, tiled: bool) -> tuple[Task, ...]:
    """Every ceiling, by the name of its field in the profile; arithmetic in two ways."""
    sides = TILED_SIDE if tiled else SIDE
    side = sides[RGBA32F]
    transfer_gb = TRANSFER_SIDE**2 * R32F.texel_bytes / 1e9
    step_gflop = 8 * side**2 * STEPS / 1e9
    tile_gflop = 8 * TILE.tile[0] * TILE.tile[1] * STEPS / 1e9
    columns_gb = RGBA32F.texel_bytes * STEPS * side**2 / TILE.rows / 1e9
    dots_g = 8 * STEPS * side**2 / 1e9
    return (
        Task(ARITHMETIC, _multiply_adds, 4 * 8 * SIDE[RGBA32F] ** 2 * STEPS / 1e9),
        _walk_of_arithmetic(ARITHMETIC, side, MANY * step_gflop, tiled=tiled),
        _walk_of_arithmetic(TILES, TILE.tile[0], MANY * tile_gflop, tiled=True),
        Task("dots_g_per_s", lambda iterations: _dot_products(iterations, side), dots_g),
        *_lookup_tasks(tiled=tiled),
        Task(
            "shared_memory_gb_per_s",
            lambda iterations: _columns(iterations, side),
            columns_gb,
            most_iterations=_LONG,
            of_tiles=True,
        ),
        *_write_tasks(),
        Task("memory_gb_per_s", _copies, 2 * COPY_SIDE**2 * RGBA32F.texel_bytes / 1e9),
        Task("pass_us", _short_passes, _SHORT_PASSES / 1e6, slowness=True),
        Task("run_us", lambda _: _short_passes(0), 1 / 1e6, most_iterations=1, slowness=True),
        Task("upload_gb_per_s", _transfers, 2 * transfer_gb, lambda t: t.upload_s, 1),
        Task("readback_gb_per_s", _transfers, transfer_gb, lambda t: t.readback_s, 1),
    )


def _walk_of_arithmetic(name: str, side: int, gflop: float, *, tiled: bool) -> Task:
    """A walk whose multiply-adds take most of the time."""
    if tiled:
        return Task(
            name,
            lambda iterations: _lookups(iterations, RGBA32F, side, _Walk(MANY, advances=False)),
            gflop,
            most_iterations=_LONG,
            of_tiles=name == TILES,
        )
    return Task(name, lambda iterations: _lookups(iterations, RGBA32F, side, _Walk(MANY)), gflop)


def _lookup_tasks(*, tiled: bool) -> Iterator[Task]:
    sides = TILED_SIDE if tiled else SIDE
    walk = _Walk(advances=not tiled, shared=not tiled)
    for bits, texels in ((32, R32F), (128, RGBA32F)):
        yield Task(
            f"lookups_{bits}_bits_g_per_s",
            lambda iterations, texels=texels: _lookups(iterations, texels, sides[texels], walk),  # type: ignore[misc]
            2 * STEPS * sides[texels] ** 2 / 1e9,
            most_iterations=_LONG if tiled else MOST_ITERATIONS,
        )


def _write_tasks() -> Iterator[Task]:
    for kind, blend in (("fills", Blend.NONE), ("blends", Blend.ADD)):
        for bits, texels in ((32, R32F), (128, RGBA32F)):
            yield Task(
                f"{kind}_{bits}_bits_g_per_s",
                lambda iterations, texels=texels, blend=blend: _fills(iterations, texels, blend),  # type: ignore[misc]
                SIDE[texels] ** 2 / 1e9,
            )


def _texture(name: str, texels: Format, width: int, height: int, *, filled: bool = True) -> Texture:
    value = (0.25, 0.25, 0.25, 0.25) if filled else None
    return Texture(name, TextureKind.RECT, Extent(width, height), texels, value)


def _plan(name: str, textures: Sequence[Texture], steps: Sequence[Step]) -> Plan:
    """A plan that draws into C and has no results."""
    return Plan(f"calibrate-{name}", (), (), tuple(textures), (), tuple(steps), ())


def _local(index: int, value: float) -> ParameterValue:
    return ParameterValue(index, (value, value, value, value))


def _multiply_adds(iterations: int) -> Plan:
    """Passes of arithmetic. They are not in a Repeat, so that each is executed by itself."""
    side = SIDE[RGBA32F]
    screen = _texture("C", RGBA32F, side, side)
    pass_ = FragmentPass(
        load_program("calibration/multiply_adds.fp.j2", steps=STEPS),
        (),
        (screen.name,),
        Rect(0, 0, side, side),
        (corners(0, (0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)),),
        locals=(_local(0, 0.5), _local(1, 0.25)),
    )
    return _plan("multiply-adds", (screen,), (pass_,) * iterations)


def _dot_products(iterations: int, side: int) -> Plan:
    """Passes that multiply a vector by a matrix, each executed by itself."""
    screen = _texture("C", RGBA32F, side, side)
    pass_ = FragmentPass(
        load_program("calibration/transform.fp.j2", steps=STEPS),
        (),
        (screen.name,),
        Rect(0, 0, side, side),
        (corners(0, (0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)),),
        locals=tuple(_local(row, 0.25) for row in range(4)),
    )
    return _plan("dot-products", (screen,), (pass_,) * iterations)


@dataclass(frozen=True, slots=True)
class _Walk:
    """How fragments look up texels along rows and columns.

    multiply_adds: for each pair of lookups. advances: an iteration goes on where the one before it
    ended, and does not start again. shared: fragments of a row, or of a column, look up the same
    texels.
    """

    multiply_adds: int = 1
    advances: bool = True
    shared: bool = True


def _lookups(iterations: int, texels: Format, side: int, walk: _Walk) -> Plan:
    """A walk along A's rows and B's columns, one stretch in each pass; the framebuffer sums."""
    along = STEPS * (MOST_ITERATIONS if walk.advances else 1) + (0 if walk.shared else side)
    textures = (
        _texture("A", texels, along, side),
        _texture("B", texels, side, along),
        _texture("C", texels, side, side),
    )
    pass_ = FragmentPass(
        load_program(
            "calibration/lookups.fp.j2",
            steps=STEPS,
            mask=".r" if texels.channels == 1 else "",
            multiply_adds=walk.multiply_adds,
        ),
        (Binding(0, "A"), Binding(1, "B")),
        ("C",),
        Rect(0, 0, side, side),
        _walked(walk, float(side)),
        locals=(ParameterValue(0, (1.0, 0.0, 0.0, 1.0)),),
        blend=Blend.ADD,
    )
    return _plan("lookups", textures, (Repeat(iterations, (pass_,)),))


def _walked(walk: _Walk, end: float) -> tuple[Texcoords, Texcoords]:
    """(k, i) and (j, k) at the corners; (k + j, i) and (j, k + i) where nothing is shared."""
    step = STEPS if walk.advances else 0
    near, far = Affine(0.5, step), Affine(0.5, step)
    if not walk.shared:
        near, far = Affine(0.0, step), Affine(end, step)
    along_rows = corners(0, (0.0, near), (0.0, far), (end, far), (end, near))
    along_columns = corners(1, (near, 0.0), (near, end), (far, end), (far, 0.0))
    return along_rows, along_columns


def _columns(iterations: int, side: int) -> Plan:
    """Sums of texels that columns of fragments share; every iteration reads the same ones."""
    textures = (_texture("A", RGBA32F, side, STEPS), _texture("C", RGBA32F, side, side))
    end = float(side)
    pass_ = FragmentPass(
        load_program("calibration/columns.fp.j2", steps=STEPS),
        (Binding(0, "A"),),
        ("C",),
        Rect(0, 0, side, side),
        (corners(0, (0.5, 0.0), (0.5, end), (0.5, end), (0.5, 0.0)),),
        locals=(ParameterValue(0, (0.0, 1.0, 0.0, 0.0)),),
        blend=Blend.ADD,
    )
    return _plan("columns", textures, (Repeat(iterations, (pass_,)),))


def _fills(iterations: int, texels: Format, blend: Blend) -> Plan:
    side = SIDE[texels]
    return _plan(
        "fill", (_texture("C", texels, side, side),), (_fill("C", side, blend),) * iterations
    )


def _fill(target: str, side: int, blend: Blend = Blend.NONE) -> FragmentPass:
    program = load_program("calibration/fill.fp")
    rect = Rect(0, 0, side, side)
    return FragmentPass(program, (), (target,), rect, locals=(_local(0, 0.25),), blend=blend)


def _copies(iterations: int) -> Plan:
    """Copies that are drawn, of textures larger than a cache; each is executed by itself."""
    end = float(COPY_SIDE)
    textures = [_texture(name, RGBA32F, COPY_SIDE, COPY_SIDE) for name in ("A", "C")]
    pass_ = FragmentPass(
        load_program("calibration/copy.fp"),
        (Binding(0, "A"),),
        ("C",),
        Rect(0, 0, COPY_SIDE, COPY_SIDE),
        (corners(0, (0.0, 0.0), (0.0, end), (end, end), (end, 0.0)),),
    )
    return _plan("copies", textures, (pass_,) * iterations)


def _short_passes(iterations: int) -> Plan:
    """Passes of one fragment; 0 iterations are one pass."""
    steps = (_fill("C", 1),) * max(1, _SHORT_PASSES * iterations)
    return _plan("passes", (_texture("C", RGBA32F, 1, 1),), steps)


def _transfers(iterations: int) -> Plan:
    """Two matrices up and one back, as for a product; the number of iterations changes nothing."""
    del iterations
    side = TRANSFER_SIDE
    rect, region = Rect(0, 0, side, side), Region(0, 0, side, side)
    textures = [_texture(name, R32F, side, side, filled=False) for name in "ABC"]
    inputs = tuple(Input(name, region, name, rect, ONE_PER_TEXEL) for name in "AB")
    return Plan(
        "calibrate-transfers",
        (Matrix("A", side, side), Matrix("B", side, side)),
        (Matrix("C", side, side),),
        tuple(textures),
        inputs,
        (_fill("C", side),),
        (Output("C", region, "C", rect, ONE_PER_TEXEL),),
    )
