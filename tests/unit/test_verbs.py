"""The verbs, on a recipe, as their users type them."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import numpy as np
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


@pytest.mark.parametrize("suffix", ["npy", "csv"])
def test_a_recipe_runs_on_files_and_writes_files(run: Command, suffix: str) -> None:
    """Its size is that of the input."""
    x = np.arange(36, dtype=np.float32).reshape(6, 6)
    np.save("x.npy", x)
    np.savetxt("x.csv", x, delimiter=",")
    words = ("run", "steps.py", f"x=x.{suffix}")
    for output in ("z=z.npy", "z.npy"):
        code, out, err = run(*words, "-o", output)
        assert (code, err) == (0, "wrote z.npy\n")
        assert "6 × 6" in out
        assert np.array_equal(np.load("z.npy"), ((x / 2 + 1) / 2 + 1) / 2 + 1)
        Path("z.npy").unlink()


def test_the_json_of_a_run(run_json: JsonCommand) -> None:
    data = run_json("run", "steps.py", "n=6", "passes=2", "--executor", "numpy")
    assert data["plan"] == "steps"
    assert data["parameters"] == {"n": 6, "passes": 2}
    assert data["executor"] == "numpy"
    assert data["seconds"].keys() == {"prepare", "upload", "compute", "readback"}
    assert data["counts"]["passes"] == 2
    assert data["counts"]["fragments"] == 72
    assert data["ranges"]["z"]["shape"] == [6, 6]
    assert 1.5 <= data["ranges"]["z"]["min"] < data["ranges"]["z"]["max"] <= 1.75
    [error] = data["errors"]
    assert error["output"] == "z"
    assert 0.0 < error["error"] < 2**-22  # two additions, each rounded once
    assert (data["operations"], data["gflops"]) == (None, None)
    assert run_json("run", "steps.py", "--no-check")["errors"] is None


def test_a_page_holds_the_plan_and_its_inputs(run: Command) -> None:
    np.save("x.npy", np.full((4, 4), 8.0))
    assert run("dump", "steps.py", "-o", "parts")[0] == 0
    code, out, _ = run("page", "steps.py", "x=x.npy")
    assert (code, out) == (0, "wrote steps.html\n")
    text = Path("steps.html").read_text("utf-8")
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])["plan"]
    assert data["scene"]["plan"] == json.loads(Path("parts/plan.json").read_text("utf-8"))
    values = np.frombuffer(b64decode(data["operands"]["x"]), "<f4")
    assert values.tolist() == [8.0] * 16
    assert "https://" not in text.split("<main>")[0]


def test_a_texel_is_traced(run: Command, run_json: JsonCommand) -> None:
    np.save("x.npy", np.full((4, 4), 8.0))
    words = ("trace", "steps.py", "x=x.npy", "--texel", "1,2")
    code, out, _ = run(*words)
    assert code == 0
    assert "texel 1,2" in out
    after = [visit["written"][0]["after"] for visit in run_json(*words)["visits"]]
    assert after == [[5.0], [3.5], [2.75]]
    steps = run_json(*words, "--instructions", "--texture", "y")["visits"][0]["steps"]
    assert [step["result"] for step in steps] == [[8, 0, 0, 1], [5, 1, 1, 1.5]]


def test_a_warning_is_a_line_that_names_the_place_in_the_recipe(run: Command) -> None:
    text = RECIPE.replace("local={0: (0.5, 1)}", "local={1: (0.5, 1)}")
    Path("steps.py").write_text(text, encoding="utf-8")
    code, out, err = run("run", "steps.py")
    assert code == 0
    line = text[: text.index("p.draw")].count("\n") + 1
    assert err.splitlines() == [
        f"gpgpu-legacy: warning: {Path('steps.py').resolve()}:{line}: {problem}"
        for problem in (
            "program.local[0] is never set, and program 1 reads 0 there",
            "program.local[1] is set, but program 1 never reads it",
        )
    ]
    assert "warning" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "stps"), "there is no algorithm stps"),
        (("run", "steps.py", "-o", "y=y.npy"), "plan steps has no output y; its outputs are z"),
        (("run", "steps.py", "-o", "z=a.npy", "z=b.npy"), "-o gives z twice; give it once"),
        (("trace", "steps.py", "--texel", "9,9"), "there is no texel 9,9"),
        (("page", "mali-sgemm", "n=8", "-o", "p.html"), "browsers do not run"),
        (("page", "--section", "none", "-o", "p.html"), "none"),
        (("figure", "steps.py"), "give --plot FILE.png or --animate FILE.gif"),
        (("figure", "steps.py", "--plot", "sheet.png", "--shown", "odd"), "'odd'"),
        (("figure", "steps.py", "--animate", "film.gif", "--frame-ms", "1"), "frame_ms is 1; give"),
    ],
)
def test_bad_input_is_one_line(run: Command, words: tuple[str, ...], message: str) -> None:
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("gpgpu-legacy: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(path.name for path in Path().iterdir()) == ["steps.py"]
