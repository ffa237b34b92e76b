"""A program of one's own in the page: read as the assembler reads it, and five tasks."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from browser_pages import Modules, Opener, View
from playwright.sync_api import Page, expect

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.count.resources import resources
from gpgpu_legacy.errors import AssemblyError
from gpgpu_legacy.isa.opcodes import ARBFP
from gpgpu_legacy.languages.arb.limits import AssemblerLimits
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.page.definitions import DEFINITIONS
from gpgpu_legacy.page.scenes import decoded_program
from gpgpu_legacy.page.sections.write import (
    RESOURCES,
    SIDE,
    TASKS,
    UNITS,
    WritingTask,
    program_text,
    tables,
)

TEXTS = 1000
BOX = AssemblerLimits(texture_coordinate_sets=1, texture_image_units=UNITS)
"""What the box has: a coordinate for each fragment, and two textures."""

LOOK = "TEX R0, fragment.texcoord[0], texture[0], RECT;"
MUTANTS = (
    "MADD", "R9", "R0", "result.color", "fragment.colour", "fragment.texcoord[3]", ",", ";", "-",
    ".", ".x", ".xq", ".wx", ".xyzwx", ".rgxy", "{1, 2", "{1, 2, 3, 4, 5}", "}", "0.5", "1e3", "3d",
    "RECT", "texture[7]", "texture", "TEX", "tex", "#", "[", "]", "..", "", "", "", "$", "é", "-R1",
    "{.5}",
)  # fmt: skip


def operand(rng: random.Random, kind: str) -> str:
    """A text of an operand, mostly right."""
    register = rng.choice(
        [f"R{rng.randrange(8)}"] * 4
        + ["fragment.texcoord[0]", "fragment.position", "0.5", "{1, -2}"]
    )
    if kind == "maskedDstReg":
        mask = "".join(c for c in "xyzw" if rng.random() < 0.6)
        name = rng.choice(["result.color", *["R0", "R1", "R2", "R3"]])
        return f"{name}.{mask}" if mask and rng.random() < 0.5 else name
    sign = rng.choice(["", "", "-"])
    if kind == "scalarSrcReg":
        return f"{sign}{register}.{rng.choice('xyzwrgba')}"
    if kind == "vectorSrcReg":
        letters = rng.choice(["xyzw", "rgba"])
        swizzle = "".join(rng.choice(letters) for _ in range(rng.choice([1, 4])))
        return f"{sign}{register}" + (f".{swizzle}" if rng.random() < 0.4 else "")
    selectors = [rng.choice(["", "-"]) + rng.choice("xyzw01") for _ in range(4)]
    return {
        "srcReg": register,
        "extendedSwizzle": ", ".join(selectors),
        "texImageUnit": f"texture[{rng.randrange(2)}]",
        "texTarget": "RECT",
    }[kind]


def body(rng: random.Random) -> str:
    """The text of some instructions; of every second one a word is another."""
    lines = []
    for _ in range(rng.randint(1, 6)):
        row = rng.choice([*ARBFP.values(), *[ARBFP["TEX"]] * 6])
        operands = ", ".join(operand(rng, kind.value) for kind in row.shape)
        suffix = "_SAT" if row.saturable and rng.random() < 0.2 else ""
        lines.append(f"{row.mnemonic}{suffix} {operands};{rng.choice(['', '', ' # a comment; '])}")
    if rng.random() < 0.5:
        n = rng.randrange(len(lines))
        words = re.findall(r"[\w.\[\]]+|\S|\s+", lines[n])
        words[rng.randrange(len(words))] = rng.choice(MUTANTS)
        lines[n] = "".join(words)
    return "\n".join(lines)


def read_by_assembler(text: str) -> tuple[Any, int]:
    """What the assembler makes of a text: instructions and resources, or where it is wrong."""
    whole = program_text(text)
    before = whole.index(text)
    try:
        program = assemble(whole, limits=BOX)
    except AssemblyError as error:
        return None, min(error.diagnostics[0].position - before, len(text.encode()))
    decoded = decoded_program(program)
    known = decoded["registers"]

    def plain(form: dict[str, Any]) -> list[Any]:
        sources = [
            [_named(known[s["register"]]), list(s["swizzle"]), list(s.get("negate", [False] * 4))]
            for s in form["srcs"]
        ]
        dst = _named(known[form["dst"]]) if "dst" in form else None
        unit = form.get("texture", {}).get("unit")
        return [form["op"], dst, form.get("mask"), form.get("saturate", False), unit, sources]

    found = resources(program)
    counts = [found.count(resource) for resource in RESOURCES]
    return [[plain(decoded["forms"][n]) for n in decoded["order"]], counts], -1


def _named(register: dict[str, Any]) -> list[Any]:
    value = [float(number) for number in register.get("value", ())]
    return [register["kind"], register.get("name"), register.get("index"), value]


READ = """(() => {
    const reader = new ProgramReader(given.tables);
    const named = ({ kind, name = null, index = null, value = [] }) => [kind, name, index, value];
    return given.texts.map((text) => {
        const program = reader.read(text);
        const { registers, instructions, faults } = program;
        if (faults.length) return faults.map(({ at, end, message }) => [at, end, message]);
        const plain = ({ op, dst, mask = null, saturate, texture, srcs }) => [
            op, dst === undefined ? null : named(registers[dst]), mask, saturate,
            texture?.unit ?? null,
            srcs.map(({ register, swizzle, negate }) =>
                [named(registers[register]), swizzle, negate])];
        return { read: [instructions.map(plain), resourcesOf(program)] };
    });
})()"""


def read_alike(modules: Callable[..., Modules], count: int) -> None:
    """Compares texts: their instructions and resources, or a fault at what the assembler names."""
    rng = random.Random(55)
    texts = [body(rng) for _ in range(count)]
    names = ("player/plan.js", "player/interpreter.js", "lesson/program-reader.js")
    given = {"tables": tables(), "texts": texts}
    found = modules(DEFINITIONS, *names).run(READ, given)
    good = 0
    for text, read in zip(texts, found, strict=True):
        expected, at = read_by_assembler(text)
        if expected is None:
            assert isinstance(read, list), text
            begin, end, _ = read[0]
            assert len(text[:begin].encode()) <= at <= len(text[:end].encode()), (text, read, at)
        else:
            good += 1
            assert isinstance(read, dict), (text, read)
            assert read["read"] == expected, text
    assert count / 3 < good < 2 * count / 3


def test_a_text_is_read_as_the_assembler_reads_it(modules: Callable[..., Modules]) -> None:
    read_alike(modules, TEXTS)


def expected(task: WritingTask) -> list[np.ndarray[Any, Any]]:
    """The channels of a task's target, by NumPy."""
    textures = [texture / task.scale for texture in task.inputs()]
    first = textures[0]
    match task.title:
        case "Threshold":
            return [first[0] >= 0.5]
        case "Edges":
            return [np.abs(np.diff(first[0], axis=1, append=first[0][:, -1:]))]
        case "Transpose":
            return [first[0].T]
        case "A rule of life":
            alive, neighbours = first
            return [(neighbours == 3) | ((alive == 1) & (neighbours == 2))]
    blocks = [texture.reshape(2, 2, SIDE, SIDE) for texture in textures]
    return [*np.einsum("ikyx,kjyx->ijyx", *blocks).reshape(4, SIDE, SIDE)]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.title)
