"""The verdict on "greater cache coherence": sentences derived from the rows of a cache table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.cache.access import Access
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.serial import with_fields
from gpgpu_legacy.studies.cache_table.defaults import BEFORE
from gpgpu_legacy.studies.cache_table.judgement import Comparison, Judgement, Measure, judge
from gpgpu_legacy.studies.cache_table.rows import Row, Setting

if TYPE_CHECKING:
    from gpgpu_legacy.studies.cache_table.result import CacheTable

PAPER, CLAIM = "hall-carr-hart-2003", "section-6-cache-coherence"


def verdict(table: CacheTable) -> list[str]:
    """What the rows say about the paper's claim: a list of short paragraphs."""
    judged = judge(table)
    paper = find_paper(PAPER)
    claim = paper.claim(CLAIM)
    claimed = f"“{claim.quote}” ({paper.short}, {claim.where})"
    if not judged:
        return [f"{claimed}: no setting of cache, raster order and layout is complete. No verdict."]
    sentences = [
        f"{claimed}: compared with {BEFORE} at n = {table.size}, in {len(_settings(judged))} "
        "settings of cache, raster order, layout and fragments in flight "
        f"({_series(_in_flight(judged))}), of which both methods have the same. “At every b” means "
        "better at one b or more and worse at none."
    ]
    sentences += [in_all(measure, judged) for measure in Measure]
    for method in dict.fromkeys(judgement.method for judgement in judged):
        own = [judgement for judgement in judged if judgement.method == method]
        sentences += _at_the_printed_block(method, own)
        sentences += [_where_it_holds(method, measure, own) for measure in Measure]
        sentences += [
            _best_blocks(method, own),
            _where_larger_is_worse(method, own),
            _reuse_alone(method, own),
        ]
    sentences.append(_of_writes(judged))
    incomplete = list(dict.fromkeys(case.setting for case in table.not_run))
    if incomplete:
        every = list(dict.fromkeys((*incomplete, *_settings(judged))))
        sentences.append(
            f"{len(table.not_run)} cases were not simulated. The verdict therefore leaves out "
            f"{len(incomplete)} of {len(every)} settings: {_named(incomplete, every)}."
        )
    return sentences


def blocks_run(rows: Iterable[Row]) -> list[int]:
    """All blocks of the rows, the smallest first."""
    return sorted({row.block for row in rows if row.block is not None})


def blocks_text(blocks: Iterable[int], simulated: Sequence[int]) -> str:
    """Blocks as people list them: three or more neighbours as the first and the last."""
    stretches: list[list[int]] = []
    for block in sorted(blocks):
        if stretches and simulated.index(block) == simulated.index(stretches[-1][-1]) + 1:
            stretches[-1].append(block)
        else:
            stretches.append([block])
    return ", ".join(
        f"{run[0]} … {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in stretches
    )


# One method ---------------------------------------------------------------------------------------


def _at_the_printed_block(method: str, judged: Sequence[Judgement]) -> list[str]:
    """With how many fragments in flight the method reuses more at b = 32, and in which places.

    A place is a setting but for the number in flight. One sentence for all places that were
    simulated with the same numbers; none for those with one number.
    """
    holds: dict[Setting, dict[int, bool]] = {}
    for judgement in judged:
        compared, setting = judgement.at(DEFAULT_BLOCK), judgement.setting
        if compared is not None:
            at = holds.setdefault(with_fields(setting, in_flight=1), {})
            at[setting.in_flight] = Measure.MORE_REUSE.sign(compared) > 0
    by_numbers: dict[tuple[int, ...], list[Setting]] = {}
    for place, at in holds.items():
        by_numbers.setdefault(tuple(sorted(at)), []).append(place)
    return [
        f"In {len(places)} combinations of cache, raster order and layout, at b = {DEFAULT_BLOCK}, "
        f"the paper's choice, {method} has {Measure.MORE_REUSE.value} "
        f"{_by_numbers_that_hold(places, numbers, holds)}."
        for numbers, places in by_numbers.items()
        if len(numbers) > 1
    ]


def _by_numbers_that_hold(
    places: Sequence[Setting],
    numbers: Sequence[int],
    holds: Mapping[Setting, Mapping[int, bool]],
) -> str:
    groups: dict[tuple[int, ...], list[Setting]] = {}
    for place in places:
        groups.setdefault(tuple(n for n in numbers if holds[place][n]), []).append(place)
    return "; ".join(
        f"with {_series(some) if some else f'none of {_series(numbers)}'} in flight in "
        f"{len(groups[some])} ({_named(groups[some], places)})"
        for some in sorted(groups, key=lambda some: (-len(some), some))
    )


