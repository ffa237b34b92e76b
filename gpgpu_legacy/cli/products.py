"""Commands about matrix products: run them, their tables, figures and timings."""

from __future__ import annotations

from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpgpu_legacy.algorithms.matmul.options import Options
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.cli.chips import ask_chip
from gpgpu_legacy.cli.shared import (
    ARITHMETICS,
    AccumulateBy,
    AsPrinted,
    Block,
    ExecutorName,
    Json,
    Largest,
    MethodName,
    Quiet,
    Seed,
    ShapeOption,
    Size,
    TextureFormat,
    TransposeA,
    TransposeB,
    app,
    console,
    print_json,
    progress_bar,
    shape_of,
)
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gpgpu_legacy.api.products import Run


Matrices = tuple["ArrayLike", ...]

DEFAULT_SIZE = 256
ArithmeticName = Annotated[
    str,
    typer.Option("--arithmetic", help=f"Every operation rounded: {ARITHMETICS}."),
]


# Commands -------------------------------------------------------------------------------------


@app.command("methods")
def methods_command(as_json: Json = False) -> None:
    """List the methods, in the order of history."""
    if as_json:
        print_json(
            {
                "methods": [
                    {
                        "name": method.name,
                        "aliases": list(method.aliases),
                        "year": method.year,
                        "paper": method.paper,
                        "summary": method.summary,
                    }
                    for method in methods()
                ]
            }
        )
        return
    from rich.table import Table

    table = Table("method", "year", "paper", "what it does", box=None, pad_edge=False)
    for method in methods():
        names = "\n".join((method.name, *(f"  alias {alias}" for alias in method.aliases)))
        table.add_row(names, str(method.year), method.paper, method.summary)
    console().print(table)