def test_a_solution_draws_what_is_asked_for(task: WritingTask) -> None:
    textures = {}
    for unit, texture in enumerate(task.inputs()):
        channels = [*(texture / task.scale), *np.zeros((4, SIDE, SIDE))][:4]
        textures[unit] = ("RECT", np.stack(channels, axis=-1))
    drawn = run_program(program_text(task.solution), SIDE, SIDE, textures, executor="numpy")
    for channel, wanted in enumerate(expected(task)):
        assert np.array_equal(drawn[..., channel], wanted)


def write(page: Page, text: str) -> str:
    """What the page says of a text."""
    page.get_by_label("Program").fill(text)
    return page.locator("#write .says").inner_text()


def test_five_tasks_are_checked_and_wrong_programs_are_told_why(open_page: Opener) -> None:
    page = open_page("write", View(calm=True))
    assert write(page, "").startswith("The box is empty")
    for n, task in enumerate(TASKS):
        page.get_by_label("Task").select_option(str(n))
        par = len(task.solution.splitlines())
        assert "at par" in write(page, task.solution)
        longer = task.solution.replace("result.color", "R7") + "\nMOV result.color, R7;"
        assert f"{par + 1} instructions, 1 above par" in write(page, longer)
        assert "texels differ" in write(page, f"{LOOK}\nMUL result.color, R0, 3;")
    page.get_by_label("Task").select_option("0")
    # The heart has no 3/8, but other pictures do.
    assert "not on others" in write(page, f"{LOOK}\nSGE result.color, R0, 0.3;")
    assert "256 are discarded" in write(page, f"{LOOK}\nKIL -1;\nMOV result.color, R0;")
    assert "256 are NaN" in write(page, "POW result.color, {-1}.x, {2}.x;")
    assert write(page, f"{LOOK}\nMAD R1, R9, R0, 1;").startswith("R9 cannot stand here: as in MAD")
    assert page.locator("#write u").all_inner_texts() == ["R9"]
    flat = write(page, LOOK.replace("RECT", "2D"))
    assert flat.startswith("2D cannot stand here: as in TEX R0, R1, texture[0], RECT;")


def test_a_text_of_another_version_is_named_beside_the_box(open_page: Opener) -> None:
    page = open_page("write", View(calm=True), at="write.version=0.0.9&write.program=FOO%20R0%3B")
    expect(page.locator(".editor + .said")).to_contain_text("This text is of version “0.0.9”, and")
    write(page, LOOK)
    page.wait_for_function("location.hash.includes('TEX')")
    other = open_page("write", View(calm=True), at=page.url.split("#")[1])
    assert other.locator(".editor + .said").inner_text() == ""
