"""Commands about matrix products: run them, their tables, figures and timings."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpgpu_legacy.algorithms.matmul.options import Options, Shape
from gpgpu_legacy.algorithms.registry import find_method, methods
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.plan.formats import LARGEST_TEXTURE
from gpgpu_legacy.published import paper_ids

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from gpgpu_legacy.api.products import Run
    from gpgpu_legacy.present.grid import Grid
    from gpgpu_legacy.published.schema import Paper

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
    OutputFile,
    Quiet,
    Seed,
    ShapeOption,
    Size,
    TableFormat,
    TablesAs,
    TextureFormat,
    TransposeA,
    TransposeB,
    app,
    console,
    print_json,
    progress_bar,
    shape_of,
)

Matrices = tuple["ArrayLike", ...]

DEFAULT_SIZE = 256
ArithmeticName = Annotated[
    str,
    typer.Option("--arithmetic", help=f"Every operation rounded: {ARITHMETICS}."),
]

TABLE_SIZE, TABLE_BLOCK = 1024, 32  # what the paper's Section 5.3 works out
BUDGET_S = 60.0


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


_PAPER = "hall-carr-hart-2003"
_PAPERS = ", ".join(paper_ids())


@app.command()
def tables(
    paper: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"One of {_PAPERS} (default: {_PAPER}).")
    ] = None,
    size: Annotated[
        int | None, typer.Option(help=f"n, for n×n matrices (default: {TABLE_SIZE}).")
    ] = None,
    block: Annotated[
        int | None, typer.Option(help=f"The paper's b (default: {TABLE_BLOCK}).")
    ] = None,
    every_method: Annotated[
        bool, typer.Option("--every-method", help="Count every method there is, 2001 to 2018.")
    ] = False,
    measure: Annotated[bool, typer.Option(help="Run the methods here, and time them.")] = True,
    budget: Annotated[
        float, typer.Option(metavar="SECONDS", help="What a table of timings may take here.")
    ] = BUDGET_S,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw the paper's plots there.")
    ] = None,
    table_format: TablesAs = TableFormat.TEXT,
    output: OutputFile = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Regenerate a paper's tables, beside what is counted and measured here.

    Without --paper, Tables 1 and 2 of Hall, Carr & Hart 2003.
    """
    from gpgpu_legacy.files import check_folder, write_text
    from gpgpu_legacy.papers import formulas, formulas_table
    from gpgpu_legacy.present import grid
    from gpgpu_legacy.published.schema import find_paper

    if output is not None:
        check_folder(output)
    chosen = find_paper(paper or _PAPER)
    if every_method and not chosen.tables:
        raise InputError(f"{chosen.id} has no table of counts; leave --every-method out")
    if chosen.measured:
        if not chosen.tables and (size is not None or block is not None):
            raise InputError(f"{chosen.id} has sizes of its own; leave --size and --block out")
        grids, data = _measured_tables(chosen, measure, budget, plots, quiet)
    else:
        if plots is not None:
            raise InputError(f"{chosen.id} has no plots; leave --plots out")
        grids, data = [], {}
    if chosen.tables:
        n, b = TABLE_SIZE if size is None else size, TABLE_BLOCK if block is None else block
        total = formulas.measurements(n, b) if measure else 0
        with progress_bar("measuring", total, quiet=quiet) as step:
            measured = formulas.measure(n, b, progress=step) if measure else []
            made = formulas.regenerate(n, b, measured, chosen.id)
            costs = formulas.every_method(n, b) if every_method else []
        grids = [*formulas_table.grids(made, costs), *grids]
        data = {**formulas.tables_as_json(made, costs), **data}
    kind = TableFormat.JSON if as_json else table_format
    if kind is TableFormat.TEXT and output is None:
        grid.print_text(grids, console())
        return
    writers: dict[TableFormat, Callable[[], str]] = {
        TableFormat.TEXT: lambda: grid.as_text(grids),
        TableFormat.MARKDOWN: lambda: grid.as_markdown(grids),
        TableFormat.CSV: lambda: grid.as_csv(grids),
        TableFormat.LATEX: lambda: grid.as_latex(grids),
        TableFormat.JSON: lambda: json.dumps(data, indent=2) + "\n",
    }
    text = writers[kind]()
    if output is None:
        sys.stdout.write(text)
    else:
        write_text(output, text)


def _measured_tables(
    paper: Paper, measure: bool, budget: float, plots: Path | None, quiet: bool
) -> tuple[list[Grid], dict[str, Any]]:
    """A paper's tables of timings as grids and as JSON; its plots, where they are asked for."""
    from gpgpu_legacy.papers import measured
    from gpgpu_legacy.papers.measured_table import grids, measured_as_json

    if plots is not None:
        from gpgpu_legacy.papers.measured_plot import check_plots, write_plots

        check_plots(paper, plots)
    found = None
    if measure:
        with progress_bar("measuring", measured.count_runs(paper), quiet=quiet) as step:
            found = measured.measure_paper(paper, budget, progress=step)
    if plots is not None:
        for path in write_plots(paper, plots, found):
            print(f"wrote {path}", file=sys.stderr)
    return grids(paper, found), measured_as_json(paper, found)


