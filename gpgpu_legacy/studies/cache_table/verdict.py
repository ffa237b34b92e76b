"""The verdict on "greater cache coherence": sentences made of the numbers of a cache table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpgpu_legacy.algorithms.matmul.hall_carr_hart import DEFAULT_BLOCK
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.studies.cache_table.model import (
    BEFORE,
    CacheTable,
    Comparison,
    Judgement,
    Measure,
    Row,
    Setting,
    judge,
)

PAPER, CLAIM = "hall-carr-hart-2003", "section-6-cache-coherence"


def verdict(table: CacheTable) -> list[str]:
    """What the rows say of the paper's claim, one sentence or a few that belong together each."""
    judged = judge(table)
    paper = find_paper(PAPER)
    claim = paper.claim(CLAIM)
    said = f"“{claim.quote}” ({paper.short}, {claim.where})"
    if not judged:
        return [f"{said}: no setting of cache, raster order and layout was run whole. No verdict."]
    sentences = [
        f"{said}: held against {BEFORE} at n = {table.size}, in {len(_settings(judged))} settings "
        "of cache, raster order and layout. “At every b” is better at one at least, worse at none."
    ]
    sentences += [_in_all(measure, judged) for measure in Measure]
    for method in dict.fromkeys(each.method for each in judged):
        found = [each for each in judged if each.method == method]
        sentences += [_where_it_holds(method, measure, found) for measure in Measure]
        sentences += [
            _best_blocks(method, found),
            _where_larger_is_worse(method, found),
            _no_coherence(method, found),
        ]
    sentences.append(_of_writes(judged))
    incomplete = list(dict.fromkeys(each.case.setting for each in table.not_run))
    if incomplete:
        every = list(dict.fromkeys((*incomplete, *_settings(judged))))
        sentences.append(
            f"{len(table.not_run)} cases were not run, so that {len(incomplete)} of {len(every)} "
            f"settings are in none of this: {_named(incomplete, every)}."
        )
    return sentences


def blocks_run(rows: Iterable[Row]) -> list[int]:
    """All blocks that there are, the smallest first."""
    return sorted({row.case.block for row in rows if row.case.block is not None})


def blocks_text(blocks: Iterable[int], run: Sequence[int]) -> str:
    """Blocks as people list them: a stretch of those that were run as its first and its last."""
    stretches: list[list[int]] = []
    for block in sorted(blocks):
        if stretches and run.index(block) == run.index(stretches[-1][-1]) + 1:
            stretches[-1].append(block)
        else:
            stretches.append([block])
    return ", ".join(
        f"{each[0]} … {each[-1]}" if len(each) > 2 else ", ".join(map(str, each))
        for each in stretches
    )


# One method ---------------------------------------------------------------------------------------


def _where_it_holds(method: str, measure: Measure, judged: Sequence[Judgement]) -> str:
    every = [each for each in judged if each.holds_everywhere(measure)]
    never = [each for each in judged if not each.blocks(measure)]
    some = [each for each in judged if each not in every and each not in never]
    parts = [f"at every b in {_share(every, judged)}"]
    if some:
        largest = _by_cache(judged, lambda e: max(e.blocks(measure)) if e in some else None)
        parts.append(f"at some b only in {len(some)}, the largest of them {largest}")
    if never:
        parts.append(f"at no b in {_share(never, judged)}")
    return f"{method} has {measure.value}: {'; '.join(parts)}."


def _best_blocks(method: str, judged: Sequence[Judgement]) -> str:
    least = min(judged, key=lambda each: each.best.bytes_from_memory)
    most = max(judged, key=lambda each: each.best.bytes_from_memory)
    return (
        f"The b at which {method} takes the fewest bytes from memory is "
        f"{_by_cache(judged, lambda each: each.best.block)}; or "
        f"{_by_place(judged, lambda each: each.best.block)}. There it takes "
        f"{least.best.bytes_from_memory:.3g} ({least.setting}) to "
        f"{most.best.bytes_from_memory:.3g} ({most.setting}) of the bytes of {BEFORE}."
    )


def _where_larger_is_worse(method: str, judged: Sequence[Judgement]) -> str:
    """By the first b that takes more than the next smaller one."""
    worse = [each for each in judged if each.worse_blocks]
    if not worse:
        return f"In no setting does a larger b of {method} take more bytes than the next smaller."
    worst = max(judged, key=lambda each: each.largest_over_best)
    first = _by_cache(judged, lambda each: next(iter(each.worse_blocks), None))
    return (
        f"A larger b of {method} takes more bytes from memory than the next smaller one in "
        f"{_share(worse, judged)}, the first b to do so being {first}. At worst "
        f"b = {worst.compared[-1].block} takes {worst.largest_over_best:.3g} times the bytes of "
        f"b = {worst.best.block} ({worst.setting})."
    )


