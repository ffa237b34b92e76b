"""Tables 1 and 2: counted from plans, and equal to what was printed. Formulas are retyped here."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable, Iterator
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gpgpu_legacy import sources
from gpgpu_legacy.algorithms.matmul import (
    hall_carr_hart_multi,
    hall_carr_hart_single,
    larson_mcallister,
)
from gpgpu_legacy.algorithms.matmul.options import Accumulate, Options, Shape
from gpgpu_legacy.algorithms.registry import find_method
from gpgpu_legacy.count.traffic import count_plan
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb import shaders
from gpgpu_legacy.measure.budget import Budget
from gpgpu_legacy.papers.formulas.model import Cell, Row, Table, regenerate
from gpgpu_legacy.papers.formulas.record import record_of
from gpgpu_legacy.papers.formulas.table import grids
from gpgpu_legacy.papers.formulas.timing import time_methods
from gpgpu_legacy.plan.formats import UNORM8, Format, Numeric
from gpgpu_legacy.present.grid import as_text
from gpgpu_legacy.published.papers import papers
from gpgpu_legacy.serial import plain


def plain_record(*arguments: Any) -> Any:
    """The record as its JSON has it."""
    return plain(record_of(*arguments))


TABLE_1, TABLE_2 = "hall-carr-hart-2003/table-1", "hall-carr-hart-2003/table-2"
LM, SINGLE, MULTI = "larson-mcallister", "hall-carr-hart-single", "hall-carr-hart-multi"
N, B = 1024, 32

Formula = Callable[[Fraction, Fraction], Fraction]

# As Section 5.1 and 5.2 print them, column by column: passes, fragments a pass, what a fragment
# costs, total.
PRINTED: dict[tuple[str, str], tuple[Formula, Formula, Formula, Formula]] = {
    (TABLE_1, LM): (
        lambda n, b: n, lambda n, b: n**2, lambda n, b: Fraction(16), lambda n, b: 16 * n**3,
    ),
    (TABLE_1, SINGLE): (
        lambda n, b: n / b, lambda n, b: n**2, lambda n, b: (2 * b + 2) * 4,
        lambda n, b: 8 * n**3 * (1 + 1 / b),
    ),
    (TABLE_1, MULTI): (
        lambda n, b: (n / 2) / b, lambda n, b: (n / 2) ** 2, lambda n, b: (2 * b + 2) * 16,
        lambda n, b: 4 * n**3 * (1 + 1 / b),
    ),
    (TABLE_2, LM): (
        lambda n, b: n, lambda n, b: n**2, lambda n, b: Fraction(2), lambda n, b: 2 * n**3,
    ),
    (TABLE_2, SINGLE): (
        lambda n, b: n / b, lambda n, b: n**2, lambda n, b: 2 * b + 4,
        lambda n, b: n**3 * (2 + 4 / b),
    ),
    (TABLE_2, MULTI): (
        lambda n, b: (n / 2) / b, lambda n, b: (n / 2) ** 2, lambda n, b: 3 * b + 4,
        lambda n, b: n**3 / 8 * (3 + 4 / b),
    ),
}  # fmt: skip
COLUMNS = ("passes", "fragments_per_pass", "per_fragment", "total")


@pytest.fixture(scope="module")
def tables() -> list[Table]:
    return regenerate(N, B)


def row_of(tables: list[Table], table: str, method: str) -> Row:
    [found] = [r for t in tables if t.published.id == table for r in t.rows if r.method == method]
    return found


def at(expression: Any, n: int, b: int) -> Fraction:
    """A sympy expression or a formula's text in n and b, at numbers."""
    from sympy import Rational, sympify

    found = sympify(expression)
    value = Rational(found.subs({s: {"n": n, "b": b}[s.name] for s in found.free_symbols}))
    return Fraction(int(value.p), int(value.q))


ROWS = pytest.mark.parametrize(("table", "method"), PRINTED, ids=lambda v: v.rpartition("/")[2])
PLACES = [(24, 3), (64, 8), (1024, 32), (1000, 1), (42, 7), (4096, 128)]


