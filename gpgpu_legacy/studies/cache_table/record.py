"""The cache table as JSON: printed with everything that follows from it, and recorded without."""

from __future__ import annotations

from pathlib import Path

from gpgpu_legacy.algorithms.matmul.options import Accumulate
from gpgpu_legacy.files import write_text
from gpgpu_legacy.published.papers import find_paper
from gpgpu_legacy.serial import Record, as_record, json_lines_text, read_recorded, with_fields
from gpgpu_legacy.studies.cache_table.judgement import Judgement, Measure, judge
from gpgpu_legacy.studies.cache_table.model import BEFORE, CacheTable, NotRun, RecordedVerdict, Row
from gpgpu_legacy.studies.cache_table.verdict import CLAIM, PAPER, verdict

_DIGITS = 6  # behind the point, of numbers that follow from others


class PrintedRow(Row, kw_only=True):
    """A row with ratios that follow from it. hit_ratio: of all accesses."""

    hit_ratio: float
    bytes_per_multiply_add: float


class JudgementRecord(Record):
    """A blocked method in a setting, against the method before it.

    bytes_from_memory to operand_share: at its best block, over the other method's. …_at: blocks.
    largest_over_best: bytes from memory at the largest block over those at the best one.
    """

    method: str
    cache: str
    raster: str
    layout: str
    in_flight: int
    best_block: int
    bytes_from_memory: float
    bytes_requested: float
    operand_bytes_requested: float
    operand_share: float
    read_hit_ratio: float
    read_hit_ratio_before: float
    fewer_bytes_at: tuple[int, ...]
    higher_read_hit_ratio_at: tuple[int, ...]
    more_reuse_at: tuple[int, ...]
    more_bytes_than_next_smaller_at: tuple[int, ...]
    largest_over_best: float


class PrintedVerdict(RecordedVerdict):
    """The verdict with the judgements that it sums up."""

    settings: tuple[JudgementRecord, ...]


class PrintedTable(Record):
    """A CacheTable with everything that follows from its rows."""

    size: int
    accumulate: Accumulate
    budget_s: float | None
    spent_s: float
    rows: tuple[PrintedRow, ...]
    not_run: tuple[NotRun, ...]
    verdict: PrintedVerdict


def printed_table(table: CacheTable) -> PrintedTable:
    """What `gpgpu-legacy cache-table --json` prints."""
    return as_record(
        PrintedTable,
        table,
        rows=tuple(
            as_record(
                PrintedRow,
                row,
                hit_ratio=round(row.access_hit_ratio, _DIGITS),
                bytes_per_multiply_add=round(row.bytes_from_memory / table.multiply_adds, _DIGITS),
            )
            for row in table.rows
        ),
        verdict=as_record(
            PrintedVerdict, _verdict(table), settings=tuple(map(_judgement_record, judge(table)))
        ),
    )


def write_cache_table(path: Path, table: CacheTable) -> None:
    """Record a table with its verdict; InputError where it cannot be written.

    Its provenance is that of its simulation, also where it was itself read from a file.
    """
    write_text(path, json_lines_text(with_fields(table, verdict=_verdict(table))))


def read_cache_table(path: Path) -> CacheTable:
    """A recorded table; InputError, in one line, for a file that holds none."""
    return read_recorded(path, CacheTable)


def _verdict(table: CacheTable) -> RecordedVerdict:
    return RecordedVerdict(
        claim=find_paper(PAPER).claim(CLAIM).quote,
        against=BEFORE,
        sentences=tuple(verdict(table)),
    )


def _judgement_record(judgement: Judgement) -> JudgementRecord:
    best, setting = judgement.best, judgement.setting
    return as_record(
        JudgementRecord,
        judgement,
        setting,
        best_block=best.block,
        bytes_from_memory=round(best.bytes_from_memory, _DIGITS),
        bytes_requested=round(best.bytes_requested, _DIGITS),
        operand_bytes_requested=round(best.operand_bytes_requested, _DIGITS),
        operand_share=round(best.operand_share, _DIGITS),
        read_hit_ratio=round(best.row.read_hit_ratio, _DIGITS),
        read_hit_ratio_before=round(best.before.read_hit_ratio, _DIGITS),
        fewer_bytes_at=judgement.blocks(Measure.FEWER_BYTES),
        higher_read_hit_ratio_at=judgement.blocks(Measure.HIGHER_HIT_RATIO),
        more_reuse_at=judgement.blocks(Measure.MORE_REUSE),
        more_bytes_than_next_smaller_at=judgement.worse_blocks,
        largest_over_best=round(judgement.largest_over_best, _DIGITS),
    )
