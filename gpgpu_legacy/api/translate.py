"""A program in another language, with the code that draws it, and how close it comes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpgpu_legacy.api.drawing import DrawArguments
from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.errors import GpgpuLegacyWarning, InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.ir import (
    COMPONENTS,
    Attribute,
    AttributeKind,
    Dst,
    Instruction,
    Parameter,
    ParameterSpace,
    Program,
    SourceRegister,
    Src,
    Temporary,
    TextureTarget,
)
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.languages.brook.compile import Bound, Compiled, Limits, compiled
from gpgpu_legacy.languages.brook.kernels import Parameter as BrookParameter
from gpgpu_legacy.languages.brook.kernels import Role
from gpgpu_legacy.languages.brook.places import Place
from gpgpu_legacy.languages.cg.compiler import identifier
from gpgpu_legacy.languages.cg.faults import Fault
from gpgpu_legacy.lower.emit.glsl_translation import Translation
from gpgpu_legacy.lower.emit.hosts import MAIN, host_code
from gpgpu_legacy.pipeline.sources import as_brook

SIZES = ((97, 31), (63, 49), (211, 139))
"""Widths and heights that are drawn to compare: no size is special to a translation."""

_CLOSE = 2e-6
_DRAWN = ("width", "height", "uniforms", "varyings", "textures")

_DRAW = """
import runpy, sys
import numpy as np
host = runpy.run_path(sys.argv[1])
create = host["moderngl"].create_standalone_context
try:
    context = create(backend="egl")
except Exception:
    context = create()
given = np.load(sys.argv[2], allow_pickle=True)["given"].item()
bound = {n: host["make_texture"](context, *t) for n, t in given.pop("textures").items()}
np.save(sys.argv[3], host["draw"](context, textures=bound, **given))
"""


_PROOF = """
document.title = "";
const given = JSON.parse(atob("@given@")), gl = context(), textures = {};
for (const [name, [kind, size, texels]] of Object.entries(given.textures)) {
  const bytes = Uint8Array.from(atob(texels), (c) => c.charCodeAt(0));
  textures[name] = makeTexture(gl, kind, new Float32Array(bytes.buffer), size);
}
const drawn = draw(gl, given.width, given.height, given.uniforms, given.varyings, textures);
const bytes = drawn.flatMap((one) => [...new Uint8Array(one.buffer)]);
const shown = btoa(bytes.map((byte) => String.fromCharCode(byte)).join(""));
document.body.textContent = "drawn:" + shown + ";";
"""


@dataclass(frozen=True)
class Scene:
    """Random inputs of a translation, by name.

    textures: the kind of sampler and the texels. arguments: the same for `run_program`.
    """

    width: int
    height: int
    uniforms: Mapping[str, Any]
    varyings: Mapping[str, Any]
    textures: Mapping[str, tuple[str, F32]]
    arguments: DrawArguments


def random_scene(translation: Translation, width: int, height: int) -> Scene:
    """Inputs on which texture coordinates lie on texels' centres."""
    rng = np.random.default_rng(width)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float32)
    targets = translation.program.texture_units
    in_texels = TextureTarget.RECT in {target.kind for target in targets.values()}
    uniforms, varyings, textures = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    arguments: dict[str, Any] = {
        name: {} for name in ("textures", "local", "env", "state", "texcoords")
    }
    for given in translation.inputs:
        match given.source:
            case Parameter(space=ParameterSpace.STATE, binding=binding):
                uniforms[given.name] = state_vector(binding, {})[: given.width]
            case Parameter(space=space, index=index):
                value = rng.random(4, np.float32)
                uniforms[given.name] = value[: given.width].tolist()
                arguments[space.name.lower()][index] = value
            case Attribute(kind=kind, index=index):
                base, across, up = rng.random((3, 4), np.float32)
                values = base + across * corners[:, :1] + up * corners[:, 1:]
                if kind is AttributeKind.TEXCOORD:
                    values[:, :2] = corners * ((width, height) if in_texels else 1)
                    values[:, 3] = 1
                    arguments["texcoords"][index] = values
                elif kind is AttributeKind.FOGCOORD:
                    values[:, 1:] = 0, 0, 1
                    arguments["fogcoord"] = values[:, 0]
                else:
                    arguments[kind.name.lower()] = values
                varyings[given.name] = values.tolist()
            case unit:
                target = targets[unit]
                shape = {
                    TextureTarget.T1D: (1, width), TextureTarget.T3D: (5, height, width),
                    TextureTarget.CUBE: (6, height, height),
                }.get(target.kind, (height, width))  # fmt: skip
                texels = rng.random((*shape, 4), np.float32)
                textures[given.name] = given.type, texels
                channels = texels[..., 0] if target.is_shadow else texels
                is_line = target.kind is TextureTarget.T1D
                arguments["textures"][unit] = target.value, channels[0] if is_line else channels
    buffers = translation.program.color_outputs
    asked = DrawArguments(**arguments, draw_buffers=buffers)
    return Scene(width, height, uniforms, varyings, textures, asked)


def proof(translation: Translation) -> Iterator[str]:
    """A line for each size and each host: the largest difference from the program's own result."""
    hosts = {"OpenGL": _in_opengl}
    if translation.es and (browser := _browser()):
        hosts["WebGL2"] = partial(_in_browser, browser)
    for width, height in SIZES:
        scene = random_scene(translation, width, height)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GpgpuLegacyWarning)
            wanted = run_program(
                translation.program, width, height, arguments=scene.arguments, executor="numpy"
            )
        for host, draw in hosts.items():
            yield f"{host}, {width}x{height}: {_difference(draw(translation, scene), wanted)}"


