"""The commands `plan VERB`, as their users type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Command, JsonCommand

RECIPE = '''from gpgpu_legacy import Pipeline

BLEND = """!!ARBfp1.0
TEMP a;
TEX a, fragment.position, texture[0], RECT;
MAD result.color, a, program.local[0].x, program.local[0].y;
END"""

def steps(n: int = 4, passes: int = 3) -> Pipeline:
    """x becomes x / 2 + 1, again and again."""
    p = Pipeline("steps")
    x = p.input("x", n, n)
    y = p.texture("y", n, n)
    with p.repeat(passes):
        p.draw(BLEND, {0: x}, into=y, local={0: (0.5, 1)})
        p.swap(x, y)
    p.output("z", x)

    def reference(x):
        for _ in range(passes):
            x = x / 2 + 1
        return x

    p.reference = reference
    return p
'''


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recipe, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.py").write_text(RECIPE, encoding="utf-8")
    return tmp_path


def test_a_plan_goes_through_a_cache(run_json: JsonCommand) -> None:
    data = run_json("cache", "steps.py", "passes=1", "--cache", "1K,4way,64B")
    assert data["plan"] == "steps"
    assert data["parameters"] == {"n": 4, "passes": 1}
    # 16 texels of 4 bytes are a line: one read misses, and 15 hit
    assert data["by_texture"]["x"]["reads"] == 16
    assert data["by_texture"]["x"]["read_hits"] == 15
    several = run_json("cache", "steps.py", "--cache", "1K,4way,64B", "2K,4way,64B")
    assert [one["cache"] for one in several["runs"]] == ["1K,4way,64B", "2K,4way,64B"]
    in_flight = run_json("cache", "--in-flight", "1,2", "4", "steps.py", "n=4,8")["runs"]
    found = [(run["parameters"]["n"], run["in_flight"]) for run in in_flight]
    assert found == [(n, number) for n in (4, 8) for number in (1, 2, 4)]


def test_executors_are_measured_on_a_plan(run_json: JsonCommand) -> None:
    words = ("bench", "steps.py", "n=2,4", "--executor", "numpy", "--repeat", "2")
    data = run_json(*words, "-o", "bench.json", "--plot", "bench.svg")
    assert Path("bench.svg").read_text(encoding="utf-8").startswith("<?xml")
    assert [(one["case"], one["executor"], one["parameters"]) for one in data["results"]] == [
        (f"n = {n}", name, {"n": n, "passes": 3}) for n in (2, 4) for name in ("reference", "numpy")
    ]
    assert json.loads(Path("bench.json").read_text(encoding="utf-8"))["results"] == data["results"]


def test_a_recipes_file_is_executed_once(run: Command) -> None:
    Path("steps.py").write_text(f"print('executed')\n{RECIPE}", encoding="utf-8")
    code, _, err = run("count", "steps.py", "--over", "n")
    assert code == 0
    assert err.count("executed") == 1
