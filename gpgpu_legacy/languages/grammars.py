"""Grammars, with their parsing tables kept for later processes.

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
"""The name by which parsers that Lark writes as modules are called."""


def open_grammar(package: str, *, transformer: Any = None, **options: Any) -> Lark:
    """The LALR parser of the file grammar.lark of a package. options: Lark's.

    The grammar imports no other. transformer: converts the trees.
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
