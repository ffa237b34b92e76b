"""The audit: every claim of the papers recomputed, and the findings by the numbers they come to."""

from __future__ import annotations

import csv
import math
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

import pytest
from commands import Command

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.papers.audit import model as audit
from gpgpu_legacy.papers.audit.model import Finding, derivations, judge, shown, turned
from gpgpu_legacy.papers.audit.result import (
    RECORD,
    Verdicts,
    changes,
    recorded,
    verdicts_of,
)
from gpgpu_legacy.papers.audit.verdict import AuditVerdict, count_findings
from gpgpu_legacy.papers.derive.inputs import Rounded
from gpgpu_legacy.papers.published.papers import Claim, Paper, find_paper, papers, read_paper
from gpgpu_legacy.papers.published.schema import (
    Rule,
)
from gpgpu_legacy.predict.mispredictions import LoggedTime, compare, read_log
from gpgpu_legacy.serial import read_recorded, write_json

OPENGL, DOBRAVEC = "opengl-compute", "dobravec-bulic-2017"
HALL, MALI = "hall-carr-hart-2003", "mali-sdk-sgemm"


@cache
def all_findings() -> dict[tuple[str, str], Finding]:
    return {(f.paper.id, f.claim.id): f for f in audit.recalled_audit(papers())}


def finding(paper: str, claim: str) -> Finding:
    return all_findings()[paper, claim]


def number(paper: str, claim: str) -> float:
    computed = finding(paper, claim).computed
    return computed.value if isinstance(computed, Rounded) else float(computed)  # type: ignore[arg-type]


# The data ----------------------------------------------------------------------------------------


# Typed from the papers, each with where it stands: thirty numbers picked by hand.
def test_every_cell_of_every_table_is_a_claim() -> None:
    for paper in papers():
        cells = sum(len(s.cells) for table in paper.measured for s in table.series)
        formulas = sum(4 * len(table.rows) for table in paper.tables)
        elements = sum(len(row) for matrix in paper.matrices for row in matrix.digits)
        of_tables = [c for c in paper.claims if "/" in c.id or "[" in c.id]
        assert len(of_tables) == cells + formulas + elements, paper.id


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.id)
def test_every_claim_says_where_it_stands_and_why(paper: Paper) -> None:
    ids = [claim.id for claim in paper.claims]
    assert len(set(ids)) == len(ids)
    for claim in paper.claims:
        result = finding(paper.id, claim.id)
        assert claim.where
        assert claim.derive is None or audit.how_derived(claim), claim.id
        if result.verdict is AuditVerdict.DIFFERS:
            assert claim.reason, f"{claim.id} differs and does not say why"
        if result.verdict is AuditVerdict.UNCHECKED:
            assert claim.reason, f"{claim.id} is not checked and does not say why"
        if result.verdict is AuditVerdict.RESTS_ON:
            assert claim.rests_on in result.reason
        for sentences in filter(None, (result.reason, claim.reason, *result.otherwise)):
            assert re.fullmatch(r"[A-Z0-9“].*\.", sentences), claim.id
        if result.computed is not None and not isinstance(result.computed, str):
            assert "nan" not in shown(result.computed)
    for left in paper.left_out:
        assert left.numbers
        assert left.where
        assert left.reason


def test_every_derivation_is_used_and_described() -> None:
    claims = [claim for paper in papers() for claim in paper.claims]
    computed = [*claims, *(alternative for claim in claims for alternative in claim.alternatives)]
    used = {of.derive for of in computed} | {of.over.get("derive") for of in computed if of.over}
    assert used - {None} == set(derivations())
    assert all(function.__doc__ for function in derivations().values())


def test_a_claim_with_an_unknown_key_is_refused() -> None:
    text = data(MALI) + '\n[[claims]]\nid = "x"\nwhere = "y"\npublishd = 3\n'
    with pytest.raises(InputError, match=r"^mali\.toml, claims\[\d+\]: .*`publishd`"):
        read_paper(text, "mali.toml")


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        (" 1316.41 ", ' "1316.41" ', r"measured\[0\]\.series\[0\]\.cells\[0\]\.value: "),
        ("published = 128", "published = true", r"claims\[\d+\]\.published: expected a number"),
        ('key = "size"', 'key = "weight"', r"measured\[0\]\.key: .*'weight'"),
        ('id = "mali-sdk-sgemm"', 'id = ', "cannot be read: "),
        ('"-0.23658 ', '"-0,23658 ', ": .*-0,23658"),
    ],
)  # fmt: skip
def test_a_fault_in_the_data_is_one_line_with_its_place(
    before: str, after: str, fault: str
) -> None:
    assert data(MALI).count(before) == 1
    with pytest.raises(InputError, match=rf"^mali\.toml,? ?{fault}") as refused:
        read_paper(data(MALI).replace(before, after), "mali.toml")
    assert "\n" not in str(refused.value)


