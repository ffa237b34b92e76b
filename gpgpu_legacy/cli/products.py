"""Commands about matrix products: list the methods, and run one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.algorithms.matmul.options import Options
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.arguments import as_positive
from gpgpu_legacy.cli.options import Argument, Option
from gpgpu_legacy.cli.shared import (
    QUICK_SIZE,
    AccumulateBy,
    AsPrinted,
    Block,
    DrawnTile,
    Json,
    Largest,
    MachineOptions,
    MethodName,
    QuickSize,
    Quiet,
    Seed,
    ShapeOption,
    TextureFormat,
    TransposeA,
    TransposeB,
    app,
    operand_files,
    options_from,
    print_json,
    print_tables,
    progress_bar,
    shape_of,
    warn_if_busy,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.numerals import naturals_in
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gpgpu_legacy.api.follow import Follower
    from gpgpu_legacy.api.products import Run
    from gpgpu_legacy.plan.plan import Plan

# Groups of options ----------------------------------------------------------------------------


@dataclass(frozen=True)
class MatrixOptions:
    """Where A, B and C come from: files, or a random generator."""

    a: Annotated[Path | None, Argument("[A]", "A: .npy, .csv, .mtx or a greyscale image.")] = None
    b: Annotated[Path | None, Argument("[B]", "B, likewise. Without A and B, both are random.")] = (
        None
    )
    c: Annotated[
        Path | None, Option("FILE", "C, which is added beta times. Random with --beta alone.")
    ] = None
    size: QuickSize = None
    shape: ShapeOption = None
    seed: Seed = 0

    def adds(self, beta: float) -> bool:
        """Whether a C is added; a random one is, if only --beta asks for it."""
        return self.c is not None or (self.a is None and beta != 0.0)

    def operands(self, options: Options, *, checked: bool) -> tuple[ArrayLike, ...]:
        """A, B and, if the options say that it is added, C.

        checked: whether their product will be compared with one in float64.
        """
        from gpgpu_legacy.algorithms.operands import random_operands
        from gpgpu_legacy.api.matrices import read_matrix

        files = self._files()
        if files:
            return tuple(read_matrix(file) for file in files)
        shape = shape_of(self.size, self.shape, QUICK_SIZE)
        return random_operands(shape, options, self.seed, checked=checked)

    def _files(self) -> tuple[Path, ...]:
        files = operand_files(self.a, self.b, self.size, self.shape)
        if files is None and self.c is not None:
            raise InputError(
                "C is given without A and B; give all three, or none of them for random ones"
            )
        return () if files is None else files if self.c is None else (*files, self.c)


@dataclass(frozen=True)
class MethodOptions:
    """What a method leaves to the caller: the fields of Options."""

    alpha: Annotated[float, Option("NUMBER", "The result is alpha times the product …")] = 1.0
    beta: Annotated[float, Option("NUMBER", "… plus beta times C.")] = 0.0
    block: Block = None
    accumulate: AccumulateBy = None
    texture_format: TextureFormat = None
    transpose_a: TransposeA = False
    transpose_b: TransposeB = False
    as_printed: AsPrinted = False
    largest_texture: Largest = LARGEST_TEXTURE
    dynamic: Annotated[
        bool, Option("Give shared arrays their size at the launch, as CUDA can.")
    ] = False
    coordinates_first: Annotated[
        int | None,
        Option(
            "STEPS", "Compute the coordinates of STEPS steps first, then do their lookups together."
        ),
    ] = None
    tile: DrawnTile = None

    def options(self, *, adds: bool) -> Options:
        return options_from(self, adds=adds)


@dataclass(frozen=True)
class RunOutput:
    """What a run writes and prints."""

    output: Annotated[
        Path | None,
        Option("-o", "--output", "FILE", "Write the product: .npy, .csv, .mtx or .png."),
    ] = None
    check: Annotated[bool, Option("Compare the product with float64.")] = True
    dump: Annotated[
        Path | None, Option("DIR", "Write the plan, its programs and the GLSL to a folder.")
    ] = None
    follow: Annotated[
        str | None, Option("I,J", "Print element I,J of the product after every pass.")
    ] = None
    as_json: Json = False
    quiet: Quiet = False

    def follower(self, plan: Plan) -> Follower | None:
        """What follows the element of --follow through the plan."""
        if self.follow is None:
            return None
        from gpgpu_legacy.api.follow import Follower

        return Follower(plan, *_element(self.follow))


# Commands -------------------------------------------------------------------------------------


@app.command()
def run(
    *,
    method: MethodName,
    matrices: MatrixOptions,
    chosen: MethodOptions,
    machine: MachineOptions,
    repeat: Annotated[int, Option("RUNS", "Run so often, and print the median times.")] = 1,
    shown: RunOutput,
) -> None:
    """Multiply two matrices by a method, and say what it cost."""
    from gpgpu_legacy.api.matrices import matrix_writer
    from gpgpu_legacy.api.products import count_steps, plan_product, run_product
    from gpgpu_legacy.files import check_output_folder
    from gpgpu_legacy.measure.other_work import OtherWork

    known = find_method(method)
    as_positive("--repeat", repeat)
    asked = chosen.options(adds=matrices.adds(chosen.beta))
    options = known.options(asked)
    write = matrix_writer(shown.output) if shown.output else None
    if shown.dump is not None:
        check_output_folder(shown.dump)
    # Tuning may choose what is left open, unless the plan is written.
    is_fixed = shown.dump is not None
    product = plan_product(
        known,
        options if is_fixed else asked,
        matrices.operands(options, checked=shown.check),
        machine.executor,
        machine.machine(),
        may_tune=shown.follow is None,
    )
    follower = shown.follower(product.plan)
    other_work = OtherWork() if repeat > 1 else None  # a single run is no measurement
    steps = count_steps(repeat, is_observed=follower is not None)
    with progress_bar(f"{method}, runs", steps, quiet=shown.quiet) as step:
        result = run_product(product, repeat, observer=follower, progress=partial(step, ""))
    if other_work is not None:
        warn_if_busy(other_work.share())
    if write is not None:
        write(result.product)
    if shown.dump is not None:
        from gpgpu_legacy.api.dump import dump

        dump(product.plan, shown.dump, exact=machine.exact)
    _print_run(result, follower, shown)


def _print_run(result: Run, follower: Follower | None, shown: RunOutput) -> None:
    from gpgpu_legacy.api.products_table import follow_grid, run_record, run_text

    if shown.as_json:
        print_json(run_record(result, follower, check=shown.check))
        return
    print(run_text(result, check=shown.check), end="")
    if follower is not None:
        print_tables([follow_grid(follower)])


def _element(text: str) -> tuple[int, int]:
    element = naturals_in(text, 2)
    if element is None:
        raise InputError(f"--follow is {text!r}; give a row and a column, as in --follow 0,3")
    return element[0], element[1]
