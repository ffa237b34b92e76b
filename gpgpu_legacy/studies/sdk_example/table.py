"""The Mali SDK's example as a table: our numbers beside the page's."""

from __future__ import annotations

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.serial import Record, as_record
from gpgpu_legacy.studies.sdk_example.model import ORDER, SEED, Comparison, Example

_TITLES = {
    "A": "A, generated",
    "B": "B, generated",
    "C": "C before, generated",
    "result": "C after, computed",
}


def example_grids(example: Example) -> list[Grid]:
    """Every matrix of the example, row by row, and the scalars that were found."""
    rows = []
    for comparison in example.comparisons:
        for row in range(ORDER):
            part = slice(row * ORDER, (row + 1) * ORDER)
            ours, page = comparison.ours[part], comparison.page[part]
            name = _TITLES[comparison.name] if row == 0 else ""
            rows.append((name, "  ".join(ours), "  ".join(page), ours == page))
    scalars = example.scalars
    notes = (
        f"Found by least squares from the printed matrices: α = {scalars.alpha:.7f}, "
        f"β = {scalars.beta:.7f}, with a largest residual of {scalars.residual:.1e}; "
        f"run with α = {example.run.options.alpha:g}, β = {example.run.options.beta:g}.",
        *(
            f"{_TITLES[c.name]}: {c.equal} of {len(c.page)} agree to the last printed digit."
            for c in example.comparisons
        ),
        f"Ran on {example.run.executor}: {example.run.device}.",
    )
    caption = f"The Mali OpenCL SDK's printed SGEMM example, from glibc's rand() with seed {SEED}."
    return [
        Grid("sdk-example", caption, ("matrix", "ours", "the page", "equal"), tuple(rows), notes)
    ]


class ExampleRecord(Record):
    """The example as it is written. seed: of glibc's rand(). residual: of the fit of the scalars,
    the largest error left in an element.
    """

    seed: int
    alpha: float
    beta: float
    residual: float
    executor: str
    device: str
    matrices: tuple[Comparison, ...]


def example_record(example: Example) -> ExampleRecord:
    """The example as it is written."""
    return as_record(
        ExampleRecord,
        example.scalars,
        example.run,
        seed=SEED,
        matrices=example.comparisons,
    )