def _by_cache(judged: Iterable[Judgement], block: Callable[[Judgement], int | None]) -> str:
    """Blocks over all raster orders and layouts, for each cache; None is left out."""
    return _ranges(judged, block, lambda each: each.setting.cache)


def _by_place(judged: Iterable[Judgement], block: Callable[[Judgement], int | None]) -> str:
    """Blocks over all caches, for each raster order and layout."""
    return _ranges(judged, block, lambda each: f"{each.setting.raster} and {each.setting.layout}")


def _ranges(
    judged: Iterable[Judgement],
    block: Callable[[Judgement], int | None],
    key: Callable[[Judgement], str],
) -> str:
    groups: dict[str, list[int]] = {}
    for each in judged:
        found = block(each)
        groups.setdefault(key(each), []).extend([] if found is None else [found])
    said = []
    for name, blocks in groups.items():
        if not blocks:
            continue
        low, high = min(blocks), max(blocks)
        said.append(f"{low} with {name}" if low == high else f"{low} to {high} with {name}")
    return ", ".join(said)


def _no_coherence(method: str, judged: Sequence[Judgement]) -> str:
    best = [each.best for each in judged]
    requested = _span([each.bytes_requested for each in best])
    operands = _span([each.operand_bytes_requested for each in best])
    share = _span([each.operand_share for each in best])
    return (
        f"Two effects are no cache coherence. At its best b {method} asks for {requested} of the "
        f"bytes of {BEFORE} before any cache, since it reads and writes fewer partial sums; of "
        f"those of A and B alone for {operands}, since its texels hold {_elements(best)}. Without "
        "both, the share of the bytes looked up in A and B that comes from memory is "
        f"{share} times that of {BEFORE}."
    )


def _elements(best: Sequence[Comparison]) -> str:
    """How many elements a texel of a blocked method holds, by the bytes of an access."""
    row, before = best[0].row, best[0].before
    times = row.bytes_requested * before.accesses // (row.accesses * before.bytes_requested)
    return f"{times} elements" if times > 1 else "one element, as the other's do"


def _span(values: Sequence[float]) -> str:
    low, high = f"{min(values):.3g}", f"{max(values):.3g}"
    return low if low == high else f"{low} to {high}"


# All of it ----------------------------------------------------------------------------------------


def _settings(judged: Iterable[Judgement]) -> list[Setting]:
    return list(dict.fromkeys(each.setting for each in judged))


def _of_writes(judged: Sequence[Judgement]) -> str:
    """Why hit ratios of all accesses are not held against one another."""
    every = [compared for each in judged for compared in each.compared]
    before = _span([100 * each.before.write_hit_ratio for each in every])
    after = _span([100 * each.row.write_hit_ratio for each in every])
    return (
        f"Hit ratios are held apart for reads, because those of writes say nothing: {before} % of "
        f"the writes of {BEFORE} hit and {after} % of the others', and all go to memory."
    )


def _in_all(measure: Measure, judged: Sequence[Judgement]) -> str:
    """The settings in which it holds of every blocked method that was run."""
    methods = list(dict.fromkeys(each.method for each in judged))

    def where(holds: Callable[[Judgement], bool]) -> str:
        fails = {each.setting for each in judged if not holds(each)}
        return _share([each for each in judged if each.setting not in fails], judged)

    def at_printed(each: Judgement) -> bool:
        found = each.at(DEFAULT_BLOCK)
        return found is not None and measure.sign(found) > 0

    every = where(lambda each: each.holds_everywhere(measure))
    best = where(lambda each: measure.sign(each.best) > 0)
    printed = ""
    if all(each.at(DEFAULT_BLOCK) for each in judged):
        printed = f"; at b = {DEFAULT_BLOCK}, which the paper chose, in {where(at_printed)}"
    return (
        f"In all, {' and '.join(methods)} {'have' if len(methods) > 1 else 'has'} {measure.value} "
        f"at every b in {every}; at the b of the fewest bytes in {best}{printed}."
    )


def _share(found: Iterable[Judgement], of: Iterable[Judgement]) -> str:
    """How many settings of all, and which, or all but which if that is shorter."""
    these, all_of = _settings(found), _settings(of)
    others = [each for each in all_of if each not in these]
    share = f"{len(these)} of {len(all_of)} settings"
    if not these or not others:
        return share
    if len(these) <= len(others):
        return f"{share} ({_named(these, all_of)})"
    return f"{share} (all but {_named(others, all_of)})"


def _named(settings: Iterable[Setting], all_of: Sequence[Setting]) -> str:
    """Settings, the caches of one raster order and layout together."""
    places: dict[tuple[str, str], list[str]] = {}
    for each in settings:
        places.setdefault((each.raster, each.layout), []).append(each.cache)
    said = []
    for (raster, layout), caches in places.items():
        there = sum((each.raster, each.layout) == (raster, layout) for each in all_of)
        which = "every cache" if 1 < there == len(caches) else " and ".join(caches)
        said.append(f"{raster}, {layout} with {which}")
    return "; ".join(said)
