"""The folder of generated code under attack: whatever lies there, results and output are the same.

What LLVM, numba and pickle read from there is executed, so one wrong file would be one too many.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK, mutated_bytes

from gpgpu_legacy import kept

SCRIPT = """
import sys
from gpgpu_legacy import run_program
text = "!!ARBfp1.0\\nMAD result.color, fragment.position, 3, 0.5;\\nEND\\n"
print(run_program(text, 3, 2, executor="jit").tolist())
if sys.argv[1:] == ["everything"]:
    import numpy as np
    from gpgpu_legacy import matmul
    from gpgpu_legacy.cache.raster import parse_raster
    A = np.arange(64, dtype=np.float32).reshape(8, 8)
    print(matmul(A, A, method="opengl-compute-tiled", executor="jit").tolist())
    [(x, y)] = parse_raster("tiled:2x2").positions(4, 2)
    print(x.tolist(), y.tolist())
"""
"""It prints what lark's tables, LLVM's code and numba's code give."""

FIRST_LINE = "[[[2.0, 2.0, 2.0, 3.5], [5.0, 2.0, 2.0, 3.5], [8.0, 2.0, 2.0, 3.5]], "
"""By hand: 3 position + 0.5, and the position of the first fragment is (0.5, 0.5, 0.5, 1)."""


def processes(cache: Path, count: int = 1, *, everything: bool = ATTACK.full) -> str:
    """What each of so many processes at once prints; none fails, and none complains."""
    command = [sys.executable, "-c", SCRIPT, *(["everything"] if everything else [])]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    started = [
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in started]
    assert {(err, code) for _, err, code in ended} == {("", 0)}
    [printed] = {out for out, _, _ in ended}
    assert printed.startswith(FIRST_LINE)
    return printed