# The six rows ------------------------------------------------------------------------------------


def test_there_are_two_tables_of_three_rows(tables: list[Table]) -> None:
    found = [(t.published.id, r.method) for t in tables for r in t.rows]
    assert found == list(PRINTED)


@ROWS
def test_a_row_agrees_with_what_was_printed(tables: list[Table], table: str, method: str) -> None:
    row = row_of(tables, table, method)
    assert row.agrees
    for name in COLUMNS:
        cell = getattr(row, name)
        assert isinstance(cell, Cell)
        assert cell.agrees


@ROWS
def test_the_recovered_formulas_are_the_printed_ones_in_numbers(
    tables: list[Table], table: str, method: str
) -> None:
    row = row_of(tables, table, method)
    for name, printed in zip(COLUMNS, PRINTED[table, method], strict=True):
        cell = getattr(row, name)
        for n, b in PLACES:
            expected = printed(Fraction(n), Fraction(b))
            assert at(cell.counted, n, b) == expected
            assert at(cell.published, n, b) == expected


@ROWS
def test_the_values_are_the_formulas_at_the_size_and_block(
    tables: list[Table], table: str, method: str
) -> None:
    row = row_of(tables, table, method)
    for name, printed in zip(COLUMNS, PRINTED[table, method], strict=True):
        assert getattr(row, name).value == printed(Fraction(N), Fraction(B))


@pytest.mark.parametrize(("n", "b"), [(8, 2), (12, 1), (32, 4), (96, 16)])
@ROWS
def test_plans_of_other_sizes_are_counted_as_the_formulas_say(
    table: str, method: str, n: int, b: int
) -> None:
    way = None if method == LM else Accumulate.COPY
    options = Options(block=None if method == LM else b, accumulate=way)
    counts = count_plan(find_method(method).plan(Shape(n, n, n), options))
    passes, area, each, total = (f(Fraction(n), Fraction(b)) for f in PRINTED[table, method])
    quantity = counts.bytes_requested if table == TABLE_1 else counts.arithmetic
    assert counts.passes == passes
    assert counts.fragments == passes * area
    assert quantity == total == passes * area * each


# Numbers of the paper's text ---------------------------------------------------------------------


def test_multichannel_bytes_at_1024(tables: list[Table]) -> None:
    """16 passes of 512² fragments, each 65 lookups and a write of 16 bytes: 4.125 GiB."""
    value = row_of(tables, TABLE_1, MULTI).total.value
    assert value == 4_429_185_024 == 16 * 512**2 * 66 * 16
    assert value == 4.125 * 2**30


@pytest.mark.parametrize("b", [1, 32, 128])
def test_the_ratios_of_bytes_between_the_methods(tables: list[Table], b: int) -> None:
    """16n³ against 8n³(1 + 1/b), and half of that again."""
    totals = [row_of(tables, TABLE_1, method).total.counted for method in (LM, SINGLE, MULTI)]
    lm, single, multi = (at(total, 1024, b) for total in totals)
    assert single / multi == 2
    assert lm / single == 2 / (1 + Fraction(1, b))


def test_identically_to_larson_mcallister_when_b_is_one() -> None:
    """The paper says so of bytes, and so it is; of instructions it is 6 against 2."""
    n, one = Fraction(512), Fraction(1)
    assert PRINTED[TABLE_1, SINGLE][3](n, one) == PRINTED[TABLE_1, LM][3](n, one)
    assert PRINTED[TABLE_2, SINGLE][2](n, one) == 6
    for method, accumulate in ((SINGLE, Accumulate.COPY), (LM, None)):
        options = Options(block=None if accumulate is None else 1, accumulate=accumulate)
        counts = count_plan(find_method(method).plan(Shape(64, 64, 64), options))
        assert counts.bytes_requested == 16 * 64**3
        assert counts.arithmetic == (2 if method == LM else 6) * 64**3


