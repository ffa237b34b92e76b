// A plan played on the reader's GPU where that is possible, beside the interpreter: the reference
// that traces fragments, and that goes on alone where the GPU cannot, or stops.

class Player {
  // scene: as page/scenes.py makes it, with `shaders`. matrices: its operands, as `packed` takes
  // them. Throws a PlanError for matrices that do not fit.
  static async open(scene, matrices) {
    const player = new Player(scene, matrices);
    await player.onGpu(() => Gpu.open());
    return player;
  }

  constructor(scene, matrices) {
    this.plan = new PlanOf(scene);
    this.matrices = matrices;
    this.interpreter = new Interpreter(this.plan, matrices);
    this.at = 0;
    this.run = null;
    this.compared = new Map();
  }

  async onGpu(open) {
    try {
      const gpu = await open();
      this.run = gpu.prepare(this.plan);
      this.run.load(this.matrices);
      this.words = gpu.words;
    } catch (error) {
      this.leave(error);
    }
  }

  // Where it plays, as goes on after "plays on".
  get on() {
    if (this.run) return `your GPU (${this.words})`;
    return `the interpreter in this page, since ${this.reason}`;
  }

  // Goes to the state after k passes.
  seek(k) {
    this.interpreter.seek(k);
    this.at = k;
    this.compared.clear();
    this.byGpu((run) => run.seek(k));
  }

  // The texture of a name in this state.
  texture(name) {
    const reference = this.interpreter.texture(name);
    const shown = this.byGpu((run) => run.texture(name)) ?? reference;
    if (shown !== reference) this.compared.set(name, gpuDifference(shown, reference));
    return shown;
  }

  // The results as they stand in this state.
  results() {
    return this.byGpu((run) => run.results()) ?? this.interpreter.results();
  }

  // What pass k does to a texel of its target, by the interpreter.
  trace(k, x, y) {
    return this.interpreter.trace(k, x, y);
  }

  // Begins again with other matrices.
  setMatrices(matrices) {
    this.interpreter.load(matrices);
    this.matrices = matrices;
    this.at = 0;
    this.compared.clear();
    this.byGpu((run) => run.load(matrices));
  }

  // How many numbers of the textures that were shown in this state differ from the interpreter's,
  // of how many, and the largest difference.
  get differs() {
    const total = { count: 0, of: 0, largest: 0 };
    for (const { count, of, largest } of this.compared.values()) {
      total.count += count;
      total.of += of;
      total.largest = Math.max(total.largest, largest);
    }
    return total;
  }

  // Gives back what the GPU holds.
  release() {
    this.run?.release();
  }

  // What the GPU gives; undefined where the interpreter plays, from here on if the GPU fails.
  byGpu(call) {
    if (!this.run) return undefined;
    try {
      return call(this.run);
    } catch (error) {
      this.leave(error);
      return undefined;
    }
  }

  leave(error) {
    if (!(error instanceof GpuError)) throw error;
    this.run?.release();
    this.run = null;
    this.reason = error.reason;
    this.compared.clear();
  }
}

// How many numbers of a texture differ from another's, of how many, and the largest difference.
function gpuDifference({ data, channels }, other) {
  const found = { count: 0, of: (data.length / 4) * channels, largest: 0 };
  for (let n = 0; n < data.length; n += 1) {
    const [number, reference] = [data[n], other.data[n]];
    if (number === reference || (Number.isNaN(number) && Number.isNaN(reference))) continue;
    const difference = Math.abs(number - reference);
    found.count += 1;
    found.largest = Math.max(found.largest, Number.isNaN(difference) ? Infinity : difference);
  }
  return found;
}
