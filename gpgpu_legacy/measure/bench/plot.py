"""What bench measured, drawn over the size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.present.plot import (
    COLOURS,
    MARKS,
    SIZE_LABEL,
    add_legend,
    new_figure,
    save_figure,
    set_plain_numbers,
    set_powers_of_two,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_bench(data: dict[str, Any], path: Path) -> None:
    """GFLOPS against n of a benchmark, new or recorded, on logarithmic axes.

    A line for each method on each executor at each block: a colour a method, a mark an executor.
    Peers are dashed.
    data: what a run's JSON holds. Raises InputError where there is nothing to draw.
    """
    shown = [each for each in data["results"] if each["gflops"]]
    if not shown:
        raise InputError("no result has GFLOPS, so there is nothing to plot; see the table")
    figure = new_figure()
    axes = figure.subplots()
    _bench(axes, data, shown)
    style_axes(axes)
    add_legend(axes)
    save_figure(figure, path)


def _bench(axes: Axes, data: dict[str, Any], shown: list[dict[str, Any]]) -> None:
    lines: dict[tuple[Any, ...], list[tuple[int, float]]] = {}
    for each in shown:
        key = tuple(each.get(k) for k in ("peer", "method", "of", "executor", "block"))
        lines.setdefault(key, []).append((each["size"], each["gflops"]))
    blocks: dict[str, set[int | None]] = {}
    for _, method, of, _, block in lines:
        blocks.setdefault(of or method, set()).add(block)
    names = list(blocks)  # a method and its peer share a colour
    executors = list(dict.fromkeys(key[3] for key in lines))  # each has its mark
    for key in sorted(lines, key=lambda key: (bool(key[0]), names.index(key[2] or key[1]))):
        peer, method, of, executor, block = key
        name = of or method
        label = f"{method} of {of}" if of else method if peer else f"{method}, {executor}"
        points = sorted(lines[key])
        axes.plot(
            [n for n, _ in points],
            [rate for _, rate in points],
            MARKS[executors.index(executor) % len(MARKS)],
            linestyle="--" if peer else "-",
            color=COLOURS[names.index(name) % len(COLOURS)],
            linewidth=1.3 if peer else 1.8,
            markersize=5.0,
            markerfacecolor="white" if peer else None,
            label=f"{label}, b = {block}" if len(blocks[name]) > 1 else label,
        )
    _bench_scales(axes, sorted({each["size"] for each in shown}))
    axes.set_title(f"Products of n×n matrices on {data['device']}", loc="left", fontsize=10)


def _bench_scales(axes: Axes, sizes: list[int]) -> None:
    set_powers_of_two(axes, sizes)
    axes.set_yscale("log")
    set_plain_numbers(axes, minor=_is_narrow(axes))
    axes.set_xlabel(SIZE_LABEL)
    axes.set_ylabel("GFLOPS, 2n³ over the compute time")


def _is_narrow(axes: Axes) -> bool:
    """Whether the rates span so little that there are too few powers of ten to read them by."""
    low, high = axes.get_ylim()
    return high < 30.0 * low
