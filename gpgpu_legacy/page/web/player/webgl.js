// Plans on the reader's GPU, by WebGL2. A pass is a rectangle drawn into the framebuffer of its
// targets by shaders that Python emitted; a texture of any kind is a 2D one, with its layers one
// above the other. What a GPU cannot do, or stops doing, is a GpuError.

// What kept a plan from the GPU. Its message is a sentence; `reason` goes on after "since".
class GpuError extends Error {
  constructor(reason) {
    super(`${reason[0].toUpperCase()}${reason.slice(1)}.`);
    this.reason = reason;
  }
}

// How WebGL2 stores the formats of plans, and what arrays bring their texels.
function gpuFormat(gl, name) {
  const formats = {
    r16f: [gl.R16F, gl.RED, gl.FLOAT],
    rgba16f: [gl.RGBA16F, gl.RGBA, gl.FLOAT],
    r32f: [gl.R32F, gl.RED, gl.FLOAT],
    rgba32f: [gl.RGBA32F, gl.RGBA, gl.FLOAT],
    unorm8: [gl.R8, gl.RED, gl.UNSIGNED_BYTE],
    rgba8: [gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE],
  };
  const [internal, channels, type] = formats[name];
  return { name, internal, channels, type, isFloat: type === gl.FLOAT, is32: name.endsWith("32f") };
}

const GPU_COPY = `#version 300 es
precision highp float;
precision highp sampler2D;
uniform sampler2D source;
uniform ivec2 offset;
out vec4 color;
void main() {
    color = texelFetch(source, ivec2(gl_FragCoord.xy) + offset, 0);
}
`;
const GPU_RECTANGLE = `#version 300 es
void main() {
    gl_Position = vec4(2 * (gl_VertexID & 1) - 1, 2 * (gl_VertexID >> 1) - 1, 0.0, 1.0);
}
`;

// A context of WebGL2, and the shaders that it has compiled.
class Gpu {
  // The context of the page; or one on a canvas of the caller's. Throws a GpuError without WebGL2.
  static async open(canvas = null) {
    if (canvas) return new Gpu(canvas);
    if (!Gpu.shared || Gpu.shared.gl.isContextLost()) {
      Gpu.shared = new Gpu(document.createElement("canvas"));
    }
    return Gpu.shared;
  }

  constructor(canvas) {
    const wanted = { antialias: false, depth: false, alpha: false, powerPreference: "high-performance" };
    const gl = canvas.getContext("webgl2", wanted);
    if (!gl) throw new GpuError("this browser gives the page no WebGL2");
    this.gl = gl;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    this.floats = Boolean(gl.getExtension("EXT_color_buffer_float"));
    this.blendsFloats = this.floats && Boolean(gl.getExtension("EXT_float_blend"));
    this.programs = new Map();
    gl.disable(gl.DITHER);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.pixelStorei(gl.PACK_ALIGNMENT, 1);
  }

  // The renderer, in words.
  get words() {
    const gl = this.gl;
    const told = gl.getExtension("WEBGL_debug_renderer_info");
    const name = gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER) ?? "unknown";
    const parts = name.match(/^ANGLE \([^,]*, (.*), [^,]*\)$/);
    return parts ? parts[1] : name;
  }

  // "float" where programs may draw floats, else "bytes".
  get ability() {
    return this.floats ? "float" : "bytes";
  }

  // Why it may not draw all plans, as goes on after "since"; null where it may.
  get why() {
    if (!this.floats) return "this GPU draws to no textures of floats (EXT_color_buffer_float)";
    if (!this.blendsFloats) return "this GPU does not blend floats (EXT_float_blend)";
    return null;
  }

  check() {
    if (this.gl.isContextLost()) throw new GpuError("the browser took the GPU away from the page");
  }

  // A program of these texts with its active uniforms, compiled once.
  program(vertex, fragment) {
    const key = `${vertex}\n${fragment}`;
    if (!this.programs.has(key)) this.programs.set(key, this.compiled(vertex, fragment));
    return this.programs.get(key);
  }

  compiled(vertex, fragment) {
    const gl = this.gl;
    const handle = gl.createProgram();
    const shaders = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]].map(([kind, text]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(handle, shader);
      return shader;
    });
    gl.linkProgram(handle);
    if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) {
      this.check();
      const logs = [...shaders.map((shader) => gl.getShaderInfoLog(shader)), gl.getProgramInfoLog(handle)];
      const said = logs.find(Boolean)?.trim().split("\n")[0];
      throw new GpuError(`the GPU's driver refuses a shader (${said || "it does not say why"})`);
    }
    for (const shader of shaders) gl.deleteShader(shader);
    const uniforms = new Map();
    for (let n = 0; n < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); n++) {
      const { name, type } = gl.getActiveUniform(handle, n);
      uniforms.set(name.replace("[0]", ""), new GpuUniform(gl, gl.getUniformLocation(handle, name), type));
    }
    return { handle, uniforms };
  }

  // A plan's textures and shaders, made ready to run. plan: a PlanOf.
  prepare(plan) {
    this.check();
    return new GpuRun(this, plan);
  }
}

// A uniform that is set only where its values change.
class GpuUniform {
  constructor(gl, location, type) {
    const setters = {
      [gl.FLOAT]: "uniform1fv", [gl.FLOAT_VEC2]: "uniform2fv", [gl.FLOAT_VEC4]: "uniform4fv",
      [gl.INT]: "uniform1iv", [gl.INT_VEC2]: "uniform2iv", [gl.INT_VEC3]: "uniform3iv",
      [gl.SAMPLER_2D]: "uniform1iv",
    };
    this.write = (values) => gl[setters[type]](location, values);
    this.values = null;
  }

  set(values) {
    if (this.values && this.values.every((value, n) => Object.is(value, values[n]))) return;
    this.write(values);
    this.values = values;
  }
}

const PLANAR_TOLERANCE = 1e-6; // as in plan/interpolation.py

// The planes of corner values over a rectangle, computed in float64 and then rounded: the bases of
// its two triangles, and their slopes along x and y, four numbers each.
function gpuPlanes(corners, rect) {
  const [origin, right, far, top] = corners;
  const isBent = origin.some((a, c) => {
    const largest = Math.max(1, ...corners.map((corner) => Math.abs(corner[c])));
    return Math.abs(a + far[c] - right[c] - top[c]) > PLANAR_TOLERANCE * largest;
  });
  const slope = (start, end, length) => end.map((value, c) => (value - start[c]) / length);
  const across = slope(origin, right, rect.width);
  const up = slope(origin, top, rect.height);
  const dx = [...across, ...(isBent ? slope(top, far, rect.width) : across)];
  const dy = [...(isBent ? slope(right, far, rect.height) : up), ...up];
  return { base: [...origin, ...origin], dx, dy };
}
