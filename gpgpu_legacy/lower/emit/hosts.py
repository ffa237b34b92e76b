"""Programs that set a translation up and draw it once, with their host's own libraries alone."""

from __future__ import annotations

import json

from gpgpu_legacy.isa.program import Attribute, AttributeKind, Parameter, TextureTarget
from gpgpu_legacy.isa.state import state_vector
from gpgpu_legacy.lower.emit.targets import Translation
from gpgpu_legacy.plan.plan import ATTRIBUTE_DEFAULTS

_MODERNGL = '''\
"""Draws a rectangle by a fragment shader, with moderngl and NumPy: python FILE.py [WIDTH [HEIGHT]]

It writes the colours to result.npy, (outputs, height, width, 4), row 0 at the bottom.
"""

import sys

import moderngl
import numpy as np

FRAGMENT = """\\
@fragment@"""

VERTEX = """\\
@vertex@"""

# The inputs: set your own. VARYINGS have a value at each of (0, 0), (W, 0), (W, H), (0, H).
UNIFORMS = @uniforms@
VARYINGS = @varyings@
TEXTURES = @textures@
OUTPUTS = @outputs@


def make_texture(context, kind, texels, filter_=moderngl.NEAREST, repeat=False):
    """texels: (height, width, 4) of float32, after an axis of slices or faces."""
    texels = np.ascontiguousarray(texels, "f4")
    size = texels.shape[-2::-1]
    if kind == "sampler2DShadow":
        texture = context.depth_texture(size, np.ascontiguousarray(texels[..., 0]))
        texture.compare_func = "<="
    elif kind == "samplerCube":
        texture = context.texture_cube(size[:2], 4, texels, dtype="f4")
    else:
        makers = {"sampler3D": context.texture3d, "sampler2DArray": context.texture_array}
        texture = makers.get(kind, context.texture)(size, 4, texels, dtype="f4")
        texture.repeat_x = texture.repeat_y = repeat
    texture.filter = filter_, filter_
    return texture


def draw(context, width, height, uniforms, varyings, textures):
    """The colours, (outputs, height, width, 4)."""
    program = context.program(vertex_shader=VERTEX, fragment_shader=FRAGMENT)
    values = dict(uniforms)
    for name, corners in varyings.items():
        a, b, _, d = corners = np.array(corners, float)
        values[f"{name}_corners"] = corners
        planes = {"base": a, "dx": (b - a) / width, "dy": (d - a) / height}
        values |= {f"{name}_{part}": plane for part, plane in planes.items()}
    for name, value in values.items():
        if name in program:
            program[name].write(np.ascontiguousarray(value, "f4"))
    for unit, (name, texture) in enumerate(textures.items()):
        if name in program:
            texture.use(unit)
            program[name] = unit
    colours = [context.texture((width, height), 4, dtype="f4") for _ in range(OUTPUTS)]
    target = context.framebuffer(colours, context.depth_renderbuffer((width, height)))
    target.use()
    target.clear()
    context.vertex_array(program, []).render(moderngl.TRIANGLE_STRIP, vertices=4)
    return np.array([np.frombuffer(c.read(), "f4").reshape(height, width, 4) for c in colours])


def make_context():
    try:
        return moderngl.create_standalone_context()
    except Exception:  # there is no window system
        return moderngl.create_standalone_context(backend="egl")


def main(width, height):
    context = make_context()
    shapes = {"sampler3D": (8, 8, 8, 4), "samplerCube": (6, 64, 64, 4)}
    shapes["sampler2DArray"] = shapes["samplerCube"]
    random = np.random.default_rng(0).random
    textures = {
        name: make_texture(context, kind, random(shapes.get(kind, (height, width, 4))))
        for name, kind in TEXTURES.items()
    }
    across = @across@
    varyings = {name: np.multiply(value, across) for name, value in VARYINGS.items()}
    result = draw(context, width, height, UNIFORMS, varyings, textures)
    np.save("result.npy", result)
    print(f"wrote result.npy, whose means are {result.mean(axis=(1, 2)).tolist()}")


if __name__ == "__main__":
    main(*map(int, (2 * sys.argv[1:])[:2] or (512, 512)))
'''

