"""JSON and TOML, written and strictly read in one place, by msgspec.

A command's output is a `Record`. A result in a file is a `Recorded`, which also has the version,
the commit and the driver that produced it, and the date. An unknown field is an error, and so is a
value of another type. The message names the file and the path in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from inspect import cleandoc
from math import isfinite, isinf, isnan
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, dataclass_transform

import msgspec
import msgspec.inspect

from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import commit, package_version, read_text_bytes, write_text

# Bounds of what is read ---------------------------------------------------------------------------

T = TypeVar("T")

MOST_ITEMS = 2**14
"""Items of a list: people could hardly read a longer table."""

LARGEST = 1e15
"""The largest time, rate or ratio; its inverse is the smallest. So quotients and products of a few
such numbers stay far from the ends of a double's range.
"""

LARGEST_COUNT = 2**63 - 1
"""The largest count: the largest signed 64-bit integer."""

LARGEST_SIZE = 2**31 - 1
"""The largest size or index."""

Meta = msgspec.Meta
"""Bounds of a value: `Annotated[int, Meta(ge=1, le=8)]`."""

Positive = Annotated[float, Meta(ge=1 / LARGEST, le=LARGEST)]
"""A number above 0."""

NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
"""A number, 0 or more."""

Limit = Annotated[float, Meta(ge=0)]
"""A user's number, such as a budget: nothing is computed from it."""

Spread = tuple[NotNegative, NotNegative]
"""The least and the largest of several numbers."""

Share = Annotated[float, Meta(ge=0, le=1)]
"""A share of a whole, from 0 to 1."""

PositiveInt = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
"""A whole number above 0."""

Size = Annotated[int, Meta(ge=1, le=LARGEST_SIZE)]
"""The side of a matrix, or a part of it."""

Index = Annotated[int, Meta(ge=0, le=LARGEST_SIZE)]
"""The index of a row or of a texel, or a count."""

Whole = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]
"""A whole number, 0 or more."""

Several = Annotated[tuple[T, ...], Meta(max_length=MOST_ITEMS)]
"""A list of limited length: `Several[Row]`."""

ONE_LINE = r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*(?![\s\S])"
"""The pattern of text without line breaks or control characters."""

OneLine = Annotated[str, Meta(pattern=ONE_LINE)]
"""Text without line breaks or control characters."""

MOST_CHARACTERS = 500
"""Characters of a name or a title."""

Line = Annotated[OneLine, Meta(max_length=MOST_CHARACTERS)]
"""A name, a title or a reason: of limited length, on one line."""


# JSON and TOML, written and read in one place, strictly, by msgspec -------------------------------

S = TypeVar("S", bound="Record")
R = TypeVar("R", bound="Recorded")

MOST_BYTES = 2**22
"""Bytes of a file of recorded results. The longest of ours, a cache table, has 750 000."""

MOST_TOML_BYTES = 2**20
"""Bytes of a TOML file, which takes longer to read. The longest of ours has 79 000."""


class Spelled(float):
    """A number whose NaN and infinities a record keeps: they are words in JSON."""


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Data that is written as JSON or TOML, or read from it: named fields, each of one type.

    Records are frozen, and made with the names of their fields. A class says `kw_only=True` if a
    field without a default follows one with a default, be it its own or its base's.
    """


define_record = msgspec.defstruct
"""Makes a record's class from its name and a list of its fields."""


class Recorded(Record, kw_only=True):
    """A result that is kept in a file.

    schema: the version of the file's layout. package: the version of gpgpu_legacy. commit: of its
    checkout, with a + if files differ from it; None in an installed package. driver: of OpenGL, if
    the result depends on it. date: ISO 8601, UTC.

    WHAT: the kind of file in words, for messages. HAS_LONG_LISTS: whether every item of a list gets
    one line, up to 1000 characters.
    """

    WHAT: ClassVar[str] = "a recorded result"
    HAS_LONG_LISTS: ClassVar[bool] = False

    schema: Literal[1] = 1
    package: OneLine | None = None
    commit: OneLine | None = None
    driver: OneLine | None = None
    date: OneLine | None = None