def _where_it_holds(method: str, measure: Measure, judged: Sequence[Judgement]) -> str:
    every = [judgement for judgement in judged if judgement.holds_everywhere(measure)]
    never = [judgement for judgement in judged if not judgement.blocks(measure)]
    some = [judgement for judgement in judged if judgement not in every and judgement not in never]
    parts = [f"at every b in {_share(every, judged)}"]
    if some:
        largest = _ranges(judged, lambda e: max(e.blocks(measure)) if e in some else None)
        count = _series(_counts(some, judged))
        parts.append(f"at some b only in {count}, the largest such b being {largest}")
    if never:
        parts.append(f"at no b in {_share(never, judged)}")
    return f"{method} has {measure.value} {'; '.join(parts)}."


def _best_blocks(method: str, judged: Sequence[Judgement]) -> str:
    least = min(judged, key=lambda judgement: judgement.best.bytes_from_memory)
    most = max(judged, key=lambda judgement: judgement.best.bytes_from_memory)
    by_cache, by_place, by_number = (
        _ranges(judged, lambda judgement: judgement.best.block, key)
        for key in (
            lambda setting: setting.cache,
            lambda setting: f"{setting.raster} and {setting.layout}",
            lambda setting: str(setting.in_flight),
        )
    )
    return (
        f"{method} reads the fewest bytes from memory at b = {by_cache}; by raster order and "
        f"layout, at b = {by_place}; by fragments in flight, at b = {by_number}. At its best b it "
        "reads "
        f"{least.best.bytes_from_memory:.3g} ({least.setting}) to "
        f"{most.best.bytes_from_memory:.3g} ({most.setting}) times the bytes of {BEFORE}."
    )


def _where_larger_is_worse(method: str, judged: Sequence[Judgement]) -> str:
    """By the first b that takes more than the next smaller one."""
    worse = [judgement for judgement in judged if judgement.worse_blocks]
    if not worse:
        return (
            f"In no setting does {method} read more bytes from memory at a larger b than at the "
            "next smaller one."
        )
    worst = max(judged, key=lambda judgement: judgement.largest_over_best)
    first = _ranges(judged, lambda judgement: next(iter(judgement.worse_blocks), None))
    return (
        f"With {method} a larger b reads more bytes from memory than the next smaller one in "
        f"{_share(worse, judged)}; the first such b is {first}. In the worst case b = "
        f"{worst.compared[-1].block} reads {worst.largest_over_best:.3g} times the bytes of "
        f"b = {worst.best.block} ({worst.setting})."
    )


def _ranges(
    judged: Iterable[Judgement],
    block: Callable[[Judgement], int | None],
    key: Callable[[Setting], str] = lambda setting: setting.cache,
) -> str:
    """The range of blocks, without None, in the settings that have the same key."""
    groups: dict[str, list[int]] = {}
    for judgement in judged:
        number = block(judgement)
        groups.setdefault(key(judgement.setting), []).extend([] if number is None else [number])
    parts = []
    for name, blocks in groups.items():
        if not blocks:
            continue
        low, high = min(blocks), max(blocks)
        parts.append(f"{low} with {name}" if low == high else f"{low} to {high} with {name}")
    return ", ".join(parts)


def _reuse_alone(method: str, judged: Sequence[Judgement]) -> str:
    best = [judgement.best for judgement in judged]
    requested = _span([judgement.bytes_requested for judgement in best])
    operands = _span([judgement.operand_bytes_requested for judgement in best])
    shares = [
        (number, _span([c.operand_share for c in best if c.row.in_flight == number]))
        for number in _in_flight(judged)
    ]
    share = _series(f"{span} with {number}" for number, span in shares)
    return (
        f"Two of its savings need no cache. At its best b {method} requests {requested} times the "
        f"bytes of {BEFORE}, since it reads and writes fewer partial sums; of A and B alone it "
        f"requests {operands} times the bytes, since its texels hold {_elements(best)}. Apart from "
        "both, the share of the bytes requested of A and B that comes from memory is "
        f"{share} in flight, as a multiple of that of {BEFORE}."
    )


