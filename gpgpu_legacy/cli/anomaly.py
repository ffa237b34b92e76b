"""The command `anomaly`: why the host of Dobravec & Bulić is slow at n = 1024 and 1536."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import (
    SIZE_HELP,
    Json,
    Quiet,
    app,
    draw,
    plot_option,
    progress_bar,
    show,
)

# Those of chips/hosts.toml and studies/host_anomaly/; the latter imports NumPy, so a test compares
# them.
MACHINES = "core2-3mb, core2-6mb"
PAGINGS = "coloured miscoloured:0.01 random xnu"
POLICIES = "lru; for the first machine plru and random-plru, too, with xnu"
SIZES = "768, 1280, 2048"
ROWS = 2


@app.command()
def anomaly(
    size: Annotated[
        Several[int],
        Option("N …", f"{SIZE_HELP} (default: all with published times, {SIZES})."),
    ] = (),
    machine: Annotated[
        Several[str],
        Option(
            "NAME …", f"One or several of {MACHINES} (default: all); the first is shown in full."
        ),
    ] = (),
    paging: Annotated[
        Several[str],
        Option(
            "PAGING …",
            "How pages are mapped to frames: coloured, random, miscoloured:F with F the "
            "fraction of miscoloured pages, or as OS X does: xnu, xnu@N with N the first page of "
            "512, xnu:F with F pages for others per page (default: "
            f"{PAGINGS}); the first is shown in full.",
        ),
    ] = (),
    policy: Annotated[
        Several[str],
        Option(
            "POLICY …",
            "How level 2 replaces lines: lru, plru, random-plru, fifo, random (default: "
            f"{POLICIES}).",
        ),
    ] = (),
    rows: Annotated[
        int, Option("ROWS", "Rows of C to count, after one that warms up the caches.")
    ] = ROWS,
    seed: Annotated[int, Option("SEED", "Seed of the random frames.")] = 0,
    plot: Annotated[Path | None, plot_option("Plot times and misses by size.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Explain why the host of Dobravec & Bulić is slow at n = 1024 and 1536.

    The host's loop is simulated on the caches, the DTLB and the pages of its processor. First come
    the sizes at which the simulation has outliers beside those that were published: for that
    nothing is fitted to a time, but the size of level 2 is inferred. Then miss penalties are fitted
    to the published times at n = 1024 and its neighbours; they predict the times at all other
    sizes, which are shown beside the published ones.
    """
    from gpgpu_legacy.chips.hosts import find_host, hosts
    from gpgpu_legacy.studies.host_anomaly import model, record, table
    from gpgpu_legacy.studies.host_anomaly.cases import make_cases
    from gpgpu_legacy.studies.host_anomaly.plot import draw_anomaly
    from gpgpu_legacy.studies.host_anomaly.published import published_times

    chosen = [find_host(name) for name in machine] if machine else list(hosts())
    cases = make_cases(chosen, paging, policy, seed)
    published = published_times()
    sizes = size or sorted({*published, *model.UNPUBLISHED_SIZES})
    total = model.count_sizes(sizes, published)
    with progress_bar("simulating", total, quiet=quiet) as step:
        anomalies = model.anomaly(cases, published, sizes, rows, step)
    show(record.anomaly_record(anomalies), table.anomaly_grids(anomalies), as_json)
    draw(anomalies, draw_anomaly, plot)