def provenance(driver: str | None = None) -> dict[str, Any]:
    """The fields that all kinds of `Recorded` have in common, as of now."""
    return {
        "package": package_version(),
        "commit": commit(),
        "driver": driver,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def fields_of(record: Record) -> dict[str, Any]:
    """The fields of a record by name, in order and unconverted."""
    return {name: getattr(record, name) for name in record.__struct_fields__}


def as_record(kind: type[S], /, *sources: object, **fields: Any) -> S:
    """A record from these fields; each other field comes from the first source that has it."""
    for name in kind.__struct_fields__:
        for source in sources:
            if name not in fields and hasattr(source, name):
                fields[name] = getattr(source, name)
    return kind(**fields)


def with_fields(record: S, **fields: Any) -> S:
    """A copy of a record with other values in these fields."""
    return msgspec.structs.replace(record, **fields)


def plain(value: Any) -> Any:
    """A record as dicts, lists, numbers and strings. NaN and the infinities become None."""
    return msgspec.json.decode(_encoded(value))


def json_text(value: Any) -> str:
    """A record as JSON with an indent of two spaces. NaN and the infinities are null."""
    return msgspec.json.format(_encoded(value), indent=2).decode() + "\n"


def json_compact(value: Any) -> str:
    """A record as JSON without spaces. NaN and the infinities are null."""
    return _encoded(value).decode()


def _encoded(value: Any) -> bytes:
    """A record as JSON."""
    try:
        return msgspec.json.encode(value, enc_hook=_plain)
    except UnicodeEncodeError:  # from a file's name that is not UTF-8
        return msgspec.json.encode(_in_utf8(msgspec.to_builtins(value, enc_hook=_plain)))


def _in_utf8(value: Any) -> Any:
    """Builtins in which characters that UTF-8 lacks are escaped as in Python."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_in_utf8(key): _in_utf8(item) for key, item in value.items()}
    return [_in_utf8(item) for item in value] if isinstance(value, list | tuple) else value


def json_fitted_text(value: Any, width: int = 100) -> str:
    """A record as JSON, in which every value that fits into `width` characters is on one line."""
    return _fitted(plain(value), width, "") + "\n"


def _fitted(value: Any, width: int, pad: str, before: int = 0) -> str:
    """A value as JSON. before: the characters before it in its line, besides `pad`."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or len(pad) + before + len(line) < width:
        return line
    inner = pad + "  "
    if isinstance(value, list):
        items = [inner + _fitted(item, width, inner) for item in value]
        return "[\n" + ",\n".join(items) + f"\n{pad}]"
    keys = {key: f"{json.dumps(key, ensure_ascii=False)}: " for key in value}
    fields = [inner + keys[k] + _fitted(v, width, inner, len(keys[k])) for k, v in value.items()]
    return "{\n" + ",\n".join(fields) + f"\n{pad}}}"


def toml_text(value: Any) -> str:
    """A record as TOML, which has no null: fields that are None are left out."""
    builtins = _without_none(msgspec.to_builtins(value, enc_hook=_plain))
    return msgspec.toml.encode(_in_utf8(builtins)).decode()


def from_json(text: str, kind: type[T], name: str, *, once: bool = False) -> T:
    """The record in a JSON text. name: of the text in messages, such as its file.

    Raises InputError, in one line, for text that is not JSON or does not fit the record; and, with
    `once`, if a field of an object is given twice.
    """
    record = _checked(lambda: msgspec.json.decode(text, type=kind), kind, name)
    if once:
        _refuse_fields_given_twice(text, name)
    return record


def from_toml(text: str, kind: type[T], name: str, *, decimals: bool = False) -> T:
    """The record in a TOML text; see `from_json`.

    decimals: whether fields of type Decimal keep the digits of the text. Then a class's own
    `from_plain`, too, converts its values, and raises ValueError for one that does not fit.
    """
    hook = _from_plain if decimals else None
    types = (Decimal, datetime, date, time)
    return _checked(
        lambda: msgspec.convert(
            toml_data(text, decimals=decimals), type=kind, builtin_types=types, dec_hook=hook
        ),
        kind,
        name,
    )


def _from_plain(kind: type[Any], value: Any) -> Any:
    return kind.from_plain(value)


def read_toml(path: Path, kind: type[T]) -> T:
    """The record in a TOML file; InputError if there is no file, or no such record in it."""
    return from_toml(_text_of(path, MOST_TOML_BYTES), kind, str(path))


def _text_of(path: Path, most: int) -> str:
    """The text of a UTF-8 file of at most `most` bytes."""
    try:
        return read_text_bytes(path, most).decode()
    except UnicodeDecodeError:
        raise InputError(f"{path} cannot be read: it is not UTF-8") from None


def read_recorded(path: Path, kind: type[R]) -> R:
    """A recorded result; InputError if the file does not fit, or an object has a field twice."""
    return from_json(_text_of(path, MOST_BYTES), kind, str(path), once=True)


_LONG = 1000


def write_json(path: Path, value: Any) -> None:
    """Write a record whole; InputError if it cannot be written."""
    has_long_lists = isinstance(value, Recorded) and value.HAS_LONG_LISTS
    write_text(path, json_fitted_text(value, _LONG) if has_long_lists else json_text(value))


class _Twice(str):
    """The name of a field that an object has twice."""


def _refuse_fields_given_twice(text: str, name: str) -> None:
    """Raise InputError if an object in a JSON text has a field twice; msgspec would take the last.

    The text is known to be JSON of a record, so it is not nested deeply.
    """
    repeated: list[_Twice] = []

    def marked(pairs: list[tuple[str, Any]]) -> Any:
        fields = dict(pairs)
        if len(fields) == len(pairs):
            return fields
        repeated.append(_Twice(Counter(key for key, _ in pairs).most_common(1)[0][0]))
        return repeated[-1]

    data = json.loads(text, object_pairs_hook=marked, parse_int=len, parse_float=len)
    if repeated:
        place, field = next(_places_of(data, ""))  # of nested ones, the outermost
        where = f"{name}{f', {place}' if place else ''}"
        raise InputError(f"{where}: the field `{field}` is given twice; give it once")


def _places_of(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, _Twice):
        yield place, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _places_of(item, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places_of(item, f"{place}[{number}]")


_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DEFINITION = "#/$defs/{name}"


def json_schema(kind: type[Record], url: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a record's files, described by its classes' docstrings.

    url: the schema's own name. named: other types that have definitions, by name.
    """
    kinds = (kind, *named.values())
    schemas, records = plain(msgspec.json.schema_components(kinds, ref_template=_DEFINITION))
    own = dict(zip(named, schemas[1:], strict=True))
    for record in records.values():
        if "description" in record:
            record["description"] = cleandoc(record["description"])
    definitions = {
        name: {key: _with_references(value, own) for key, value in schema.items()}
        for name, schema in {**records, **own}.items()
    }
    return {"$schema": _DIALECT, "$id": url, **schemas[0], "$defs": definitions}


def _with_references(schema: Any, own: Mapping[str, Any]) -> Any:
    """A schema in which types with definitions are references to them."""
    for name, definition in own.items():
        if schema == definition:
            return {"$ref": _DEFINITION.format(name=name)}
    if isinstance(schema, dict):
        return {key: _with_references(value, own) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_with_references(item, own) for item in schema]
    return schema


def _plain(value: Any) -> Any:
    """Convert what msgspec does not know: NumPy's numbers and arrays, paths and mappings."""
    if isinstance(value, Spelled):
        return float(value) if isfinite(value) else str(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no place in a record")


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(item) for key, item in value.items() if item is not None}
    return [_without_none(item) for item in value] if isinstance(value, list) else value


def _checked(decode: Callable[[], T], kind: type[T], name: str) -> T:
    try:
        return decode()
    except msgspec.ValidationError as error:
        problem, _, path = str(error).partition(" - at `$")
        place = path.rstrip("`").lstrip(".")
        problem = problem.replace(f"`str` matching regex {ONE_LINE!r}", "text of one line")
        problem = _lower(problem) + _hint(problem, kind, place)
        if not place and isinstance(kind, type) and issubclass(kind, Recorded):
            problem += f"; expected {kind.WHAT}"  # probably a file of another kind
        raise InputError(f"{name}{f', {place}' if place else ''}: {problem}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{name} cannot be read: {_lower(str(error))}") from None
    except UnicodeError:
        raise InputError(f"{name} cannot be read: it is not UTF-8") from None
    except RecursionError:
        raise InputError(f"{name} cannot be read: it is nested too deeply") from None


def _hint(problem: str, kind: type[Any], place: str) -> str:
    """Advice for a value that is not in its enum, or an unknown field."""
    candidates = _types_at(kind, place)
    if problem.startswith("Invalid enum value"):
        return f"; choose from {', '.join(dict.fromkeys(_choices(candidates)))}"
    _, unknown, field = problem.partition("unknown field `")
    if not unknown:
        return ""
    from difflib import get_close_matches

    close = get_close_matches(field.rstrip("`"), [n for kind in candidates for n in _fields(kind)])
    return f"; did you mean `{close[0]}`?" if close else ""


def _types_at(kind: type[Any], place: str) -> list[Any]:
    """The types that a record allows at a place such as `points[0].colour`."""
    kinds = _members(msgspec.inspect.type_info(kind))
    for step in re.findall(r"\[[^\]]*\]|[^.\[]+", place):
        is_item = step.startswith("[")
        inner = (_item(known) if is_item else _fields(known).get(step) for known in kinds)
        kinds = [member for one in inner for member in _members(one)]
    return kinds


def _members(kind: Any) -> list[Any]:
    """The types of a union; another type by itself; none for None."""
    return [*getattr(kind, "types", filter(None, (kind,)))]


def _item(kind: Any) -> Any:
    """The type of a list's or a dict's values; None for another type."""
    return getattr(kind, "item_type", None) or getattr(kind, "value_type", None)


def _fields(kind: Any) -> dict[str, Any]:
    """The types of a record's fields; none for another type."""
    return {field.encode_name: field.type for field in getattr(kind, "fields", ())}


def _choices(kinds: list[Any]) -> Iterator[str]:
    for kind in kinds:
        yield from map(str, getattr(kind, "values", ()))  # for a Literal
        if isinstance(kind, msgspec.inspect.EnumType):
            yield from (str(member.value) for member in kind.cls)


def _lower(text: str) -> str:
    """A message for the middle of a sentence; a leading `JSON` stays upper case."""
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


# TOML, read strictly ------------------------------------------------------------------------------

MOST_KEY_PARTS = 16
"""Parts of a dotted key in TOML: `a.b.c` has three. The time to read grows with their square."""


def toml_data(text: str, *, decimals: bool) -> dict[str, Any]:
    """The content of a TOML text; DecodeError if it is not TOML, or takes too long to read."""
    import tomllib

    if any(
        line.count(".") >= MOST_KEY_PARTS and _LONG_KEY.search(line) for line in text.split("\n")
    ):
        raise msgspec.DecodeError(f"A key has more than {MOST_KEY_PARTS} parts")
    try:
        data = tomllib.loads(text, parse_float=_decimal if decimals else _float)
    except tomllib.TOMLDecodeError as error:
        raise msgspec.DecodeError(str(error)) from None
    except msgspec.DecodeError:
        raise
    except ValueError:  # from Python's int, which takes quadratic time
        raise msgspec.DecodeError("A whole number has too many digits") from None
    _refuse_long_integers(data.values())
    return data


def _refuse_long_integers(values: Iterable[Any]) -> None:
    """Raise DecodeError for a whole number of more than 64 bits, which TOML does not guarantee."""
    for value in values:
        kind = type(value)  # tomllib's own types; isinstance would take twice as long
        if kind is dict:
            _refuse_long_integers(value.values())
        elif kind is list:
            _refuse_long_integers(value)
        elif kind is int and not -LARGEST_COUNT - 1 <= value <= LARGEST_COUNT:
            raise msgspec.DecodeError("A whole number has more than 64 bits")


_LONG_KEY = re.compile(
    rf"""(?:(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MOST_KEY_PARTS}}}"""
)


def _float(text: str) -> float:
    """A TOML number with a point; DecodeError for NaN, and for one beyond the range of a double."""
    number = float(text)
    if isnan(number) or (isinf(number) and "inf" not in text):
        raise msgspec.DecodeError(f"{text} is not a number that a record can hold")
    return number


def _decimal(text: str) -> Decimal:
    """A TOML number with a point, with all its digits; DecodeError for infinities, too."""
    if isinf(_float(text)):
        raise msgspec.DecodeError(f"{text} is not a number with digits")
    return Decimal(text)
