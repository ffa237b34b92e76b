"""Tables of what is recorded in benchmarks/, as Markdown: ratios to the peers of the same run.

A page has them between two marks, so that they can be read as text, too; a test compares them with
the files, and `pytest --update-golden` writes them anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpgpu_legacy.files import recorded_file
from gpgpu_legacy.measure.bench import Bench, Timed
from gpgpu_legacy.serial import read_recorded

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


RECORDINGS = (
    Recording("bench-h200.json", "Products on one H200"),
    Recording(
        "products-h200.json", "The same on one H200, at sizes that fill the last wave or do not"
    ),
    Recording("whole-h200.json", "Whole calls, from and to the host's memory, on one H200"),
    Recording(
        "filter-h200.json", "Whole calls of an image filter, 1920 × 1080, on the H200 and its host"
    ),
    Recording("bench-cpu16.json", "Products on 16 cores, those of the H200's host"),
    Recording("bench-cpu.json", "Products on two cores, with AVX-512"),
    Recording("bench-cpu-avx2.json", "Products on two cores, with AVX2"),
    Recording("jacobi-h200.json", "200 passes of Jacobi's relaxation on one H200"),
    Recording("jacobi-cpu16.json", "The same on 16 cores"),
    Recording("jacobi-cpu.json", "The same on two cores"),
    Recording("solver-h200.json", "Conjugate gradients on an H200's host, and on the H200"),
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
    there = (recording for recording in RECORDINGS if recording.path.exists())
    return "\n".join(_table(r, *_rows(read_recorded(r.path, Bench))) for r in there)


def _table(recording: Recording, heads: Sequence[str], rows: Iterable[Row]) -> str:
    lines = [f"**{recording.title}** (`benchmarks/{recording.file}`)", ""]
    lines += [f"| | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(heads)}"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows]
    return "\n".join([*lines, ""])


def _rows(bench: Bench) -> tuple[list[str], Iterator[Row]]:
    """A column for each case; a row for each peer's GFLOPS or time, and for each ratio to it.

    Where nothing is a peer, each executor is compared with the first.
    """
    assert not bench.wrong, f"{bench.wrong[0].name} at {bench.wrong[0].case} is wrong"
    several = len(bench.plans) > 1
    cases = list(dict.fromkeys(result.case for result in bench.results))
    lines: dict[str, dict[str, Timed]] = {}
    for result in bench.results:
        if not result.is_reference:
            lines.setdefault(_name(result, several), {})[result.case] = result
    peers = [n for n, line in lines.items() if all(r.is_peer for r in line.values())]
    peers = peers or list(lines)[:1]

    def rows() -> Iterator[Row]:
        for peer in peers:
            with_rates = all(result.gflops for result in lines[peer].values())
            unit = "GFLOPS" if with_rates else "ms"
            yield f"{peer}, {unit}", [_rate(lines[peer].get(case)) for case in cases]
            for name, line in lines.items():
                if name not in peers:
                    ratios = [_ratio(line.get(case), lines[peer].get(case)) for case in cases]
                    yield f"{name} : {peer}", ratios

    return cases, rows()


def _name(result: Timed, several: bool) -> str:
    if result.plan is None or not several:
        return result.executor
    block = result.parameters.get("block")
    return f"{result.plan}{'' if block is None else f', b = {block}'} ({result.executor})"


def _rate(result: Timed | None) -> str:
    if result is None:
        return "–"
    return _digits(result.gflops) if result.gflops else f"{1e3 * result.seconds:.3g}"


def _ratio(own: Timed | None, peer: Timed | None) -> str:
    return "–" if own is None or peer is None else _digits(peer.seconds / own.seconds, 3)


def _digits(number: float, digits: int = 4) -> str:
    """So many digits, in groups of three before the point, and two after it below 10."""
    if number < 10.0:
        return f"{number:.2f}"
    text = f"{float(f'{number:.{digits}g}'):,.{max(0, digits - len(str(int(number))))}f}"
    return text.replace(",", " ")
