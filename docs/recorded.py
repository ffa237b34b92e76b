"""Tables of what is recorded in benchmarks/, as Markdown: ratios to the peers of the same run.

A page has them between two marks, so that they can be read as text, too; a test compares them with
the files, and `pytest --update-golden` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.measure.bench.record import Bench, Result, read_bench
from gpgpu_legacy.measure.plan_bench.record import PlanBench, PlanResult
from gpgpu_legacy.serial import read_recorded
from gpgpu_legacy.sources import recorded_file

BEGIN = "<!-- recorded: pytest --update-golden writes what stands here -->\n"
END = "<!-- /recorded -->"

Row = tuple[str, Sequence[str]]


@dataclass(frozen=True)
class Recording:
    """A file of benchmarks/ that the page shows. title: what was measured, and on what."""

    file: str
    title: str

    @property
    def path(self) -> Path:
        """Where it is, once somebody has recorded it."""
        return recorded_file(self.file)


PRODUCTS = (
    Recording("bench-h100.json", "Products on one H100"),
    Recording("whole-h100.json", "Whole calls, from and to the host's memory, on one H100"),
    Recording("bench-cpu16.json", "Products on 16 cores, those of the H100's host"),
    Recording("bench-cpu.json", "Products on two cores, with AVX-512"),
    Recording("bench-cpu-avx2.json", "Products on two cores, with AVX2"),
)
PLANS = (
    Recording("jacobi-h100.json", "200 passes of Jacobi's relaxation on one H100"),
    Recording("jacobi-cpu16.json", "The same on 16 cores"),
    Recording("jacobi-cpu.json", "The same on two cores"),
    Recording("jacobi-llvmpipe.json", "The same where OpenGL runs on two cores (llvmpipe)"),
    Recording("arithmetic-llvmpipe.json", "40 instructions of a user's on two cores"),
    Recording("scattered-llvmpipe.json", "40 instructions with scattered lookups on two cores"),
)


def with_recorded(text: str) -> str:
    """The text of a page with the tables between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{recorded()}\n{END}{after}"


def recorded() -> str:
    """All tables, of the files that are there."""
    parts = [_table(r, *_products(read_bench(r.path))) for r in PRODUCTS if r.path.exists()]
    for recording in PLANS:
        if recording.path.exists():
            bench = read_recorded(recording.path, PlanBench)
            parts.append(_table(recording, *_plans(bench)))
    return "\n".join(parts)


def _table(recording: Recording, heads: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [f"**{recording.title}** (`benchmarks/{recording.file}`)", ""]
    lines += [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows]
    return "\n".join([*lines, ""])


def _products(bench: Bench) -> tuple[list[str], Iterator[Row]]:
    """A column for each n; a row for each peer's GFLOPS, and for each ratio to it."""
    sizes = sorted({result.size for result in bench.results})
    own = list(dict.fromkeys(_series(result) for result in bench.results if not result.peer))
    peers = list(dict.fromkeys(_series(result) for result in bench.results if result.peer))
    at = {(_series(result), result.size): result for result in bench.results}

    def cells(cell: Callable[[int], str]) -> list[str]:
        return [cell(size) for size in sizes]

    def rows() -> Iterator[Row]:
        for peer in peers:
            name = f"{_name(peer)}, GFLOPS"
            yield name, cells(lambda n, s=peer: _rate(at.get((s, n))))  # type: ignore[misc]
            for series in own:
                if peer.of in (None, series.method):
                    yield (
                        f"{_name(series)} : {peer.method}",
                        cells(lambda n, a=series, b=peer: _ratio(at.get((a, n)), at.get((b, n)))),  # type: ignore[misc]
                    )

    return [f"n = {size}" for size in sizes], rows()


@dataclass(frozen=True)
class _Series:
    """What the results of a row have in common."""

    method: str
    of: str | None
    executor: str
    block: int | None


def _series(result: Result) -> _Series:
    return _Series(result.method, result.of, result.executor, result.block)


def _name(series: _Series) -> str:
    if series.of is not None:
        return f"{series.method} of {series.of}"
    block = "" if series.block is None else f", b = {series.block}"
    return f"{series.method}{block} ({series.executor})"


def _rate(result: Result | None) -> str:
    return "–" if result is None or result.gflops is None else _digits(result.gflops)


def _ratio(own: Result | PlanResult | None, peer: Result | PlanResult | None) -> str:
    return "–" if own is None or peer is None else _digits(peer.seconds / own.seconds, 3)


def _digits(number: float, digits: int = 4) -> str:
    """So many digits, in groups of three before the point, and two after it below 10."""
    if number < 10.0:
        return f"{number:.2f}"
    text = f"{float(f'{number:.{digits}g}'):,.{max(0, digits - len(str(int(number))))}f}"
    return text.replace(",", " ")


def _plans(bench: PlanBench) -> tuple[list[str], Iterator[Row]]:
    """A column for each case; a row for each peer's time, and for each ratio to it.

    Where nothing is a peer, each executor is compared with the first.
    """
    labels = [case.case for case in bench.cases]
    names = list(dict.fromkeys(r.executor for r in bench.results if not r.is_reference))
    peers = list(dict.fromkeys(r.executor for r in bench.results if r.is_peer)) or names[:1]
    at = {(result.executor, result.case): result for result in bench.results}

    def rows() -> Iterator[Row]:
        for peer in peers:
            times = [at.get((peer, case)) for case in labels]
            yield f"{peer}, ms", ["–" if t is None else f"{1e3 * t.seconds:.3g}" for t in times]
            for name in names:
                if name not in peers:
                    ratios = [_ratio(at.get((name, c)), at.get((peer, c))) for c in labels]
                    yield f"{name} : {peer}", ratios

    return labels, rows()