# Verdicts ----------------------------------------------------------------------------------------


def verdict_of(computed: object, monkeypatch: pytest.MonkeyPatch, **fields: object) -> Finding:
    """The verdict on a claim of 100, to the last digit, that comes to `computed`."""
    given = {"published": 100, "rule": Rule.EQUAL, "tolerance": 0.5, "reason": "", **fields}
    claim = Claim(id="x", where="y", quote="", unit="ms", derive="made", **given)  # type: ignore[arg-type]
    monkeypatch.setattr(audit, "derivations", lambda: {"made": lambda paper: computed})
    return judge(find_paper(MALI), claim)


@pytest.mark.parametrize(
    ("computed", "fields", "verdict"),
    [
        (100.5, {}, "agrees"),
        (100.51, {}, "differs"),
        (99, {"tolerance": 1}, "agrees"),
        (100, {"rests_on": "luck"}, "rests-on"),
        (150, {"rests_on": "luck"}, "differs"),
        (Rounded(103, 100.2, 106), {}, "agrees"),  # what rounding leaves reaches into 100.5
        ((100, 200), {"published": (100, 200)}, "agrees"),
        ((100, 201), {"published": (100, 200)}, "differs"),
        (120, {"rule": Rule.AT_LEAST}, "agrees"),
        (120, {"rule": Rule.AT_MOST}, "differs"),
        ((3.0, 7.0), {"rule": Rule.WITHIN, "published": (2, 8)}, "agrees"),
        ((1.0, 7.0), {"rule": Rule.WITHIN, "published": (2, 8)}, "differs"),
        (False, {"rule": Rule.HOLDS}, "differs"),
        (2, {"published": "twofold", "reading": 2}, "agrees"),
        ("2*(b + 3)", {"rule": Rule.FORMULA, "published": "6 + 2*b"}, "agrees"),
        (None, {"rule": Rule.FORMULA, "published": "6 + 2*b"}, "differs"),
        (99, {"rule": Rule.NOT_BELOW}, "possible"),  # ours is the least value possible
        (100.5, {"rule": Rule.NOT_BELOW}, "possible"),  # which may have been rounded to 100
        (101, {"rule": Rule.NOT_BELOW}, "differs"),
        (7, {"rule": Rule.NONE}, "unchecked"),
        (100, {"source": "sgemm.cpp"}, "external"),  # whatever ours is
        (math.nan, {}, "differs"),
    ],
)
def test_verdicts(
    computed: object, fields: dict[str, object], verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert verdict_of(computed, monkeypatch, **fields).verdict.value == verdict


# What turns an agreement -------------------------------------------------------------------------


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.id)
def test_every_agreement_names_what_turns_it(paper: Paper) -> None:
    found = [finding(paper.id, claim.id) for claim in paper.claims]
    agreed = [result.claim for result in found if result.verdict is AuditVerdict.AGREES]
    assert agreed
    own = "totals_are_products"  # reads the printed table alone
    assert {claim.derive for claim in agreed if claim.turned_by is None} <= {own}


@pytest.mark.parametrize(
    ("paper", "claim"),
    [(p.id, claim.id) for p in papers() for claim in p.claims if claim.turned_by is not None],
)
def test_the_change_of_the_input_that_a_claim_names_turns_it(paper: str, claim: str) -> None:
    before = finding(paper, claim)
    after = turned(before)
    assert after is not None
    assert before.verdict in {AuditVerdict.AGREES, AuditVerdict.RESTS_ON, AuditVerdict.POSSIBLE}
    assert after.verdict is AuditVerdict.DIFFERS
    assert shown(after.computed) != shown(before.computed), "ours does not depend on that input"
    assert after.claim.published == before.claim.published, "the published number is no input"


# Findings ----------------------------------------------------------------------------------------


def test_a_cause_counts_once_with_the_first_of_its_verdicts() -> None:
    differs, rests, agrees = AuditVerdict.DIFFERS, AuditVerdict.RESTS_ON, AuditVerdict.AGREES
    claims = [("units", agrees), ("units", rests), ("clocks", agrees), ("units", agrees)]
    assert count_findings(claims) == {rests: 1, agrees: 1}
    assert count_findings([*claims, ("clocks", differs)]) == {differs: 1, rests: 1}


