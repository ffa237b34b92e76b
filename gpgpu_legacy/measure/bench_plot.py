"""What bench measured, drawn over the size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import write_whole
from gpgpu_legacy.present.plot import LEVEL_LABELS, SIZE_LABEL, Plot, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_BENCH_COLOURS = (
    "#202124", "#1a56a8", "#b3261e", "#2e7d32", "#8a5a00", "#6a3d9a", "#00838f", "#ad1457",
    "#5d6d1e", "#7a7a7a", "#c2570c", "#3949ab",
)  # fmt: skip
_BENCH_MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def draw_bench(data: dict[str, Any], path: Path) -> None:
    """GFLOPS against n of a benchmark, new or recorded, on logarithmic axes.

    A line for each method on each executor at each block: a colour a method, a mark an executor.
    Peers are dashed.
    data: what a run's JSON holds. Raises InputError where there is nothing to draw.
    """
    shown = [each for each in data["results"] if each["gflops"]]
    if not shown:
        raise InputError("no result has GFLOPS, so there is nothing to plot; see the table")
    write_whole(path, lambda to: save(Plot(path.stem, lambda axes: _bench(axes, data, shown)), to))


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
            _BENCH_MARKS[executors.index(executor) % len(_BENCH_MARKS)],
            linestyle="--" if peer else "-",
            color=_BENCH_COLOURS[names.index(name) % len(_BENCH_COLOURS)],
            linewidth=1.3 if peer else 1.8,
            markersize=5.0,
            markerfacecolor="white" if peer else None,
            label=f"{label}, b = {block}" if len(blocks[name]) > 1 else label,
        )
    _bench_scales(axes, sorted({each["size"] for each in shown}))
    axes.set_title(f"Products of n×n matrices on {data['device']}", loc="left", fontsize=10)


def _bench_scales(axes: Axes, sizes: list[int]) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(SIZE_LABEL)
    axes.set_ylabel("GFLOPS, 2n³ over the compute time")
    axes.set_xticks(sizes)
    if len(sizes) > LEVEL_LABELS:
        axes.tick_params(axis="x", labelrotation=60)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axes.xaxis.set_minor_locator(NullLocator())
    number = FuncFormatter(lambda value, _: f"{value:g}")
    axes.yaxis.set_major_formatter(number)
    axes.yaxis.set_minor_formatter(number if _is_narrow(axes) else FuncFormatter(lambda *_: ""))


def _is_narrow(axes: Axes) -> bool:
    """Whether the rates span so little that there are too few powers of ten to read them by."""
    low, high = axes.get_ylim()
    return high < 30.0 * low
