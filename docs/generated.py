"""The parts of the reference that the package itself knows, as Markdown.

A page has one between `<!-- generated: NAME -->` and `<!-- /generated -->`, so that it reads the
same as text. A test compares them, and `pytest --update-golden` writes them anew.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from textwrap import fill
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import gpgpu_legacy
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.present.grid import as_markdown
from gpgpu_legacy.serial import Spelled

if TYPE_CHECKING:
    from gpgpu_legacy.isa.opcodes import Opcode

END = "<!-- /generated -->"
PART = re.compile(rf"^<!-- generated: ([\w-]+) -->\n.*?^{END}$", flags=re.MULTILINE | re.DOTALL)

PACKAGE = Path(gpgpu_legacy.__file__).parent


def with_generated(text: str) -> str:
    """The text of a page with its generated parts as they are now; KeyError for unknown ones."""
    return PART.sub(
        lambda part: f"{part[0].splitlines()[0]}\n\n{GENERATED[part[1]]().strip()}\n\n{END}", text
    )


def anchor(heading: str) -> str:
    """Where a link finds a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


# Commands -------------------------------------------------------------------------------------


def commands() -> str:
    """Every command under its heading of `--help`: its usage, what it does, and its options."""
    from gpgpu_legacy.api.command.frame import SECTIONS
    from gpgpu_legacy.cli import app

    context = app.make_context("gpgpu-legacy", [], resilient_parsing=True)
    parts: list[str] = []
    for heading, section in SECTIONS.items():
        parts.append(f"## {heading}\n")
        for name in section:
            parts += _command(app, name, context, depth=3)
    return "\n".join(parts)


def _command(group: Any, name: str, parent: Any, depth: int) -> Iterator[str]:
    command = group.get_command(parent, name)
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    yield f"{'#' * depth} {context.command_path}\n"
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    yield f"{as_markdown_text(inspect.cleandoc(command.help or ''))}\n"
    records = (parameter.get_help_record(context) for parameter in command.get_params(context))
    rows = [(words, text) for words, text in filter(None, records) if words != "--help"]
    if rows:
        yield "| argument or option | |\n| --- | --- |"
        for words, text in rows:
            yield f"| {_code(words)} | {as_markdown_text(text)} |"
        yield ""
    for nested in command.list_commands(context) if hasattr(command, "commands") else ():
        yield from _command(command, nested, context, depth + 1)


