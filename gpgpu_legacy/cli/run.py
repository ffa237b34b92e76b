"""The commands `run` and `dump`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gpgpu_legacy.cli.frame import Report, answers
from gpgpu_legacy.cli.options import Option, Several
from gpgpu_legacy.cli.shared import MachineOptions, app, warn_if_busy
from gpgpu_legacy.cli.words import Job, RunJob
from gpgpu_legacy.errors import InputError

if TYPE_CHECKING:
    from gpgpu_legacy.api.pipeline import Pipeline
    from gpgpu_legacy.api.run import Run


@answers("run")
def run_command(
    *,
    job: RunJob,
    machine: MachineOptions,
    repeat: Annotated[int, Option("RUNS", "Run so often, and give the medians of the times.")] = 1,
    output: Annotated[
        Several[str],
        Option(
            "-o",
            "--output",
            "[NAME=]FILE …",
            "Write outputs: .npy, .csv, .mtx or .png (row 0 at the bottom).",
        ),
    ] = (),
    check: Annotated[bool, Option("Compare the outputs with the reference function.")] = True,
    report: Report,
) -> Run:
    """Run an algorithm: its outputs, times and counts, and its error against a reference.

    Random samples stand in for inputs if none is given, and sizes follow the inputs.
    """
    from gpgpu_legacy.api.arrays import output_writers
    from gpgpu_legacy.api.run import run, steps_of
    from gpgpu_legacy.measure.other_work import OtherWork

    pipeline = job.pipeline()
    write = output_writers(pipeline.plan(), _outputs(pipeline, output))
    other_work = OtherWork() if repeat > 1 else None  # a single run is no measurement
    with report.progress(f"{pipeline.name}, runs", steps_of(repeat)) as step:
        result = run(
            pipeline,
            job.arrays(),
            executor=machine.executor,
            machine=machine.machine(),
            repeat=repeat,
            check=check,
            progress=partial(step, ""),
        )
    if other_work is not None:
        warn_if_busy(other_work.share())
    for path in write(result.arrays):
        print(f"wrote {path}", file=sys.stderr)
    return result


def _outputs(pipeline: Pipeline, texts: Several[str]) -> dict[str, Path]:
    """The files of outputs, by name; one output needs none."""
    results = pipeline.plan().results
    files: dict[str, Path] = {}
    for text in texts:
        name, equals, file = text.rpartition("=")
        if not equals and len(results) == 1:
            name = results[0].name
        if not name or not file:
            known = ", ".join(matrix.name for matrix in results) or "none"
            raise InputError(
                f"-o is {text!r}; give an output and a file, as in -o x=x.npy (outputs: {known})"
            )
        if name in files:
            raise InputError(f"-o gives {name} twice; give it once")
        files[name] = Path(file)
    return files


@app.command("dump")
def dump_command(
    job: Job,
    output: Annotated[Path, Option("-o", "--output", "FOLDER", "Write the files here.")],
    exact: Annotated[bool, Option("Generate GLSL that contracts no multiply-add.")] = False,
) -> None:
    """Write a plan as files: plan.json, its programs, and the code that is generated from them.

    Every command that takes WHAT reads the plan.json again.
    """
    from gpgpu_legacy.api.dump import dump

    for path in dump(job.pipeline().plan(), output, exact=exact):
        print(f"wrote {path}")
