"""How much is tried, with which seed, and what is made of good texts, bytes and data to do harm.

`make test-all` tries a share of it with one seed. `make hostile` tries all of it; HOSTILE_SEED=7
takes other programs, files and numbers.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from numpy.typing import NDArray

from gpgpu_legacy.errors import InputError


@dataclass(frozen=True)
class Attack:
    """full: everything is tried, and not just a share."""

    full: bool
    seed: int

    def count(self, share: int, everything: int) -> int:
        """How many cases to try."""
        return everything if self.full else share

    def random(self, name: str) -> Random:
        """The random numbers of one test: the same in every run with that seed."""
        return Random(f"{self.seed} {name}")


ATTACK = Attack(os.environ.get("HOSTILE") == "full", int(os.environ.get("HOSTILE_SEED", "0")))


_WORDS = r"""
² １ é 😀 [red] [/] { } [ ] ( ) ; , . .. - -- + # /* */ // " ' \ %s $HOME ../../x /dev/full
null true 0 -1 -0.0 1e999 1e-320 nan inf NaN 65536 2147483648 4294967296 99999999999999999999
"""

_PIECES = ("", " ", "\t", "\n", "\r\n", "\0", "\x1b[31m", "\u2028", "\ud800", *_WORDS.split())
"""What breaks readers: separators, markup, numbers beyond every type, other scripts' digits."""


def mutated_text(random: Random, text: str, pieces: tuple[str, ...] = _PIECES) -> str:
    """The text with one to four faults: a part cut out, doubled, moved or replaced."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice((0, 1, 1, 2, 5, 20, 200)))
        part = text[start:end]
        piece = random.choice(pieces)
        new = random.choice(("", part * 2, part[::-1], piece, piece * 3, part.swapcase()))
        text = text[:start] + new + text[end:]
    return text


def mutated_bytes(random: Random, data: bytes) -> bytes:
    """The bytes with one fault: a bit flipped, bytes changed, cut off, doubled, or none at all."""
    kind = random.randrange(6)
    if kind == 0 or not data:
        return b""
    if kind == 1:
        return data[: random.randrange(len(data))]
    start = random.randrange(len(data))
    if kind == 2:
        changed = bytearray(data)
        changed[start] ^= 1 << random.randrange(8)
        return bytes(changed)
    end = min(len(data), start + random.choice((1, 2, 4, 8, 100)))
    part = {3: random.randbytes(end - start), 4: data[start:end] * 2, 5: b""}[kind]
    return data[:start] + part + data[end:]


def refusal(read: Callable[[Path], object], path: Path) -> str:
    """The one line in which a file is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError) as raised:
            read(path)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def assert_read_or_refused(
    read: Callable[[Path], NDArray[Any]], path: Path, good: bytes, cases: int
) -> None:
    """A file with a few faults, so many times: it is read as numbers, or refused in one line."""
    random, outcomes = ATTACK.random(f"files {path.suffix}"), Counter[bool]()
    for _ in range(cases):
        data = good
        for _ in range(random.choice((1, 1, 2, 4))):
            data = mutated_bytes(random, data)
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                assert read(path).dtype.kind in "biufc"
                outcomes[True] += 1
            except InputError as error:
                assert "\n" not in str(error)
                outcomes[False] += 1
    assert outcomes[False] > 5


_VALUES = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, 2**64, 10**30, 0.5, -0.0, 1e300, 5e-324),
    *("", "x", "²", "\0", "a\nb", "[/old]", "../../etc/passwd", "x" * 5000),
    *([], {}, [[]], [None], {"": 0}, {"kind": "x"}),
)


def mutated_json(random: Random, data: Any) -> Any:
    """JSON data with one value replaced, left out, doubled, or moved to another place."""
    data = json.loads(json.dumps(data))
    places = list(_places(data))
    if not places:
        return random.choice(_VALUES)
    container, key = random.choice(places)
    kind = random.randrange(5)
    if kind == 0:
        del container[key]
    elif kind == 1 and isinstance(container, list):
        container.insert(key, container[key])
    elif kind == 1:
        container[random.choice(("unknown", str(key).upper(), f"{key} "))] = container[key]
    elif kind == 2:
        other, place = random.choice(places)
        container[key] = json.loads(json.dumps(other[place]))
    else:
        container[key] = random.choice(_VALUES)
    return data


def _places(data: Any) -> Any:
    """All containers inside of the data, each with each of its keys."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, dict | list):
            yield from _places(value)