def as_markdown_text(text: str) -> str:
    """The text of a help: options, and what is between backticks, are code, and nothing else is."""
    plain = text.split("`")
    plain[::2] = [re.sub(r"(?<![\w-])--[a-z][\w-]*", r"`\g<0>`", piece) for piece in plain[::2]]
    pieces = "`".join(plain).split("`")
    pieces[::2] = [_MARKUP.sub(r"\\\g<0>", piece) for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", r"\|") for piece in pieces[1::2]]
    return "`".join(pieces)


_MARKUP = re.compile(r"[\\*<|]|(?<!\w)_|_(?!\w)|\](?=[(\[{:])|^>", flags=re.MULTILINE)
"""What would be markup: no underscore in a word, and no bracket that begins no link."""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", r"\|")


# JSON outputs ---------------------------------------------------------------------------------


def json_outputs() -> str:
    """What each command prints with `--json`: the fields of its results, and of what is in them."""
    from gpgpu_legacy.api.command.frame import SECTIONS, STUDIES, STUDY
    from gpgpu_legacy.cli import app

    context = app.make_context("gpgpu-legacy", [], resilient_parsing=True)
    studies: Any = app.get_command(context, STUDY)
    commands = [
        *((name, app.get_command(context, name)) for part in SECTIONS.values() for name in part),
        *((f"{STUDY} {name}", studies.get_command(context, name)) for name in STUDIES),
    ]
    parts: list[str] = []
    told: dict[type, str] = {}
    for name, command in commands:
        kinds = _results(getattr(command, "function", None))
        if kinds:
            parts.append(f"## {name}\n")
        for kind in kinds:
            lead, meanings = _explained(kind)
            parts += [f"{as_markdown_text(lead)}\n", "| field | value | |", "| --- | --- | --- |"]
            parts += _field_rows(kind, "", meanings, told, f"[{name}](#{anchor(name)})")
            parts.append("")
    return "\n".join(parts)


def _results(function: Any) -> list[type]:
    """The records that a command may return, by its annotation."""
    if function is None:
        return []
    module = sys.modules[function.__module__]
    homes = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    names = map(str.strip, str(function.__annotations__.get("return")).split("|"))
    found = [homes.get(n, (module.__name__, n)) for n in names]
    records = (getattr(import_module(home), name, None) for home, name in found)
    return [one for one in records if hasattr(one, "grids")]


def _explained(kind: Any) -> tuple[str, dict[str, str]]:
    """What the docstring of a record says of it, and of each field: `name, name: meaning.`"""
    names = {name for base in kind.__mro__ for name in getattr(base, "__annotations__", ())}
    lead, meanings = [], dict[str, str]()
    for paragraph in inspect.getdoc(kind).split("\n\n"):
        before, told = told_in(paragraph, names)
        lead.append(before)
        meanings |= {name: re.sub(r"\bNone\b", "null", said) for name, said in told.items()}
    return " ".join(filter(None, lead)), meanings


def told_in(paragraph: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """What a paragraph of a docstring says at first, and then of each name: `name, name: …`."""
    text = " ".join(paragraph.split())
    marks = [mark for mark in _TOLD.finditer(text) if {*names}.issuperset(mark[1].split(", "))]
    starts = [*(mark.start() for mark in marks), len(text)]
    meanings: dict[str, str] = {}
    for mark, end in zip(marks, starts[1:], strict=True):
        said = text[mark.end() : end].strip(" .;")
        meanings |= dict.fromkeys(mark[1].split(", "), said)
    return text[: starts[0]].strip(), meanings


def options_in(function: Any) -> set[str]:
    """The names that a docstring may tell of: the parameters, and words that **keywords take."""
    parameters = inspect.signature(function).parameters.values()
    takes_more = any(one.kind is one.VAR_KEYWORD for one in parameters)
    words = re.findall(r"\w+", inspect.getdoc(function) or "") if takes_more else ()
    return {*words, *(one.name for one in parameters)} - {"self", "cls"}


_TOLD = re.compile(r"(?:^|(?<=[.;] )|(?<=\.\) ))((?:\w+, )*\w+): ")
"""Where a docstring begins to tell of fields."""


def _field_rows(
    kind: Any, before: str, meanings: dict[str, str], told: dict[type, str], where: str
) -> Iterator[str]:
    """A row for each field, then those of the records in it that no row has told of yet."""
    told[kind] = f"{where}'s `{before.rstrip('.')}`" if before else where
    hints = get_type_hints(kind, include_extras=True)
    for field, written in _names(kind):
        path, meaning = f"{before}{written}", meanings.get(field, "")
        inner = [one for one in _records_in(hints[field]) if one is not kind]
        known = [told[one] for one in inner if one in told]
        told_of = f"; as {' or '.join(known)}" if known else ""
        words = as_markdown_text(_type_in_words(hints[field]))
        yield f"| `{path}` | {words}{told_of} | {as_markdown_text(meaning)} |"
        for one in inner:
            if one not in told:
                yield from _field_rows(one, f"{path}.", _explained(one)[1], told, where)


def _names(kind: Any) -> list[tuple[str, str]]:
    """The names of the fields, here and in JSON, without those that every kept result has."""
    from gpgpu_legacy.serial import Recorded

    if not hasattr(kind, "__struct_fields__"):
        return [(field.name, field.name) for field in fields(kind)]
    common = Recorded.__struct_fields__ if issubclass(kind, Recorded) else ()
    both = zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True)
    return [(name, written) for name, written in both if name not in common]


def _records_in(hint: Any) -> list[Any]:
    """The records that a value of this type has, at once or in a list or an object."""
    bare = get_origin(hint) or hint
    if isinstance(bare, type) and (hasattr(bare, "__struct_fields__") or is_dataclass(bare)):
        return [bare]
    return list(dict.fromkeys(one for part in get_args(hint) for one in _records_in(part)))


_PLAIN = {
    str: "text",
    bool: "true or false",
    int: "whole number",
    float: "number",
    NoneType: "null",
    Spelled: "number",
    F32: "nested lists of numbers",
}
_MANY = {"text": "texts", "whole number": "whole numbers", "number": "numbers", "object": "objects"}


def _type_in_words(hint: Any) -> str:
    """What a value of a type is in JSON."""
    parts, origin = get_args(hint), get_origin(hint)
    if origin is Annotated:
        words = _type_in_words(parts[0])
    elif origin is Literal:
        words = " or ".join(f"`{json.dumps(value)}`" for value in parts)
    elif origin in (Union, UnionType):
        whole = {int} if float in parts else set()
        words = " or ".join(dict.fromkeys(_type_in_words(p) for p in parts if p not in whole))
    elif origin is tuple and parts[-1] is not ...:
        kinds = [*dict.fromkeys(map(_type_in_words, parts))]
        several = (
            _MANY.get(kinds[0]) or kinds[0].replace("list", "lists")
            if len(kinds) == 1
            else f"values: {', '.join(kinds)}"
        )
        words = f"list of {len(parts)} {several}"
    elif origin in (tuple, list):
        one = _type_in_words(parts[0])
        one = f"({one})" if " or " in one else _MANY.get(one) or one.replace("list", "lists")
        words = f"list of {one}"
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        words = f"object by name: {_type_in_words(parts[1])}"
    elif isinstance(hint, type) and issubclass(hint, Enum):
        words = " or ".join(f"`{member.value}`" for member in hint)
    else:
        words = "value" if isinstance(hint, TypeVar) else _PLAIN.get(hint, "object")
    return words


# The language ---------------------------------------------------------------------------------


def opcodes() -> str:
    """A row for each opcode, from the table that everything else reads."""
    from gpgpu_legacy.isa.opcodes import ARBFP

    return _opcodes(ARBFP.values())


def opcodes_of_options() -> str:
    """The same of those that NVIDIA's options add, but for branches and loops."""
    from gpgpu_legacy.isa.opcodes import OPCODES, Form

    return _opcodes(r for r in OPCODES.values() if r.option and r.form is not Form.FLOW)


def _opcodes(rows: Iterable[Opcode]) -> str:
    from gpgpu_legacy.isa.opcodes import OperandKind

    words = {
        OperandKind.DESTINATION: "dst",
        OperandKind.VECTOR: "v",
        OperandKind.SCALAR: "s",
        OperandKind.REGISTER: "v",
        OperandKind.EXTENDED_SWIZZLE: "xyzw01",
        OperandKind.TEXTURE_UNIT: "texture[n]",
        OperandKind.TEXTURE_TARGET: "TARGET",
    }
    lines = ["| opcode | operands | result | counts as | in GLSL | section | undefined for |"]
    lines.append("| --- " * 7 + "|")
    for row in rows:
        operands = ", ".join(words[operand] for operand in row.shape)
        cells = (
            f"`{row.mnemonic}`" + (", `_SAT`" if row.saturable else ""),
            f"`{operands}`",
            row.form.value,
            row.cost.value,
            _code(_in_glsl(row)),
            row.spec,
            row.undefined.sources if row.undefined else "",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _in_glsl(row: Opcode) -> str:
    """What is emitted for a row's meaning, of sources that are called a, b and c."""
    from gpgpu_legacy.isa.execute import ALL
    from gpgpu_legacy.isa.expressions import (
        Read,
        Variable,
        component,
        compose,
    )
    from gpgpu_legacy.isa.opcodes import Form, OperandKind
    from gpgpu_legacy.isa.types import FLOAT, VEC4
    from gpgpu_legacy.lower.emit.glsl import GlslEmitter
    from gpgpu_legacy.lower.emit.glsl_fragment import GLSL

    sources = {OperandKind.VECTOR, OperandKind.SCALAR, OperandKind.REGISTER}
    kind = FLOAT if row.form is Form.SCALAR else VEC4
    values = [
        Read(Variable(name, kind), ALL[: kind.width])
        for name, _ in zip("abc", filter(sources.__contains__, row.shape), strict=False)
    ]
    whole = row.form in (Form.SCALAR, Form.COMPONENTWISE, Form.DERIVATIVE)
    if row.form is Form.DERIVATIVE:
        values = [Read(Variable(name, kind), ALL) for name in ("a", "a_right", "a_up")]
    result = row.evaluate(*(v if whole else [component(v, c) for c in ALL] for v in values))
    value = compose(result[:4]) if isinstance(result, list | tuple) else result
    return GlslEmitter(GLSL, exact=False).expression(value)


def state() -> str:
    """Every binding of GL state; of a matrix, the whole of it alone."""
    from gpgpu_legacy.isa.state_bindings import STATE, StateNode

    def names(node: StateNode, before: str) -> Iterator[str]:
        name = f"{before}.{node.name}{'[n]' if node.limit else ''}"
        if node.is_matrix or not node.following:
            yield name
            return
        for following in node.following:
            yield from names(following, name)

    bindings = (name for node in STATE.following for name in names(node, STATE.name))
    return "".join(f"- `{name}`\n" for name in bindings)


def formats() -> str:
    """The formats of textures and framebuffers, and the bytes of a texel."""
    from gpgpu_legacy.plan.textures import FORMATS

    lines = ["| format | channels | R, G, B, A | bytes per texel |", "| --- | ---: | --- | ---: |"]
    lines += [
        f"| `{f.name}` | {f.channels} | {', '.join(f.reads)} | {f.texel_bytes} |"
        for f in FORMATS.values()
    ]
    return "\n".join(lines) + "\n"


# plan.json ------------------------------------------------------------------------------------


def plan_objects() -> str:
    """Every object of plan.json under a heading of its own: what it is, and its fields."""
    from gpgpu_legacy.plan.serialise import plan_schema

    parts: list[str] = []
    for name, schema in plan_schema()["$defs"].items():
        if schema.get("type") == "object":
            parts.append(f"### {name}\n\n{as_markdown_text(schema['description'])}\n")
            parts += ["| field | value | if it is left out |", "| --- | --- | --- |"]
            for field, value in schema["properties"].items():
                is_needed = field in schema.get("required", ())
                missing = "" if is_needed else f"`{json.dumps(value.get('default'))}`"
                parts.append(f"| `{field}` | {_in_words(value)} | {missing} |")
            parts.append("")
    return "\n".join(parts)


_VALUES = {
    "string": "text",
    "boolean": "`true` or `false`",
    "number": "a number with a point or an exponent",
    "integer": "a whole number from {minimum} to {maximum}",
}


def _in_words(schema: dict[str, Any]) -> str:
    """What a value may be, by its JSON Schema."""
    match schema:
        case {"$ref": reference}:
            name = reference.rpartition("/")[2]
            words = f"[{name}](#{name.lower()})"
        case {"enum": choices}:
            words = ", ".join(f"`{json.dumps(choice)}`" for choice in choices)
        case {"anyOf": choices}:
            words = " or ".join(_in_words(each) for each in choices if each != {"type": "null"})
        case {"type": "array", "prefixItems": items}:
            words = f"a list of {len(items)}: {_in_words(items[0])}"
        case {"type": "array", "items": items}:
            words = f"a list of {_in_words(items)}"
        case {"additionalProperties": dict(values)}:
            words = f"an object of {_in_words(values)} by name"
        case _:
            words = _VALUES[schema["type"]].format(**schema)
    return words


def plan_values() -> str:
    """The values of plan.json that have a name and are no objects, each under a heading."""
    from gpgpu_legacy.plan.serialise import plan_schema

    parts: list[str] = []
    for name, schema in plan_schema()["$defs"].items():
        if schema.get("type") != "object":
            words = "text of one line" if name == "Name" else _in_words(schema)
            parts.append(f"### {name}\n\n{words[0].upper()}{words[1:]}.\n")
    return "\n".join(parts)


def plan_limits() -> str:
    """The limits of plans from files, as plan/limits.py has and explains them."""
    lines = ["| limit | value | of what |", "| --- | ---: | --- |"]
    lines += [f"| `{name}` | {value} | {words} |" for name, value, words in _limits_of(PLAN_LIMITS)]
    return "\n".join(lines) + "\n"


# Limits ---------------------------------------------------------------------------------------

PLAN_LIMITS = Path("plan/limits.py")

LIMITS = {
    "Programs and kernels": (
        "languages/*.py", "languages/arb/*.py", "languages/c/*.py", "languages/shading/*.py",
        "languages/glsl/*.py",
        "lower/kernels/bounds.py", "lower/kernels/integers.py", "lower/emit/llvm_kernel.py",
        "runtime/jit.py",
        "interp/kernel.py",
    ),
    "Plans from files": ("plan/limits.py", "plan/numbers.py"),
    "Text, recorded results, profiles, recipes": (
        "files.py", "serial.py", "chips/profile.py",
        "algorithms/algorithm.py",
    ),
    "Pictures and arrays": (
        "present/*.py", "api/arrays.py", "api/figures/pictures.py", "api/programs.py",
        "api/figures/figure.py",
    ),
    "Brook programs": ("api/host/*.py",),
    "Sizes and memory": (
        "algorithms/matmul/product.py", "algorithms/matmul/tiles.py", "pipeline/loops.py",
        "measure/timing.py", "studies/cache_table.py", "api/command/words.py", "plan/memory.py",
    ),
    "What is kept on disk": ("code_cache.py",),
    "Messages": ("errors.py",),
}  # fmt: skip
"""The files whose limits hold for what comes from outside, by subject."""

_LIMIT = re.compile(r"(MOST|LARGEST|LONGEST|DEEPEST|SMALLEST|SURELY|SWEPT)(_\w+)?")


def limits() -> str:
    """Every limit that holds for what comes from outside: where it is, its value, and why."""
    parts = []
    for subject, patterns in LIMITS.items():
        parts += [f"### {subject}", ""]
        parts += ["| limit | value | of what, and why |", "| --- | ---: | --- |"]
        files = [file.relative_to(PACKAGE) for p in patterns for file in sorted(PACKAGE.glob(p))]
        for file in files:
            parts += [
                f"| `{_module(file)}.{name}` | {value} | {words} |"
                for name, value, words in _limits_of(file)
            ]
        parts.append("")
    return "\n".join(parts)


def _module(file: Path) -> str:
    return ".".join(file.with_suffix("").parts)


def _limits_of(file: Path) -> Iterator[tuple[str, str, str]]:
    """The limits that a module has and explains: the name, the value and the words of each."""
    home = import_module(f"gpgpu_legacy.{_module(file)}")
    for one, following in pairwise(ast.parse(inspect.getsource(home)).body):
        match one, following:
            case ast.Assign(targets=[ast.Name(id=name)]), ast.Expr(ast.Constant(str(words))):
                if _LIMIT.fullmatch(name) or (file == PLAN_LIMITS and not name.startswith("_")):
                    yield name, _value(getattr(home, name)), " ".join(words.split())


def _value(number: Any) -> str:
    """A limit as people read it, in powers of two where it is one."""
    if isinstance(number, int) and number >= 1024 and number & (number - 1) == 0:
        return f"2^{number.bit_length() - 1}"
    return f"{number:,}".replace(",", " ") if isinstance(number, int) else f"{number:g}"


# Chips, algorithms, executors --------------------------------------------------------------------


def chips() -> str:
    """All chips and APIs in one table, then each by itself with its sources."""
    from gpgpu_legacy.chips import catalogue
    from gpgpu_legacy.chips.profile import profiles

    every = catalogue.chips(profiles())
    table = as_markdown(every.grids()).partition("\n\n")[2]
    names = r"^\| ([\w.-]+) \|"
    table = re.sub(names, lambda m: f"| [{m[1]}](#{anchor(m[1])}) |", table, flags=re.MULTILINE)
    parts = [table.replace("[name](#name)", "name").replace("[---](#---)", "---")]
    parts += [f"## {chip.name}\n\n{as_markdown(chip.grids())}" for chip in every.chips]
    return "\n".join(parts)


def lineage_story() -> str:
    """What the products learned from one another."""
    from gpgpu_legacy.studies.lineage import story

    return "\n\n".join(story()) + "\n"


def algorithms() -> str:
    """The algorithms that come with the package in one table, then each with its parameters."""
    from gpgpu_legacy.algorithms.catalogue import facts_of
    from gpgpu_legacy.algorithms.registry import shipped_algorithms

    lines = ["| algorithm | year | field | what it does |", "| --- | ---: | --- | --- |"]
    sections = []
    for one in shipped_algorithms():
        cells = (f"[{one.name}](#{anchor(one.name)})", str(one.year), one.field, one.summary)
        lines.append(f"| {' | '.join(cells)} |")
        sections.append(f"## {one.name}\n\n{as_markdown(facts_of(one).grids())}")
    return "\n".join([*lines, "", *sections])


def compiled() -> str:
    """What the Cg compiler needs for a program, beside the program that was written by hand."""
    from gpgpu_legacy.count.resources import Resource, resources
    from gpgpu_legacy.files import shader_folder, shader_text
    from gpgpu_legacy.languages.cg.compiler import compile_text
    from gpgpu_legacy.languages.shaders import load_program

    templates: dict[str, dict[str, Any]] = {
        "multi": {"block": 6, "transpose_a": False, "transpose_b": False, "accumulate": "copy"},
        "single": {"block": 6, "accumulate": "copy"},
        "reduce": {"opcode": "MAX"},
    }
    what = Resource.INSTRUCTIONS, Resource.TEMPORARIES, Resource.INDIRECTIONS
    head = " | ".join(f"{resource.value} by hand | compiled" for resource in what)
    lines = [f"| Program | {head} |", f"| --- |{' ---: |' * 6}"]
    for file in sorted(shader_folder().rglob("*.cg")):
        path, parameters = file.relative_to(shader_folder()), templates.get(file.stem, {})
        by_hand = path.with_suffix(".fp.j2" if parameters else ".fp").as_posix()
        if not (shader_folder() / by_hand).exists():
            continue
        pair = (
            load_program(by_hand, **parameters),
            compile_text(shader_text(path.as_posix()), path.as_posix()),
        )
        cells = (str(resources(program).count(one)) for one in what for program in pair)
        lines.append(f"| `{path.as_posix()}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def c_library() -> str:
    """The functions that the host part of a Brook program may call."""
    from gpgpu_legacy.api.host.library import library_text
    from gpgpu_legacy.languages.c.syntax import Function

    names = {item.name for item in library_text() if isinstance(item, Function)}
    names = {name for name in names if name[0] != "_"}  # its own
    return fill(", ".join(f"`{name}`" for name in sorted(names, key=str.lower)), 120)


def gallery(*, of_products: bool = False) -> str:
    """A section for each algorithm: its picture, what it shows, and the command that draws it."""
    from gpgpu_legacy.algorithms.registry import products, shipped_algorithms

    algorithms = [a for a in shipped_algorithms() if (a in products()) == of_products]
    return "\n\n".join(
        f"### {a.name} ({a.year})\n\n{inspect.cleandoc(a.gallery)}" for a in algorithms
    )


def plays() -> str:
    """Links to the pages that docs/plays.py writes."""
    from gpgpu_legacy.algorithms.registry import products, shipped_algorithms

    names = [a.name for a in shipped_algorithms() if a not in products()]
    return fill(
        ", ".join(f'<a href="play/{n}.html">{n}</a>' for n in names) + ".",
        120,
        break_on_hyphens=False,
    )


def executors() -> str:
    """The executors, and what each declares that it can do."""
    from gpgpu_legacy.runtime.executor import executors as every_executor

    return "\n".join(f"- `{e.name}`: {e.summary}" for e in every_executor()) + "\n"


def promises() -> str:
    """What is exact, verb by verb, as `doctor --all` says it."""
    from gpgpu_legacy.api.doctor import PROMISES

    return as_markdown([PROMISES])


GENERATED: dict[str, Callable[[], str]] = {
    function.__name__: function
    for function in (
        commands,
        json_outputs,
        opcodes,
        opcodes_of_options,
        state,
        formats,
        plan_objects,
        plan_values,
        plan_limits,
        chips,
        lineage_story,
        algorithms,
        compiled,
        c_library,
        executors,
        promises,
        gallery,
        plays,
    )
} | {"gallery-of-products": partial(gallery, of_products=True)}
"""What a page can ask for."""
