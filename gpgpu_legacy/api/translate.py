"""The comparison of a translated program with its own result; the program of a Brook kernel."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gpgpu_legacy.api.programs import run_program
from gpgpu_legacy.errors import GpgpuLegacyWarning, InputError
from gpgpu_legacy.isa.arithmetic import F32
from gpgpu_legacy.isa.program import (
    COMPONENTS,
    Attribute,
    AttributeKind,
    Parameter,
    Program,
    TextureTarget,
)
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.languages.arb.limits import DEFAULT_LIMITS
from gpgpu_legacy.languages.brook.compile import (
    CallShape,
    Compiled,
    PassLimits,
    compiled,
)
from gpgpu_legacy.languages.brook.kernels import ParameterRole
from gpgpu_legacy.languages.brook.places import StreamPlace
from gpgpu_legacy.languages.shading.graph import Fault
from gpgpu_legacy.lower.emit.hosts import host_code
from gpgpu_legacy.lower.emit.targets import Translation
from gpgpu_legacy.pipeline.names import as_brook

SIZES = ((97, 31), (63, 49), (211, 139))
"""The widths and heights that are drawn to compare."""

_CLOSE = 2e-6

_DRAW = """
import runpy, sys
import numpy as np
host = runpy.run_path(sys.argv[1])
context = host["make_context"]()
given = np.load(sys.argv[2], allow_pickle=True).item()
bound = {n: host["make_texture"](context, *t) for n, t in given.pop("textures").items()}
np.save(sys.argv[3], host["draw"](context, textures=bound, **given))
"""


def random_scene(
    translation: Translation, width: int, height: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random inputs of a host's `draw` by name, and the same for `run_program`.

    Texture coordinates lie on texels' centres. A texture is its sampler's type, and its texels.
    """
    rng = np.random.default_rng(width)
    corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], np.float32)
    program = translation.program
    in_texels = TextureTarget.RECT in {target.kind for target in program.texture_units.values()}
    scale = (width, height) if in_texels else 1
    uniforms, varyings, textures = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    asked: dict[str, Any] = {"textures": {}, "local": {}, "env": {}, "texcoords": {}}
    value: Any
    for given in translation.inputs:
        source = given.source
        if isinstance(source, Parameter):
            if source.binding:
                value = state_vector(source.binding, {})
            else:
                value = asked[source.space.name.lower()][source.index] = rng.random(4, "f4")
            uniforms[given.name] = [*map(float, value[: given.width])]
        elif isinstance(source, Attribute):
            values = rng.random(4, "f4") + corners @ rng.random((2, 4), "f4")
            if source.kind is AttributeKind.TEXCOORD:
                values[:, :2], values[:, 3] = corners * scale, 1
                asked["texcoords"][source.index] = values
            elif source.kind is AttributeKind.FOGCOORD:
                values[:, 1:] = 0, 0, 1
                asked["fogcoord"] = values[:, 0]
            else:
                asked[source.kind.name.lower()] = values
            varyings[given.name] = values.tolist()
        else:
            target = program.texture_units[source]
            shape = {
                TextureTarget.T1D: (1, width), TextureTarget.T3D: (5, height, width),
                TextureTarget.CUBE: (6, height, height),
            }.get(target.kind, (height, width))  # fmt: skip
            texels = rng.random((*shape, 4), "f4")
            textures[given.name] = given.type, texels
            read = texels[..., 0] if target.is_shadow else texels
            read = read[0] if target.kind is TextureTarget.T1D else read
            asked["textures"][source] = target.value, read
    drawn = {"width": width, "height": height, "uniforms": uniforms, "varyings": varyings}
    asked["draw_buffers"] = program.color_outputs
    return {**drawn, "textures": textures}, asked


def proof(translation: Translation) -> Iterator[str]:
    """A line for each size: the largest difference from the program's own result, in OpenGL."""
    for width, height in SIZES:
        given, asked = random_scene(translation, width, height)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GpgpuLegacyWarning)
            wanted = run_program(translation.program, width, height, executor="numpy", **asked)
        drawn = _in_opengl(host_code(translation, is_page=False), given)
        yield f"OpenGL, {width}x{height}: {_difference(drawn, wanted)}"


def _difference(drawn: F32, wanted: F32) -> str:
    """The largest difference (relative for numbers over 1), its place, and how many are large."""
    same = (drawn == wanted) | (np.isnan(drawn) & np.isnan(wanted))
    if same.all():
        return "every number is the same"
    with np.errstate(all="ignore"):
        apart = np.where(same, 0, np.abs(drawn - wanted) / np.fmax(np.abs(wanted), 1))
    apart = np.where(np.isnan(apart), np.inf, apart)
    colour, row, column, channel = map(int, np.unravel_index(apart.argmax(), apart.shape))
    many = f"{(apart > _CLOSE).sum()} of {apart.size} numbers differ by more than {_CLOSE:g}"
    where = f"result.color[{colour}].{COMPONENTS[channel]} at column {column}, row {row}"
    return f"at most {apart.max():.2g}, in {where}; {many}"


def _in_opengl(code: str, scene: dict[str, Any]) -> F32:
    """Draw a scene with moderngl in a process of its own; InputError if that fails."""
    with tempfile.TemporaryDirectory() as folder:
        host, given, drawn = (str(Path(folder, name)) for name in ("h.py", "g.npy", "d.npy"))
        Path(host).write_text(code, encoding="utf-8")
        np.save(given, np.array(scene, object))
        done = subprocess.run(
            [sys.executable, "-c", _DRAW, host, given, drawn],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.strip().splitlines()[-1:]
            raise InputError(f"OpenGL does not draw the translation here: {' '.join(said)}")
        return np.load(drawn)  # type: ignore[no-any-return]


def kernel_program(what: str, profile: str = "") -> Program:
    """The program of `FILE.br:kernel` on streams of two dimensions and of one size.

    Raises InputError for a kernel that depends on the sizes, or takes several passes.
    """
    kernel = as_brook(what, what, profile)
    place, limits = StreamPlace.whole((64, 64)), DEFAULT_LIMITS
    most = PassLimits(limits.draw_buffers, limits.instructions)
    passes: tuple[Compiled, ...] = ()
    if not kernel.reduces and all(p.rank <= 2 for p in kernel.parameters):
        shapes = {p.name: place.shape[: p.rank or 2] for p in kernel.parameters}
        bound = tuple(
            None if p.role is ParameterRole.NUMBER else StreamPlace.whole(shapes[p.name])
            for p in kernel.parameters
        )
        try:
            passes = compiled(CallShape(kernel, place, bound, most, placed=True))
        except Fault as fault:
            texts = kernel.kernels.unit.texts
            raise texts.error(str(fault), fault.at) from None
    if len(passes) != 1:
        raise InputError(
            f"{kernel.name} takes several passes, or gathers from more than two dimensions; write "
            f"those of a run with `gpgpu-legacy dump {what.partition(':')[0]} -o FOLDER`"
        )
    return passes[0].program
