"""The command that says what this machine can run."""

from __future__ import annotations

from gpgpu_legacy.cli.shared import Json, app, show


@app.command()
def doctor(as_json: Json = False) -> None:
    """Say which executors work here, and how to mend those that do not."""
    from gpgpu_legacy.api.doctor import diagnose, executors_grid

    diagnosis = diagnose()
    show(diagnosis, [executors_grid(diagnosis)], as_json)
