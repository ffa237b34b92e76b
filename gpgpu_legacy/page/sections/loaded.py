"""Would it have loaded? The papers' methods on the chips of their time, by the block."""

from __future__ import annotations

from gpgpu_legacy.algorithms.registry import DEFAULT_PRODUCT
from gpgpu_legacy.chips.verdict import Answer
from gpgpu_legacy.page.loading import LETTERS, CaseData, Loading, OnChip, loading
from gpgpu_legacy.page.section import PageSection, rendered
from gpgpu_legacy.serial import fields_of

_WORDS = {LETTERS[answer]: answer.value for answer in Answer}
_NO = LETTERS[Answer.DOES_NOT_LOAD]


def make_section() -> PageSection:
    """A table of the largest blocks, and the data of all limits for its script."""
    data = loading()
    html = rendered(
        "sections/loaded.html.j2",
        size=data.size,
        cases=[case for case in data.cases if _is_program(data, case)],
        rows=[
            (chip, [largest(case, case.chips[n]) for case in data.cases if _is_program(data, case)])
            for n, chip in enumerate(data.chips)
        ],
    )
    return PageSection(
        "loaded",
        "Would it have loaded?",
        html,
        data={**fields_of(data), "answers": _WORDS, "first": DEFAULT_PRODUCT},
        scripts=("choices.js", "sections/loaded.js"),
    )


def _is_program(data: Loading, case: CaseData) -> bool:
    """Whether it draws fragments; kernels need no table: all blocks have the same answer."""
    return any(data.limits[limit] == "language" for limit in case.found)


def largest(case: CaseData, on_chip: OnChip) -> str:
    """The largest block that loads, in words."""
    loads = [
        (block, answer)
        for block, answer in zip(case.blocks, on_chip.answers, strict=True)
        if answer != _NO
    ]
    if not loads:
        return "no"
    block, answer = loads[-1]
    known = "" if _WORDS[answer] == Answer.LOADS.value else ", as far as is known"
    if block is None:
        return f"loads{known}"
    return f"b = {block}{' or more' if block == case.blocks[-1] else ''}{known}"
