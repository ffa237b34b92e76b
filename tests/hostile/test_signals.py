"""Signals at any time in any command: at most one line, the signal's exit code, nothing half-done.

Before the first line of the package runs, the interpreter itself is being started and has handlers
of its own; signals are sent after that.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from attacks import ATTACK

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LINE = "gpgpu-legacy: interrupted\n"
BEGIN = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # jobs ignore it
    "import os, sys, gpgpu_legacy.__main__ as m\n"
    "from gpgpu_legacy.ending import end_on_signals\n"
    "end_on_signals(); os.close(int(sys.argv.pop(1))); m.main()"
)
"""The command line, which closes a pipe as soon as signals are taken care of."""

COMMANDS = {
    "--help": 0.3,
    "tables -o out.txt": 1.0,
    "run larson-mcallister --size 96 --executor jit -o out.npy": 2.5,
    "run hall-carr-hart-multi --size 64 --executor numpy -o out.csv": 1.0,
    "run hall-carr-hart-multi --size 64 --executor gl-raster -o out.mtx": 1.5,
    "report --no-measure -o out": 6.0,
    "plan dump jacobi -o out": 1.0,
    "figure figure-2 --animate -o out.gif": 2.0,
    "cache larson-mcallister --size 64 --plot out.png --cache 2K,4way,64B 4K,4way,64B": 3.0,
    "cache-table --size 32 -o out.json": 3.0,
    "bench --size 32 --budget 3 -o out.json": 4.0,
    "precision --size 16 --method larson-mcallister --plot out.svg": 3.0,
    "audit --record-to out.json": 8.0,
}
"""Commands, and about how long each takes, in seconds."""


def started(words: str, folder: Path, **streams: int) -> subprocess.Popen[bytes]:
    """A command whose signals are taken care of; its files are in this folder."""
    reader, writer = os.pipe()
    command = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(writer), *words.split()],
        pass_fds=[writer],
        cwd=folder,
        **{"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, **streams},
    )
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)
    return command


def last_words(command: subprocess.Popen[bytes]) -> bytes:
    """What a command has said on stderr once it has ended, which it must within a minute."""
    try:
        return command.communicate(timeout=60)[1]
    finally:
        command.kill()


def is_whole(path: Path) -> bool:
    """Whether a file ends as one of its kind does."""
    data = path.read_bytes()
    ends = {".png": b"IEND\xaeB`\x82", ".gif": b";", ".json": b"\n", ".svg": b"</svg>\n"}
    if path.suffix == ".npy":
        return len(data) == 128 + 4 * 96 * 96
    return bool(data) and data.endswith(ends.get(path.suffix, b"\n"))


def check_left(folder: Path) -> None:
    """Every file of the folder is whole, and a folder in it has all its files, or none is new."""
    for path in folder.rglob("*"):
        assert not path.name.startswith(".gpgpu-legacy-draft"), path
        assert path.is_dir() or is_whole(path), path
    assert not (folder / "out").is_dir() or len(list((folder / "out").iterdir())) > 2


def signalled(random: Random, folder: Path) -> None:
    words, lasts_s = random.choice(list(COMMANDS.items()))
    number = random.choice(SIGNALS)
    command = started(words, folder)
    time.sleep(random.choice((0.0, 0.05, random.uniform(0, 0.5), random.uniform(0, lasts_s))))
    for _ in range(random.choice((1, 1, 2, 20))):
        command.send_signal(number)
    said = last_words(command)
    about = f"{words} with {number.name}: {said.decode()}"
    busy = re.compile(rb"gpgpu-legacy: (other processes|the machine)[^\n]*\n|wrote [^\n]*\n")
    if command.returncode in {0, 1}:  # it was done before, or has found that claims differ
        assert b"Traceback" not in said, about
    else:
        assert command.returncode == 128 + number, about
        assert busy.sub(b"", said).decode() == LINE, about
    check_left(folder)


def test_signals_at_any_time(tmp_path: Path) -> None:
    random = ATTACK.random("signals")
    for case in range(ATTACK.count(3, 45)):
        folder = tmp_path / str(case)
        folder.mkdir()
        signalled(random, folder)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_anything_is_imported(number: signal.Signals, tmp_path: Path) -> None:
    command = started("run larson-mcallister", tmp_path)
    command.send_signal(number)
    command.send_signal(number)
    said = last_words(command)
    assert (command.returncode, said.decode()) == (128 + number, LINE)


def test_signals_that_are_ignored_stay_ignored(tmp_path: Path) -> None:
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{BEGIN}"
    reader, writer = os.pipe()
    words = [sys.executable, "-c", code, str(writer), "methods"]
    command = subprocess.Popen(words, pass_fds=[writer], stdout=subprocess.DEVNULL, cwd=tmp_path)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    command.send_signal(signal.SIGHUP)
    assert command.wait(60) == 0


FILL = """
import os, sys, time; from pathlib import Path
from gpgpu_legacy.ending import end_on_signals
from gpgpu_legacy.files import text_writer, write_folder, write_whole
end_on_signals()
def fill(to):
    to.write(b"half"); to.flush(); os.close(int(sys.argv[1])); {busy}
{write}
"""
BUSY = {
    "Python": "time.sleep(60)",
    "compiled code": "import hashlib; hashlib.pbkdf2_hmac('sha1', b'x', b'y', 10**9)",
    "a thread": "import threading as t; x = t.Thread(target=time.sleep, args=[60]); x.start(); "
    "x.join()",
    "a callback": "import ctypes; f = ctypes.CFUNCTYPE(None)(lambda: time.sleep(60)); f()",
    "a destructor": "type('T', (), {'__del__': lambda self: time.sleep(60)})()",
    "a child": "import subprocess; subprocess.run(['sleep', '5'], stderr=subprocess.DEVNULL)",
}
WRITES = {
    "a file": "write_whole(Path('old.txt'), fill)",
    "a folder": "write_folder(Path('new'), {'a': text_writer('a'), 'b': fill})",
    "files of a folder": "write_folder(Path('.'), {'a': text_writer('a'), 'old.txt': fill})",
}


@pytest.mark.parametrize("busy", BUSY)
@pytest.mark.parametrize("write", WRITES)
def test_a_signal_while_something_is_written(busy: str, write: str, tmp_path: Path) -> None:
    if not ATTACK.full and (busy == "Python") != (write == "a folder"):
        pytest.skip("one of each in the share")
    (tmp_path / "old.txt").write_text("before")
    reader, writer = os.pipe()
    code = FILL.format(busy=BUSY[busy], write=WRITES[write])
    command = subprocess.Popen(
        [sys.executable, "-c", code, str(writer)],
        pass_fds=[writer],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
    )
    os.close(writer)
    assert os.read(reader, 1) == b""
    os.close(reader)
    assert len(list(tmp_path.iterdir())) > 1
    time.sleep(0.1)
    command.send_signal(signal.SIGTERM)
    said = last_words(command)
    assert (command.returncode, said.decode()) == (143, LINE)
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "before"


FORKED = """
import os, signal, sys, time; from pathlib import Path
from gpgpu_legacy.ending import end_on_signals
from gpgpu_legacy.files import write_whole
end_on_signals()
def fill(to):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"x")
        time.sleep(20)
    os.read(reader, 1)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    time.sleep(0.2)
    to.write(b"whole")
