"""Algorithms of other packages: tiny packages are built, installed and found; some are broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

GOOD = '''
from gpgpu_legacy import Algorithm, Pipeline

COPY = "!!ARBfp1.0\\nTEX result.color, fragment.position, texture[0], RECT;\\nEND"

def heat(n: int = 4, steps: int = 2):
    """Heat that spreads. It does not in fact."""
    p = Pipeline("heat")
    x, y = p.input("x", n, n), p.texture("y", n, n)
    with p.repeat(steps):
        p.draw(COPY, {0: x}, into=y)
        p.swap(x, y)
    p.output("x", x)
    p.reference = lambda x: x
    return p

heat.year, heat.field, heat.source = 2004, "simulation", "Somebody 2004"

waves = Algorithm(
    name="waves", year=2002, field="simulation", source="Somebody else 2002",
    summary="waves that stand still", build=heat, aliases=("shallow-water",),
)
clashing = Algorithm(
    name="life", year=2009, field="simulation", source="Third 2009", summary="", build=heat,
)
wrong = 42

def strange(*sizes, how=(1, 2), **others):
    return heat()

def failing(n: int = 4):
    raise OSError("gone")
'''

ENTRY_POINTS = {
    "tiny_heat": {
        "heat_2d": "tiny_heat:heat",
        "waves": "tiny_heat:waves",
        "ours": "tiny_heat:clashing",
        "number": "tiny_heat:wrong",
        "strange": "tiny_heat:strange",
        "failing": "tiny_heat:failing",
        "opaque": "builtins:iter",
    },
    "tiny_broken": {"broken": "tiny_broken:heat"},
    "tiny_second": {"waves": "tiny_heat:heat"},
}
SOURCES = {
    "tiny_heat": {"tiny_heat.py": GOOD},
    "tiny_broken": {"tiny_broken.py": "import no_such_package\n"},
    "tiny_second": {},
}


def wheel(folder: Path, package: str) -> Path:
    """A wheel with that package's modules and entry points."""
    about = f"{package}-1.0.dist-info"
    points = [f"{name} = {value}" for name, value in ENTRY_POINTS[package].items()]
    files = {
        **SOURCES[package],
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "\n".join(["[gpgpu_legacy.algorithms]", *points, ""]),
    }
    files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed the packages."""
    folder = tmp_path_factory.mktemp("third-parties")
    wheels = [str(wheel(folder, package)) for package in SOURCES]
    target = folder / "site"
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
         "--no-compile", "--disable-pip-version-check", "--target", str(target), *wheels],
        check=True,
    )  # fmt: skip
    return target


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    paths = [str(site), *filter(None, sys.path)]
    return subprocess.run(
        [sys.executable, "-m", "gpgpu_legacy", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def listed(site: Path) -> dict[str, Any]:
    done = run(site, "algorithms", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert isinstance(data, dict)
    return data


def test_an_installed_package_is_found(listed: dict[str, Any]) -> None:
    by_name = {algorithm["name"]: algorithm for algorithm in listed["algorithms"]}
    assert {"jacobi", "bitonic-sort", "hall-carr-hart-multi"} <= by_name.keys()
    heat, waves = by_name["heat-2d"], by_name["waves"]
    assert [heat[key] for key in ("year", "field", "source", "package")] == [
        2004, "simulation", "Somebody 2004", "tiny_heat",
    ]  # fmt: skip
    assert heat["summary"] == "Heat that spreads. It does not in fact"
    assert [(p["name"], p["default"]) for p in heat["parameters"]] == [("n", 4), ("steps", 2)]
    assert (waves["year"], waves["package"], waves["aliases"]) == (
        2002, "tiny_heat", ["shallow-water"],
    )  # fmt: skip


def test_one_that_fails_is_listed_and_fails_with_its_place(
    site: Path, listed: dict[str, Any]
) -> None:
    [failing] = [one for one in listed["algorithms"] if one["name"] == "failing"]
    assert ([p["name"] for p in failing["parameters"]], failing["inputs"]) == (["n"], None)
    done = run(site, "count", "failing")
    line = GOOD.splitlines().index('    raise OSError("gone")') + 1
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(f"tiny_heat.py:{line}: OSError: gone")


def test_an_installed_algorithm_runs_by_its_name(site: Path) -> None:
    done = run(site, "run", "heat_2d", "n=3", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["ranges"]["x"]["shape"] == [3, 3]
    assert [error["error"] for error in data["errors"]] == [0]
    assert json.loads(run(site, "algorithms", "shallow-water", "--json").stdout)["name"] == "waves"