_WEBGL = """\
<!doctype html>
<meta charset="utf-8">
<title>A fragment shader in WebGL2</title>
<canvas id="shown" style="transform: scaleY(-1)"></canvas>
<script id="fragment" type="x-shader/x-fragment">@fragment@</script>
<script id="vertex" type="x-shader/x-vertex">@vertex@</script>
<script>
// The inputs: set your own. VARYINGS have a value at each of (0, 0), (W, 0), (W, H), (0, H).
const UNIFORMS = @uniforms@;
const VARYINGS = @varyings@;
const TEXTURES = @textures@;
const OUTPUTS = @outputs@;

// texels: a Float32Array of RGBA, row 0 at the bottom; slices or faces one after the other.
function makeTexture(gl, kind, texels, [width, height, depth = 1],
                     filter = gl.NEAREST, wrap = gl.CLAMP_TO_EDGE) {
  const isShadow = kind === "sampler2DShadow", target = {
    sampler3D: gl.TEXTURE_3D, samplerCube: gl.TEXTURE_CUBE_MAP, sampler2DArray: gl.TEXTURE_2D_ARRAY,
  }[kind] || gl.TEXTURE_2D;
  const [kept, format] = isShadow ? [gl.DEPTH_COMPONENT32F, gl.DEPTH_COMPONENT]
    : [gl.RGBA32F, gl.RGBA];
  const given = isShadow ? texels.filter((_, n) => n % 4 === 0) : texels;
  const texture = gl.createTexture();
  gl.bindTexture(target, texture);
  if (kind === "sampler3D" || kind === "sampler2DArray") {
    gl.texImage3D(target, 0, kept, width, height, depth, 0, format, gl.FLOAT, given);
  } else {
    const first = kind === "samplerCube" ? gl.TEXTURE_CUBE_MAP_POSITIVE_X : target;
    for (let n = 0; n < depth; n++) {
      gl.texImage2D(first + n, 0, kept, width, height, 0, format, gl.FLOAT, given,
        4 * n * width * height);
    }
  }
  const mode = isShadow ? gl.COMPARE_REF_TO_TEXTURE : gl.NONE;
  gl.texParameteri(target, gl.TEXTURE_COMPARE_MODE, mode);
  for (const size of ["MIN", "MAG"]) gl.texParameteri(target, gl[`TEXTURE_${size}_FILTER`], filter);
  for (const axis of "STR") gl.texParameteri(target, gl["TEXTURE_WRAP_" + axis], wrap);
  return { target, texture };
}

// The colours of each output, a Float32Array of RGBA, row 0 at the bottom.
function draw(gl, width, height, uniforms, varyings, textures) {
  const program = gl.createProgram(), logs = [];
  for (const [kind, id] of [[gl.VERTEX_SHADER, "vertex"], [gl.FRAGMENT_SHADER, "fragment"]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, document.getElementById(id).textContent);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
    logs.push(gl.getShaderInfoLog(shader));
  }
  gl.linkProgram(program);
  logs.push(gl.getProgramInfoLog(program));
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw Error(logs.join(""));
  gl.useProgram(program);
  const set = (name, value, width = value.length) =>
    gl[`uniform${width}fv`](gl.getUniformLocation(program, name), value);
  for (const [name, value] of Object.entries(uniforms)) set(name, value);
  for (const [name, corners] of Object.entries(varyings)) {
    const [a, b, , d] = corners;
    set(name + "_corners", corners.flat(), 4);
    set(name + "_base", a);
    set(name + "_dx", a.map((v, n) => (b[n] - v) / width));
    set(name + "_dy", a.map((v, n) => (d[n] - v) / height));
  }
  Object.entries(textures).forEach(([name, { target, texture }], unit) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(target, texture);
    gl.uniform1i(gl.getUniformLocation(program, name), unit);
  });
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  const places = Array.from({ length: OUTPUTS }, (_, n) => gl.COLOR_ATTACHMENT0 + n);
  for (const place of places) {
    const colours = gl.createRenderbuffer();
    gl.bindRenderbuffer(gl.RENDERBUFFER, colours);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.RGBA32F, width, height);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, colours);
  }
  gl.drawBuffers(places);
  gl.viewport(0, 0, width, height);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  return places.map((place) => {
    const read = new Float32Array(4 * width * height);
    gl.readBuffer(place);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.FLOAT, read);
    return read;
  });
}

function main(canvas, width, height) {
  const gl = document.createElement("canvas").getContext("webgl2"), textures = {}, varyings = {};
  gl.getExtension("EXT_color_buffer_float");
  gl.getExtension("OES_texture_float_linear");
  const sizes = { sampler3D: [8, 8, 8], samplerCube: [64, 64, 6], sampler2DArray: [64, 64, 6] };
  for (const [name, kind] of Object.entries(TEXTURES)) {
    const size = sizes[kind] || [width, height, 1], length = 4 * size[0] * size[1] * size[2];
    textures[name] = makeTexture(gl, kind, Float32Array.from({ length }, Math.random), size);
  }
  const across = @across@;
  for (const [name, corners] of Object.entries(VARYINGS)) {
    varyings[name] = corners.map((value) => value.map((v, n) => v * across[n]));
  }
  const [colours] = draw(gl, width, height, UNIFORMS, varyings, textures);
  const bytes = Uint8ClampedArray.from(colours, (colour) => 255 * colour);
  Object.assign(canvas, { width, height });
  canvas.getContext("2d").putImageData(new ImageData(bytes, width, height), 0, 0);
}

main(document.getElementById("shown"), 512, 512);
</script>
"""


