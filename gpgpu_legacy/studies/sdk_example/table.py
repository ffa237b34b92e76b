"""The Mali SDK's example as a table: our numbers beside the page's."""

from __future__ import annotations

from typing import Any

from gpgpu_legacy.present.grid import Grid
from gpgpu_legacy.studies.sdk_example.model import ORDER, SEED, Example

_TITLES = {
    "A": "A, drawn",
    "B": "B, drawn",
    "C": "C before, drawn",
    "result": "C after, computed",
}


def example_grids(example: Example) -> list[Grid]:
    """A grid of every matrix of the example, row by row, and what was found."""
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
        f"β = {scalars.beta:.7f}, with no element further off than {scalars.residual:.1e}; "
        f"run with α = {example.run.options.alpha:g}, β = {example.run.options.beta:g}.",
        *(
            f"{_TITLES[c.name]}: {c.equal} of {len(c.page)} agree to the last printed digit."
            for c in example.comparisons
        ),
        f"Ran on {example.run.executor}: {example.run.device}.",
    )
    caption = f"The Mali OpenCL SDK's printed SGEMM example, drawn with glibc's rand() from {SEED}."
    return [
        Grid("sdk-example", caption, ("matrix", "ours", "the page's", "equal"), tuple(rows), notes)
    ]


def example_as_json(example: Example) -> dict[str, Any]:
    """The example for other programs to read."""
    return {
        "seed": SEED,
        "alpha": example.scalars.alpha,
        "beta": example.scalars.beta,
        "residual": example.scalars.residual,
        "executor": example.run.executor,
        "device": example.run.device,
        "matrices": [
            {"name": c.name, "ours": list(c.ours), "page": list(c.page), "equal": c.equal}
            for c in example.comparisons
        ],
    }
