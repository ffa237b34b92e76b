"""What each verb promises: `doctor --all` and the reference show this table."""

from __future__ import annotations

from gpgpu_legacy.present.grid import Grid

PROMISES = Grid(
    "promises",
    "What is exact, and what is a bound.",
    ("verb", "exact", "a bound, or an estimate", "of which programs and plans"),
    (
        (
            "run",
            "with --exact: the bits of numpy, or the executor refuses",
            "without it jit may round a multiply-add once, and a driver rounds in its own way",
            "every plan on numpy and jit; on drivers what they run alike, as doctor measures",
        ),
        (
            "count",
            "instructions, lookups and bytes of the plan as it is written",
            "the most where work may end early: by KIL, the alpha test, or a loop until a texel",
            "every plan that draws; kernels whose control flow no loaded data decide",
        ),
        (
            "cache",
            "hits, misses and bytes in the order of accesses that is stated",
            "a chip's own order, layout and cache are parameters; KIL and loops as in count",
            "lookups at affine coordinates, clamped or not; kernels whose addresses no data decide",
        ),
        (
            "predict",
            "the counts below it",
            "the least time by data sheets; of a calibrated machine an estimate",
            "what count takes; an unknown rate adds nothing",
        ),
        (
            "fit",
            "the largest block that the known limits admit, by checking real plans",
            "as far as is known, where only the fewest native instructions fit",
            "products with a block",
        ),
        (
            "translate",
            "operations and their order; with --exact-sampling in GLSL also lookups, and no "
            "contracted multiply-add",
            "a driver's quotients, roots and transcendentals; GLSL ES may contract",
            "programs that the target can express",
        ),
        (
            "page",
            "the bits of numpy on the machine in the page",
            "on the reader's GPU what its driver rounds",
            "plans that draw",
        ),
    ),
)