@app.command()
def run(
    method: MethodName,
    a: Annotated[
        Path | None, typer.Argument(help="A: .npy, .csv, .mtx or a greyscale image.")
    ] = None,
    b: Annotated[Path | None, typer.Argument(help="B, likewise; random without them.")] = None,
    c: Annotated[
        Path | None, typer.Option("--c", help="C, to add beta times; random with --beta alone.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="The result is alpha times the product.")] = 1.0,
    beta: Annotated[float, typer.Option(help="Plus beta times C.")] = 0.0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write C: .npy, .csv, .mtx or .png.")
    ] = None,
    size: Size = None,
    shape: ShapeOption = None,
    seed: Seed = 0,
    block: Block = None,
    accumulate: AccumulateBy = None,
    texture_format: TextureFormat = None,
    transpose_a: TransposeA = False,
    transpose_b: TransposeB = False,
    as_printed: AsPrinted = False,
    largest_texture: Largest = LARGEST_TEXTURE,
    dynamic: Annotated[
        bool, typer.Option("--dynamic", help="Shared arrays as where sizes are known at launch.")
    ] = False,
    executor: ExecutorName = "auto",
    repeat: Annotated[int, typer.Option(help="Runs to take the median times of.")] = 1,
    exact: Annotated[bool, typer.Option(help="Contract no multiply-add.")] = False,
    arithmetic: ArithmeticName = "fp32",
    check: Annotated[bool, typer.Option(help="Compare with float64.")] = True,
    dump: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the plan, the programs, the GLSL.")
    ] = None,
    follow: Annotated[
        str | None, typer.Option(metavar="I,J", help="Print element I,J of C through every pass.")
    ] = None,
    coordinates_first: Annotated[
        int | None,
        typer.Option(metavar="STEPS", help="Coordinates of so many steps before their lookups."),
    ] = None,
    chip: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Refuse what that chip could not have run."),
    ] = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="Run it, whatever the chip.")] = False,
    sdk_example: Annotated[
        bool, typer.Option("--sdk-example", help="mali-sgemm: the SDK's printed 4×4 example.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Multiply two matrices by a method, and say what it cost."""
    if sdk_example:
        _sdk_example(find_method(method).name, executor, as_json=as_json)
        return
    from gpgpu_legacy.algorithms.operands import check_operands, product_shape, random_operands
    from gpgpu_legacy.api.dump import dump as dump_plan
    from gpgpu_legacy.api.follow import Follower
    from gpgpu_legacy.api.matrices import matrix_writer, read_matrix
    from gpgpu_legacy.api.products import Sampling, run_method

    options = Options(
        block=block,
        accumulate=accumulate,
        texture_format=texture_format,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        as_printed=as_printed,
        largest_texture=largest_texture,
        dynamic=dynamic,
        alpha=alpha,
        beta=beta,
        adds=c is not None or (a is None and beta != 0.0),
        coordinates_first=coordinates_first,
    )
    chosen = find_method(method).options(options)
    if chip is not None or dump is not None:
        options = chosen  # what the chip was asked about, or what is written, is what runs
    write = matrix_writer(output) if output else None
    sized = size is not None or shape is not None
    files = _files(a, b, c, sized=sized)
    if files:
        operands = check_operands(tuple(read_matrix(file) for file in files), chosen)
    else:
        operands = random_operands(shape_of(size, shape, DEFAULT_SIZE), chosen, seed)
    wanted = product_shape(operands, chosen)
    plan = find_method(method).plan(wanted, chosen)
    if chip is not None:
        ask_chip(plan, chip, find_method(method), wanted, chosen, anyway=anyway)
    follower = Follower(plan, *_element(follow)) if follow else None
    sampling = Sampling(repeat)
    steps = 1 + sampling.total + (follower is not None and repeat > 1)  # preparing is one
    with progress_bar(f"{method}, runs", steps, quiet=quiet) as step:
        result = run_method(
            method, options, operands, executor, sampling, exact=exact, arithmetic=arithmetic,
            observer=follower, progress=step and partial(step, ""),
        )  # fmt: skip
    if write is not None:
        write(result.product)
    if dump is not None:
        dump_plan(plan, dump, exact=exact)
    if as_json:
        data = result.as_json(check=check)
        if follower:
            data["follow"] = [
                {"pass": s.number, "kind": s.kind, "texture": s.texture, "value": _finite(s.value)}
                for s in follower.sightings
            ]
        print_json(data)
        return
    _print_run(result, check=check)
    if follower:
        _print_follower(follower, follow or "")


def _sdk_example(method: str, executor: str, *, as_json: bool) -> None:
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.sdk_example import table as report_example
    from gpgpu_legacy.studies.sdk_example.model import sdk_example

    if method != "mali-sgemm":
        raise InputError("--sdk-example is mali-sgemm's; run it as: run mali-sgemm --sdk-example")
    example = sdk_example(executor)
    if as_json:
        print_json(report_example.example_as_json(example))
    else:
        print_text(report_example.example_grids(example), console())


def _files(a: Path | None, b: Path | None, c: Path | None, *, sized: bool) -> tuple[Path, ...]:
    """The files of A, B and, where it is given, C; none for random matrices."""
    if (a is None) != (b is None):
        raise InputError("give both matrices, A and B, or neither")
    if a is None or b is None:
        if c is not None:
            raise InputError(
                "C is given but neither A nor B; give all three, or none for random ones"
            )
        return ()
    if sized:
        raise InputError("the matrices have their sizes; leave --size and --shape out")
    return (a, b) if c is None else (a, b, c)


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None


def _element(text: str) -> tuple[int, int]:
    parts = text.split(",")
    if len(parts) != 2 or not all(part.strip().isdigit() for part in parts):
        raise InputError(f"--follow is {text!r}; give a row and a column, as in --follow 0,3")
    return int(parts[0]), int(parts[1])


def _print_run(result: Run, *, check: bool) -> None:
    from rich.table import Table

    counts, seconds, shape = result.counts, result.seconds, result.shape
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()

    def row(name: str, text: str) -> None:
        table.add_row(name, text)

    options = [
        f"{name} {value.value if isinstance(value, Enum) else value}"
        for name, value in (
            ("block", result.options.block),
            ("accumulate", result.options.accumulate),
            ("format", result.options.texture_format),
        )
        if value is not None
    ]
    row("method", f"{result.method} ({', '.join(options)})")
    if result.arithmetic != "fp32":
        row("arithmetic", result.arithmetic)
    row("product", f"{shape.m}×{shape.l} by {shape.l}×{shape.n}")
    row("executor", f"{result.executor} on {result.device}")
    rate = f", {result.gflops:.4g} GFLOPS" if result.gflops else ""
    bandwidth = f", {result.gigabytes_per_s:.4g} GB/s requested" if result.gigabytes_per_s else ""
    row("prepare", f"{seconds.prepare_s * 1e3:.4g} ms, once")
    row("compute", f"{seconds.compute_s * 1e3:.4g} ms{rate}{bandwidth}")
    row(
        "transfer",
        f"{seconds.upload_s * 1e3:.4g} ms up, {seconds.readback_s * 1e3:.4g} ms back",
    )
    if counts.passes:
        row("passes", f"{counts.passes:,} of {counts.fragments:,} fragments in all")
    if counts.dispatches:
        row("dispatches", f"{counts.dispatches:,} of {counts.invocations:,} invocations in all")
    done = {
        "arithmetic": counts.arithmetic,
        "lookups": counts.lookup,
        "global loads": counts.global_loads,
        "global stores": counts.global_stores,
        "shared loads": counts.shared_loads,
        "shared stores": counts.shared_stores,
        "barriers": counts.barriers,
    }
    row("instructions", ", ".join(f"{count:,} {name}" for name, count in done.items() if count))
    row("bytes", f"{counts.bytes_requested:,} requested, {counts.copy_bytes:,} copied")
    if check:
        row("largest error", f"{result.max_relative_error:.3g} of the largest element (float64)")
    console().print(table)


def _print_follower(follower: Any, element: str) -> None:
    from rich.table import Table

    place = follower.place
    channel = "rgba"[place.channel]
    title = f"element {element}: texel x {place.x}, y {place.y}, channel {channel}"
    table = Table("pass", "kind", "texture", "value", title=title, title_justify="left")
    for sighting in follower.sightings:
        table.add_row(
            str(sighting.number), sighting.kind, sighting.texture, f"{sighting.value:.9g}"
        )
    console().print(table)
