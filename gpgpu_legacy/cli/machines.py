"""The command that says what this machine can run."""

from __future__ import annotations

from gpgpu_legacy.cli.shared import Json, app, console, print_json


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say which executors work here, and how to mend those that do not."""
    from gpgpu_legacy.api.doctor import abilities, diagnose

    diagnosis = diagnose()
    if as_json:
        print_json(diagnosis)
        return
    from rich.table import Table

    heads = ("executor", "works", "what it is", "what it can do", "device, or why not")
    table = Table(*heads, box=None, pad_edge=False)
    for executor in diagnosis.executors:
        works = "yes" if executor.works else "no"
        can = abilities(executor)
        table.add_row(executor.name, works, executor.summary, can, executor.detail)
    terminal = console()
    terminal.print(table)
    terminal.print(
        f"\n--executor auto draws fragments on {diagnosis.auto} and runs kernels on "
        f"{diagnosis.auto_compute}."
    )
