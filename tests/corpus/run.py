"""Run a clone of other people's Brook, Cg, HLSL and GLSL, and say what works: run.py FOLDER.

A .br is run as `gpgpu-legacy run` does, and its output compared with FILE.gold as `diff -w` does.
Without a main, each of its kernels runs alone.
Each fragment program of a .cg, .fx, .hlsl, .glsl or .frag is compiled, and each in a string of a
.js; --driver draws those in GLSL at random inputs as well, by the driver's compiler of GLSL. The
macro FRAGMENT is defined there. The exit code is 1 if a gold differs.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

from gpgpu_legacy import Pipeline
from gpgpu_legacy.errors import GpgpuLegacyError
from gpgpu_legacy.files import read_text
from gpgpu_legacy.isa.program import Parameter, ParameterSpace
from gpgpu_legacy.languages.brook.kernels import BrookKernel, Kernels, ParameterRole
from gpgpu_legacy.languages.c.parser import parse
from gpgpu_legacy.languages.c.syntax import Function, Struct, Unit
from gpgpu_legacy.languages.cg.compiler import PREDEFINED, CgCompiler
from gpgpu_legacy.languages.glsl.fragments import compile_text as compile_shader
from gpgpu_legacy.languages.glsl.language import LANGUAGE as OF_GLSL
from gpgpu_legacy.languages.language import CompilerOptions
from gpgpu_legacy.languages.registry import languages, program_of, split_entry
from gpgpu_legacy.languages.shading.graph import SAMPLER, Fault, Graph, Vector
from gpgpu_legacy.languages.shading.types import Numbers, SamplerType, Type, leaves, size
from gpgpu_legacy.pipeline.storage import Iterator as NumberStream

if TYPE_CHECKING:
    from glsl_driver import F32, Drawn

GLSL = {*OF_GLSL.suffixes, ".js"}
COMPILED = {suffix for one in languages() if one.compiles for suffix in one.suffixes}
PIXEL_SHADER = re.compile(r"pixel(?:shader|fragment)\s*=\s*compile\s+\w+\s+(\w+)", re.IGNORECASE)
COLOUR = re.compile(r"(col|color|depth|depr)\d*", re.IGNORECASE)
AGREES = "agrees"
CLOSE, FEW = 2e-3, 0.01
"""A shader agrees if no more than this part of its numbers is further apart, of their range."""

HANGS = "they hang on"
LAST_BITS = [n * 2.0**-22 for n in range(1, 9)]
LARGE = re.compile(r"(?<![\w.])(?:[1-9]\d{2,}\.\d*|1e[2-9])")
"""Factors of hashes, as in fract(sin(x) * 43758.5453): what they make of a last bit is noise."""
OPEN: dict[str, dict[str, str]] = {
    "mediump, for which the driver has floats of 16 bits": {"mediump": "highp", "lowp": "highp"},
    "what is given to functions outside their domains": {
        "sqrt(x)": "sqrt(abs(x))", "inversesqrt(x)": "inversesqrt(abs(x) + 1e-12)",
        "pow(x, y)": "pow(abs(x) + 1e-6, y)", "log(x)": "log(abs(x) + 1e-6)",
        "log2(x)": "log2(abs(x) + 1e-6)", "normalize(x)": "normalize((x) + 1e-6)",
        "acos(x)": "acos(clamp(x, -1.0, 1.0))", "asin(x)": "asin(clamp(x, -1.0, 1.0))",
    },
    "the neighbours of derivatives": {
        "fwidth(x)": "((x) * 0.0 + 0.3)", "dFdx(x)": "((x) * 0.0 + 0.1)",
        "dFdy(x)": "((x) * 0.0 + 0.2)",
    },
    "texels outside the texture": {
        "texelFetch(s, p, l)": "texelFetch(s, clamp(p, ivec2(0), textureSize(s, l) - 1), l)",
        "texelFetchOffset(s, p, l, o)": "texelFetch(s, (p) + (o), l)",
    },
    "how exact angles' functions are": {
        "sin(x)": "(abs(fract((x) * 0.15915494 - 0.25) - 0.5) * 4.0 - 1.0)",
        "cos(x)": "(abs(fract((x) * 0.15915494) - 0.5) * 4.0 - 1.0)",
        "acos(x)": "(1.5707964 - (x))", "asin(x)": "(x)",
    },
}  # fmt: skip
"""What GLSL leaves open, and macros in whose stead it has one meaning."""

POSITION = re.compile(r"(position|hpos)\d*", re.IGNORECASE)


class Row(NamedTuple):
    """A program: what it holds, what became of it, and whether it printed its gold."""

    program: str
    kernels: int
    verdict: str
    gold: str = ""


class TooLongError(Exception):
    """A program has not ended in time."""


def brook(file: Path, executor: str) -> Row:
    """A Brook program's run."""
    from gpgpu_legacy.api.host.program import run_brook

    kernels, gold = 0, gold_of(file)
    missed = "" if gold is None else "not printed"
    try:
        unit = parse(read_text(file), str(file), CompilerOptions(folder=file.parent))
        functions = [item for item in unit.items if isinstance(item, Function)]
        kernels = sum(bool(f.type.qualifiers & {"kernel", "reduce"}) for f in functions)
        if not any(f.name == "main" and f.body for f in functions):
            return Row(str(file), kernels, f"has no main; {kernels_alone(unit, executor)}", missed)
        run = run_brook(file, executor=executor)
    except (GpgpuLegacyError, TooLongError) as error:
        return Row(str(file), kernels, one_line(error), missed)
    same = gold is None or difference(run.stdout, gold) or "equal"
    return Row(str(file), kernels, f"exit code {run.status}", missed and str(same))


