"""A program as a Python module gives the machine's bits, and needs NumPy alone.

As a shader it reads like its source. What shaders draw is in differential/test_translations.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawing import Image, draw, draw_all, program
from random_programs import random_batch
from strategies import STATE

from gpgpu_legacy import assemble, disassemble, run_program
from gpgpu_legacy.api.translate import kernel_program
from gpgpu_legacy.errors import InputError
from gpgpu_legacy.files import shader_folder, shader_text
from gpgpu_legacy.interp.numeric import Storage, sample
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.languages.registry import program_of
from gpgpu_legacy.lower.emit.to_glsl import glsl_translation
from gpgpu_legacy.lower.emit.to_numpy import numpy_source
from gpgpu_legacy.plan.textures import RGBA32F

# Programs of these tests are given less, or more, than they read.
pytestmark = pytest.mark.filterwarnings("ignore::gpgpu_legacy.errors.GpgpuLegacyWarning")

F32 = np.float32


def module(source: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(source, "translated", "exec"), names)
    return names["program"]


def bits(values: np.ndarray) -> np.ndarray:
    """The bits of every number; all NaN alike."""
    return np.where(np.isnan(values), 0x7FC00000, np.ascontiguousarray(values).view(np.uint32))


def planes(image: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(image, -1, 0))


def attribute(register: str, width: int, height: int, texcoords: dict[int, Any]) -> np.ndarray:
    text = f"!!ARBfp1.0 MOV result.color, {register}; END"
    return planes(run_program(text, width, height, texcoords=texcoords, executor="numpy"))


@pytest.mark.parametrize("number", range(12))
def test_random_programs_give_the_machines_bits(number: int) -> None:
    """Eight in one, of all opcodes, samplers and attributes, on numbers that are hard."""
    batch = random_batch(f"translated {number}")
    width, height = size = (8, 4)  # whole quads, which levels of detail need
    given_ = batch.given
    attributes = {}
    for register in ("fragment.texcoord[0]", "fragment.texcoord[1]", "fragment.texcoord[2]",
                     "fragment.color", "fragment.color.secondary", "fragment.fogcoord",
                     "fragment.position"):  # fmt: skip
        shown = program(f"MOV result.color, {register};")
        seen = draw(shown, size, texcoords=given_["texcoords"], attributes=given_["attributes"])
        attributes[register] = planes(seen)
    parameters = {
        f"program.{space}[{n}]": given_[space].get(n, (0, 0, 0, 0))
        for space in ("local", "env") for n in range(4)
    }  # fmt: skip
    state = {binding: state_vector(binding, given_["state"]) for binding in STATE}
    lookup = Sampling(given_["textures"])
    results, alive = module(numpy_source(batch.program))(attributes, parameters | state, lookup)
    expected = draw_all(
        batch.program, size, **{**given_, "blend": None},
        targets=(RGBA32F,) * batch.targets,
    )  # fmt: skip
    for target, wanted in enumerate(expected):
        color = results.get(
            f"result.color[{target}]" if target else "result.color", np.zeros((4, 1, 1), F32)
        )
        start = np.array(given_["initial"], F32).reshape(4, 1, 1)
        found = np.where(alive, np.broadcast_to(color, (4, height, width)), start)
        np.testing.assert_array_equal(bits(found), bits(planes(wanted)), err_msg=batch.text)


class Sampling:
    """Lookups as the machine has them, of any texture."""

    def __init__(self, images: dict[int, Image]) -> None:
        self.images = images

    def __call__(self, unit: int, target: str, *coordinates: Any) -> np.ndarray:
        image = self.images[unit]
        assert target == image.kind.value
        storage = Storage(image.texture("T"))
        for plane, texels in zip(storage.planes, np.moveaxis(image.texels, -1, 0), strict=True):
            plane[...] = texels
        found = sample(storage, image.sampler, *map(np.atleast_2d, coordinates))
        return np.stack(np.broadcast_arrays(*found))


@pytest.mark.parametrize("option", ["ARB_fog_exp", "ARB_fog_exp2", "ARB_fog_linear"])
def test_fog(option: str) -> None:
    text = f"!!ARBfp1.0 OPTION {option}; MOV result.color, fragment.texcoord[1]; END"
    state = {"state.fog.color": (0.25, 0.5, 1, 0), "state.fog.params": (0.5, 1, 9, 0.125)}
    texcoords = {1: [(0, 1, 2, 3), (1, 1, 2, 3), (1, 1, 2, 3), (0, 1, 2, 3)]}
    fogcoord = [0, 8, 12, 4]
    expected = run_program(
        text, 8, 4, texcoords=texcoords, fogcoord=fogcoord, state=state, executor="numpy"
    )
    distance = run_program(
        "!!ARBfp1.0 MOV result.color, fragment.fogcoord; END", 8, 4, fogcoord=fogcoord
    )
    attributes = {
        "fragment.texcoord[1]": attribute("fragment.texcoord[1]", 8, 4, texcoords),
        "fragment.fogcoord": planes(distance),
    }
    results, _ = module(numpy_source(assemble(text)))(attributes, state, None)
    np.testing.assert_array_equal(bits(results["result.color"]), bits(planes(expected)))


def test_a_line_an_instruction_with_its_text() -> None:
    source = numpy_source(assemble(shader_text("examples/life.fp"), "life"))
    program = assemble(shader_text("examples/life.fp"))
    comments = re.findall(r"# (.*;)$", source, re.MULTILINE)
    assert len(comments) == len(program.instructions)
    assert "west[:] = program_local_0 * constant([-1, 0, 0, 0]) + here  #" in source
    assert "MAD west, texel, {-1, 0, 0, 0}, here;" in comments
    assert re.findall(r"^(?:import|from) .*", source, re.MULTILINE) == ["import numpy as np"]


def test_it_runs_where_nothing_else_is(tmp_path: Path) -> None:
    source = numpy_source(assemble(shader_text("examples/mandelbrot.fp")))
    (tmp_path / "m.py").write_text(source, encoding="utf-8")
    (tmp_path / "use.py").write_text(
        "import m, sys, numpy as np\n"
        "c = np.zeros((4, 1, 3), np.float32); c[0] = [[0, 1, 9]]\n"
        "results, alive = m.program({'fragment.texcoord[0]': c}, {}, None)\n"
        "print(results['result.color'][0].tolist(), 'gpgpu_legacy' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    # 0 never leaves; 1 goes 1, 2, 5: two steps within 2; 9 leaves at once.
    values, alone = eval(done.stdout.replace("]] ", "]], "))
    np.testing.assert_allclose(values, [[0, 0.32, 0]], rtol=1e-6)
    assert not alone


@pytest.mark.parametrize(
    "path", sorted((shader_folder() / "examples").glob("*.fp")), ids=lambda p: p.stem
)
def test_the_examples_are_readable(path: Path) -> None:
    source = numpy_source(assemble(path.read_text(encoding="utf-8"), path.name))
    assert max(len(line.partition("  #")[0]) for line in source.splitlines()) <= 100


# Shaders ---------------------------------------------------------------------------------------

SHADER = """
float4 main(float2 uv : TEXCOORD0, uniform float depth, uniform samplerRECT picture) : COLOR
{
    float4 a = texRECT(picture, uv + 1); // \"\"\" and \\ there
    return a * depth;
}"""


def test_a_shader_keeps_the_names_and_the_lines_of_its_source() -> None:
    code = program_of(SHADER, "a.cg")
    code = replace(code, name="a.cg\n</script>")
    text = glsl_translation(code).text
    assert text.splitlines()[1:] == [
        "// a.cg < /script>",
        "",
        "in vec2 uv;  // fragment.texcoord[0]",
        "uniform float depth;  // program.local[0]",
        "uniform sampler2D picture;  // unit 0: a RECT texture as a 2D one; s and t count texels; "
        "filter and wrap are its own",
        "layout(location = 0) out vec4 result;  // result.color[0]",
        "",
        "void main() {",
        """    // a.cg:4: float4 a = texRECT(picture, uv + 1); // ' and   there""",
        "    vec4 R0;",
        "    R0.xy = uv + 1.0;",
        "    vec4 R1 = texture(picture, R0.xy / vec2(textureSize(picture, 0)));",
        "    // a.cg:5: return a * depth;",
        "    result = R1 * vec4(depth);",
        "}",
    ]


