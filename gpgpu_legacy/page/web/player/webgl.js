// Plans on the reader's GPU, by WebGL2. A pass is a rectangle drawn into the framebuffer of its
// targets by shaders that Python emitted; a texture of any kind is a 2D one, with its layers one
// above the other. What a GPU cannot do, or stops doing, is a GpuError.

// What kept a plan from the GPU. Its message is a sentence; `reason` follows "since".
class GpuError extends Error {
  constructor(reason) {
    super(`${reason[0].toUpperCase()}${reason.slice(1)}.`);
    this.reason = reason;
  }
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
    const wanted = { antialias: false, depth: false, powerPreference: "high-performance" };
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

  // Why it may not draw all plans, in words that follow "since"; null where it may.
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
    const texts = [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]];
    const shaders = texts.map(([kind, text]) => {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(handle, shader);
      return shader;
    });
    gl.linkProgram(handle);
    if (!gl.getProgramParameter(handle, gl.LINK_STATUS)) {
      this.check();
      const logs = shaders.map((shader) => gl.getShaderInfoLog(shader));
      const said = [...logs, gl.getProgramInfoLog(handle)].find(Boolean)?.trim().split("\n")[0];
      throw new GpuError(`the GPU's driver refuses a shader (${said || "it does not say why"})`);
    }
    for (const shader of shaders) gl.deleteShader(shader);
    const uniforms = new Map();
    for (let n = 0; n < gl.getProgramParameter(handle, gl.ACTIVE_UNIFORMS); n++) {
      const { name, type } = gl.getActiveUniform(handle, n);
      const location = gl.getUniformLocation(handle, name);
      uniforms.set(name.replace("[0]", ""), new GpuUniform(gl, location, type));
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
    if (this.values?.every((value, n) => Object.is(value, values[n]))) return;
    this.write(values);
    this.values = values;
  }
}

// A plan's textures and shaders on a GPU, and the state after some of its passes.
class GpuRun {
  // gpu: a Gpu. plan: a PlanOf, whose scene has `shaders` (page/scenes.py).
  constructor(gpu, plan) {
    Object.assign(this, { gpu, plan, gl: gpu.gl, at: 0, commands: [], framebuffers: new Map() });
    this.storage = Object.fromEntries(plan.textures.map((t) => [t.name, this.stored(t)]));
    const passes = Array.from({ length: plan.passes }, (_, k) => plan.pass(k));
    this.written = new Set(passes.flatMap((pass) => pass.targets));
    for (const name of this.written) this.requireTarget(this.storage[name]);
    for (const pass of passes) if (pass.blend && pass.blend !== "none") this.requireBlending(pass);
    this.textures = Object.fromEntries(plan.textures.map((t) => [t.name, this.made(t)]));
    this.commands = passes.map((pass) => this.command(pass));
    gpu.check();
  }

  // How a texture is stored: WebGL's internal format, and what its texels come in.
  stored(texture) {
    const gl = this.gl;
    const isFloat = texture.numeric === "float" || texture.bits === 16; // WebGL lacks 16-bit unorm
    const most = gl.getParameter(gl.MAX_TEXTURE_SIZE);
    if (Math.max(texture.width, texture.rows) > most) {
      throw new GpuError(`this GPU's textures have at most ${most} texels a side`);
    }
    const bits = texture.numeric === "float" || !isFloat ? texture.bits : 32;
    return {
      ...texture,
      isFloat,
      internal: gl[`${"RGBA".slice(0, texture.stored)}${bits}${isFloat ? "F" : ""}`],
      layout: { 1: gl.RED, 2: gl.RG, 4: gl.RGBA }[texture.stored],
      type: isFloat ? gl.FLOAT : gl.UNSIGNED_BYTE,
      held: ENCODINGS[texture.format],
    };
  }

  requireTarget({ isFloat }) {
    if (isFloat && !this.gpu.floats) throw new GpuError(this.gpu.why);
  }

  requireBlending({ targets }) {
    const stored = targets.map((name) => this.storage[name]);
    const has32 = stored.some(({ bits }) => bits === 32);
    if (stored.some(({ bits, numeric }) => bits === 16 && numeric === "unorm")) {
      throw new GpuError("WebGL does not blend 16 bits of fixed point");
    }
    if (has32 && !this.gpu.blendsFloats) throw new GpuError(this.gpu.why);
  }

  made({ name }) {
    const { gl } = this;
    const { internal, width, rows } = this.storage[name];
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texStorage2D(gl.TEXTURE_2D, 1, internal, width, rows);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    return texture;
  }