def kernels_alone(unit: Unit, executor: str) -> str:
    """Whether each kernel that writes a stream runs, on streams of 16 numbers that are given it."""
    kernels, ran, faults = Kernels(unit), 0, []
    for name in kernels.functions:
        try:
            ran += runs(kernels.find(name), executor)
        except GpgpuLegacyError as error:
            faults.append(one_line(error))
    return f"{ran} kernels run" + "".join(f"; {fault}" for fault in faults)


def runs(kernel: BrookKernel, executor: str) -> bool:
    """Whether a kernel writes a stream; if so, it runs."""
    p, arguments = Pipeline("kernel"), list[Any]()
    for n, given in enumerate(kernel.parameters):
        numbers = tuple(3.0 for _ in range(given.type.components))
        extents = (2,) * given.rank if given.rank > 2 else (16,) if given.rank == 1 else (4, 4)
        if given.role is ParameterRole.NUMBER:
            arguments.append(numbers if len(numbers) > 1 else 3.0)
        elif given.role is ParameterRole.ITERATOR:
            arguments.append(NumberStream((4, 4), tuple(0.0 for _ in numbers), numbers))
        else:
            is_out = given.role in {ParameterRole.OUT, ParameterRole.REDUCE}
            extents = (1, 1) if given.role is ParameterRole.REDUCE and kernel.reduces else extents
            arguments.append(p.stream(f"s{n}", given.type, extents, given=not is_out))
            if is_out:
                p.output(f"s{n}", arguments[-1])
    writes = bool(kernel.of(ParameterRole.OUT, ParameterRole.REDUCE))
    if writes:
        p.call(kernel, *arguments)
        p.run({m.name: np.ones(m.array_shape) for m in p.plan().operands}, executor=executor)
    return writes


def gold_of(file: Path) -> str | None:
    """What the program's authors recorded."""
    gold = file.with_suffix(".gold")
    return read_text(gold) if gold.is_file() else None


def difference(printed: str, gold: str) -> str:
    """The first line that differs in more than white space; empty if none does."""
    ours, theirs = (["".join(line.split()) for line in t.splitlines()] for t in (printed, gold))
    for number, (mine, wanted) in enumerate(zip(ours, theirs, strict=False), 1):
        if mine != wanted:
            return f"line {number}: {mine[:30]!r}, not {wanted[:30]!r}"
    return "" if len(ours) == len(theirs) else f"{len(ours)} lines, not {len(theirs)}"


def shaders(file: Path, macros: str) -> Iterator[Row]:
    """A row for each fragment program of a file, or for its fault."""
    text = read_text(file)
    try:
        defines = split_entry(f"{file}{macros}")[2]
        options = CompilerOptions(folder=file.parent, root=Path(), defines=defines)
        unit = parse(text, str(file), options, before=PREDEFINED)
    except GpgpuLegacyError as error:
        yield Row(str(file), 1, one_line(error))
        return
    entries = sorted(set(PIXEL_SHADER.findall(text))) or list(fragment_entries(unit))
    if not entries:
        yield Row(str(file), 0, functions_alone(unit))
    for entry in entries:
        name = f"{file}:{entry}{macros}"
        try:
            program = program_of(text, name)
        except GpgpuLegacyError as error:
            yield Row(name, 1, one_line(error))
        else:
            yield Row(name, 1, f"compiles to {len(program.instructions)} instructions")


