"""The verbs that run, write or show a plan: `run`, `dump`, `trace`, `figure` and `page`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from gpgpu_legacy.api.command.frame import Report, answers
from gpgpu_legacy.api.command.options import PICTURE, Names, Several
from gpgpu_legacy.api.command.words import (
    Job,
    MachineOptions,
    RunJob,
    asked,
    pairs,
    parse_texel,
    warn_if_busy,
)
from gpgpu_legacy.api.figures.options import AnimationOptions, FigureOptions
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.host.program import BrookRun
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.api.run import Run
    from gpgpu_legacy.api.trace import Trace


@answers("run")
def run_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    repeat: Annotated[int, "RUNS", "Run this many times, and give the medians of the times."] = 1,
    output: Annotated[
        Several[str],
        "-o",
        "--output",
        "[NAME=]FILE",
        "Write outputs: .npy, .csv or .png (row 0 at the bottom).",
    ] = (),
    check: Annotated[bool, "Compare the outputs with the reference function."] = True,
    report: Report,
) -> Run | BrookRun:
    """Run an algorithm: its outputs, times and counts, and its error against a reference.

    Without inputs, it runs on random samples; with inputs, sizes follow them. Of a Brook program,
    FILE.br, it prints what the program prints, and the exit status is the program's.
    """
    if job.brook:
        return _run_brook(job.brook, machine)
    from gpgpu_legacy.api.arrays import output_writers
    from gpgpu_legacy.api.run import steps_of
    from gpgpu_legacy.measure.timing import OtherWork

    pipeline = job.pipeline()
    files = _outputs(pipeline, output)
    writers = output_writers(pipeline.plan(), files)
    other_work = OtherWork() if repeat > 1 else None  # a single run is no measurement
    with report.progress(f"{pipeline.name}, runs", steps_of(repeat)) as step:
        result = pipeline.run(
            job.arrays(),
            repeat=repeat,
            check=check,
            progress=partial(step, ""),
            **machine.how(),
        )
    if other_work is not None:
        warn_if_busy(other_work.share())
    for name, write in writers.items():
        write(result.outputs[name])
        print(f"wrote {files[name]}", file=sys.stderr)
    return result


def _run_brook(words: Several[str], machine: MachineOptions) -> BrookRun:
    """Run FILE.br with its arguments. Without --json, its output is printed as it comes."""
    from gpgpu_legacy.api.host.library import MOST_INPUT
    from gpgpu_legacy.api.host.program import run_brook

    is_shown = not click.get_current_context().params["as_json"]

    def show(stream: int, data: bytes) -> None:
        to = (sys.stdout, sys.stderr)[stream - 1]
        to.buffer.write(data)
        if to.isatty():
            to.flush()

    return run_brook(
        *words,
        stdin=lambda: sys.stdin.buffer.read(MOST_INPUT + 1),
        out=show if is_shown else None,
        profile=asked().get("profile", ""),
        **machine.how(),
    )


def _outputs(pipeline: Pipeline, texts: Several[str]) -> dict[str, Path]:
    """The files of outputs, by name; a single output needs no name."""
    results = pipeline.plan().results
    if len(results) == 1:
        texts = tuple(text if "=" in text else f"{results[0].name}={text}" for text in texts)
    known = ", ".join(matrix.name for matrix in results) or "none"
    example = f"x=x.npy (outputs: {known})"
    return {name: Path(file) for name, file in pairs("-o", texts, str.strip, example)}


@answers("dump", writes=True)
def dump_command(
    job: Job,
    output: Annotated[Path, "-o", "--output", "FOLDER", "Write the files here."],
    exact: Annotated[bool, "Generate GLSL that contracts no multiply-add."] = False,
) -> Iterable[Path]:
    """Write a plan as files: plan.json, its programs, and the code generated from them.

    Every command that takes WHAT can read the plan.json. The inputs that are given, or that a
    Brook program had, are written beside it; then they are the plan's inputs there, too.
    """
    from gpgpu_legacy.api.dump import dump

    pipeline, arrays = job.built
    return dump(pipeline.plan(), output, exact=exact, arrays=arrays)


@answers("trace")
def trace_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    texel: Annotated[str, "X,Y", "The texel's column and row, from 0."],
    textures: Annotated[
        Several[str],
        "--texture",
        "NAME",
        "Its textures (default: those behind the first output).",
    ] = (),
    instructions: Annotated[bool, "Show each instruction that its fragment runs."] = False,
    every_pass: Annotated[bool, "Show the passes that leave its value alone, too."] = False,
) -> Trace:
    """Follow one texel through the passes: the lookups and the result of each fragment there."""
    return job.pipeline().trace(
        parse_texel("--texel", texel),
        job.arrays(),
        textures=textures,
        instructions=instructions,
        every_pass=every_pass,
        **machine.how(),
    )


@answers("figure", writes=True)
def figure_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    sheet: FigureOptions,
    film: AnimationOptions,
    plot: Annotated[
        Path | None,
        "--plot",
        PICTURE,
        "Draw the passes side by side, with their scales of values.",
    ] = None,
    animate: Annotated[
        Path | None, "FILE.gif|apng", "Write the passes one after another, as an animation."
    ] = None,
) -> Iterator[Path]:
    """Draw the texels that each pass wrote, as a sheet of pictures or as an animation."""
    if plot is None and animate is None:
        raise InputError(
            "a figure needs an output file; give --plot FILE.png or --animate FILE.gif"
        )
    shown = job.pipeline().figure(job.arrays(), options=sheet, **machine.how())
    if plot is not None:
        shown.plot(plot)
        yield plot
    if animate is not None:
        shown.animate(animate, film)
        yield animate


def section_names() -> Names:
    """The sections of the page."""
    from gpgpu_legacy.page.sections import SECTIONS

    return ((name, "") for name in SECTIONS)


@answers("page", writes=True)
def page_command(
    *,
    job: RunJob,
    sections: Annotated[
        Several[str],
        "--section",
        "NAME",
        "Without WHAT: these sections of the page (default: all).",
        section_names,
    ] = (),
    output: Annotated[
        Path | None,
        "-o",
        "--output",
        "FILE.html",
        "Write the page here (default: NAME.html).",
    ] = None,
) -> Iterator[Path]:
    """Write a page that runs the programs of 2001 to 2018 in the reader's browser, in one file.

    With WHAT, it plays only the passes of that plan, texture by texture.
    """
    from gpgpu_legacy.files import check_writable, write_text

    pipeline = job.pipeline() if job.words else None
    path = output or Path(f"{pipeline.name if pipeline else 'page'}.html")
    check_writable(path)
    if pipeline is not None:
        from gpgpu_legacy.page.one_plan import plan_page

        if sections:
            raise InputError("the page of one plan has no sections; leave --section out")
        text = plan_page(pipeline, job.arrays())
    else:
        from gpgpu_legacy.page.page import TITLE, introduction, page_text
        from gpgpu_legacy.page.sections import SECTIONS, sections_of

        text = page_text(TITLE, introduction(), sections_of(sections or SECTIONS))
    write_text(path, text)
    yield path