  // The framebuffer of targets, made once.
  framebuffer(targets) {
    const { gl } = this;
    const key = JSON.stringify(targets);
    if (!this.framebuffers.has(key)) {
      if (targets.length > gl.getParameter(gl.MAX_DRAW_BUFFERS)) {
        throw new GpuError(`this GPU does not draw to ${targets.length} textures at once`);
      }
      const made = gl.createFramebuffer();
      gl.bindFramebuffer(gl.FRAMEBUFFER, made);
      const places = targets.map((name, n) => {
        const place = gl.COLOR_ATTACHMENT0 + n;
        gl.framebufferTexture2D(gl.FRAMEBUFFER, place, gl.TEXTURE_2D, this.textures[name], 0);
        return place;
      });
      gl.drawBuffers(places);
      const status = gl.checkFramebufferStatus(gl.FRAMEBUFFER);
      this.gpu.check();
      if (status !== gl.FRAMEBUFFER_COMPLETE) {
        throw new GpuError("this GPU does not draw to textures of these formats");
      }
      this.framebuffers.set(key, made);
    }
    return this.framebuffers.get(key);
  }

  // Passes as what WebGL is told -----------------------------------------------------------------

  // A pass as a function that runs it.
  command(pass) {
    if (pass.kind === "draw") return this.drawing(pass);
    return pass.kind === "copy" ? this.copying(pass) : this.clearing(pass);
  }

  drawing(pass) {
    const { gl, gpu } = this;
    const { texts, passes } = this.plan.scene.shaders;
    const { shader, varyings = [] } = passes[pass.step][pass.place];
    const text = texts[shader];
    const program = gpu.program(text.vertex, text.fragment);
    const values = [];
    for (const [name, rows] of this.values(pass, text, varyings)) {
      if (program.uniforms.has(name)) values.push([program.uniforms.get(name), rows]);
    }
    const bindings = pass.bindings.map(({ unit, texture }) => [unit, this.textures[texture]]);
    const target = this.framebuffer(pass.targets);
    return () => {
      gl.useProgram(program.handle);
      for (const [unit, texture] of bindings) {
        gl.activeTexture(gl.TEXTURE0 + unit);
        gl.bindTexture(gl.TEXTURE_2D, texture);
      }
      for (const [uniform, rows] of values) uniform.set(rows);
      this.strip(target, pass.rect, pass);
    };
  }

  // Draws the rectangle of a framebuffer with the program in use.
  strip(framebuffer, rect, { blend = "none", mask = "rgba", scissor = null } = {}) {
    const { gl } = this;
    gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
    gl.viewport(rect.x, rect.y, rect.width, rect.height);
    const named = (text) => text.toUpperCase().replaceAll("-", "_");
    if (blend !== "none") {
      const { equation, source, destination, constant } = blendOf(blend);
      gl.enable(gl.BLEND);
      gl.blendEquation(gl[named(equation)] ?? gl[`FUNC_${named(equation)}`]);
      gl.blendFunc(gl[named(source)], gl[named(destination)]);
      gl.blendColor(...constant);
    }
    if (scissor) {
      gl.enable(gl.SCISSOR_TEST);
      gl.scissor(scissor.x, scissor.y, scissor.width, scissor.height);
    }
    gl.colorMask(...[..."rgba"].map((channel) => mask.includes(channel)));
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.colorMask(true, true, true, true);
    gl.disable(gl.BLEND);
    gl.disable(gl.SCISSOR_TEST);
  }

  // The values of a draw's uniforms by name, including those that its shader lacks.
  *values(pass, text, varyings) {
    const { rect } = pass;
    for (const unit of text.units ?? []) yield [`texture${unit}`, [unit]];
    yield ["origin", [rect.x, rect.y]];
    yield ["size", [rect.width, rect.height]];
    for (const [name, unit] of Object.entries(text.sizes ?? {})) {
      const { texture } = pass.bindings.find((binding) => binding.unit === unit);
      const { width, height, depth } = this.storage[texture];
      yield [name, [width, height, depth]];
    }
    for (const [name, attribute] of Object.entries(text.attributes ?? {})) {
      const planes = trianglePlanes(gpuCorners(pass, attribute), rect);
      for (const [part, rows] of Object.entries(planes)) {
        yield [`${name}_${part}`, gpuSingle(attribute.bent ? rows.flat() : rows[0])];
      }
    }
    for (const space of ["locals", "env"]) {
      for (const [name, index] of Object.entries(text[space] ?? {})) {
        const given = pass[space].find((parameter) => parameter.index === index);
        yield [name, gpuSingle(given ? given.value : [0, 0, 0, 0])];
      }
    }
    for (const [name, binding] of Object.entries(text.state ?? {})) {
      yield [name, gpuSingle(pass.state[binding])];
    }
    for (const [n, corners] of varyings.entries()) {
      const values = corners.map(({ base, step }) => base + step * pass.iteration);
      yield [`varying${n}_corners`, gpuSingle(values)];
    }
  }