def host_code(translation: Translation, *, is_page: bool) -> str:
    """The script for moderngl, or the page for WebGL2, that holds a translation and draws it."""
    given, units = translation.inputs, translation.program.texture_units
    in_texels = TextureTarget.RECT in {target.kind for target in units.values()}
    numbers = {  # GL's initial values of state; parameters are 0
        i.name: (state_vector(i.source.binding, {}) if i.source.binding else (0.0,) * 4)[: i.width]
        for i in given
        if isinstance(i.source, Parameter)
    }
    varyings = {i.name: _corners(i.source) for i in given if isinstance(i.source, Attribute)}
    parts = {
        "vertex": vertex_shader(translation),
        "uniforms": json.dumps(numbers),
        "varyings": json.dumps(varyings),
        "textures": json.dumps({i.name: i.type for i in given if isinstance(i.source, int)}),
        "outputs": str(translation.program.color_outputs),
        "across": "[width, height, 1, 1]" if in_texels else "[1, 1, 1, 1]",
        "fragment": translation.text,
    }
    text = _WEBGL if is_page else _MODERNGL
    for word, part in parts.items():
        text = text.replace(f"@{word}@", part)
    return text


def _corners(attribute: Attribute) -> list[tuple[float, ...]]:
    if attribute.kind is AttributeKind.TEXCOORD:
        return [(0, 0, 0, 1), (1, 0, 0, 1), (1, 1, 0, 1), (0, 1, 0, 1)]
    return [ATTRIBUTE_DEFAULTS.get(attribute.kind, (0.0, 0.0, 0.0, 1.0))] * 4


def vertex_shader(translation: Translation) -> str:
    """The vertex shader of a translation: a strip of 4 vertices that covers the viewport.

    Its two triangles are cut from (0, 0) to (W, H).
    """
    declared, set_ = list[str](), list[str]()
    for given in translation.inputs:
        if isinstance(given.source, Attribute) and not translation.exact:
            name = given.name
            declared += [f"uniform vec4 {name}_corners[4];", f"out {given.type} {name};"]
            set_.append(f"    {name} = {name}_corners[corner].{'xyzw'[: given.width]};")
    lines = [
        *translation.header,
        *declared,
        "void main() {",
        "    int corner = int[4](1, 0, 2, 3)[gl_VertexID];",
        *set_,
        "    gl_Position = vec4(corner % 3 == 0 ? -1 : 1, corner < 2 ? -1 : 1, 0.0, 1.0);",
        "}\n",
    ]
    return "\n".join(lines)
