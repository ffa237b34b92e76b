"""The lineage: every method since 2001 with its program, its counts and its recorded times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpgpu_legacy.algorithms.algorithm import Algorithm
from gpgpu_legacy.algorithms.registry import products
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.page.recordings import DEVICES, Recordings, recordings
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.papers.measured_table import MS_PER_S
from gpgpu_legacy.papers.published.papers import papers
from gpgpu_legacy.papers.published.schema import Quantity
from gpgpu_legacy.studies.lineage import of_memory, story

SIZE = 1024
"""The n for which all devices have times."""

FIRST = "hall-carr-hart-multi"
"""The method that is chosen first."""

_SMALL, _SMALL_BLOCK = 8, 2
"""n and b of the programs that are shown: at n = 1024 they would have hundreds of lines."""


def make_section() -> PageSection:
    """A timeline of the methods, with recorded times of each."""
    recorded, methods = recordings(), products()
    at = {(time.device, time.size, time.method): time for time in recorded.times}
    html = rendered(
        "sections/lineage.html.j2",
        story=[paragraph.split("`") for paragraph in story()],
        steps=[_step(method, recorded) for method in methods],
        devices=DEVICES,
        at=at,
        memory=of_memory(),
        four_digits=_four_digits,
    )
    scripts = ("choices.js", "chart.js", "sections/lineage.js")
    return PageSection("lineage", "The lineage 2001–2018", html, _data(methods, recorded), scripts)


def _step(method: Algorithm, recorded: Recordings) -> dict[str, Any]:
    """A method, as unfolded on the page.

    kind: what its text is. text: of its programs and kernels. shown_of: the size of the product
    that the text is for, in words; empty if it is the same for all. files: the texts as they were
    written. counts: by size; only SIZE if programs grow with the size.
    """
    block = method.parameters.get("block")
    given = {"block": _SMALL_BLOCK} if block and not block.choices else {}
    small = method.plan(n=_SMALL, **given)
    programs = {program.name: disassemble(program) for program in small.programs()}
    texts = programs | {kernel.name: kernel.text for kernel in small.kernels()}
    shown_of = f"n = {_SMALL}" + f", b = {_SMALL_BLOCK}" * bool(given)
    sizes = {time.size for time in recorded.times if time.method == method.name}
    return {
        "method": method,
        "kind": "a fragment program" if programs else "a kernel",
        "text": "\n".join(texts.values()),
        "files": [*texts],
        "shown_of": shown_of if programs else "",
        "counts": {
            n: count_plan(method.plan(n=n))
            for n in sorted({SIZE} if _grows(method) else {SIZE, *sizes})
        },
    }


def _grows(method: Algorithm) -> bool:
    """Whether programs contain the whole sum, so that they are slow to make for a large n."""
    small, larger = (method.plan(n=n).programs() for n in (_SMALL, 2 * _SMALL))
    return [len(p.instructions) for p in small] != [len(p.instructions) for p in larger]


def _four_digits(value: float) -> str:
    """Four digits and no power of ten, in groups of three before the point."""
    return f"{float(f'{value:.4g}'):,.10g}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _printed() -> list[dict[str, Any]]:
    """The times that papers print of a method, one for each size of a series."""
    return [
        {
            "method": one.method,
            "n": cell.size,
            "seconds": cell.value / MS_PER_S,
            "paper": paper.short,
        }
        for paper in papers()
        for table in paper.measured
        for one in table.series
        if one.method is not None and one.quantity is Quantity.TIME
        for cell in {cell.size: cell for cell in one.cells}.values()
    ]


def _data(methods: Sequence[Algorithm], recorded: Recordings) -> dict[str, Any]:
    memory = of_memory()
    return {
        "first": FIRST,
        "methods": [{"name": m.name, "year": m.year} for m in methods],
        "memory": f"Counted {memory}",
        "perByte": {m.name: memory.per_byte(m.name) for m in methods},
        "devices": [{"id": device.id, "title": device.title} for device in DEVICES],
        "times": recorded.times,
        "printed": _printed(),
        "peers": [
            {"device": device, "n": size, "gflops": rates}
            for (device, size), rates in recorded.peers.items()
        ],
    }
