"""Grammars, with their parsing tables kept in the user's cache folder.

Building the tables takes several times as long as reading them back. Lark keeps with them a digest
of the grammar, the options, and the versions of Lark and Python, and builds them anew if it
differs.
"""

from __future__ import annotations

from typing import Any

from lark import Lark

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.userdirs import cache_folder


def open_grammar(package: str, **options: Any) -> Lark:
    """The LALR parser of the file grammar.lark of a package. options: Lark's.

    Lark opens the file itself, because importing importlib.resources would take longer.
    """
    return Lark.open_from_package(
        package, "grammar.lark", parser="lalr", cache=_tables(package), **options
    )


def _tables(package: str) -> str | bool:
    """The file of a grammar's tables; False where there is no folder to keep it in."""
    try:
        folder = cache_folder() / "grammars"
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, InputError):
        return False
    return str(folder / f"{package}.tables")
