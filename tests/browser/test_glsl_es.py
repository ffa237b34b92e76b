"""Fragment programs in GLSL ES 3.00, which the browser's own compiler takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from browser_pages import Browsers, Modules
from drawing import program
from program_keys import program_key

from gpgpu_legacy import run_program
from gpgpu_legacy.api.translate import random_scene
from gpgpu_legacy.files import shader_folder
from gpgpu_legacy.isa.arithmetic import ARITHMETICS
from gpgpu_legacy.isa.fog import Fog
from gpgpu_legacy.isa.opcodes import ARBFP, OperandKind
from gpgpu_legacy.isa.program import Program
from gpgpu_legacy.languages.arb.parser import assemble
from gpgpu_legacy.lower.emit.glsl_fragment import GLSL_ES, fragment_shader, vertex_shader
from gpgpu_legacy.lower.emit.hosts import host_code
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation
from gpgpu_legacy.lower.fragments import ShaderKey
from gpgpu_legacy.plan.textures import REPEATING, Extent, Filter, Sampler, Wrap

LINKED = """(() => {
    const gl = document.createElement("canvas").getContext("webgl2");
    return given.map((texts) => {
        const linked = gl.createProgram();
        const shaders = texts.map((text, n) => {
            const shader = gl.createShader(n ? gl.FRAGMENT_SHADER : gl.VERTEX_SHADER);
            gl.shaderSource(shader, text);
            gl.compileShader(shader);
            gl.attachShader(linked, shader);
            return shader;
        });
        gl.linkProgram(linked);
        const said = shaders.map((shader) => gl.getShaderInfoLog(shader)).join("");
        const works = gl.getProgramParameter(linked, gl.LINK_STATUS);
        shaders.forEach((shader) => gl.deleteShader(shader));
        gl.deleteProgram(linked);
        return works ? "" : said || "it does not link";
    });
})()"""
"""What the compiler and the linker say of each pair of texts that they refuse."""

DRAWN = """(given) => {
    const gl = document.createElement("canvas").getContext("webgl2"), textures = {};
    gl.getExtension("EXT_color_buffer_float");
    for (const [name, [kind, size, texels]] of Object.entries(given.textures))
        textures[name] = makeTexture(gl, kind, new Float32Array(texels), size);
    const drawn = draw(gl, given.width, given.height, given.uniforms, given.varyings, textures);
    return drawn.map((one) => [...one]);
}"""
"""What a page's own functions draw of a scene."""


def texts_of(key: ShaderKey) -> tuple[str, str]:
    return vertex_shader(key.varyings, GLSL_ES), fragment_shader(key, GLSL_ES)


def with_every_opcode() -> Program:
    operands = {
        OperandKind.DESTINATION: "R0", OperandKind.VECTOR: "-R1", OperandKind.SCALAR: "R1.y",
        OperandKind.REGISTER: "R1", OperandKind.EXTENDED_SWIZZLE: "x, -y, 0, 1",
        OperandKind.TEXTURE_UNIT: "texture[0], 2D",
    }  # fmt: skip
    lines = ["MOV R1, fragment.texcoord[0];"]
    for row in ARBFP.values():
        listed = [operands[kind] for kind in row.shape if kind in operands]
        for suffix in ("", "_SAT")[: 1 + row.saturable]:
            lines += [f"{row.mnemonic}{suffix} {', '.join(listed)};", "ADD R1, R1, R0;"]
    return program(*lines, "MOV result.color, R1;")


def with_any_names() -> Program:
    """Words that GLSL ES keeps, and prefixes that it or WebGL does."""
    names = [
        "filter",
        "input",
        "half",
        "sampler2D",
        "common",
        "gl_x",
        "webgl_x",
        "_webgl_y",
        "main",
        "vec4",
        "$",
        "a__b",
    ]
    lines = [f"ADD {name}, {name}, fragment.texcoord[0];" for name in names]
    lines += [f"ADD result.color, {a}, {b};" for a, b in pairwise(names)]
    return program(*lines, temporaries=f"TEMP {', '.join(names)};")


def with_fog(option: Fog) -> Program:
    return program(
        "MOV result.color[3], fragment.fogcoord;", "MOV result.color, fragment.position;",
        temporaries=f"OPTION ARB_draw_buffers; OPTION {option.value};",
    )  # fmt: skip


EXTENTS = {"RECT": Extent(5, 4), "1D": Extent(5, 1), "2D": Extent(5, 4), "3D": Extent(5, 4, 3),
           "CUBE": Extent(4, 4, 6)}  # fmt: skip


def keys(exact: bool) -> Iterator[ShaderKey]:
    shipped = [assemble(path.read_text("utf-8")) for path in shader_folder().rglob("*.fp")]
    for text in (*shipped, with_any_names(), *map(with_fog, Fog)):
        yield program_key(text, exact=exact)
    for arithmetic in ARITHMETICS.values():
        yield program_key(with_every_opcode(), exact=exact, arithmetic=arithmetic)
    for (target, extent), how, wrap in product(EXTENTS.items(), Filter, Wrap):
        if target != "RECT" or not (how.between or wrap in REPEATING):
            looks = program(f"TXP result.color, fragment.texcoord[0], texture[3], {target};")
            key = program_key(looks, exact=exact)
            size = replace(extent, levels=3 if how.between else 1)
            unit = replace(key.units[0], extent=size, sampler=Sampler(how, wrap, wrap, wrap))
            yield replace(key, units=(unit,))


@pytest.mark.parametrize("exact", [False, True])
def test_programs_of_every_kind_link(modules: Callable[..., Modules], exact: bool) -> None:
    every = [texts_of(key) for key in keys(exact)]
    vertex, fragment = every[0]
    wrong = vertex, fragment.replace("void main() {", "void main() { precise float a = 0.0;")
    *said, refused = modules().run(LINKED, [*every, wrong])
    assert [(text, why) for text, why in zip(every, said, strict=True) if why] == []
    assert "precise" in refused


def test_a_page_draws_what_the_program_draws(browsers: Browsers) -> None:
    """Samplers of each kind, and names that GLSL ES has; where nothing is contracted."""
    text = """!!ARBfp1.0
        OPTION ARB_fragment_program_shadow; ATTRIB input = fragment.texcoord[0]; TEMP a, b;
        TEX a, input, texture[0], 3D; TEX b, a, texture[1], CUBE; ADD a, a, b;
        TEX b, input, texture[2], SHADOW2D; ADD a, a, b; TEX b, input, texture[3], 1D;
        MAD result.color, a, b, program.local[3]; END"""
    page = browsers.on("swiftshader").new_page()
    for exact in (False, True):
        translation = glsl_translation(assemble(text), es=True, exact=exact)
        scene, arguments = random_scene(translation, 97, 31)
        wanted = run_program(translation.program, 97, 31, **arguments, executor="numpy")
        scene["textures"] = {
            name: (kind, texels.shape[-2::-1], texels.ravel().tolist())
            for name, (kind, texels) in scene["textures"].items()
        }
        page.set_content(host_code(translation, is_page=True))
        found = page.evaluate(DRAWN, scene)
        np.testing.assert_array_equal(np.float32(found).reshape(wanted.shape), wanted)
    page.close()
