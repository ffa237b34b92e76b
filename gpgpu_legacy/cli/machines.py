"""The command that says what this machine can run."""

from __future__ import annotations

from gpgpu_legacy.cli.shared import Json, app, console, print_json


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say which executors work here, and how to mend those that do not."""
    from gpgpu_legacy.api.doctor import diagnose, executors_grid
    from gpgpu_legacy.present.grid import print_text

    diagnosis = diagnose()
    if as_json:
        print_json(diagnosis)
    else:
        print_text([executors_grid(diagnosis)], console())