class FigureName(Enum):
    """The figures there are."""

    FIGURE_2 = "figure-2"
    MULTICHANNEL = "multichannel"


@app.command()
def figure(
    name: Annotated[FigureName, typer.Argument(help="Which one.")] = FigureName.FIGURE_2,
    a: Annotated[
        Path | None, typer.Argument(help="A, up to 16×16; to 8×8 for multichannel.")
    ] = None,
    b: Annotated[Path | None, typer.Argument(help="B; a demonstration's own without.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The .png to write.")
    ] = None,
    size: Size = None,
    shape: ShapeOption = None,
    seed: Seed = 0,
    texture_format: TextureFormat = None,
    transpose_a: TransposeA = False,
    transpose_b: TransposeB = False,
    as_printed: AsPrinted = False,
    executor: ExecutorName = "auto",
    animate: Annotated[
        bool, typer.Option(help="A .gif of the passes instead; for multichannel, of the fragments.")
    ] = False,
) -> None:
    """Draw a figure from a run: Figure 2 of Hall, Carr & Hart 2003, or the multichannel swizzles.

    figure-2 shows larson-mcallister pass by pass, multichannel what one fragment of
    hall-carr-hart-multi looks up, swizzles, multiplies and adds: equations (8) to (11).
    """
    from gpgpu_legacy.files import check_folder

    suffix = ".gif" if animate else ".png"
    path = output or Path(f"{name.value}{suffix}")
    if path.suffix.lower() != suffix:
        raise InputError(f"{path} should end in {suffix}; --animate writes .gif, else it is .png")
    check_folder(path)
    if (a is None) != (b is None):
        raise InputError("give both matrices, A and B, or neither")
    options = Options(
        texture_format=texture_format,
        transpose_a=transpose_a,
        transpose_b=transpose_b,
        as_printed=as_printed,
    )
    files = (a, b) if a is not None and b is not None else None
    if files and (size is not None or shape is not None):
        raise InputError("the matrices have their sizes; leave --size and --shape out")
    asked = None if size is None and shape is None else shape_of(size, shape, 4)
    _FIGURES[name](_Picture(options, files, asked, seed, executor), path, animate)
    print(f"wrote {path}")


@dataclass(frozen=True, slots=True)
class _Picture:
    """What a figure is drawn of. files: A and B; shape: of random ones; neither: our own."""

    options: Options
    files: tuple[Path, Path] | None
    shape: Shape | None
    seed: int
    executor: str

    def operands(self, own: Matrices, random: Callable[[Shape, int], Matrices]) -> Matrices:
        """The matrices to draw: from the files, or random ones, or else a figure's own."""
        from gpgpu_legacy.api.matrices import read_matrix

        if self.files is not None:
            return tuple(read_matrix(file) for file in self.files)
        return own if self.shape is None else random(self.shape, self.seed)


def _draw_figure_2(picture: _Picture, path: Path, animate: bool) -> None:
    from gpgpu_legacy.algorithms.operands import check_operands
    from gpgpu_legacy.runtime.registry import find_executor
    from gpgpu_legacy.studies.figure_2 import plot as figures

    chosen = find_method("larson-mcallister").options(picture.options)
    given = picture.operands(
        (figures.DEMONSTRATION_A, figures.DEMONSTRATION_B),
        lambda shape, seed: figures.random_demonstration(shape, chosen, seed),
    )
    a, b = check_operands(given, chosen)
    demonstration = figures.demonstrate(find_executor(picture.executor), a, b, chosen)
    if animate:
        figures.animate_figure_2(demonstration, path)
    else:
        figures.save_png(figures.draw_figure_2(demonstration), path)


def _draw_multichannel(picture: _Picture, path: Path, animate: bool) -> None:
    from gpgpu_legacy.algorithms.operands import check_operands
    from gpgpu_legacy.runtime.registry import find_executor
    from gpgpu_legacy.studies.figure_2.plot import save_png
    from gpgpu_legacy.studies.multichannel import plot as multichannel

    if picture.options.transpose_a or picture.options.transpose_b:
        raise InputError("the picture shows equation (10), which transposes nothing; give A and B")
    chosen = find_method("hall-carr-hart-multi").options(picture.options)
    given = picture.operands(
        (multichannel.DEMONSTRATION_X, multichannel.DEMONSTRATION_Y),
        multichannel.random_demonstration,
    )
    x, y = check_operands(given, chosen)
    demonstration = multichannel.demonstrate(find_executor(picture.executor), x, y)
    if animate:
        multichannel.animate_multichannel(demonstration, path)
    else:
        save_png(multichannel.draw_multichannel(demonstration), path)


