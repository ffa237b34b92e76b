// A plan played on the reader's GPU where that is possible, beside the interpreter: the reference
// that traces fragments, and that goes on alone where the GPU cannot, or stops.

// The most instructions, over all fragments, that the interpreter runs at a time for comparison
// alone: more would keep the reader waiting.
const MOST_COMPARED = 2 ** 23;

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

  // Where it plays, in words that follow "plays on".
  get on() {
    if (this.run) return `your GPU (${this.words})`;
    return `the interpreter in this page, since ${this.reason}`;
  }

  // Goes to the state after k passes.
  seek(k) {
    this.at = k;
    this.compared.clear();
    const onGpu = this.byGpu((run) => { run.seek(k); return true; });
    if (!onGpu || this.isNear(k)) this.interpreter.seek(k);
  }

  // Whether the interpreter soon comes to the state after k passes.
  isNear(k) {
    let work = 0;
    for (let pass = this.interpreter.nearest(k); pass < k && work <= MOST_COMPARED; pass += 1) {
      const { arithmetic = 0, lookup = 0, fragments = 0 } = this.plan.counts(pass);
      work += arithmetic + lookup + fragments;
    }
    return work <= MOST_COMPARED;
  }

  // The texture of a name in this state.
  texture(name) {
    const shown = this.byGpu((run) => run.texture(name));
    const { interpreter } = this;
    if (!shown) return interpreter.texture(name);
    if (interpreter.at === this.at) {
      this.compared.set(name, gpuDifference(shown, interpreter.texture(name)));
    }
    return shown;
  }

  // The results as they stand in this state.
  results() {
    return this.byGpu((run) => run.results()) ?? this.interpreter.results();
  }

  // What pass k does to a texel of its target, by the interpreter: from the textures of the GPU where
  // its own are far.
  trace(k, x, y) {
    const textures = this.isNear(k) ? undefined : this.byGpu((run) => this.stateOn(run, k));
    if (!textures) return this.interpreter.trace(k, x, y);
    return this.interpreter.traced(this.plan.pass(k), textures, x, y);
  }

  stateOn(run, k) {
    run.seek(k);
    const state = this.plan.textures.map(({ name }) => [name, run.texture(name)]);
    run.seek(this.at);
    return Object.fromEntries(state);
  }

  // Begins again with other matrices.
  setMatrices(matrices) {
    this.interpreter.load(matrices);
    this.matrices = matrices;
    this.at = 0;
    this.compared.clear();
    this.byGpu((run) => run.load(matrices));
  }

  // Gives a constant of a program another value in all passes. Shaders keep the one that they have, so
  // the interpreter plays.
  setConstant(name, register, value) {
    this.plan.setConstant(name, register, value);
    this.interpreter = new Interpreter(this.plan, this.matrices);
    this.leave(new GpuError("a constant of its program was changed"));
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
    this.interpreter.seek(this.at);
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
