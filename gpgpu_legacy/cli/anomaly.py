"""The command about the host of Dobravec & Bulić, which is slow at n = 1024 and 1536."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gpgpu_legacy.cli.shared import Json, Lists, Quiet, app, console, print_json, progress_bar
from gpgpu_legacy.errors import InputError

# What chips/hosts.toml and studies/host_anomaly/model.py have; the latter imports NumPy, so a test
# holds these to them.
MACHINES = "core2-3mb, core2-6mb"
PAGINGS = "coloured off-colour:0.01 random"
ROWS = 2


@app.command(cls=Lists)
def anomaly(
    size: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N …",
            help="For n×n matrices (default: those of the paper's Section 3.2, 512, 768, 1280 and "
            "2048).",
        ),
    ] = None,
    machine: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME …",
            help=f"Of {MACHINES} (default: all); the first is shown in full.",
        ),
    ] = None,
    paging: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PAGING …",
            help="Which frames pages have: coloured, random, off-colour:F, F a fraction of them "
            f"(default: {PAGINGS}); the first is shown in full.",
        ),
    ] = None,
    rows: Annotated[
        int, typer.Option(help="Rows of C that are counted, after one that warms up.")
    ] = ROWS,
    seed: Annotated[int, typer.Option(help="Of frames that are drawn.")] = 0,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="PNG", help="Draw times and misses.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Why the host of Dobravec & Bulić is slow at n = 1024 and 1536, which they could not say.

    The host's loop goes through the caches, the DTLB and the pages of its processor, simulated.
    The misses of an inner iteration are priced at n = 1024 and its neighbours, and the times of all
    other sizes predicted from them; the published ones stand beside.
    """
    from gpgpu_legacy.cache.host import parse_paging
    from gpgpu_legacy.chips.hosts import find_host, hosts
    from gpgpu_legacy.files import check_folder
    from gpgpu_legacy.present.grid import print_text
    from gpgpu_legacy.studies.host_anomaly import model as simulation
    from gpgpu_legacy.studies.host_anomaly.plot import draw_anomaly
    from gpgpu_legacy.studies.host_anomaly.table import (
        anomaly_grids,
        anomaly_json,
        published_sizes,
        published_times,
    )

    if output is not None:
        check_folder(output)
        if output.suffix.lower() != ".png":
            raise InputError(f"{output} should end in .png")
    chosen = [find_host(name) for name in machine] if machine else list(hosts())
    pagings = [parse_paging(text, seed) for text in paging or simulation.PAGINGS]
    cases = [(host, each) for host in chosen for each in pagings]
    published = published_times()
    sizes = size or (*published_sizes(), *simulation.PREDICTED_SIZES)
    total = simulation.count_sizes(sizes, published)
    with progress_bar("simulating", total, quiet=quiet) as step:
        found = simulation.anomaly(cases, published, sizes, rows, step)
    if as_json:
        print_json(anomaly_json(found))
    else:
        print_text(anomaly_grids(found), console())
    if output is not None:
        draw_anomaly(found, output)
        print(f"wrote {output}", file=sys.stderr)
