"""What the reference takes from the package: nothing is left out, and every table is one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_pages import ROOT, generated, pages

import gpgpu_legacy
from gpgpu_legacy.algorithms.registry import shipped_algorithms
from gpgpu_legacy.api.command.frame import SECTIONS

GENERATED = generated.GENERATED

# The instructions of the specification's table X.5, in its order.
INSTRUCTIONS = (
    "ABS ADD CMP COS DP3 DP4 DPH DST EX2 FLR FRC KIL LG2 LIT LRP MAD MAX MIN MOV MUL POW RCP RSQ "
    "SCS SGE SIN SLT SUB SWZ TEX TXB TXP XPD"
)


SECURITY = ROOT / "SECURITY.md"


def test_the_limits_of_the_security_page_are_those_of_the_code(update_golden: bool) -> None:
    text = SECURITY.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- limits -->\n")
    _, end, after = rest.partition("<!-- end of limits -->\n")
    wanted = f"{before}{begin}\n{generated.limits()}\n{end}{after}"
    if update_golden:
        SECURITY.write_text(wanted, encoding="utf-8")
    assert text == wanted or update_golden, "see pytest --update-golden"


REFERENCE = [page for page in pages() if generated.PART.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", REFERENCE, ids=lambda page: page.name)
def test_the_generated_parts_of_a_page_are_those_of_the_code(
    page: Path, update_golden: bool
) -> None:
    text = page.read_text(encoding="utf-8")
    wanted = generated.with_generated(text)
    if update_golden:
        page.write_text(wanted, encoding="utf-8")
    assert text == wanted or update_golden, "see pytest --update-golden"


def test_limits_are_found_and_explained() -> None:
    text = generated.limits()
    assert "| `plan.limits.MOST_FILE_BYTES` | 2^24 | Bytes of the file." in text
    assert "| `errors.MOST_DIGITS` | 20 | Digits of a whole number" in text
    for subject, table in re.findall(r"^### (.+)\n((?:\n|\|.*\n)*)", text, flags=re.MULTILINE):
        assert table.count("\n|") > 2, f"{subject} has no limits"


def test_every_command_is_in_the_reference_once() -> None:
    headings = re.findall(r"^#+ gpgpu-legacy (.+)$", GENERATED["commands"](), flags=re.MULTILINE)
    names = {name for section in SECTIONS.values() for name in section}
    assert {heading.split()[0] for heading in headings} == names
    assert len(headings) == len(set(headings))


def test_options_in_a_help_are_code() -> None:
    text = generated.as_markdown_text("A width, with --height; see `a --b` (default: x*y, no -c).")
    assert text == "A width, with `--height`; see `a --b` (default: x\\*y, no -c)."


def test_every_instruction_of_the_specification_has_a_row() -> None:
    found = re.findall(r"^\| `([A-Z0-9]{3})`", GENERATED["opcodes"](), flags=re.MULTILINE)
    assert " ".join(found) == INSTRUCTIONS


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    found = re.findall(r"^### (\w+)\n\n```\{eval-rst\}\n\.\. \w+:: (\S+)$", text, re.MULTILINE)
    assert [name for name, _ in found] == [path.rpartition(".")[2] for _, path in found]
    public = {f"gpgpu_legacy.{name}" for name in gpgpu_legacy.__all__}
    assert public <= {path for _, path in found}


def public_functions() -> Iterator[tuple[str, Any]]:
    """What users call: the package's functions, and the methods of its classes."""
    for name in gpgpu_legacy.__all__:
        thing = getattr(gpgpu_legacy, name)
        if not isinstance(thing, type):
            yield name, thing
            continue
        for own in dir(thing):
            member = inspect.getattr_static(thing, own)
            plain = getattr(member, "__func__", member)
            if own[0] != "_" and inspect.isfunction(plain):
                yield f"{name}.{own}", plain


@pytest.mark.parametrize(
    "function", [pytest.param(one, id=name) for name, one in public_functions()]
)
def test_every_parameter_of_what_users_call_is_described(function: Any) -> None:
    parameters = {*inspect.signature(function).parameters} - {"self", "cls"}
    told = {
        name
        for paragraph in (inspect.getdoc(function) or "").split("\n\n")
        for name in generated.told_in(paragraph, generated.options_in(function))[1]
    }
    assert parameters <= told


def tables(text: str) -> Iterator[list[str]]:
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        yield table.splitlines()


@pytest.mark.parametrize("name", GENERATED)
def test_the_rows_of_a_table_have_one_length(name: str) -> None:
    for table in tables(GENERATED[name]()):
        widths = {len(re.findall(r"(?<!\\)\|", row)) for row in table}
        assert len(widths) == 1, table[0]


def test_every_generated_part_is_asked_for_and_every_mark_is_known() -> None:
    marks = {
        mark
        for page in pages()
        for mark in generated.PART.findall(page.read_text(encoding="utf-8"))
    }
    assert marks == set(GENERATED)


def test_every_algorithm_of_the_package_has_a_section() -> None:
    headings = re.findall(r"^## (.+)$", GENERATED["algorithms"](), flags=re.MULTILINE)
    assert headings == [one.name for one in shipped_algorithms()]
    assert {"bitonic-sort", "hall-carr-hart-multi"} < set(headings)


def test_the_gallery_shows_every_algorithm_of_the_package() -> None:
    text = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    shown = re.findall(r"^### (\S+) \((\d+)\)\n\n!\[.+\]\(\S+\)$", text, flags=re.MULTILINE)
    assert sorted(shown) == sorted((one.name, str(one.year)) for one in shipped_algorithms())