  // A copy moves bits where formats are equal; else it is drawn, and rounded as a draw is.
  copying({ source, sourceRect, target, rect }) {
    const { gl, gpu, storage } = this;
    const from = this.framebuffer([source]);
    const to = this.textures[target];
    if (storage[source].format === storage[target].format && source !== target) {
      return () => {
        gl.bindFramebuffer(gl.FRAMEBUFFER, from);
        gl.activeTexture(gl.TEXTURE0);
        gl.bindTexture(gl.TEXTURE_2D, to);
        const { x, y, width, height } = sourceRect;
        gl.copyTexSubImage2D(gl.TEXTURE_2D, 0, rect.x, rect.y, x, y, width, height);
      };
    }
    const program = gpu.program(GPU_RECTANGLE, GPU_COPY);
    const onto = this.framebuffer([target]);
    const offset = [sourceRect.x - rect.x, sourceRect.y - rect.y];
    return () => {
      gl.useProgram(program.handle);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.textures[source]);
      program.uniforms.get("source").set([0]);
      program.uniforms.get("offset").set(offset);
      this.strip(onto, rect);
    };
  }

  clearing({ target, value }) {
    const { gl, storage } = this;
    const framebuffer = this.framebuffer([target]);
    const held = value.map((number) => storage[target].held(Math.fround(number)));
    return () => {
      gl.bindFramebuffer(gl.FRAMEBUFFER, framebuffer);
      gl.clearBufferfv(gl.COLOR, 0, held);
    };
  }

  // Running --------------------------------------------------------------------------------------

  // Begins anew with matrices, as `packed` takes them.
  load(matrices) {
    this.first = packed(this.plan, matrices);
    for (const name of Object.keys(this.first)) this.upload(name);
    this.at = 0;
    this.gpu.check();
  }

  upload(name) {
    const { gl } = this;
    const { width, rows, stored, reads, layout, type, isFloat } = this.storage[name];
    const { data } = this.first[name];
    const texels = new (isFloat ? Float32Array : Uint8Array)(width * rows * stored);
    for (let n = 0; n < texels.length; n += 1) {
      const source = reads[n % stored]; // grey and alpha are stored as lookups read them
      const value = source < 4 ? data[4 * Math.floor(n / stored) + source] : source - 4;
      texels[n] = isFloat ? value : Math.round(value * 255);
    }
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.textures[name]);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, rows, layout, type, texels);
  }

  // Goes to the state after k passes; to go back, it begins anew.
  seek(k) {
    this.gpu.check();
    if (k < this.at) this.restart();
    for (; this.at < k; this.at += 1) this.commands[this.at]();
    this.gpu.check();
  }

  restart() {
    for (const name of this.written) this.upload(name);
    this.at = 0;
  }

  // The texture of a name in this state: `{width, height, depth, data}`, as the Interpreter's.
  texture(name) {
    const { gl } = this;
    const { width, rows, isFloat } = this.storage[name];
    const read = { ...this.first[name] };
    if (!this.written.has(name)) return read;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer([name]));
    const texels = new (isFloat ? Float32Array : Uint8Array)(4 * width * rows);
    gl.readPixels(0, 0, width, rows, gl.RGBA, isFloat ? gl.FLOAT : gl.UNSIGNED_BYTE, texels);
    this.gpu.check();
    const wrong = gl.getError();
    if (wrong !== gl.NO_ERROR) throw new GpuError(`WebGL reports error ${wrong}`);
    read.data = isFloat ? texels : Float32Array.from(texels, (level) => level / 255);
    return read;
  }

  results() {
    const shown = new Set(this.plan.outputs.map(({ texture }) => texture));
    return unpacked(this.plan, Object.fromEntries([...shown].map((n) => [n, this.texture(n)])));
  }

  // Times whole runs, each to the end of a read-back of one pixel: the median in milliseconds.
  // Between runs the page may do other things; `goes` says whether to go on. null after no run.
  async time(runs, goes = () => true) {
    const times = [];
    for (let run = 0; run < runs && goes(); run += 1) {
      this.seek(0);
      this.onePixel();
      const start = performance.now();
      this.seek(this.plan.passes);
      this.onePixel();
      times.push(performance.now() - start);
      this.gpu.check();
      await new Promise((resolve) => setTimeout(resolve));
    }
    times.sort((a, b) => a - b);
    const middle = times.length >> 1;
    if (!times.length) return null;
    return times.length % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  }

  // Reads one pixel of the last target, which waits for all before it.
  onePixel() {
    const { gl, plan } = this;
    const [name] = plan.pass(plan.passes - 1).targets;
    const { isFloat } = this.storage[name];
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.framebuffer([name]));
    const pixel = new (isFloat ? Float32Array : Uint8Array)(4);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, isFloat ? gl.FLOAT : gl.UNSIGNED_BYTE, pixel);
  }

  // Gives back what the GPU holds for the plan.
  release() {
    for (const texture of Object.values(this.textures)) this.gl.deleteTexture(texture);
    for (const made of this.framebuffers.values()) this.gl.deleteFramebuffer(made);
  }
}

// The values of a pass's uniforms -----------------------------------------------------------------

// Numbers rounded to float32, as uniforms take them.
const gpuSingle = (values) => Float32Array.from(values);

// An attribute's values at the corners of a pass's rectangle.
function gpuCorners(pass, { kind, set = 0 }) {
  const given =
    kind === "texcoord"
      ? pass.texcoords.find((texcoords) => texcoords.set === set)
      : pass.attributes.find((attribute) => attribute.kind === kind);
  return given ? given.corners : new Array(4).fill(DEFINITIONS.attributes[kind]);
}
