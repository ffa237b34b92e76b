"""Opens grammars, and keeps their parsing tables for later processes.

Building the tables takes several times as long as reading them.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pkgutil import get_data
from typing import Any

import lark
from lark import Lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from gpgpu_legacy import code_cache

_from_tables: Callable[..., Lark] = Lark._load_from_dict
"""The method by which the parser modules that Lark generates load their tables."""


def open_grammar(package: str, *, transformer: Any = None, **options: Any) -> Lark:
    """The LALR parser of a package's grammar.lark, which imports no other grammar.

    transformer: converts the trees. options: Lark's.
    """
    # Importing importlib.resources would take longer than reading the file.
    grammar = (get_data(package, "grammar.lark") or b"").decode("utf-8")
    key = f"lark {lark.__version__} {sys.version} {sorted(options.items())}\n{grammar}"
    tables = code_cache.read(key)
    if tables is not None:
        data, memo = pickle.loads(tables)  # only this user can have written it: see code_cache.py
        return _from_tables(data, memo, transformer=transformer)
    parser = Lark(grammar, parser="lalr", transformer=transformer, **options)
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    data["options"]["transformer"] = None
    code_cache.keep(key, pickle.dumps((data, memo), pickle.HIGHEST_PROTOCOL))
    return parser
