"""The command that tells what this machine can run."""

from __future__ import annotations

from gpgpu_legacy.algorithms.matmul.options import Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.cli.shared import (
    Json,
    app,
    console,
    print_json,
)


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
