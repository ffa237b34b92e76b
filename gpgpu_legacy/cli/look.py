"""The commands `trace`, `figure` and `page`: what happens in the passes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.api.figure_options import AnimationOptions, FigureOptions
from gpgpu_legacy.cli.completion import section_names
from gpgpu_legacy.cli.draw_options import parse_texel
from gpgpu_legacy.cli.frame import answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import MachineOptions, app, plot_option
from gpgpu_legacy.cli.words import RunJob
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.trace import Trace


@answers("trace")
def trace_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    texel: Annotated[str, Option("X,Y", "The texel's column and row, from 0.")],
    textures: Annotated[
        Several[str],
        Option("--texture", "NAME …", "Its textures (default: those behind the first output)."),
    ] = (),
    instructions: Annotated[bool, Option("Show each instruction that its fragment runs.")] = False,
    every_pass: Annotated[bool, Option("Show the passes that leave its value alone, too.")] = False,
) -> Trace:
    """Follow one texel through the passes: what each fragment looked up there, and wrote."""
    from gpgpu_legacy.api.trace import trace

    return trace(
        job.pipeline(),
        *parse_texel("--texel", texel),
        job.arrays(),
        textures,
        executor=machine.executor,
        machine=machine.machine(),
        instructions=instructions,
        every_pass=every_pass,
    )


@app.command("figure")
def figure_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    sheet: FigureOptions,
    film: AnimationOptions,
    plot: Annotated[
        Path | None, plot_option("Draw the passes side by side, with their scales of values.")
    ] = None,
    animate: Annotated[
        Path | None, Option("FILE.gif|apng", "Write the passes one after another, as an animation.")
    ] = None,
) -> None:
    """Draw what each pass wrote: as a sheet of pictures, or as an animation."""
    from gpgpu_legacy.api.figure import figure
    from gpgpu_legacy.present.animation import check_animation

    if plot is None and animate is None:
        raise InputError(
            "a figure needs a file to be written to; give --plot FILE.png or --animate FILE.gif"
        )
    if animate is not None:
        check_animation(animate)
    film = film.checked()
    shown = figure(
        job.pipeline(),
        job.arrays(),
        sheet,
        executor=machine.executor,
        machine=machine.machine(),
    )
    if plot is not None:
        shown.plot(plot)
        print(f"wrote {plot}")
    if animate is not None:
        shown.animate(animate, film)
        print(f"wrote {animate}")


@app.command("page")
def page_command(
    *,
    job: RunJob,
    sections: Annotated[
        Several[str],
        Option(
            "--section",
            "NAME …",
            "Without WHAT: these sections of the page (default: all).",
            complete=section_names,
        ),
    ] = (),
    output: Annotated[
        Path | None,
        Option("-o", "--output", "FILE.html", "Write the page here (default: NAME.html)."),
    ] = None,
) -> None:
    """Write a page that runs the programs of 2001 to 2018 in the reader's browser, in one file.

    With WHAT, it plays the passes of that alone, texture by texture.
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
        from gpgpu_legacy.page.making import sections_of
        from gpgpu_legacy.page.page import TITLE, introduction, page_text
        from gpgpu_legacy.page.sections import SECTIONS

        text = page_text(TITLE, introduction(), sections_of(sections or SECTIONS))
    write_text(path, text)
    print(f"wrote {path}")