write_whole(Path("out.txt"), fill)
"""


def test_a_signal_to_a_forked_child_is_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORKED],  # of threads and fork
        cwd=tmp_path,
        check=False,
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "out.txt").read_text() == "whole"


def test_what_a_killed_process_leaves_is_swept_later(tmp_path: Path) -> None:
    code = FILL.format(busy=BUSY["Python"], write=WRITES["a file"])
    reader, writer = os.pipe()
    words = [sys.executable, "-c", code, str(writer)]
    command = subprocess.Popen(words, pass_fds=[writer], cwd=tmp_path)
    os.close(writer)
    os.read(reader, 1)
    os.close(reader)
    command.kill()
    command.wait()
    [left] = tmp_path.iterdir()
    write = "from gpgpu_legacy.files import *; write_text(Path('new.txt'), 'x')"
    subprocess.run([sys.executable, "-c", write], cwd=tmp_path, check=True)
    assert left.exists()  # it might be somebody's, of another machine
    os.utime(left, (0, 0))
    subprocess.run([sys.executable, "-c", write], cwd=tmp_path, check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["new.txt"]


def test_the_cursor_comes_back(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    command = started("anomaly --size 256 512", tmp_path, stderr=theirs)
    os.close(theirs)
    said = b""
    while b"\x1b[?25l" not in said:
        said += os.read(ours, 4096)
    command.send_signal(signal.SIGINT)
    assert command.wait(60) == 130
    said = os.read(ours, 65536)
    assert b"\x1b[?25h" in said and said.endswith(b"gpgpu-legacy: interrupted\r\n")
    os.close(ours)
