// A matrix product that is played: its passes, its textures, and the fragments of each pass.

class PlayedProduct {
  // given: one of PRODUCTS.plans. matrices: A and B.
  static async open(given, matrices) {
    return new PlayedProduct(given, await Player.open(given.scene, matrices), matrices);
  }

  constructor(given, player, matrices) {
    Object.assign(this, { given, player, plan: player.plan });
    const { inputs, outputs, passes } = this.plan;
    // Where the elements of A, B and C lie in textures.
    this.layouts = Object.fromEntries(
      [...inputs, ...outputs].map((transfer) => [transfer.matrix, new TexelLayout(transfer)]),
    );
    this.inputs = Object.fromEntries(inputs.map(({ matrix, texture }) => [matrix, texture]));
    this.passes = Array.from({ length: passes }, (_, k) => this.plan.pass(k));
    // The numbers of the passes that draw.
    this.draws = this.passes.flatMap((pass, k) => (pass.kind === "draw" ? [k] : []));
    this.channels = this.layouts.C.offsets.map((_, channel) => channel);
    // Whether its textures hold nothing beyond 0 and 1.
    this.ends = this.plan.texture(this.inputs.A).numeric === "unorm";
    this.take(matrices);
  }

  setMatrices(matrices) {
    this.player.setMatrices(matrices);
    this.take(matrices);
  }

  take(matrices) {
    this.matrices = matrices;
    this.traced = new Map();
    this.product = Matrices.product(matrices.A, matrices.B);
    this.seek(0);
  }

  // Goes to the state after k passes. `last` is the number of the last that drew, or null.
  seek(k) {
    this.at = k;
    this.player.seek(k);
    this.last = this.draws.findLast((draw) => draw < k) ?? null;
  }

  // The traces of all fragments of a pass, with their texels; computed once.
  traces(k) {
    if (!this.traced.has(k)) {
      const { x: left, y: top, width, height } = this.passes[k].rect;
      const texels = Array.from({ length: width * height }, (_, n) => ({
        x: left + (n % width),
        y: top + Math.floor(n / width),
      }));
      this.traced.set(
        k,
        texels.map(({ x, y }) => ({ x, y, trace: this.player.trace(k, x, y) })),
      );
    }
    return this.traced.get(k);
  }

  // The elements of A and B that the last draw looked up, in all fragments or in that of a texel.
  lookedUp(texel = null) {
    const looked = { A: [], B: [] };
    if (this.last === null) return looked;
    for (const { x, y, trace } of this.traces(this.last)) {
      if (texel && (x !== texel.x || y !== texel.y)) continue;
      for (const { lookup } of trace.steps) {
        const name =
          lookup && Object.keys(this.inputs).find((each) => this.inputs[each] === lookup.texture);
        if (name) looked[name].push(...this.layouts[name].elements(lookup.x, lookup.y));
      }
    }
    return looked;
  }

  // The texture that the last draw wrote, or the first one to come writes.
  get framebuffer() {
    return this.passes[this.last ?? this.draws[0]].targets[0];
  }

  // The elements that a texture of the product's layout holds, row by row.
  elements(texture) {
    return this.layouts.C.values(this.player.texture(texture));
  }

  // What the last draw added to the sum, element by element: what was blended, or what its last
  // instruction added to the sum that it looked up.
  added() {
    const { C } = this.layouts;
    const added = new Float32Array(C.rows * C.columns);
    if (this.last === null) return added;
    for (const { x, y, trace } of this.traces(this.last)) {
      const drawn = drawnStep(trace);
      const sum = this.passes[this.last].blend === "none" && drawn.op === "ADD";
      const value = sum ? drawn.operands[0].value : drawn.result;
      C.elements(x, y).forEach(({ row, column }, channel) => {
        added[row * C.columns + column] = value[channel];
      });
    }
    return added;
  }

  // The trace of a texel in the last draw.
  trace({ x, y }) {
    return this.traces(this.last).find((each) => each.x === x && each.y === y).trace;
  }

  // How the framebuffer takes the results of a pass.
  ending(k) {
    return { blend: this.passes[k].blend, ends: this.ends };
  }

  // The texels that the framebuffer's format has cut off so far, as "x,y".
  clamped() {
    const clamped = new Set();
    for (const k of this.ends ? this.draws.filter((draw) => draw < this.at) : []) {
      for (const { x, y, trace } of this.traces(k)) {
        if (this.channels.some((channel) => isClamped(trace, channel, this.ending(k)))) {
          clamped.add(`${x},${y}`);
        }
      }
    }
    return clamped;
  }

  // The number that is white: 1, where the numbers end there; else the largest.
  white(values) {
    if (this.ends) return 1;
    const sizes = Array.from(values, Math.abs).filter(Number.isFinite);
    return Math.max(...sizes) || 1;
  }

  release() {
    this.player.release();
  }
}

// Where a player runs, and how it compares, in a sentence.
function playedOn(player) {
  const { count, of, largest } = player.differs;
  if (!of) return `Runs on ${player.on}.`;
  const compared = count
    ? `${count} of the ${of} numbers shown differ from those of the interpreter in this page, ` +
      `by ${traceNumber(largest)} at most`
    : `all ${of} numbers shown are those of the interpreter in this page, bit for bit`;
  return `Runs on ${player.on}: ${compared}.`;
}