def _difference(found: F32, wanted: F32) -> str:
    """The largest one relative to numbers over 1, where it is, and how many there are."""
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    apart = np.where(same, 0, np.abs(found - wanted) / np.fmax(np.abs(wanted), 1))
    apart = np.where(np.isnan(apart), np.inf, apart)
    if not apart.any():
        return "every bit is the same" if same.all() else "no difference"
    colour, row, column, channel = map(int, np.unravel_index(apart.argmax(), apart.shape))
    many = f"{(apart > _CLOSE).sum()} of {apart.size} numbers differ by more than {_CLOSE:g}"
    where = f"result.color[{colour}].{COMPONENTS[channel]} at column {column}, row {row}"
    return f"at most {apart.max():.2g}, in {where}; {many}"


def _in_opengl(translation: Translation, scene: Scene) -> F32:
    """What moderngl draws, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        host, given, drawn = (str(Path(folder, name)) for name in ("h.py", "g.npz", "d.npy"))
        Path(host).write_text(host_code(translation, is_page=False), encoding="utf-8")
        fields = {name: getattr(scene, name) for name in _DRAWN}
        np.savez(given, given=np.array(fields, object))
        done = subprocess.run(
            [sys.executable, "-c", _DRAW, host, given, drawn],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:]
            raise InputError(f"OpenGL does not draw the translation here: {' '.join(said)}")
        return np.load(drawn)  # type: ignore[no-any-return]


def _browser() -> str | None:
    """A Chromium; CHROMIUM may name one."""
    known = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, known)), None)


def _in_browser(browser: str, translation: Translation, scene: Scene) -> F32:
    """What a browser draws, without a window."""
    given = {name: getattr(scene, name) for name in _DRAWN}
    given["textures"] = {
        name: (kind, texels.shape[-2::-1], b64encode(texels.tobytes()).decode())
        for name, (kind, texels) in scene.textures.items()
    }
    text = b64encode(json.dumps(given).encode()).decode()
    page = host_code(translation, is_page=True).replace(MAIN, _PROOF.replace("@given@", text))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(page, encoding="utf-8")
        flags = [
            "--headless",
            "--dump-dom",
            "--virtual-time-budget=60000",
            f"--user-data-dir={folder}",
        ]
        flags += ["--no-sandbox"] * (os.name == "posix" and os.geteuid() == 0)
        done = subprocess.run(
            [browser, *flags, path.as_uri()], check=False, capture_output=True, text=True
        )
    drawn = re.search("drawn:(.*?);", done.stdout)
    if drawn is None:
        raise InputError(f"{browser} does not draw the translation here: {done.stderr[-300:]!r}")
    numbers = np.frombuffer(b64decode(drawn[1]), np.float32)
    return numbers.reshape(-1, scene.height, scene.width, 4)


def kernel_program(what: str) -> Program:
    """The program of `FILE.br:kernel` on streams of two dimensions and any one size.

    Raises InputError for a kernel whose code depends on the sizes, or that takes several passes.
    """
    kernel = as_brook(what, what)
    file, sizes = what.partition(":")[0], ((97, 31), (64, 48))
    if kernel.reduces:
        raise InputError(f"{kernel.name} is a reduction, of many passes; {_WHOLE.format(file)}")
    limits = Limits(DEFAULT_LIMITS.draw_buffers, DEFAULT_LIMITS.instructions)
    try:
        first, second = (
            compiled(
                kernel, Place.whole(size), tuple(_bound(p, size) for p in kernel.parameters), limits
            )
            for size in sizes
        )
    except Fault as fault:
        raise kernel.kernels.unit.texts.error(fault.problem, fault.at, fault.expected) from None
    if len(first) > 1:
        raise InputError(f"{kernel.name} takes {len(first)} passes; {_WHOLE.format(file)}")
    if first[0].program != second[0].program or first[0].sets != second[0].sets:
        raise InputError(f"{kernel.name} computes with its streams' sizes; {_WHOLE.format(file)}")
    return _placed(first[0])


def _placed(made: Compiled) -> Program:
    """The program with its coordinates from fragment.position, whole and a half in every target."""
    program, position = made.program, Attribute(AttributeKind.POSITION)
    taken = {declared.name for declared in program.parameters}
    places = dict[SourceRegister, SourceRegister]()
    first = []
    for number, ((x, _), (y, _)) in made.sets.items():
        place: SourceRegister = position
        if (x, y) != (0.5, 0.5):
            place = Temporary(identifier("at", taken))
            move = Parameter(ParameterSpace.CONSTANT, value=(x - 0.5, y - 0.5, 0.0, 0.0))
            first.append(Instruction("ADD", Dst(place), (Src(position), Src(move))))
        places[Attribute(AttributeKind.TEXCOORD, number)] = place
    moved = (
        replace(
            i, srcs=tuple(replace(s, register=places.get(s.register, s.register)) for s in i.srcs)
        )
        for i in program.instructions
    )
    added = (place.name for place in places.values() if isinstance(place, Temporary))
    temporaries = (*program.temporaries, *added)
    return replace(program, instructions=(*first, *moved), temporaries=temporaries)


_WHOLE = "write those of a whole run with `gpgpu-legacy dump {} -o FOLDER`"


def _bound(p: BrookParameter, size: tuple[int, int]) -> Bound:
    """Streams and gathers of that size; numbers are the application's."""
    if p.role is Role.NUMBER:
        return Bound()
    return Bound(Place.whole((*size, 4, 4)[: p.rank or 2]))