def _elements(best: Sequence[Comparison]) -> str:
    """How many elements a texel of a blocked method holds, by the bytes of an access."""
    row, before = best[0].row, best[0].before
    times = row.bytes_requested * before.accesses // (row.accesses * before.bytes_requested)
    return f"{times} elements" if times > 1 else "one element, as before"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


# All of it ----------------------------------------------------------------------------------------


def _settings(judged: Iterable[Judgement]) -> list[Setting]:
    return list(dict.fromkeys(judgement.setting for judgement in judged))


def _in_flight(judged: Iterable[Judgement]) -> list[int]:
    """The numbers of fragments in flight, the smallest first."""
    return sorted({judgement.setting.in_flight for judgement in judged})


def _series(items: Iterable[object]) -> str:
    """Items as people list them: 1, 2 and 3."""
    *first, last = map(str, items)
    return f"{', '.join(first)} and {last}" if first else last


def _of_writes(judged: Sequence[Judgement]) -> str:
    """Why hit ratios of all accesses are not compared."""
    every = [compared for judgement in judged for compared in judgement.compared]
    before = _span([100 * judgement.before.write_hit_ratio for judgement in every])
    after = _span([100 * judgement.row.write_hit_ratio for judgement in every])
    return (
        f"Only hit ratios of reads are compared, because write hits save nothing: {before} % of "
        f"the writes of {BEFORE} hit, {after} % of those of the blocked methods, and all writes go "
        "to memory."
    )


def in_all(measure: Measure, judged: Sequence[Judgement]) -> str:
    """The settings in which every blocked method is better by this measure."""
    methods = list(dict.fromkeys(judgement.method for judgement in judged))

    def where(holds: Callable[[Judgement], bool]) -> str:
        fails = {judgement.setting for judgement in judged if not holds(judgement)}
        return _share([judgement for judgement in judged if judgement.setting not in fails], judged)

    def at_printed(judgement: Judgement) -> bool:
        compared = judgement.at(DEFAULT_BLOCK)
        return compared is not None and measure.sign(compared) > 0

    every = where(lambda judgement: judgement.holds_everywhere(measure))
    best = where(lambda judgement: measure.sign(judgement.best) > 0)
    printed = ""
    if all(judgement.at(DEFAULT_BLOCK) for judgement in judged):
        printed = f"; at b = {DEFAULT_BLOCK}, the paper's choice, in {where(at_printed)}"
    return (
        f"Overall, {' and '.join(methods)} {'have' if len(methods) > 1 else 'has'} {measure.value} "
        f"at every b in {every}; at the b with the fewest bytes in {best}{printed}."
    )


def _counts(some: Iterable[Judgement], of: Iterable[Judgement]) -> list[int]:
    """The number of settings with each number of fragments in flight."""
    these = _settings(some)
    return [sum(setting.in_flight == n for setting in these) for n in _in_flight(of)]


def _share(some: Sequence[Judgement], of: Sequence[Judgement]) -> str:
    """How many settings with each number of fragments in flight.

    Where there is one number, also which: their names, or those of the others where that is
    shorter.
    """
    numbers, all_of = _in_flight(of), _settings(of)
    if len(numbers) > 1:
        counts, totals = _counts(some, of), _counts(of, of)
        if len(set(totals)) == 1:
            return f"{_series(counts)} of {totals[0]} settings with {_series(numbers)} in flight"
        each = zip(counts, totals, numbers, strict=True)
        return f"{_series(f'{k} of {m} with {n}' for k, m, n in each)} in flight"
    these = _settings(some)
    others = [setting for setting in all_of if setting not in these]
    share = f"{len(these)} of {len(all_of)} settings"
    if not these or not others:
        return share
    if len(these) <= len(others):
        return f"{share} ({_named(these, all_of)})"
    return f"{share} (all but {_named(others, all_of)})"


def _named(settings: Iterable[Setting], all_of: Sequence[Setting]) -> str:
    """Settings by name, grouped by raster order, layout and fragments in flight."""
    places: dict[Access, list[str]] = {}
    for setting in settings:
        places.setdefault(setting.access, []).append(setting.cache)
    there = Counter(setting.access for setting in all_of)
    parts = []
    for access, caches in places.items():
        which = "every cache" if 1 < there[access] == len(caches) else " and ".join(caches)
        parts.append(f"{access} with {which}")
    return "; ".join(parts)