# The record --------------------------------------------------------------------------------------


def data(paper: str) -> str:
    name = paper.replace("-", "_") + ".toml"
    return files("gpgpu_legacy.papers.published").joinpath(name).read_text("utf-8")


def test_verdicts_are_those_recorded(update_golden: bool) -> None:
    findings = list(all_findings().values())
    if update_golden:
        write_json(RECORD, verdicts_of(findings))
        return
    assert changes(verdicts_of(findings), recorded(), papers()) == []


def with_a_change(paper: str, before: str, after: str) -> tuple[Paper, ...]:
    """The papers, with one place of one paper's data changed."""
    text = data(paper)
    assert text.count(before) == 1
    changed = read_paper(text.replace(before, after), paper)
    return tuple(changed if known.id == paper else known for known in papers())


def test_data_that_cannot_be_computed_with_is_named(
    monkeypatch: pytest.MonkeyPatch, run: Command
) -> None:
    changed = with_a_change(DOBRAVEC, "{ size = 720, value = 398 }", "{ size = 728, value = 398 }")
    monkeypatch.setattr("gpgpu_legacy.papers.published.papers.papers", lambda: changed)
    code, out, errors = run("audit", DOBRAVEC, "--format", "csv")
    assert (code, errors) == (1, "")
    rows = list(csv.reader(out.splitlines()))
    [failed] = [row for row in rows if row[0] == "failed" and row[1] != "failed"]
    assert f"{DOBRAVEC} " in failed[1] and "has no cell table-1/MulDG/720" in failed[1]
    kept = {row[1] for row in rows if row[0] == DOBRAVEC}
    assert "section-1-sps" in kept and "section-2.1-sum" in kept  # of the text, as ever


def test_verdicts_are_recorded_in_the_file_that_is_named(tmp_path: Path, run: Command) -> None:
    before = RECORD.read_bytes()
    path = tmp_path / "verdicts.json"
    assert run("audit", "--record", str(path), "--verdict", "agrees")[0] == 0
    assert read_recorded(path, Verdicts).claims.keys() == recorded().claims.keys()
    assert RECORD.read_bytes() == before


# The command line --------------------------------------------------------------------------------


def test_the_short_list_has_what_differs_and_all_has_every_claim(run: Command) -> None:
    findings = [f for (paper, _), f in all_findings().items() if paper == MALI]
    differing = [f.claim.id for f in findings if f.verdict is AuditVerdict.DIFFERS]
    possible = [f.claim.id for f in findings if f.verdict is AuditVerdict.POSSIBLE]
    left_out = len(find_paper(MALI).left_out)
    for options, claims, others in (
        ((), differing, 0),
        (("--all",), [f.claim.id for f in findings], left_out),
        (("--verdict", "possible"), possible, 0),
    ):
        code, out, _ = run("audit", MALI, "--format", "csv", *options)
        rows = list(csv.reader(out.splitlines()))
        assert code == 0
        assert [row[1] for row in rows if row[0] == MALI and row[1] != MALI] == claims
        assert sum(row[0] == "left-out" for row in rows) == others
        assert sum(row[0] == "verdicts" for row in rows) == 1
        assert sum(row[0] == "findings" for row in rows) == 1


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nonsense",), "there is no paper nonsense; choose from"),
        ((MALI, "--record", "new.json"), "--record is for all papers"),
        (("--record", "new.json", "--strict"), "give one of them"),
    ],
)
def test_nonsense_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], complaint: str, run: Command
) -> None:
    code, out, errors = run("audit", *arguments)
    assert (code, out) == (2, "")
    assert errors.count("\n") == 1
    assert complaint in errors


# The log of mispredictions ------------------------------------------------------------------------


def logged(found: Finding) -> list[LoggedTime]:
    """The cases of the log that are of the run whose bound a claim breaks."""
    given = found.claim.arguments
    return [
        case
        for case in read_log().case
        if (case.chip, case.method, case.size, case.as_printed)
        == (given["chip"], given["method"], given["size"], given.get("as_printed", False))
    ]


def test_no_violated_bound_is_without_a_name_in_the_log_of_mispredictions() -> None:
    """And where both have the run, they have one bound."""
    bounds = [f for f in all_findings().values() if f.claim.derive == "least_time"]
    violated = [f for f in bounds if f.verdict is AuditVerdict.DIFFERS]
    assert len(bounds) > 20 and len(violated) == 4
    for found in violated:
        [case] = logged(found)
        assert case.name in read_log().reasons
        assert compare(case).predicted_seconds == pytest.approx(found.computed / 1e3)  # type: ignore[operator]
