"""Plans as files: what is written is read back, and fits the published schema."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from plan_files import KERNEL, LOOK, everything, mutants
from plans import Made, plans
from varying import dispatch_plans

from gpgpu_legacy.algorithms.registry import find_product, shipped_algorithms
from gpgpu_legacy.api.command.words import Job
from gpgpu_legacy.api.dump import dump
from gpgpu_legacy.api.pipeline import Pipeline
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.languages.arb.printer import disassemble
from gpgpu_legacy.languages.brook.kernels import FLOATS
from gpgpu_legacy.languages.glsl.kernels import parse_kernel
from gpgpu_legacy.page.sections.algorithms import SMALL, Small
from gpgpu_legacy.plan.plan import (
    ComputePass,
    FragmentPass,
    ParameterValue,
    Plan,
    Repeat,
)
from gpgpu_legacy.plan.serialise import (
    SCHEMA_FILE,
    plan_as_json,
    plan_from_json,
    plan_schema,
    read_plan,
)
from gpgpu_legacy.serial import json_fitted_text

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator


def read_back(plan: Plan) -> Plan:
    """The plan that comes back; NaN aside, it is equal to the one that went."""
    text = plan_as_json(plan)
    found = plan_from_json(text)
    assert found == plan_from_json(text)
    assert plan_as_json(found) == text
    return found


# There and back --------------------------------------------------------------------------------


def test_every_field_comes_back() -> None:
    found = read_back(everything())
    assert repr(asdict(found)) == repr(asdict(as_python(everything())))


def as_python(plan: Plan) -> Plan:
    """The plan with Python's numbers, and the programs' names in the file."""
    [clear, repeat, never, still] = plan.steps
    assert isinstance(repeat, Repeat) and isinstance(never, Repeat)
    [draw, copy, cleared, dispatch] = repeat.body
    assert isinstance(draw, FragmentPass) and isinstance(dispatch, ComputePass)
    assert isinstance(still, ComputePass) and isinstance(never.body[0], FragmentPass)
    canonical = assemble(disassemble(LOOK), "looks-twice.fp")
    kernel = parse_kernel(KERNEL.text, "k.comp")
    env = (ParameterValue(9, (0.10000000149011612, 3, 1e-45, 1e300)),)
    draw = replace(draw, program=canonical, env=env)
    other = assemble(disassemble(never.body[0].program), "LOOKS-TWICE-2.fp")
    body = (draw, copy, cleared, replace(dispatch, kernel=kernel))
    steps = (clear, replace(repeat, body=body),
             replace(never, body=(replace(never.body[0], program=other),)),
             replace(still, kernel=kernel))  # fmt: skip
    return replace(plan, steps=steps)


@settings(max_examples=20)
@given(plans())
def test_random_plans_that_draw_come_back(made: Made) -> None:
    """Two of their infinities are equal, and so is a NaN to itself; others are strings alike."""
    assert read_back(made.plan) == made.plan or "NaN" in plan_as_json(made.plan)


@settings(max_examples=20)
@given(dispatch_plans())
def test_random_plans_that_dispatch_come_back(plan: Plan) -> None:
    assert read_back(plan) == plan


@pytest.mark.parametrize("name", ["hall-carr-hart-multi", "opengl-compute-tiled"])
def test_what_is_dumped_reads_back(name: str, tmp_path: Path) -> None:
    """The texts beside the plan are those in it, for people to read."""
    plan = find_product(name).plan(m=5, l=6, n=7)
    files = dump(plan, tmp_path / "parts", exact=True)
    assert read_plan(files[0]) == plan
    data = json.loads(files[0].read_text(encoding="utf-8"))
    texts = {**data.get("programs", {}), **data.get("kernels", {})}
    assert texts
    for file, text in texts.items():
        assert (tmp_path / "parts" / file).read_text(encoding="utf-8") == text


def test_inputs_with_any_names_are_found_beside_the_plan(tmp_path: Path) -> None:
    p = Pipeline("sums")
    names = ("a/b", "../b", "b", "B", ".", "é" * 200)
    streams = [p.stream(name, FLOATS["float"], (2,), given=True) for name in names]
    p.output("x", streams[0])
    plan = p.plan()
    given = {m.name: np.full(m.array_shape, n, np.float32) for n, m in enumerate(plan.operands)}
    files = dump(plan, tmp_path / "parts", exact=True, arrays=given)
    assert {file.parent for file in files} == {tmp_path / "parts"}
    assert not {*tmp_path.iterdir()} - {tmp_path / "parts"}
    _, arrays = Job((str(files[0]),)).built
    assert {name: array.ravel()[0] for name, array in arrays.items()} == {
        m.name: n for n, m in enumerate(plan.operands)
    }


# The schema ------------------------------------------------------------------------------------


def test_the_published_schema_is_up_to_date(update_golden: bool) -> None:
    if update_golden:
        SCHEMA_FILE.write_text(json_fitted_text(plan_schema()), encoding="utf-8")
    published = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    assert published == plan_schema(), "--update-golden takes the new one"


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    validator = pytest.importorskip("jsonschema").Draft202012Validator
    published = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    validator.check_schema(published)
    return validator(published)


def test_files_fit_the_schema(schema: Draft202012Validator) -> None:
    assert schema.is_valid(json.loads(plan_as_json(everything())))
    for algorithm in shipped_algorithms():
        small = SMALL.get(algorithm.name, Small()).settings
        schema.validate(json.loads(plan_as_json(algorithm.plan(**small))))


def test_what_the_schema_refuses_is_refused(schema: Draft202012Validator) -> None:
    refused = 0
    for data in mutants(50, seed=5):
        if not schema.is_valid(data):
            refused += 1
            with pytest.raises(InputError):
                plan_from_json(json.dumps(data))
    assert refused > 12
