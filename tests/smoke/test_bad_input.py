"""Bad input of every kind, one of each: one line that says what is wrong, and nothing written."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from commands import Command

FILES = {
    "good.fp": b"!!ARBfp1.0\nTEX result.color, fragment.texcoord[0], texture[0], RECT;\nEND\n",
    "bad.fp": b"!!ARBfp1.0\nMOV result.color, R7;\nEND\n",
    "bytes.fp": b"!!ARBfp1.0\n\xff\0\n",
    "bad.json": b'{"kind": "plan", "version": 1, "textures": [{"name": ',
    "bad.toml": b"[hardware\n",
    "bad.npy": b"\x93NUMPY\x01\x00\x10\x00{'descr': '|O'}\n",
    "bad.csv": b"1,2\n3,x\n",
    "bad.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02",
}
METHOD = "hall-carr-hart-multi"
CASES = {
    "a program": "check bad.fp",
    "bytes for a program": "exec bytes.fp --size 4",
    "a plan": "run bad.json",
    "an array": f"run {METHOD} A=bad.npy B=bad.npy -o out.npy",
    "a matrix": f"run {METHOD} A=bad.csv B=bad.csv -o out.npy",
    "a picture": "exec good.fp --size 4 --texture 0=bad.png -o out.png",
    "a record": "bench --from bad.json --plot out.png",
    "a profile": "chips bad.toml",
    "a file that is none": "check missing.fp",
    "an option that is none": f"run {METHOD} --exakt",
    "an option without its value": "translate good.fp --to",
    "a parameter that is none": f"run {METHOD} nn=4",
    "a parameter of another algorithm": f"run {METHOD} tile=4",
    "an input that is none": f"run {METHOD} D=bad.npy",
    "a sweep of one run": f"run {METHOD} n=4,8",
    "a word for a number": f"run {METHOD} n=four",
    "an absurd size": f"run {METHOD} n=1000000000000 -o out.npy",
    "a folder that is none": f"run {METHOD} n=4 --executor numpy -o no/where/out.npy",
}


@pytest.mark.parametrize("words", CASES.values(), ids=CASES)
def test_bad_input_is_one_line(
    words: str,
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*words.split())
    assert (code, out) == (2, ""), err
    first, *shown = err.splitlines()
    assert first.startswith(("gpgpu-legacy: ", "bad.fp:2:19: R7 is not declared"))
    assert len(shown) == (2 if first.startswith("bad.fp") else 0)  # the fault in its line
    assert {path.name for path in tmp_path.iterdir()} == FILES.keys()


@pytest.mark.parametrize(
    "words",
    [
        "exec p.fp --size 4",
        "count p.fp",
        "check p.fp",
        "translate p.fp --to numpy",
        "run p.json",
        "run p.py",
    ],
)
def test_no_command_waits_for_a_named_pipe(
    words: str,
    run: Command,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    [name] = (word for word in words.split() if word.startswith("p."))
    os.mkfifo(name)
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it waits for the pipe"))
    signal.alarm(20)
    try:
        code, out, err = run(*words.split())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{name} is a pipe; write what comes through it to a file first" in err
