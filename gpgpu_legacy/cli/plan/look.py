"""The commands `plan trace`, `plan figure` and `plan page`: what happens in the passes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.draw_options import parse_texel
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.plan.options import InputOptions, RecipeOptions, plan_app
from gpgpu_legacy.cli.shared import Json, MachineOptions, plot_option, print_json
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.plan_panels import AnimationOptions, FigureOptions


@plan_app.command("trace")
def trace_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    machine: MachineOptions,
    at: Annotated[str, Option("X,Y", "The texel's column and row, from 0.")],
    texture: Annotated[
        str | None, Option("NAME", "Its texture (default: those behind the first output).")
    ] = None,
    instructions: Annotated[bool, Option("Show each instruction that its fragment runs.")] = False,
    every_pass: Annotated[bool, Option("Show the passes that leave its value alone, too.")] = False,
    as_json: Json = False,
) -> None:
    """Follow one texel through the passes: what each fragment looked up there, and wrote."""
    from gpgpu_legacy.api.plan_trace import trace_plan
    from gpgpu_legacy.api.plan_trace_table import plan_trace_record, plan_trace_text

    x, y = parse_texel("--at", at)
    built = recipe.built()
    trace = trace_plan(
        built.plan,
        inputs.arrays(built),
        x,
        y,
        texture,
        executor=machine.executor,
        machine=machine.machine(),
        instructions=instructions,
        every_pass=every_pass,
    )
    if as_json:
        print_json(plan_trace_record(trace))
    else:
        print(plan_trace_text(trace), end="")


@dataclass(frozen=True)
class SheetOptions:
    """Which passes are shown, and how their values become colours."""

    panels: Annotated[int, Option("N", "The most pictures on the sheet, inputs among them.")] = 12
    frames: Annotated[int, Option("N", "The most passes in the animation.")] = 240
    spacing: Annotated[
        str, Option("even|log", "Of more passes, show even or ever farther ones.")
    ] = "even"
    texture: Annotated[
        Several[str], Option("NAME …", "Show the passes to these textures (default: to all).")
    ] = ()
    sharing: Annotated[
        str,
        Option(
            "auto|sheet|texture|panel",
            "What shares one scale of values (auto: textures that take turns).",
        ),
    ] = "auto"
    shown: Annotated[
        str,
        Option(
            "auto|channels|picture",
            "Show texels of four channels by channel, or as a picture of r, g and b.",
        ),
    ] = "auto"
    crop: Annotated[
        str,
        Option(
            "auto|yes|no",
            "Show what was drawn of a texture by itself, or marked in the whole (auto: by "
            "itself where parts differ in size).",
        ),
    ] = "auto"
    limits: Annotated[
        tuple[float, float] | None,
        Option("LOW HIGH", "The ends of the scale of values (default: what occurs)."),
    ] = None

    def options(self) -> FigureOptions:
        """The options of the figure."""
        from gpgpu_legacy.api.plan_panels import Crop, FigureOptions, Sharing, Shown, Spacing
        from gpgpu_legacy.arguments import as_member

        return FigureOptions(
            panels=self.panels,
            frames=self.frames,
            spacing=as_member("--spacing", self.spacing, Spacing),
            textures=self.texture,
            sharing=as_member("--sharing", self.sharing, Sharing),
            shown=as_member("--shown", self.shown, Shown),
            crop=as_member("--crop", self.crop, Crop),
            limits=self.limits,
        ).checked()


@dataclass(frozen=True)
class FilmOptions:
    """How an animation looks."""

    animate: Annotated[
        Path | None, Option("FILE.gif|apng", "Write the passes one after another, as an animation.")
    ] = None
    scale: Annotated[
        int | None, Option("PIXELS", "Pixels along a side of a texel (default: to fit).")
    ] = None
    frame_ms: Annotated[int, Option("MS", "Milliseconds for each pass.")] = 100
    no_captions: Annotated[bool, Option("Leave out the line below the texture.")] = False

    def options(self) -> AnimationOptions:
        """The options of the animation."""
        from gpgpu_legacy.api.plan_panels import LAST_MS, AnimationOptions
        from gpgpu_legacy.present.animation import Timing

        timing = Timing(self.frame_ms, last_ms=max(LAST_MS, self.frame_ms))
        return AnimationOptions(self.scale, not self.no_captions, timing).checked()


@plan_app.command("figure")
def figure_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    machine: MachineOptions,
    sheet: SheetOptions,
    film: FilmOptions,
    plot: Annotated[
        Path | None, plot_option("Draw the passes side by side, with their scales of values.")
    ] = None,
) -> None:
    """Draw what each pass wrote: as a sheet of pictures, or as an animation."""
    from gpgpu_legacy.api.plan_figure import plan_figure
    from gpgpu_legacy.present.animation import check_animation

    files = [path for path in (plot, film.animate) if path is not None]
    if not files:
        raise InputError(
            "a figure needs a file to be written to; give --plot FILE.png or --animate FILE.gif"
        )
    if film.animate is not None:
        check_animation(film.animate)
    options, film_options = sheet.options(), film.options()
    built = recipe.built()
    figure = plan_figure(
        built.plan,
        inputs.arrays(built),
        options,
        executor=machine.executor,
        machine=machine.machine(),
    )
    if plot is not None:
        figure.write(plot)
    if film.animate is not None:
        figure.write_animation(film.animate, film_options)
    for path in files:
        print(f"wrote {path}")


@plan_app.command("page")
def page_command(
    recipe: RecipeOptions,
    inputs: InputOptions,
    output: Annotated[Path, Option("-o", "--output", "FILE.html", "Write the page here.")],
) -> None:
    """Write a page that plays the passes in a browser, texture by texture, without a network."""
    from gpgpu_legacy.files import check_writable, write_text
    from gpgpu_legacy.page.one_plan import plan_page

    check_writable(output)
    built = recipe.built()
    write_text(output, plan_page(built.plan, inputs.arrays(built)))
    print(f"wrote {output}")