def glsl(file: Path, macros: str, executor: str) -> Iterator[Row]:
    """A row for each fragment shader of a file, which an executor draws as well if one is named."""
    defines = {"FRAGMENT": "1", **split_entry(f"x.frag{macros}")[2]}
    text = inlined(read_text(file), file.parent)
    options = CompilerOptions(defines=defines, lenient=True)
    texts = [text]
    if file.suffix == ".js":
        texts = [t for t in re.findall("`([^`]*)`", text) if re.search(r"gl_Frag(Color|Data)", t)]
    for number, shader in enumerate(texts):
        name = f"{file}:{number}" if file.suffix == ".js" else str(file)
        if not re.search(r"\bvoid\s+main\b", shader):
            yield Row(name, 0, "has no main")
            continue
        try:
            program = compile_shader(shader, name, options)
        except GpgpuLegacyError as error:
            yield Row(name, 1, one_line(error))
            continue
        drawn = f"; {as_drawn(shader, name, defines, executor)}" if executor else ""
        yield Row(name, 1, f"compiles to {len(program.instructions)} instructions{drawn}")


def inlined(text: str, folder: Path) -> str:
    """The text with its includes in place, where they are."""

    def included(match: re.Match[str]) -> str:
        file = folder / match[1]
        return inlined(read_text(file), file.parent) if file.is_file() else match[0]

    return re.sub(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*', included, text, flags=re.MULTILINE)


def as_drawn(text: str, name: str, defines: dict[str, str], executor: str) -> str:
    """Whether a shader draws what the driver draws at random inputs, or what that hangs on.

    A text without a version that the driver does not take is drawn as 1.30, too.
    """
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from glsl_driver import drawn

    pragmas = re.finditer(r'#pragma parameter (\w+)\s+"[^"]*"\s+([-\d.]+)', text)
    values = {found[1]: float(found[2]) for found in pragmas}

    def draw(macros: Mapping[str, str], factor: str = "") -> Drawn:
        given = LARGE.sub(factor, text) if factor else text
        return drawn(given, name, defines={**defines, **macros}, values=values, executor=executor)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            both = draw({})
            if agrees(both):
                return AGREES
            apart = both.apart()[np.isfinite(both.apart())]
            part, most = (apart > CLOSE).mean(), apart.max()
            differs = f"{part:.1%} of the numbers differ, by {most:.2g} at most"
            return f"{differs}; {reason(both, draw)}"
    except TooLongError:
        raise
    except Exception as error:
        if not re.search(r"#\s*version", text):
            return as_drawn(f"#version 130\n{text}", name, defines, executor)
        return f"not drawn: {' '.join(str(error).split())[:150]}"


def reason(both: Drawn, draw: Callable[..., Drawn]) -> str:
    """What the numbers that are far from the driver's hang on, if the rest agrees."""
    changes: dict[str, Callable[[], list[F32]]] = {
        "the last bits of what is given": lambda: [both.again(part) for part in LAST_BITS],
        "the last bit of quotients": lambda: changed(Vector, "__truediv__", quotient),
        "variables that nobody wrote": lambda: changed(Graph, "zeros", unwritten),
    }

    def changed(owner: type, name: str, other: object) -> list[F32]:
        with patch.object(owner, name, other):
            return [draw({}).ours]

    seen: list[F32] = []
    for what, change in changes.items():
        seen += (others := change())
        if agrees(both, others):
            return f"{HANGS} {what}"
    if agrees(both, seen):
        return f"{HANGS} several of these"
    for what, macros in OPEN.items():
        if agrees(draw(macros)):
            return f"{HANGS} {what}"
    macros = {name: body for several in OPEN.values() for name, body in several.items()}
    both = draw(macros)
    if agrees(both, [*seen, *(both.again(part) for part in LAST_BITS)]):
        return f"{HANGS} several of these"
    return f"{HANGS} the factors of hashes" if agrees(draw(macros, "3.7")) else "unexplained"


def agrees(both: Drawn, others: Sequence[F32] = ()) -> bool:
    """Whether both agree in the numbers that are in none of the others far from ours."""
    apart = both.apart()
    far = apart > CLOSE
    for other in others:
        far &= ~(both.apart(other) > CLOSE)
    return bool(far.sum() <= FEW * np.isfinite(apart).sum())


def quotient(a: Vector, b: Any) -> Vector:
    """A quotient whose reciprocal is rounded otherwise."""
    return a * (a.graph.op("RCP", a.graph.vector(b)) * (1 + 2.0**-23))


def unwritten(graph: Graph, kind: Type) -> Vector:
    """A value of variables before their first assignment that is not the package's own, 0."""
    samples = any(isinstance(leaf, SamplerType) for leaf, _ in leaves(kind))
    return graph.built(kind, [graph.numbers(*[0.0 if samples else 0.37] * size(kind))])


def fragment_entries(unit: Unit) -> Iterator[str]:
    """The functions that return a colour or a depth, and no position."""
    structs = {item.name: item for item in unit.items if isinstance(item, Struct)}
    for f in unit.items:
        if isinstance(f, Function) and f.body is not None:
            outs = [p for p in f.parameters if p.type.qualifiers & {"out", "inout"}]
            written = [f.semantic, *(p.semantic for p in outs)]
            for kind in (f.type.name, *(p.type.name for p in outs)):
                written += [d.semantic for d in structs[kind].fields] if kind in structs else []
            if any(map(COLOUR.fullmatch, written)) and not any(map(POSITION.fullmatch, written)):
                yield f.name


def functions_alone(unit: Unit) -> str:
    """What is said of a file without a fragment program: whether its functions compile."""
    functions = [f for f in unit.items if isinstance(f, Function) and f.body and not f.at.file]
    for f in functions:
        graph = Graph()
        compiler = CgCompiler(unit, graph)
        compiler.bound(replace(f, parameters=()))
        registers = count()
        try:
            kinds = {p.name: compiler.type_of(p) for p in f.parameters}
            compiler.run(f, {name: unknown(graph, kinds[name], registers) for name in kinds})
        except Fault as fault:
            return one_line(unit.texts.error(str(fault), fault.at))
    return f"has no fragment program; its {len(functions)} functions compile"


def unknown(graph: Graph, kind: Type, registers: Iterator[int]) -> Vector:
    """A value of which nothing is known."""
    parts = [
        graph.leaf(Parameter(ParameterSpace.LOCAL, next(registers)))[: leaf.width]
        if isinstance(leaf, Numbers)
        else graph.special(SAMPLER, 0)
        for leaf, _ in leaves(kind)
    ]
    return graph.built(kind, parts)


def one_line(error: Exception) -> str:
    """The error's first line."""
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def limited(file: Path, given: argparse.Namespace, macros: str) -> list[Row]:
    """The rows of a file, within a time."""
    seconds = given.seconds

    def stop(*_: object) -> None:
        raise TooLongError(f"has not ended after {seconds} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        if file.suffix == ".br":
            return [brook(file, given.executor)]
        if file.suffix.lower() in GLSL:
            return list(glsl(file, macros, given.executor if given.driver else ""))
        return list(shaders(file, macros))
    except TooLongError as error:
        return [Row(str(file), 0, str(error))]
    except Exception as error:  # a bug, which is part of the answer
        return [Row(str(file), 0, f"BUG: {type(error).__name__}: {one_line(error)}")]
    finally:
        signal.alarm(0)


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--executor", default="numpy")
    parser.add_argument("--only", default="", help="files whose paths contain this")
    parser.add_argument("--driver", action="store_true", help="draw GLSL by the driver, too")
    parser.add_argument("--seconds", type=int, default=60, help="for one file (default: 60)")
    parser.add_argument("-D", dest="macros", action="append", default=[], help="NAME=VALUE")
    given = parser.parse_args()
    macros = "".join(f",{macro}" for macro in given.macros)
    os.chdir(given.folder)
    files = sorted(
        file
        for file in Path().rglob("*")
        if file.suffix.lower() in {".br", *COMPILED, *GLSL}
        and given.only in str(file)
        and not file.name.startswith(".")
        and file.is_file()
    )
    counts = Counter[str]()
    for file in files:
        rows = limited(file, given, macros)
        for row in rows:
            gold = f"  gold: {row.gold}" if row.gold else ""
            print(f"{row.program}  {row.kernels}  {row.verdict}{gold}", flush=True)
            counts["golds"] += bool(row.gold)
            counts["golds equal"] += row.gold == "equal"
            counts["fragment programs"] += bool(file.suffix != ".br" and row.kernels)
            counts["that compile"] += row.verdict.startswith("compiles")
            counts["that agree with the driver"] += row.verdict.endswith(AGREES)
            counts["that would but for what is open"] += HANGS in row.verdict
            counts["that cannot be drawn"] += "; not drawn: " in row.verdict
        if file.suffix != ".br" and any(row.kernels for row in rows):
            counts["files with fragment programs"] += 1
            counts["of which all compile"] += all(r.verdict.startswith("compiles") for r in rows)
    print(f"\n{len(files)} files; " + "; ".join(f"{name}: {n}" for name, n in counts.items() if n))
    return int(counts["golds"] > counts["golds equal"])


if __name__ == "__main__":
    sys.exit(main())
