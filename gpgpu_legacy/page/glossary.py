"""Words of the page with their sentences from the glossary of the documentation."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from gpgpu_legacy.sources import documentation_file

if TYPE_CHECKING:
    from markupsafe import Markup


@cache
def glossary() -> dict[str, str]:
    """The sentences of docs/glossary.md by word; several words may share theirs."""
    sentences: dict[str, str] = {}
    for entry in documentation_file("glossary.md").read_text("utf-8").split("\n\n")[1:]:
        words, _, meaning = entry.partition("\n: ")
        sentences |= dict.fromkeys(words.split(", "), " ".join(re.sub("[*`]", "", meaning).split()))
    return sentences


def term(word: str, shown: str = "") -> Markup:
    """A word as HTML, underlined; its sentence appears on hover, focus and tap.

    shown: what stands in the text, by default the word.
    """
    from markupsafe import Markup

    return Markup(
        '<span class="term" tabindex="0">{}<span class="meaning" role="tooltip">'
        "<strong>{}</strong> {}</span></span>"
    ).format(shown or word, word, glossary()[word])
