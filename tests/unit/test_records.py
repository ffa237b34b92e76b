"""Whatever a record of a file holds, it is read back as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec.inspect as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpgpu_legacy.chips.profile import Profile
from gpgpu_legacy.measure.bench.record import Bench
from gpgpu_legacy.measure.tuned import TuningFile
from gpgpu_legacy.papers.audit.record import Verdicts
from gpgpu_legacy.serial import from_json, from_toml, json_lines_text, json_text, toml_text
from gpgpu_legacy.studies.cache_table.model import CacheTable, CaseRecord, Row
from gpgpu_legacy.studies.lineage.record import Lineage

RECORDED = (Bench, CacheTable, Lineage, TuningFile, Verdicts)
LARGEST_INT = 2**63 - 1  # of TOML
LETTERS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp"))


def texts(pattern: str | None) -> st.SearchStrategy[str]:
    """What fits a pattern: nothing, one line, or a chip's name."""
    if pattern is None:
        return st.text(max_size=5)
    if pattern.startswith("^[^"):
        return st.text(LETTERS, max_size=5)
    return st.text("ab0.-", max_size=5).map(lambda text: f"a{text}")


def values(kind: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911, PLR0912 - one for each kind
    """Everything that a type, as msgspec describes it, can hold; floats are finite."""
    match kind:
        case types.NoneType():
            return st.none()
        case types.BoolType():
            return st.booleans()
        case types.IntType():
            least = -LARGEST_INT if kind.ge is None else kind.ge
            return st.integers(least, LARGEST_INT if kind.le is None else kind.le)
        case types.FloatType():
            return st.floats(kind.ge, kind.le, allow_nan=False, allow_infinity=False)
        case types.StrType():
            return texts(kind.pattern)
        case types.EnumType():
            return st.sampled_from(list(kind.cls))
        case types.LiteralType():
            return st.sampled_from(kind.values)
        case types.UnionType():
            return st.one_of(*map(values, kind.types))
        case types.TupleType():
            return st.tuples(*map(values, kind.item_types))
        case types.VarTupleType():
            return st.lists(values(kind.item_type), max_size=2).map(tuple)
        case types.DictType():
            return st.dictionaries(values(kind.key_type), values(kind.value_type), max_size=2)
        case types.StructType() | types.DataclassType():
            fields = {field.name: values(field.type) for field in kind.fields}
            if isinstance(kind.cls, type) and issubclass(kind.cls, CaseRecord):
                return st.fixed_dictionaries(fields).map(lambda given: case(kind.cls, given))
            return st.builds(kind.cls, **fields)
    raise NotImplementedError(f"a field of {kind}")


def case(kind: type[CaseRecord], given: dict[str, Any]) -> CaseRecord:
    """A case of a cache table, of fields that go together."""
    given["block"] = given["block"] or 1
    if kind is Row:
        read_hits, reads = sorted(given[name] // 4 + 1 for name in ("read_hits", "reads"))
        write_hits, writes = sorted(given[name] // 4 + 1 for name in ("hits", "accesses"))
        given |= {"read_hits": read_hits, "reads": reads}
        given |= {"hits": read_hits + write_hits, "accesses": reads + writes}
    return kind(**given)


@pytest.mark.parametrize("kind", RECORDED)
@settings(deadline=None, max_examples=13)
@given(data=st.data())
def test_a_recorded_result_comes_back_as_it_went(kind: type, data: st.DataObject) -> None:
    record = data.draw(values(types.type_info(kind)))
    assert from_json(json_text(record), kind, "a.json") == record
    assert from_json(json_lines_text(record), kind, "a.json") == record


@settings(deadline=None, max_examples=5)
@given(data=st.data())
def test_a_profile_comes_back_as_it_went(data: st.DataObject) -> None:
    record = data.draw(values(types.type_info(Profile)))
    assert from_toml(toml_text(record), Profile, "a.toml") == record


def test_a_name_that_utf_8_lacks_is_written_with_an_escape() -> None:
    text = json_text({"file": "bad\udcff.fp", "é": [Path("x\udc80"), 1.5]})
    assert json.loads(text) == {"file": "bad\\udcff.fp", "é": ["x\\udc80", 1.5]}