@pytest.mark.parametrize(("method", "reported"), [(SINGLE, 134), (MULTI, 166)])
def test_program_lengths_with_end(tables: list[Table], method: str, reported: int) -> None:
    """6+4b and 6+5b: what a driver that counts END reports at b = 32."""
    row = row_of(tables, TABLE_2, method)
    assert row.program_length + 1 == reported
    assert row.lookups_per_fragment == 2 * B + 1


def test_the_multichannel_program_holds_65_lookups_and_100_others() -> None:
    counts = count_plan(find_method(MULTI).plan(Shape(2, 2, 2), Options(block=32)))
    assert (counts.lookup, counts.arithmetic, counts.fragments) == (65, 100, 1)


@ROWS
def test_geometry_is_48_bytes_a_pass(tables: list[Table], table: str, method: str) -> None:
    row = row_of(tables, table, method)
    assert row.counts.geometry_bytes == 48 * row.counts.passes


@pytest.mark.parametrize(("method", "texel"), [(SINGLE, 4), (MULTI, 16)])
def test_copies_stand_in_a_column_of_their_own(
    tables: list[Table], method: str, texel: int
) -> None:
    """A read and a write of each texel, pass by pass, and none of it in the paper's total."""
    counts = row_of(tables, TABLE_1, method).counts
    assert counts.copy_bytes == 2 * texel * counts.fragments
    ping_pong = Options(block=B, accumulate=Accumulate.PING_PONG)
    other = count_plan(find_method(method).plan(Shape(N, N, N), ping_pong))
    assert other.copy_bytes == 0
    assert other.bytes_requested == counts.bytes_requested


# Really counted ----------------------------------------------------------------------------------