_FIGURES: dict[FigureName, Callable[[_Picture, Path, bool], None]] = {
    FigureName.FIGURE_2: _draw_figure_2,
    FigureName.MULTICHANNEL: _draw_multichannel,
}


@app.command()
def report(
    folder: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write.")
    ] = Path("report"),
    size: Annotated[int, typer.Option(help="n, for n×n matrices.")] = TABLE_SIZE,
    block: Annotated[int, typer.Option(help="The paper's b.")] = TABLE_BLOCK,
    measure: Annotated[bool, typer.Option(help="Run the methods here, and time them.")] = True,
    quiet: Quiet = False,
) -> None:
    """Write a folder with the tables, the figures, the timings and a page that shows them all."""
    from gpgpu_legacy.page.page import write_report
    from gpgpu_legacy.papers.formulas import measurements

    total = measurements(size, block) if measure else 0
    with progress_bar("measuring", total, quiet=quiet) as step:
        page = write_report(folder, size, block, measure=measure, progress=step)
    print(f"wrote {page}")


@app.command()
def lineage(
    size: Annotated[int, typer.Option(help="n, for n×n matrices.")] = TABLE_SIZE,
    seed: Seed = 0,
    executor: ExecutorName = "auto",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the results as a .json file.")
    ] = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", metavar="PNG", help="Draw a chart of them.")
    ] = None,
    recorded: Annotated[
        Path | None,
        typer.Option("--from", metavar="JSON", help="Draw recorded results; run nothing."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run the product by every method in the order of history, on this machine."""
    from gpgpu_legacy.files import check_folder, read_json, write_text
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.lineage.model import lineage as run_lineage
    from gpgpu_legacy.studies.lineage.model import lineage_as_json
    from gpgpu_legacy.studies.lineage.plot import draw_lineage
    from gpgpu_legacy.studies.lineage.table import lineage_grid

    if size < 1:
        raise InputError(f"the size is {size}; it must be at least 1")
    for path, suffix in ((output, ".json"), (chart, ".png")):
        if path is not None:
            check_folder(path)
            if path.suffix.lower() != suffix:
                raise InputError(f"{path} should end in {suffix}")
    if recorded is not None:
        if chart is None:
            raise InputError("--from draws recorded results; give --chart, the picture to draw")
        draw_lineage(read_json(recorded, "steps"), chart)
        print(f"wrote {chart}")
        return
    with progress_bar("lineage", len(methods()), quiet=quiet) as step:
        steps = run_lineage(size, seed, executor, progress=step)
    data = lineage_as_json(size, steps)
    if output is not None:
        write_text(output, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    if chart is not None:
        draw_lineage(data, chart)
    if as_json:
        print_json(data)
    else:
        print_text([lineage_grid(size, steps)], console())


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say which executors work here, why one does not, and how to mend it."""
    from gpgpu_legacy.runtime.executor import FRAGMENT_PASSES, names_of
    from gpgpu_legacy.runtime.registry import find_executor, survey

    found = survey()
    kernel = find_method("opengl-compute-tiled").plan(Shape(1, 1, 1))
    drawing, computing = find_executor("auto").name, find_executor("auto", kernel).name
    if as_json:
        print_json(
            {
                "auto": drawing,
                "auto_compute": computing,
                "executors": [
                    {
                        "name": e.name,
                        "summary": e.summary,
                        "works": works,
                        "detail": detail,
                        "passes": sorted(names_of(frozenset({p})) for p in e.capabilities.passes),
                        "arithmetics": sorted(e.capabilities.arithmetics),
                        "exact": e.capabilities.exact,
                        "fuses_passes": e.capabilities.fuses_passes,
                        "tuning": sorted(e.capabilities.tuning),
                    }
                    for e, works, detail in found
                ],
            }
        )
        return
    from rich.table import Table

    heads = ("executor", "works", "what it is", "what it can do", "device, or why not")
    table = Table(*heads, box=None, pad_edge=False)
    for executor, works, detail in found:
        has = executor.capabilities
        can = [
            *(["kernels"] if has.passes - FRAGMENT_PASSES else []),
            *(["fused passes"] if has.fuses_passes else []),
            *(["--exact"] if has.exact else []),
            *(["--arithmetic"] if len(has.arithmetics) > 1 else []),
        ]
        words = ", ".join(can)
        table.add_row(executor.name, "yes" if works else "no", executor.summary, words, detail)
    terminal = console()
    terminal.print(table)
    terminal.print(
        f"\n--executor auto draws fragments on {drawing} and runs kernels on {computing}."
    )
