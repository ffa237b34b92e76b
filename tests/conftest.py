from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from commands import Command, JsonCommand
from hypothesis import settings
from PIL import Image
from unwritten import patch_memory

from gpgpu_legacy import cli
from gpgpu_legacy.errors import ExecutorUnavailableError
from gpgpu_legacy.files import write_whole
from gpgpu_legacy.measure.timing import OtherWork
from gpgpu_legacy.present.animation import png_of
from gpgpu_legacy.runtime.executor import Executor, find_executor
from gpgpu_legacy.runtime.gl import core

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The same examples on every run and no time limit an example, so that a slow machine is no failure.
settings.register_profile(
    "steady", derandomize=True, deadline=None, max_examples=40, database=None, print_blob=False
)
settings.load_profile("steady")

# Tests ignore what `gpgpu-legacy tune` has found on somebody's machine.
os.environ["GPGPU_LEGACY_TUNING"] = "off"

# Tables are as wide as in a file: pytest imports readline, which may set COLUMNS.
os.environ.pop("COLUMNS", None)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files anew in place of comparing with them",
    )
    parser.addoption("--second-tier", action="store_true", help="leave out what `testpaths` lists")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the first tier under --second-tier; pytest's own rules decide on the rest."""
    first = [config.rootpath / path for path in config.getini("testpaths")]
    return True if config.getoption("--second-tier") and collection_path in first else None


def pytest_collection_finish() -> None:
    """Freeze the thousands of tests, so that garbage collection need not visit them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def usual_machine() -> Iterator[None]:
    """Report no other work on the machine: its own tests would make measurements warn.

    Fill memory that nobody wrote with a pattern, whatever the driver hands out.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OtherWork, "share", lambda _: 0.0)
        patch_memory(patch)
        yield


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture
def check_golden(update_golden: bool, tmp_path: Path) -> Callable[[Image.Image, str], None]:
    """Compare a picture with the golden one of a name, or write it anew."""

    def check(image: Image.Image, name: str) -> None:
        golden = Path(__file__).parent / "golden" / name
        if update_golden:
            write_whole(golden, png_of(image))
            return
        write_whole(tmp_path / name, png_of(image))
        advice = f"compare {golden} with {tmp_path / name}; --update-golden takes the new one"
        with Image.open(golden) as expected:
            assert np.array_equal(np.asarray(image), np.asarray(expected)), advice

    return check


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command line; return its exit code, its output and its error output."""

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["gpgpu-legacy", *words])
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capsys.readouterr()
        return int(caught.value.code or 0), out, err

    return command


@pytest.fixture
def run_json(run: Command) -> JsonCommand:
    """Run a command line with --json, and parse what it prints."""

    def command(*words: str) -> dict[str, Any]:
        code, out, err = run(*words, "--json")
        assert code == 0, err
        data = json.loads(out)
        assert isinstance(data, dict)
        return data

    return command


@contextmanager
def _driver_or_skip(needed: bool = True) -> Iterator[None]:
    """Skip where there is no driver, with the reason; fail instead if REQUIRE_GL=1."""
    try:
        yield
    except ExecutorUnavailableError as error:
        if not needed:
            raise
        if os.environ.get("REQUIRE_GL") == "1":
            pytest.fail(f"REQUIRE_GL=1, but {error}")
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def ready() -> Callable[[str], Executor]:
    """An executor by name; without the driver that it needs the test skips."""

    def find(name: str) -> Executor:
        with _driver_or_skip():
            return find_executor(name)

    return find


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    is_marked = item.get_closest_marker("gl") is not None
    with _driver_or_skip(is_marked):
        if is_marked:
            core.context()
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    with _driver_or_skip(item.get_closest_marker("gl") is not None):
        return (yield)


@pytest.fixture
def drawn_figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """The list of figures that are saved from now on; each is also written."""
    from matplotlib.figure import Figure

    figures: list[Figure] = []
    save = Figure.savefig

    def savefig(figure: Figure, *given: Any, **more: Any) -> None:
        figures.append(figure)
        save(figure, *given, **more)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return figures
