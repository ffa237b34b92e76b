"""Files that are no plan.json, or a wrong or hostile one: one line with the place, at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from plan_files import WHOLE, everything

from gpgpu_legacy.api.pipeline import find
from gpgpu_legacy.errors import AssemblyError, InputError
from gpgpu_legacy.plan.plan import Until
from gpgpu_legacy.plan.serialise import (
    plan_as_json,
    plan_from_json,
    read_plan,
)

# What is wrong ---------------------------------------------------------------------------------


def wrong(change: Callable[[Any], object] | str) -> str:
    """What is said, in one line, of the plan of everything with a change, or of a text."""
    if callable(change):
        data = json.loads(plan_as_json(everything()))
        change(data)
        change = json.dumps(data)
    with pytest.raises(InputError) as raised:
        plan_from_json(change, "some.json")
    message = str(raised.value)
    assert "\n" not in message
    assert message.startswith("some.json")
    return message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "some.json cannot be read: input data was truncated"),
        ("{}", 'some.json is not a plan; expected a file with "schema": "gpgpu_legacy.plan"'),
        (WHOLE.replace('"version": 1', '"version": 2'), "has version 2 of its format, and only 1"),
        (WHOLE.replace('"version": 1', '"version": 1, "version": 1'), "`version` is given twice"),
        (WHOLE.replace('"count": 3', '"count": 3, "count": 3'),
         "some.json, steps[1]: the field `count` is given twice; give it once"),
        (WHOLE.replace("1e+300", "1e999").replace("1e300", "1e999"),
         "steps[1].body[0].env[0].value[3]: number out of range"),
        ("[" * 10**6, "some.json"),
        (WHOLE.replace('"independent": true', '"independent": ' + "[" * 10**5), "some.json"),
    ],
)  # fmt: skip
def test_texts_that_are_no_plan(text: str, problem: str) -> None:
    assert problem in wrong(text)


def body(data: Any, number: int) -> Any:
    return data["steps"][1]["body"][number]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(extra=1), "some.json: object contains unknown field `extra`"),
        (lambda d: d["textures"][0]["extent"].update(hight=1),
         "textures[0].extent: object contains unknown field `hight`; did you mean `height`?"),
        (lambda d: d["textures"][0].update(format="rgb9"),
         "textures[0].format: invalid enum value 'rgb9'; choose from alpha16"),
        (lambda d: d["textures"][0].update(name="a\nb"), "textures[0].name: expected text of one"),
        (lambda d: d["textures"][0]["extent"].update(width=0),
         "textures[0].extent.width: expected `int` >= 1"),
        (lambda d: d["inputs"][0].update(texture="Z"), "inputs[0]: there is no texture Z;"),
        (lambda d: d["steps"][0].update(target="Z"), "steps[0]: there is no texture Z"),
        (lambda d: d["steps"][1].update(count=4), "steps[1].body[0]: the pass to T, U has a Table "
         "of 3 values in a Repeat of 4"),
        (lambda d: body(d, 0).update(program="Z"), "steps[1].body[0].program: there is no program "
         "Z; the file has looks-twice.fp, LOOKS-TWICE-2.fp in programs"),
        (lambda d: body(d, 0)["texcoords"][0]["corners"][0].__setitem__(0, "Infinity"),
         "steps[1].body[0]: a corner value of texture coordinate set 0 is not finite"),
        (lambda d: body(d, 0)["locals"][0]["value"].pop(), "locals[0].value: expected `array` of"),
        (lambda d: body(d, 3)["uniforms"][0].update(value=1.5), "uniform flag of k.comp is a bool"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named_with_its_place(change: Callable[[Any], object], said: str) -> None:
    message = wrong(change)
    assert said in message
    assert message.startswith(("some.json, ", "some.json: "))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["textures"][0]["extent"].update(width=10**9, height=10**9), "textures[0].ext"),
        (lambda d: d["operands"][0].update(rows=10**9, columns=10**9, shape=None), "operands[0]: "),
        (lambda d: d["steps"].append({"kind": "Repeat", "count": 10**9, "body": [d["steps"][0]]}),
         "steps[4]: 1000000014 passes run up to here; 1000000000 may run"),
        (lambda d: d["steps"].append({"kind": "Repeat", "count": 10**6, "body": [body(d, 1)]}),
         "steps[4]: 1000014 passes up to here are kept one by one"),
        (lambda d: d["steps"][3].update(groups=[10**9, 10**9]), "steps[3].groups: k.comp is disp"),
        (lambda d: d["programs"].update(huge="!!ARBfp1.0 " + "MOV a, b; " * 200_000),
         "some.json, programs have 2000"),
    ],
)  # fmt: skip
def test_what_no_machine_has_is_refused_at_once(change: Callable[[Any], object], said: str) -> None:
    assert said in wrong(change)


def test_a_program_that_does_not_assemble_is_named_with_its_line() -> None:
    data = json.loads(WHOLE)
    data["programs"]["looks-twice.fp"] = "!!ARBfp1.0\nMOV result.color, 1\nEND"
    with pytest.raises(AssemblyError, match=r"^some.json, programs.looks-twice.fp:3:1: "):
        plan_from_json(json.dumps(data), "some.json")


def test_a_file_that_is_missing_or_too_long_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_plan(tmp_path / "none.json")
    long = tmp_path / "long.json"
    with long.open("wb") as file:
        file.truncate(10 * 2**30)  # of nothing, and on no disk
    with pytest.raises(InputError, match="has more than 16777216 bytes"):
        read_plan(long)
    with pytest.raises(InputError, match="has more than 16777216 characters"):
        plan_from_json(" " * (2**24 + 1))


# Mutants ---------------------------------------------------------------------------------------


def test_damaged_texts_are_read_whole_or_refused() -> None:
    """Characters that are exchanged, doubled or gone, programs' among them."""
    rng, read = Random(2), 0
    for _ in range(160):
        text = list(WHOLE)
        for _ in range(rng.choice((1, 2, 5))):
            at = rng.randrange(len(text))
            text[at] = rng.choice(("", text[at] * 2, rng.choice('{}[]",:0123456789.-eE;# \n\\xa')))
        try:
            plan_from_json("".join(text))
        except (InputError, AssemblyError):
            continue
        read += 1
    assert 10 < read < 150


@pytest.mark.parametrize(
    ("depth", "message"),
    [(9, "more than 8 Untils"), (100, "more than 8 Untils"), (2000, "Untils|nested too deeply")],
)
def test_untils_in_untils_are_refused_in_a_line(depth: int, message: str) -> None:
    plan = find("conjugate-gradient", n=3).plan()
    [until] = [step for step in plan.steps if isinstance(step, Until)]
    data = json.loads(plan_as_json(plan))
    data["steps"][plan.steps.index(until)] = "HERE"
    head = (
        '{"kind": "Until", "below": 1, "count": 1, "end": [{"condition": "r·r", "iterations": 0}],'
        '"rounds": [{"condition": "r·r", "iterations": 1, "body": ['
    )
    text = json.dumps(data).replace('"HERE"', head * depth + "]}]}" * depth)
    with pytest.raises(InputError, match=message):
        plan_from_json(text)
