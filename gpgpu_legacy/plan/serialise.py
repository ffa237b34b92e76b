"""Plans as files: the text of plan.json, and the plan in such a text.

plan/records.py is the format, and docs/reference/plan-json.md explains it. A file holds everything
that its plan needs, the texts of its programs included; reading it opens no other file and runs no
code. A plan that is read is equal to the one that was written, save that NaN, as always, may equal
no NaN.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpgpu_legacy.errors import InputError, PlanError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.plan import records
from gpgpu_legacy.plan.conversion import plan_of_record, plan_record
from gpgpu_legacy.plan.limits import MOST_FILE_BYTES, check_limits
from gpgpu_legacy.plan.plan import Plan
from gpgpu_legacy.plan.validate import validate
from gpgpu_legacy.serial import from_document, json_fitted_text, json_schema

SCHEMA_FILE = Path(__file__).parent / "plan.schema.json"
"""The JSON Schema of plan.json."""


def plan_as_json(plan: Plan) -> str:
    """The text of plan.json. Raises InputError for a texture of a format of the caller's own."""
    return json_fitted_text(plan_record(plan))


def read_plan(path: Path | str) -> Plan:
    """The plan in a file that `plan_as_json` or anyone else wrote; it is valid.

    Raises InputError, in one line with the place in the file, for anything else and for a plan
    beyond the limits of plan/limits.py; AssemblyError, with line and column, for a program in it
    that its language does not allow. Reading takes seconds and some 100 MB at most.
    """
    return plan_from_json(read_text(Path(path), MOST_FILE_BYTES), str(path))


def plan_from_json(text: str, name: str = "plan.json") -> Plan:
    """The plan in the text of a plan.json, as `read_plan` gives it.

    name: what messages call the text.
    """
    if len(text) > MOST_FILE_BYTES:
        raise InputError(f"{name} has more than {MOST_FILE_BYTES} characters; no plan has")
    plan = plan_of_record(from_document(text, records.Plan, name), name)
    try:
        check_limits(plan)
        validate(plan)
    except PlanError as error:
        place = f", {error.place}" if error.place else ""
        raise InputError(f"{name}{place}: {error.problem}") from None
    return plan


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of plan.json, as SCHEMA_FILE holds it."""
    version = records.Plan.VERSION
    return json_schema(records.Plan, f"urn:gpgpu_legacy:plan:{version}", records.NAMED)