@pytest.fixture(scope="module")
def warm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cache that two processes at once have filled, and what they printed."""
    cache = tmp_path_factory.mktemp("warm")
    return cache, processes(cache, ATTACK.count(2, 4))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpgpu-legacy" / kept.FOLDER


# Files -------------------------------------------------------------------------------------------


def damage(random: Random, paths: list[Path], folder: Path) -> None:
    """Damage files in one of the ways that an adversary or a disk has."""
    kind = random.randrange(8)
    one, other = random.choice(paths), random.choice(paths)
    data = one.read_bytes()
    header = len(kept.MAGIC) + 32
    if kind == 0:  # the content alone, which is what would be executed
        one.write_bytes(data[:header] + mutated_bytes(random, data[header:]))
    elif kind == 1:  # swapped
        one.write_bytes(other.read_bytes())
        other.write_bytes(data)
    elif kind == 2:  # the header of another
        one.write_bytes(other.read_bytes()[:header] + data[header:])
    elif kind == 3:
        one.write_bytes(random.randbytes(random.choice((0, 1, header, header + 1, 1000))))
    elif kind == 4:
        one.unlink()
        one.symlink_to(random.choice((other.name, "/dev/zero", "nowhere", one.name, "/dev/tty")))
    elif kind == 5:
        one.unlink()
        random.choice((os.mkfifo, Path.mkdir))(one)
    elif kind == 6:
        one.chmod(random.choice((0o000, 0o200, 0o666, 0o620)))
    else:
        for path in paths:
            path.write_bytes(mutated_bytes(random, path.read_bytes()))
    if random.random() < 0.2:
        (folder / f"tmp-{random.randrange(1 << 64):016x}").write_bytes(b"half-written")


def test_an_entry_is_what_was_kept_or_none(folder: Path) -> None:
    random = ATTACK.random("entries")
    contents = {f"key {n}": random.randbytes(random.choice((0, 1, 50, 3000))) for n in range(8)}
    for _ in range(ATTACK.count(40, 1000)):
        for key, content in contents.items():
            if kept.read(key) is None:
                kept.keep(key, content)
        for _ in range(random.choice((1, 2, 3))):
            paths = [path for path in folder.iterdir() if path.name.endswith(".kept")]
            regular = [path for path in paths if path.is_file() and not path.is_symlink()]
            damage(random, regular, folder)
        for key, content in contents.items():
            assert kept.read(key) in {None, content}
        for path in folder.iterdir():
            if path.is_dir():
                path.rmdir()  # else nothing more can be kept there
    kept.prune()


def test_a_damaged_cache_gives_the_same_results(warm: tuple[Path, str]) -> None:
    cache, expected = warm
    folder = cache / "gpgpu-legacy" / kept.FOLDER
    random = ATTACK.random("processes")
    for _ in range(ATTACK.count(1, 8)):
        for _ in range(random.choice((1, 2, 4))):
            paths = [path for path in folder.iterdir() if path.is_file() and not path.is_symlink()]
            damage(random, paths, folder)
        assert processes(cache, ATTACK.count(1, 3)) == expected
        for path in folder.iterdir():
            if stat.S_ISDIR(path.lstat().st_mode):
                path.rmdir()


# Folders -----------------------------------------------------------------------------------------


def linked(folder: Path) -> None:
    folder.rename(folder.with_name("real"))
    folder.symlink_to("real")


def replaced_by_a_file(folder: Path) -> None:
    folder.rename(folder.with_name("gone"))
    folder.write_bytes(b"")


def without_permissions(folder: Path) -> None:
    folder.chmod(0o000)


def another_users(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    os.chown(folder, 12345, 12345)


def open_to_all(folder: Path) -> None:
    folder.chmod(0o777)


FOLDERS = (linked, replaced_by_a_file, without_permissions, another_users, open_to_all)


@pytest.mark.parametrize("attack", FOLDERS)
def test_nothing_comes_from_a_folder_that_may_be_anothers(
    folder: Path, attack: Callable[[Path], None]
) -> None:
    kept.keep("key", b"planted")
    attack(folder)
    is_readable = attack is without_permissions and os.geteuid() == 0
    assert kept.read("key") == (b"planted" if is_readable else None)
    before = files(folder.parent)
    kept.keep("other", b"content")
    if not is_readable:
        assert files(folder.parent) == before
        assert kept.why_nothing_is_kept()
    kept.prune()


def test_nothing_leaves_the_folder(folder: Path, tmp_path: Path) -> None:
    """Links in it to other files and folders, with names that are ours, lose themselves at most."""
    outside = tmp_path / "outside"
    outside.mkdir()
    names = [kept.file_name(f"{n}") for n in range(50)]
    for name in (*names, "01e2a247679c5010d3d32d1a33c73a99.o"):
        (outside / name).write_bytes(b"a user's own")
    kept.keep("0", b"")
    for name in names[1:]:
        (folder / name).symlink_to(outside / name)
    (folder.parent / "grammars").symlink_to(outside)
    (folder.parent / "__pycache__").symlink_to(outside)
    before = files(outside)
    for n in range(50):
        assert kept.read(f"{n}") in {None, b""}
        kept.keep(f"{n}", b"new")
    kept.prune(most_bytes=1, most_files=1)
    assert files(outside) == before


def files(place: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.skipif(not ATTACK.full, reason="tried by make hostile")
@pytest.mark.parametrize("attack", FOLDERS)
def test_programs_run_without_the_folder(
    warm: tuple[Path, str], tmp_path: Path, attack: Callable[[Path], None]
) -> None:
    kept_in = tmp_path / "gpgpu-legacy" / kept.FOLDER
    kept_in.mkdir(parents=True, mode=0o700)
    attack(kept_in)
    processes(tmp_path, 1, everything=False)


# Many at once ------------------------------------------------------------------------------------

RACE = """
import os, sys
from random import Random
from gpgpu_legacy import kept
random = Random(sys.argv[1])
for n in range(int(sys.argv[2])):
    number = random.randrange(12)
    key, content = f"key {number}", bytes([number]) * (1000 * number)
    found = kept.read(key)
    if found is None:
        kept.keep(key, content)
    else:
        assert found == content, (number, len(found))
    what = random.randrange(20)
    if what == 0:
        kept.prune(most_bytes=20_000, most_files=6)
    elif what == 1:
        path = kept.cache_folder() / kept.FOLDER / kept.file_name(f"key {random.randrange(12)}")
        try:
            with open(path, "r+b") as file:
                file.seek(random.randrange(200))
                file.write(b"damage")
        except OSError:
            pass
    elif what == 2:
        folder = kept.cache_folder() / kept.FOLDER
        try:
            os.rename(folder, f"{folder}-{sys.argv[1]}-{n}")
        except OSError:
            pass
"""
"""Reads, writes, prunes, damages files and takes the folder away, all at random."""


def test_processes_get_in_nobodys_way(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    count = str(ATTACK.count(200, 4000))
    seeds: Iterable[str] = (f"{ATTACK.seed} {n}" for n in range(ATTACK.count(3, 8)))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, seed, count],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for seed in seeds
    ]  # fmt: skip
    ended = [(process.communicate(timeout=300)[0], process.returncode) for process in started]
    assert set(ended) == {("", 0)}
    folders = (tmp_path / "gpgpu-legacy").iterdir()
    assert not [path for folder in folders for path in folder.glob("tmp-*")]