@pytest.fixture
def shader_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the shaders that the package reads for the time of a test."""
    folder = tmp_path / "shaders"
    shutil.copytree(sources.shader_folder(), folder)
    monkeypatch.setattr(sources, "shader_folder", lambda: folder)
    shaders.load_program.cache_clear()
    yield folder
    shaders.load_program.cache_clear()


FILES = {
    LM: "larson_mcallister_2001/modulate.fp",
    SINGLE: "hall_carr_hart_2003/single.fp.j2",
    MULTI: "hall_carr_hart_2003/multi.fp.j2",
}
A_MOVE, A_LOOKUP = "MOV {0}, {0};\n", "TEX {0}, fragment.texcoord[0], texture[0], RECT;\n"
REGISTER = {LM: "A", SINGLE: "R1", MULTI: "R1"}


def edit(folder: Path, method: str, change: Callable[[str], str]) -> None:
    path = folder / FILES[method]
    before = path.read_text(encoding="utf-8")
    after = change(before)
    assert after != before
    path.write_text(after, encoding="utf-8")


def agreement() -> dict[tuple[str, str], bool]:
    return {(t.published.id, r.method): r.agrees for t in regenerate(64, 4) for r in t.rows}


def all_but(*disagreeing: tuple[str, str]) -> dict[tuple[str, str], bool]:
    return {key: key not in disagreeing for key in PRINTED}


def test_an_unchanged_copy_of_the_shaders_agrees(shader_copy: Path) -> None:
    assert agreement() == all_but()


@pytest.mark.parametrize("method", FILES)
def test_one_arithmetic_instruction_more_is_noticed(shader_copy: Path, method: str) -> None:
    added = A_MOVE.format(REGISTER[method])
    edit(shader_copy, method, lambda text: text.replace("END\n", f"{added}END\n"))
    assert agreement() == all_but((TABLE_2, method))


@pytest.mark.parametrize("method", FILES)
def test_one_lookup_more_is_noticed(shader_copy: Path, method: str) -> None:
    added = A_LOOKUP.format(REGISTER[method])
    edit(shader_copy, method, lambda text: text.replace("END\n", f"{added}END\n"))
    assert agreement() == all_but((TABLE_1, method))


@pytest.mark.parametrize("method", [SINGLE, MULTI])
def test_one_instruction_less_in_the_loop_is_noticed(shader_copy: Path, method: str) -> None:
    edit(shader_copy, method, lambda text: text.replace("ADD R0, R0, step;", ""))
    assert agreement() == all_but((TABLE_2, method))


@pytest.mark.parametrize("method", [SINGLE, MULTI])
def test_one_instruction_less_before_the_loop_is_noticed(shader_copy: Path, method: str) -> None:
    def without_clear(text: str) -> str:
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("MOV R3"))

    edit(shader_copy, method, without_clear)
    assert agreement() == all_but((TABLE_2, method))


def test_an_addition_that_is_done_in_the_last_step_too_is_noticed(shader_copy: Path) -> None:
    """Leaving out the last, dead one would be a formula of another kind: (2b + 3) a fragment."""
    guarded = "{%- if not loop.last %}\nADD R0, R0, step;\n{%- endif %}"
    edit(shader_copy, SINGLE, lambda text: text.replace("ADD R0, R0, step;", guarded))
    assert agreement() == all_but((TABLE_2, SINGLE))


HALF_FLOATS = Format("rgba16f", 4, 16, Numeric.FLOAT)


@pytest.mark.parametrize(
    ("method", "module", "name", "value"),
    [
        (LM, larson_mcallister, "FORMATS", {"r32f": UNORM8}),
        (SINGLE, hall_carr_hart_single, "R32F", UNORM8),
        (MULTI, hall_carr_hart_multi, "RGBA32F", HALF_FLOATS),
    ],
    ids=[LM, SINGLE, MULTI],
)
def test_another_texture_format_is_noticed(
    monkeypatch: pytest.MonkeyPatch, method: str, module: Any, name: str, value: object
) -> None:
    monkeypatch.setattr(module, name, value)
    assert agreement() == all_but((TABLE_1, method))


def test_what_disagrees_still_shows_what_was_counted(shader_copy: Path) -> None:
    edit(shader_copy, SINGLE, lambda text: text.replace("ADD R0, R0, step;", ""))
    row = row_of(regenerate(64, 4), TABLE_2, SINGLE)
    for n, b in PLACES:
        assert at(row.per_fragment.counted, n, b) == b + 4
        assert at(row.per_fragment.published, n, b) == 2 * b + 4


# As JSON -----------------------------------------------------------------------------------------


def test_the_json_contract(tables: list[Table]) -> None:
    found = plain_record(tables)
    assert (found["size"], found["block"]) == (N, B)
    assert [t["id"] for t in found["tables"]] == [TABLE_1, TABLE_2]
    for table in found["tables"]:
        assert [row["method"] for row in table["rows"]] == [LM, SINGLE, MULTI]
        for row in table["rows"]:
            assert row.keys() >= {
                "method", "passes", "fragments_per_pass", "per_fragment", "total", "published",
                "counted", "agrees", "measured",
            }  # fmt: skip
            printed = PRINTED[table["id"], row["method"]]
            values = [f(Fraction(N), Fraction(B)) for f in printed]
            names = ("passes", "fragments_per_pass", "per_fragment", "total")
            assert [row[name] for name in names] == values
            assert all(type(row[name]) is int for name in names)
            assert row["agrees"] is True
            assert row["measured"] == []
            for text in (row["published"], row["counted"]):
                assert isinstance(text, str)
                assert at(text, N, B) == values[3]


def test_measurements_in_json() -> None:
    found = plain_record(regenerate(8, 2), (), time_methods(8, 2))
    for table in found["tables"]:
        for row in table["rows"]:
            assert "numpy" in [m["executor"] for m in row["measured"]]
            for measured in row["measured"]:
                assert measured.keys() >= {"executor", "device", "seconds", "gflops"}
                assert measured["seconds"] >= 0
                assert isinstance(measured["device"], str)


def test_a_spent_budget_leaves_one_time_and_says_so_of_the_others() -> None:
    times = time_methods(64, 4, Budget(0.0))
    assert len(times.measured) == 1
    assert {left.method for left in times.not_run} == {LM, SINGLE, MULTI}
    found = plain_record(regenerate(64, 4), (), times)
    assert [left["reason"] for left in found["not_run"]] == [x.reason for x in times.not_run]
    text = as_text(grids(regenerate(64, 4), (), times))
    assert f"{MULTI} on jit is not run: the budget was spent." in text


def test_fragments_a_pass_are_null_where_tiles_differ() -> None:
    """8200 texels do not fit a texture of 8192: the tiles are of 8192 and of 8."""
    found = {
        (t["id"], r["method"]): r for t in plain_record(regenerate(8200, 20))["tables"]
        for r in t["rows"]
    }  # fmt: skip
    assert found[TABLE_1, SINGLE]["fragments_per_pass"] is None
    assert found[TABLE_1, LM]["fragments_per_pass"] is None
    assert found[TABLE_1, MULTI]["fragments_per_pass"] == 4100**2


@pytest.mark.parametrize(("size", "block"), [(0, 32), (-1, 32), (64, 0), (64, -2)])
def test_sizes_and_blocks_out_of_range_are_input_errors(size: int, block: int) -> None:
    with pytest.raises(InputError) as raised:
        regenerate(size, block)
    assert "\n" not in str(raised.value)


def test_a_block_larger_than_the_matrix_is_counted_with_its_padding() -> None:
    [table_1, _] = regenerate(4, 32)
    single = next(row for row in table_1.rows if row.method == SINGLE)
    assert single.passes.value == 1
    assert single.per_fragment.value == (2 * 32 + 2) * 4
    assert single.agrees, "the formulas are about sizes that the block divides"


# The papers as data ------------------------------------------------------------------------------


def data_of_papers() -> list[tuple[str, dict[str, Any]]]:
    folder = files("gpgpu_legacy.published")
    found = [e for e in folder.iterdir() if e.name.endswith(".toml")]
    return [(e.name, tomllib.loads(e.read_text("utf-8"))) for e in found]


def unsourced(value: Any, *, sourced: bool, path: str) -> Iterator[str]:
    """Where a number, or a formula with one in it, stands with no `where` beside or above it."""
    if isinstance(value, dict):
        here = sourced or bool(str(value.get("where", "")).strip())
        for key, each in value.items():
            yield from unsourced(each, sourced=here, path=f"{path}.{key}")
    elif isinstance(value, list):
        for i, each in enumerate(value):
            yield from unsourced(each, sourced=sourced, path=f"{path}[{i}]")
    elif not sourced and (not isinstance(value, str) or any(c.isdigit() for c in value)):
        yield path


CITATION = {"id", "short", "authors", "title", "source"}


@pytest.mark.parametrize(("name", "data"), data_of_papers(), ids=lambda v: str(v)[:24])
def test_every_number_of_a_paper_says_where_it_stands(name: str, data: dict[str, Any]) -> None:
    numbers = {key: value for key, value in data.items() if key not in CITATION}
    assert numbers
    assert list(unsourced(numbers, sourced=False, path=name)) == []
    assert all(str(data[key]).strip() for key in CITATION)


def test_the_check_of_sources_finds_what_has_none() -> None:
    data = {
        "table": [{"where": "Section 1", "row": [{"total": "2*n"}]}, {"row": [{"total": "n**2"}]}]
    }
    assert list(unsourced(data, sourced=False, path="x")) == ["x.table[1].row[0].total"]
    assert list(unsourced({"claim": [{"value": 3}]}, sourced=False, path="x")) == [
        "x.claim[0].value"
    ]


def test_papers_and_tables_have_names_of_their_own() -> None:
    ids = [table.id for paper in papers() for table in paper.tables]
    assert len(set(ids)) == len(ids)
    for paper in papers():
        for table in paper.tables:
            assert table.where
            assert table.id.startswith(f"{paper.id}/")
            for row in table.rows:
                assert find_method(row.method).name == row.method