LOOKUPS = [f"TEX a, fragment.texcoord[0], texture[{n}], 2D; ADD b, a, b;" for n in range(17)]
NUMBERS = [f"ADD b, b, program.local[{n}];" for n in range(225)]
COLOURS = [f"MOV result.color[{n}], b;" for n in range(5)]


@pytest.mark.parametrize(
    ("lines", "es", "at"),
    [
        (LOOKUPS, True, "18:1: TEX uses texture image unit 17 of the program, and WebGL2 promises"),
        (LOOKUPS, False, "18:1: TEX uses texture image unit 17 of the program, and OpenGL 3.3"),
        (NUMBERS, True, "226:1: ADD uses uniform vector 225 of the program, and WebGL2 promises"),
        (COLOURS, True, "6:1: MOV uses colour 5 of the program, and WebGL2 promises 4; use fewer"),
    ],
)
def test_what_a_target_may_lack_is_refused_at_its_place(
    lines: list[str], es: bool, at: str
) -> None:
    head = "!!ARBfp1.0 OPTION ARB_draw_buffers; TEMP a, b;"
    text = assemble("\n".join([head, *lines, "MOV result.color, b; END"]), "many.fp")
    with pytest.raises(InputError, match=f"many.fp:{at}"):
        glsl_translation(text, es=es)
    if lines is not LOOKUPS:
        glsl_translation(text)


def test_a_sampler_keeps_its_name_through_arb() -> None:
    """In the comment of NVIDIA's cgc, whose own programs are read in the same way."""
    code = program_of(SHADER, "a.cg")
    text = disassemble(code)
    assert text.splitlines()[1] == "#var samplerRECT picture : : texunit 0 : -1 : 1"
    again = assemble(text)
    assert again == code and disassemble(again) == text
    assert "uniform sampler2D picture;" in glsl_translation(again).text
    cgc = "!!ARBfp1.0\n#var sampler2D main.decal[0] :  : texunit 0 : 2 : 1\nTEX result.color, "
    named = assemble(f"{cgc}fragment.texcoord[0], texture[0], 2D;\nEND")
    assert named.names == ((0, "main_decal_0"),)
    texels = np.full((1, 1, 4), 3.0)
    assert (run_program(named, 1, 1, {"main.decal[0]": ("2D", texels)}) == 3).all()


def test_a_reduction_is_no_shader() -> None:
    with pytest.raises(InputError, match=r"sum takes several passes.*`gpgpu-legacy dump "):
        kernel_program(f"{shader_folder()}/examples/drum.br:sum")
