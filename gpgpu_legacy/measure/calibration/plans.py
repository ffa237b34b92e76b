"""The plans that measure a machine's ceilings: each does one thing, as often as it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gpgpu_legacy.isa.ir import Program
from gpgpu_legacy.languages.shaders import load_program
from gpgpu_legacy.lower.groups.shape import GroupShape
from gpgpu_legacy.pipeline.builder import PlanBuilder
from gpgpu_legacy.pipeline.values import Texels
from gpgpu_legacy.plan.framebuffer import ADD, Blend
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.textures import R32F, RGBA32F, Format, Texture
from gpgpu_legacy.runtime.prepared import Timings

ARITHMETIC, TILES = "fragment_peak_gflops", "tiles_at_once"
SIDE = {R32F: 1024, RGBA32F: 512}  # the textures of a product of 1024×1024 matrices
TILED_SIDE = {R32F: 2048, RGBA32F: 1024}  # 256 tiles
COPY_SIDE, TRANSFER_SIDE = 2048, 1024
CACHED_SIDE = 1024  # of two textures that a large cache holds: CACHED_MIB together
CACHED_MIB = 2 * CACHED_SIDE**2 * RGBA32F.texel_bytes >> 20
TILE = GroupShape()  # for fragments of four channels
STEPS = 32  # of a program's loop, which is unrolled
MANY = 8  # multiply-adds for two lookups, four times those of the multichannel product
MOST_ITERATIONS = 64
_LONG = 4096  # most iterations where all of them look up the same texels
_SHORT_PASSES = 16  # passes of one fragment in an iteration, since none can be shorter


Build = Callable[[PlanBuilder, int], object]
"""Adds a number of iterations to a plan."""


@dataclass(frozen=True)
class CeilingTask:
    """The measurement of one ceiling.

    name: of its field in the profile. build: the plan, of a number of iterations. work: of an
    iteration, in the unit of the rate. seconds: which of the times is measured. slowness: the
    ceiling is seconds over work, not work over seconds. of_tiles: only executors that compute tiles
    have this ceiling.
    """

    name: str
    build: Build
    work: float
    seconds: Callable[[Timings], float] = lambda timings: timings.compute_s
    most_iterations: int = MOST_ITERATIONS
    slowness: bool = False
    of_tiles: bool = False

    def plan(self, iterations: int) -> Plan:
        """The plan with that many iterations."""
        p = PlanBuilder(f"calibrate-{self.name}")
        self.build(p, iterations)
        return p.plan()


def tasks(*, tiled: bool) -> tuple[CeilingTask, ...]:
    """Every ceiling, by the name of its field in the profile; arithmetic in two ways."""
    sides, most = (TILED_SIDE, _LONG) if tiled else (SIDE, MOST_ITERATIONS)
    side = sides[RGBA32F]
    transfer_gb = TRANSFER_SIDE**2 * R32F.texel_bytes / 1e9
    step_gflop = 8 * STEPS / 1e9  # of a fragment
    columns_gb = RGBA32F.texel_bytes * STEPS * side**2 / TILE.rows / 1e9
    dots = load_program("calibration/transform.fp.j2", steps=STEPS)
    adds = load_program("calibration/multiply_adds.fp.j2", steps=STEPS)
    peak = partial(_arithmetic, program=adds, side=SIDE[RGBA32F], local={0: 0.5, 1: 0.25})
    transforms = partial(_arithmetic, program=dots, side=side, local=dict.fromkeys(range(4), 0.25))
    columns = partial(_columns, side=side)

    def walk(name: str, side: int, tiled: bool, most: int) -> CeilingTask:
        """A walk whose multiply-adds take most of the time."""
        build = partial(_lookups, texels=RGBA32F, side=side, walk=_Walk(MANY, advances=not tiled))
        work = MANY * step_gflop * side**2
        return CeilingTask(name, build, work, most_iterations=most, of_tiles=name == TILES)

    def lookups(bits: int, texels: Format) -> CeilingTask:
        apart = _Walk(advances=not tiled, shared=not tiled)
        build = partial(_lookups, texels=texels, side=sides[texels], walk=apart)
        work = 2 * STEPS * sides[texels] ** 2 / 1e9
        return CeilingTask(f"lookups_{bits}_bits_g_per_s", build, work, most_iterations=most)

    def copies(name: str, side: int) -> CeilingTask:
        work = 2 * side**2 * RGBA32F.texel_bytes / 1e9
        return CeilingTask(name, partial(_copies, side=side), work)

    return (
        CeilingTask(ARITHMETIC, peak, 4 * step_gflop * SIDE[RGBA32F] ** 2),
        walk(ARITHMETIC, side, tiled, most),
        walk(TILES, TILE.tile[0], tiled=True, most=_LONG),
        CeilingTask("dots_g_per_s", transforms, step_gflop * side**2),
        *(lookups(bits, texels) for bits, texels in _SIZES.items()),
        CeilingTask(
            "shared_memory_gb_per_s", columns, columns_gb, most_iterations=_LONG, of_tiles=True
        ),
        *(
            CeilingTask(
                f"{kind}_{bits}_bits_g_per_s",
                partial(_fills, side=SIDE[texels], texels=texels, blend=blend),
                SIDE[texels] ** 2 / 1e9,
            )
            for kind, blend in (("fills", None), ("blends", ADD))
            for bits, texels in _SIZES.items()
        ),
        copies("memory_gb_per_s", COPY_SIDE),
        copies("cached_gb_per_s", CACHED_SIDE),
        CeilingTask("pass_us", _short_passes, _SHORT_PASSES / 1e6, slowness=True),
        CeilingTask("run_us", partial(_fills, side=1), 1 / 1e6, most_iterations=1, slowness=True),
        CeilingTask("upload_gb_per_s", _transfers, 2 * transfer_gb, lambda t: t.upload_s, 1),
        CeilingTask("readback_gb_per_s", _transfers, transfer_gb, lambda t: t.readback_s, 1),
    )


_SIZES = {32: R32F, 128: RGBA32F}
"""The texels whose rates profiles have, by their bits."""


def _texture(p: PlanBuilder, name: str, texels: Format, width: int, height: int) -> Texture:
    return p.texture(name, width, height, format=texels.name, initial=0.25)


def _arithmetic(
    p: PlanBuilder, iterations: int, program: Program, side: int, local: dict[int, float]
) -> None:
    """Passes of arithmetic. They are not in a Repeat, so that each is executed by itself."""
    screen = _texture(p, "C", RGBA32F, side, side)
    for _ in range(iterations):
        p.draw(program, into=screen, texcoords={0: Texels(width=1, height=1)}, local=local)


@dataclass(frozen=True)
class _Walk:
    """How fragments look up texels along rows and columns.

    multiply_adds: for each pair of lookups. advances: an iteration continues where the one before
    it ended, instead of starting again. shared: fragments of a row, or of a column, look up the
    same texels.
    """

    multiply_adds: int = 1
    advances: bool = True
    shared: bool = True


def _lookups(p: PlanBuilder, iterations: int, texels: Format, side: int, walk: _Walk) -> None:
    """A walk along A's rows and B's columns, one stretch in each pass; the framebuffer sums."""
    along = STEPS * (MOST_ITERATIONS if walk.advances else 1) + (0 if walk.shared else side)
    a, b = _texture(p, "A", texels, along, side), _texture(p, "B", texels, side, along)
    screen = _texture(p, "C", texels, side, side)
    program = load_program(
        "calibration/lookups.fp.j2",
        steps=STEPS,
        mask=".r" if texels.channels == 1 else "",
        multiply_adds=walk.multiply_adds,
    )
    with p.repeat(iterations) as i:
        # (k, i) and (j, k) at the fragment's centre; (k + j, i) and (j, k + i) if nothing is shared
        k = (STEPS if walk.advances else 0) * i + (0.5 if walk.shared else 0.0)
        length = 0 if walk.shared else side
        texcoords = {0: Texels(x=k, width=length), 1: Texels(y=k, height=length)}
        local = {0: (1, 0, 0, 1)}
        p.draw(program, {0: a, 1: b}, into=screen, texcoords=texcoords, local=local, blend="add")


def _columns(p: PlanBuilder, iterations: int, side: int) -> None:
    """Sums of texels that columns of fragments share; every iteration reads the same ones."""
    a, screen = _texture(p, "A", RGBA32F, side, STEPS), _texture(p, "C", RGBA32F, side, side)
    program = load_program("calibration/columns.fp.j2", steps=STEPS)
    texcoords, local = {0: Texels(y=0.5, height=0)}, {0: (0, 1, 0, 0)}
    with p.repeat(iterations):
        p.draw(program, {0: a}, into=screen, texcoords=texcoords, local=local, blend="add")


def _fills(
    p: PlanBuilder,
    iterations: int,
    side: int,
    texels: Format = RGBA32F,
    blend: Blend | None = None,
) -> None:
    target = _texture(p, "C", texels, side, side)
    for _ in range(iterations):
        p.draw(load_program("calibration/fill.fp"), into=target, local={0: 0.25}, blend=blend)


def _copies(p: PlanBuilder, iterations: int, side: int) -> None:
    """Copies that are drawn, one texture to another; each is executed by itself."""
    a, screen = (_texture(p, name, RGBA32F, side, side) for name in ("A", "C"))
    program = load_program("calibration/copy.fp")
    for _ in range(iterations):
        p.draw(program, {0: a}, into=screen)


def _short_passes(p: PlanBuilder, iterations: int) -> None:
    """Passes of one fragment."""
    _fills(p, _SHORT_PASSES * iterations, side=1)


def _transfers(p: PlanBuilder, _: int) -> None:
    """Two matrices up and one back, as for a product; the number of iterations changes nothing."""
    for name in "AB":
        p.input(name, TRANSFER_SIDE, TRANSFER_SIDE)
    c = p.texture("C", TRANSFER_SIDE, TRANSFER_SIDE)
    p.draw(load_program("calibration/fill.fp"), into=c, local={0: 0.25})
    p.output("C", c)
