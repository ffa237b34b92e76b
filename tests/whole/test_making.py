"""Sections made by two processes are those that one makes."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from gpgpu_legacy.page import making
from gpgpu_legacy.page.making import sections_of
from gpgpu_legacy.page.section import PageSection
from gpgpu_legacy.page.sections import section_of
from gpgpu_legacy.serial import json_text

NAMES = ("your-gpu", "cache", "audit")


def as_text(sections: Iterable[PageSection]) -> list[tuple[str, str, str]]:
    return [(each.id, each.html, json_text(each.data)) for each in sections]


@pytest.fixture(scope="module")
def made() -> dict[str, PageSection]:
    """Each as this process makes it."""
    return {name: section_of(name) for name in NAMES}


@pytest.mark.parametrize("python", [sys.executable, "/bin/false"])
def test_sections_of_two_processes_are_those_of_one(
    made: dict[str, PageSection], monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    """The other process does its share, or fails."""
    ours = sys.executable
    monkeypatch.setattr(sys, "executable", python)
    here: list[str] = []

    def noted(name: str) -> PageSection:
        here.append(name)
        return made[name]

    monkeypatch.setattr(making, "section_of", noted)
    assert as_text(sections_of(NAMES)) == as_text(made.values())
    assert ("cache" in here) is (python != ours)
