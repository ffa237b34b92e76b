// A plan on the reference machine: float32, every operation rounded, as the numpy executor has it.

const INTERPRETER_OPCODES = opcodesIn(Math.fround);
const INTERPRETER_FOG = fogIn(Math.fround);
const COMPONENT_LETTERS = "xyzw";
// How many numbers the states that are kept may have, so that going back need not begin anew.
const MOST_KEPT = 2 ** 23;

class Interpreter {
  // plan: a PlanOf. matrices: its operands, as `packed` takes them.
  constructor(plan, matrices) {
    this.plan = plan;
    this.programs = Object.fromEntries(
      Object.entries(plan.programs).map(([name, program]) => [name, new FragmentMachine(program)]),
    );
    this.load(matrices);
  }

  // Begins again with other matrices.
  load(matrices) {
    this.state = packed(this.plan, matrices);
    this.at = 0;
    this.kept = new Map([[0, this.state]]);
    this.keptNumbers = 0;
  }

  // Goes to the state after k passes, 0 to all of them.
  seek(k) {
    if (!Number.isInteger(k) || k < 0 || k > this.plan.passes) {
      throw new PlanError(`${this.plan.name} has ${this.plan.passes} passes, and no state ${k}.`);
    }
    const nearest = this.nearest(k);
    if (nearest !== this.at) [this.at, this.state] = [nearest, this.kept.get(nearest)];
    for (; this.at < k; this.at += 1) {
      this.state = this.after(this.plan.pass(this.at), this.state);
      this.keep(this.at + 1);
    }
  }

  // The state from which it goes to the state after k passes.
  nearest(k) {
    const known = [...this.kept.keys(), this.at];
    return Math.max(...known.filter((number) => number <= k));
  }

  // The texture of that name in this state.
  texture(name) {
    this.plan.texture(name);
    return this.state[name];
  }

  // The results as they stand in this state.
  results() {
    return unpacked(this.plan, this.state);
  }

  // What pass k (from 0) does to the texel at column x and row y of its target: the texel before
  // and after, and a step for each instruction; `targets` has them for every target. null where
  // the pass does not reach it. Goes nowhere.
  trace(k, x, y) {
    const here = this.at;
    this.seek(k);
    const traced = this.traced(this.plan.pass(k), this.state, x, y);
    this.seek(here);
    return traced;
  }

  // The same for a pass over the textures of a state, whoever made it.
  traced(pass, textures, x, y) {
    if (!reaches(pass, x, y)) return null;
    const [column, row] = [x - pass.rect.x, y - pass.rect.y];
    const texel = (state, name) => {
      const n = 4 * (y * state[name].width + x);
      return [...state[name].data.subarray(n, n + 4)];
    };
    const after = this.after(pass, textures);
    const targets = pass.targets.map((name) => ({
      name,
      before: texel(textures, name),
      after: texel(after, name),
    }));
    const { before, after: last } = targets[0];
    const traced = { before, after: last, discarded: false, steps: [], targets };
    return pass.kind === "draw" ? { ...traced, ...this.fragment(pass, textures, column, row) } : traced;
  }

  // What the program of a draw does in the fragment in a column and a row of its rectangle.
  fragment(pass, textures, column, row) {
    const machine = this.programs[pass.program];
    machine.begin(pass, textures);
    machine.at(column, row);
    return machine.trace();
  }

  keep(k) {
    const before = this.kept.get(k - 1);
    const added = Object.entries(this.state)
      .filter(([name, texture]) => before?.[name] !== texture)
      .reduce((sum, [, texture]) => sum + texture.data.length, 0);
    if (this.kept.has(k) || this.keptNumbers + added > MOST_KEPT) return;
    this.kept.set(k, this.state);
    this.keptNumbers += added;
  }

  // The textures after a pass; those that it does not write are the same objects.
  after(pass, state) {
    const written = { ...state };
    for (const name of pass.targets) {
      written[name] = { ...state[name], data: state[name].data.slice() };
    }
    if (pass.kind === "draw") this.draw(pass, state, written);
    else if (pass.kind === "copy") copyTexels(pass, state[pass.source], written[pass.target]);
    else fillTexture(written[pass.target], pass.value);
    return written;
  }

  draw(pass, state, written) {
    const machine = this.programs[pass.program];
    const { rect, drawn, mask, blend, alphaTest } = pass;
    machine.begin(pass, state);
    const targets = pass.targets.map((name, number) => ({
      texture: written[name],
      held: heldBy(written[name]),
      blended: blend === "none" ? null : blendedIn(written[name], blend),
      color: machine.color(number, written[name]),
    }));
    const passes = alphaTest && machine.alphaTest(alphaTest, targets[0].texture);
    const [left, bottom] = [drawn.x - rect.x, drawn.y - rect.y];
    for (let row = bottom; row < bottom + drawn.height; row += 1) {
      for (let column = left; column < left + drawn.width; column += 1) {
        machine.at(column, row);
        if (!machine.run() || (passes && !passes())) continue;
        for (const { texture, held, blended, color } of targets) {
          const value = Array.from(color(), held);
          const n = 4 * ((rect.y + row) * texture.width + rect.x + column);
          const there = blended && texture.data.slice(n, n + 4);
          for (let c = 0; c < texture.channels; c += 1) {
            if (!mask.includes("rgba"[c])) continue;
            texture.data[n + c] = blended ? held(blended(value, there, c)) : value[c];
          }
        }
      }
    }
  }
}

function copyTexels({ sourceRect, rect }, source, target) {
  for (let row = 0; row < rect.height; row += 1) {
    const from = 4 * ((sourceRect.y + row) * source.width + sourceRect.x);
    const to = 4 * ((rect.y + row) * target.width + rect.x);
    target.data.set(source.data.subarray(from, from + 4 * rect.width), to);
  }
}

// The program ------------------------------------------------------------------------------------

// Runs a program on one fragment after another. A register is four numbers of `registers`; the last
// one holds the constants 0 and 1 of swizzles.
class FragmentMachine {
  constructor(program) {
    this.program = program;
    const count = program.registers.length;
    this.registers = new Float32Array(4 * (count + 1));
    this.registers[4 * count + 1] = 1;
    this.constants = 4 * count;
    this.instructions = program.instructions.map((instruction) => this.compiled(instruction));
    this.cleared = program.registers.flatMap(({ kind }, n) =>
      kind === "temporary" || kind === "result" ? [4 * n] : [],
    );
    program.registers.forEach(({ kind, value }, n) => {
      if (kind === "constant") this.registers.set(value.map(Number), 4 * n);
    });
  }

  // Takes what a pass gives the program.
  begin(pass, state) {
    this.units = {};
    for (const binding of pass.bindings) {
      this.units[binding.unit] = new TextureUnit(state[binding.texture], binding);
    }
    this.rect = pass.rect;
    this.state = pass.state;
    this.attributes = [];
    this.program.registers.forEach((register, n) => {
      const { kind, index, name } = register;
      const given = (list) => list.find((each) => each.index === index)?.value ?? [0, 0, 0, 0];
      if (kind === "program.local") this.registers.set(given(pass.locals), 4 * n);
      else if (kind === "program.env") this.registers.set(given(pass.env), 4 * n);
      else if (kind === "state") this.registers.set(pass.state[name], 4 * n);
      else if (kind === "attribute") this.attributes.push([4 * n, attributeOf(register, pass)]);
    });
    const detailed = Object.values(this.units).some((unit) => unit.detailed);
    this.corners = detailed ? QUAD_CORNERS.map(() => this.registers.slice()) : [];
  }

  // Goes to the fragment in a column and a row of the rectangle.
  at(column, row) {
    const own = [column + 0.5, row + 0.5];
    this.place(this.registers, own, own);
    const quad = [own[0] - ((column + this.rect.x) & 1), own[1] - ((row + this.rect.y) & 1)];
    this.corners.forEach((registers, n) => {
      this.place(registers, [quad[0] + QUAD_CORNERS[n][0], quad[1] + QUAD_CORNERS[n][1]], own);
    });
  }

  // The registers of a fragment with its centre there, in the triangle that has the centre `own`.
  place(registers, [x, y], own) {
    for (const n of this.cleared) registers.fill(0, n, n + 4);
    for (const [n, write] of this.attributes) write(registers, n, x, y, own);
  }

  // Runs an instruction, in the corners of a quad first; true where it discards the fragment.
  step({ execute, coordinates, decoded, ends }) {
    if (this.corners.length && !ends) {
      const unit = coordinates && this.units[decoded.texture.unit];
      if (unit?.detailed) unit.detail(this.corners.map(coordinates));
      for (const registers of this.corners) execute(registers);
    }
    return execute(this.registers);
  }

  // Runs the program; false where it discards the fragment.
  run() {
    return !this.instructions.some((instruction) => this.step(instruction));
  }

  // A function that says whether the fragment's alpha passes a test.
  alphaTest(test, target) {
    const [comparison, reference] = test.split(",");
    const place = this.program.colors[0];
    const against = stateIn(target, Number(reference));
    const clamps = target.numeric === "unorm";
    return () => {
      const alpha = place === undefined ? 0 : this.registers[4 * place + 3];
      return COMPARISONS[comparison](clamps ? saturatedNumber(alpha) : alpha, against);
    };
  }

  // A function that gives the colour for a target, behind fog where the program asks for it.
  color(number, texture) {
    const { separate, colors, fog } = this.program;
    const place = colors[separate ? number : 0];
    const written = place !== undefined;
    const color = written ? this.registers.subarray(4 * place, 4 * place + 4) : [0, 0, 0, 0];
    if (!fog) return () => color;
    const fixed = texture.numeric === "unorm";
    const values = this.state["state.fog.color"].map((v) => (fixed ? saturatedNumber(v) : v));
    const params = this.state["state.fog.params"];
    return () => {
      const seen = [...color].map(saturatedNumber);
      const exact = INTERPRETER_FOG.factors[fog](this.registers[0], params);
      const factor = saturatedNumber(exact);
      const mixed = [0, 1, 2].map((c) => INTERPRETER_FOG.mixed(factor, seen[c], values[c]));
      return [...mixed, seen[3]];
    };
  }

  // Runs the program and tells of each instruction: its operands as it reads them; its destination
  // afterwards, and as it would be without saturation; the components written; its lookup.
  trace() {
    const steps = [];
    let discarded = false;
    for (const instruction of this.instructions) {
      const { decoded, sources, unclamped, lookup } = instruction;
      const operands = sources.map((read, n) => ({
        text: decoded.srcs[n].text,
        value: [0, 1, 2, 3].map((c) => read(this.registers, c)),
      }));
      const unsaturated = unclamped ? this.register(decoded.dst, unclamped) : null;
      discarded = Boolean(this.step(instruction)) || discarded;
      steps.push({
        text: decoded.text,
        line: decoded.line,
        op: decoded.op,
        operands,
        result: decoded.mask ? this.register(decoded.dst) : null,
        unsaturated,
        written: decoded.mask ?? "",
        lookup: lookup?.() ?? null,
      });
      if (discarded) break;
    }
    return { discarded, steps };
  }

  // A register's four numbers; after an instruction, if given, that is then undone.
  register(number, execute = null) {
    const before = execute && this.registers.slice();
    execute?.(this.registers);
    const values = [...this.registers.subarray(4 * number, 4 * number + 4)];
    if (before) this.registers.set(before);
    return values;
  }

  // An instruction as functions of the registers: `execute` gives true where it ends the fragment.
  compiled(decoded) {
    const sources = decoded.srcs.map((source) => this.source(source));
    const { form, of } = INTERPRETER_OPCODES[decoded.op];
    if (form === "kill") {
      const execute = (r) => of(...sources.map((read) => sourceVector(read, r)));
      return { decoded, sources, execute, ends: true };
    }
    const places = [...decoded.mask].map((letter) => COMPONENT_LETTERS.indexOf(letter));
    const made = { decoded, sources };
    const compute = this.computing(form, of, sources, decoded.texture, places, made);
    const storing = (clamp) => registerStore(4 * decoded.dst, places, compute, clamp);
    made.execute = storing(decoded.saturate);
    if (decoded.saturate) made.unclamped = storing(false);
    return made;
  }

  // A function of the registers that gives the result's components.
  computing(form, of, sources, texture, places, made) {
    const result = new Float32Array(4);
    const [a, b = a, c = a] = sources;
    if (form === "componentwise") {
      return (r) => {
        for (const n of places) result[n] = of(a(r, n), b(r, n), c(r, n));
        return result;
      };
    }
    if (form === "scalar") return (r) => result.fill(of(a(r, 0), b(r, 0), c(r, 0)));
    if (form === "vector") return (r) => of(...sources.map((read) => sourceVector(read, r)));
    made.lookup = () => this.units[texture.unit].last();
    made.coordinates = (r) => of(sourceVector(a, r));
    return (r) => this.units[texture.unit].sample(...made.coordinates(r));
  }

  // A source as a function of the registers and a component, under its swizzle and its sign.
  source({ register, swizzle, negate }) {
    const places = swizzle.map((selector) =>
      selector < 4 ? 4 * register + selector : this.constants + selector - 4,
    );
    if (!negate) return (r, c) => r[places[c]];
    return (r, c) => (negate[c] ? -r[places[c]] : r[places[c]]);
  }
}

function sourceVector(read, registers) {
  return [read(registers, 0), read(registers, 1), read(registers, 2), read(registers, 3)];
}

// All components are computed before any is stored.
function registerStore(base, places, compute, clamp) {
  return (r) => {
    const value = compute(r);
    for (const n of places) r[base + n] = clamp ? saturatedNumber(value[n]) : value[n];
    return false;
  };
}

// Clamped to [0, 1]; a NaN becomes 0.
function saturatedNumber(value) {
  return value > 0 ? Math.min(value, 1) : 0;
}

// Attributes -------------------------------------------------------------------------------------

// An attribute as a function that writes it for the fragment with its centre at (x, y), relative to
// the pass's rectangle.
function attributeOf({ name, index }, pass) {
  const { rect } = pass;
  if (name === "position") {
    return (r, n, x, y) => {
      r[n] = x + rect.x;
      r[n + 1] = y + rect.y;
      r[n + 2] = 0.5;
      r[n + 3] = 1;
    };
  }
  const given =
    name === "texcoord"
      ? pass.texcoords.find(({ set }) => set === index)
      : pass.attributes.find(({ kind }) => kind === name);
  const standard = DEFINITIONS.attributes[name];
  if (!given) return (r, n) => r.set(standard, n);
  const write = overTriangles(given.corners, rect);
  if (name !== "fogcoord") return write;
  return (r, n, x, y, own) => {
    write(r, n, x, y, own);
    for (let c = 1; c < 4; c += 1) r[n + c] = standard[c];
  };
}

// An attribute in each fragment by the plane of the triangle that its centre is in.
function overTriangles([origin, right, far, top], { width, height }) {
  if (arePlanar(origin, right, far, top)) {
    return interpolatedBy(origin, slopeOf(origin, right, width), slopeOf(origin, top, height));
  }
  const below = interpolatedBy(origin, slopeOf(origin, right, width), slopeOf(right, far, height));
  const above = interpolatedBy(origin, slopeOf(top, far, width), slopeOf(origin, top, height));
  return (r, n, x, y, own) => (width * own[1] <= height * own[0] ? below : above)(r, n, x, y);
}

function slopeOf(start, end, length) {
  return start.map((value, c) => (end[c] - value) / length);
}

function arePlanar(a, b, c, d) {
  return a.every((_, n) => {
    const size = Math.max(1, ...[a, b, c, d].map((corner) => Math.abs(corner[n])));
    return !(Math.abs(a[n] + c[n] - b[n] - d[n]) > DEFINITIONS.planar * size);
  });
}

// base + dx·x + dy·y in float32, in that order.
function interpolatedBy(base, dx, dy) {
  const f = Math.fround;
  return (r, n, x, y) => {
    for (let c = 0; c < 4; c += 1) {
      let value = f(base[c]) + 0; // a -0 becomes 0
      if (dx[c] !== 0) value = f(value + f(f(dx[c]) * x));
      if (dy[c] !== 0) value = f(value + f(f(dy[c]) * y));
      r[n + c] = value;
    }
  };
}

// Lookups ----------------------------------------------------------------------------------------

// The fragments of a quad whose coordinates give its level of detail, from its first one.
const QUAD_CORNERS = [[0, 0], [1, 0], [0, 1]];

// A texture as a texture image unit reads it, in float32, by the rule of plan/sampling.py.
class TextureUnit {
  constructor(texture, binding) {
    const { kind, width, height, depth, levels, reads, numeric } = texture;
    Object.assign(this, binding, { texture });
    if (kind === "CUBE") this.wraps = Array(3).fill("clamp-to-edge");
    this.texel = new Float32Array(4);
    this.s = this.t = this.r = this.lod = 0;
    let first = 0;
    this.levels = Array.from({ length: levels }, (_, n) => {
      const [across, up, slices] = [width, height, depth].map((size) => Math.max(1, size >> n));
      const level = { width: across, height: up, depth: kind === "3D" ? slices : depth, first };
      first += up * depth;
      return level;
    });
    const sizes = [width, height, kind === "3D" ? depth : 1];
    const most = 31 - Math.clz32(Math.max(...sizes));
    this.steps = (this.between ? Math.min(this.last_, most) : this.base) - this.base;
    this.edge = [0, 1, 2, 3].map((channel) => {
      const value = Math.fround(this.border[Math.max(0, reads.indexOf(channel))]);
      return numeric === "unorm" ? saturatedNumber(value) : value;
    });
    this.in(this.base, this.within);
  }

  // Goes to a level, to read it by a filter.
  in(level, filter) {
    this.level = this.levels[level];
    this.reading = filter;
  }

  // The texel at s, t and r, valid until the next lookup; in the levels that λ and a bias choose.
  sample(s, t, r, bias = 0) {
    const f = Math.fround;
    if (this.compare) this.reference = saturatedNumber(r);
    if (this.texture.kind === "CUBE") {
      const face = cubeFace(s, t, r);
      [this.s, this.t, this.r] = [...onFace(face, s, t, r), face.number];
    } else [this.s, this.t, this.r] = [s, t, r];
    if (!this.detailed) return this.read(this.base, this.within);
    const { bias: most } = DEFINITIONS.sampling;
    const lod = limited(f(this.lod + limited(f(bias + f(this.bias)), -most, most)), ...this.lods);
    if (this.within !== this.magnify) {
      const isLinear = this.magnify === "linear" && this.between;
      if (!(lod > (isLinear ? 0.5 : 0))) return this.read(this.base, this.magnify);
    }
    const above = limited(lod, 0, this.steps);
    if (this.between !== "linear") {
      return this.read(this.base + Math.ceil(f(above + 0.5)) - 1, this.within);
    }
    const whole = Math.floor(above);
    const part = f(above - whole);
    const far = this.read(this.base + Math.min(whole + 1, this.steps), this.within).slice();
    const near = this.read(this.base + whole, this.within);
    if (part > 0.5) this.in(this.base + whole + 1, this.within); // for last, below
    const { reads } = this.texture;
    for (let c = 0; c < 4 && part > 0; c += 1) {
      if (reads[c] < 4) near[c] = f(f(f(1 - part) * near[c]) + f(part * far[c]));
    }
    return near;
  }

  // λ without biases, from s, t and r in the corners of a quad.
  detail(points) {
    const f = Math.fround;
    const { kind } = this.texture;
    const { width, height, depth } = this.levels[this.base];
    const scales = { RECT: [1, 1], "1D": [width], "3D": [width, height, depth] }[kind] ?? [width, height];
    if (kind === "CUBE") {
      const face = cubeFace(...points[0]);
      points = points.map((point) => onFace(face, ...point));
    }
    const [along, across] = points.slice(1).map((point) => scales.map((scale, n) => {
      const move = f(f(f(point[n]) - f(points[0][n])) * scale);
      return f(move * move);
    }).reduce((sum, square) => f(sum + square)));
    const { least, most, factors } = DEFINITIONS.sampling;
    let rest = f(limited(along > across ? along : across, least, most) / least);
    const exponent = Math.floor(Math.log2(rest)); // of a power of 2 it is exact
    const power = 2 ** exponent > rest ? exponent - 1 : 2 ** (exponent + 1) <= rest ? exponent + 1 : exponent;
    rest = f(f(rest * 2 ** -power) - 1);
    let factor = f(rest * f(factors.at(-1)));
    for (const each of factors.slice(1, -1).reverse()) factor = f(f(factor + f(each)) * rest);
    const curve = f(f(rest * f(1 - rest)) * f(factor + f(factors[0])));
    this.lod = f(f(power + Math.log2(least) + f(rest + curve)) * 0.5);
  }

  // The texel in a level.
  read(level, filter) {
    this.in(level, filter);
    if (filter === "linear") return this.mixed();
    const column = this.nearest(this.s, this.level.width, 0);
    const { reads } = this.texture;
    const row = this.row();
    const n = 4 * (row.index * this.texture.width + column.index);
    for (let c = 0; c < 4; c += 1) {
      this.texel[c] = reads[c] < 4 ? this.held(n, reads[c], column.inside && row.inside) : reads[c] - 4;
    }
    return this.texel;
  }

  // A stored channel of a texel, or of the border; or what comparing it gives.
  held(n, channel, inside) {
    const value = inside ? this.texture.data[n + channel] : this.edge[channel];
    if (!this.compare) return value;
    const [less, equal, greater] = DEFINITIONS.sampling.compared[this.compare];
    return this.reference < value ? less : this.reference > value ? greater : equal;
  }

  // The last lookup: the texture, the column and the row (through all layers) of the texel, and
  // what was read. A linear filter mixes that texel, the nearest one in the nearest level, with others.
  last() {
    const linear = this.reading === "linear";
    const texel = [...this.texel];
    const x = this.nearest(this.s, this.level.width, 0).index;
    return { texture: this.texture.name, x, y: this.row().index, texel, linear };
  }

  row() {
    const { height, depth, first } = this.level;
    const { kind } = this.texture;
    const row = kind === "1D" ? { index: 0, inside: true } : this.nearest(this.t, height, 1);
    if (kind === "CUBE") return { ...row, index: first + this.r * height + row.index };
    if (kind !== "3D") return { ...row, index: first + row.index };
    const layer = this.nearest(this.r, depth, 2);
    return { index: first + layer.index * height + row.index, inside: row.inside && layer.inside };
  }

  // A coordinate in texels; if the texture repeats, of its fraction.
  inTexels(coordinate, size, axis) {
    const f = Math.fround;
    let place = coordinate;
    if (this.wraps[axis] === "repeat") place = f(coordinate - Math.floor(coordinate));
    if (this.wraps[axis] === "mirrored-repeat") {
      const there = f(coordinate - Math.floor(f(coordinate * 0.5)) * 2);
      place = there > 1 ? f(2 - there) : there;
    }
    return this.texture.kind === "RECT" ? place : f(place * size);
  }

  // The texel that a coordinate is in, and whether it is inside; a NaN is in texel 0.
  nearest(coordinate, size, axis) {
    const place = Math.floor(this.inTexels(coordinate, size, axis));
    const inside = this.wraps[axis] !== "clamp-to-border" || !(place < 0 || place >= size);
    return { index: place > 0 ? Math.min(place, size - 1) : 0, inside };
  }

  // The two texels whose centres are nearest: their index, their weight, and whether inside.
  pair(coordinate, size, axis) {
    const f = Math.fround;
    const wrap = this.wraps[axis];
    let place = this.inTexels(coordinate, size, axis);
    if (Number.isNaN(place)) place = 0.5;
    const margin = { clamp: 0, "clamp-to-border": -0.5 }[wrap] ?? 0.5;
    if (wrap !== "repeat") place = Math.min(Math.max(place, margin), size - margin);
    const low = Math.floor(f(place - 0.5));
    const alpha = f(f(place - 0.5) - low);
    const weights = [f(1 - alpha), alpha];
    return weights.map((weight, n) => {
      const index = low + n;
      if (wrap === "repeat") return { index: ((index % size) + size) % size, weight, inside: true };
      const inside = margin === 0.5 || (index >= 0 && index < size);
      return { index: Math.min(Math.max(index, 0), size - 1), weight, inside };
    });
  }

  // The texels of a linear filter, summed up in GL's order, with s fastest.
  mixed() {
    const { kind, reads } = this.texture;
    const { width, height, depth, first } = this.level;
    const f = Math.fround;
    const only = (index) => [{ index, weight: 1, inside: true }]; // a factor of 1 changes nothing
    const columns = this.pair(this.s, width, 0);
    const rows = kind === "1D" ? only(0) : this.pair(this.t, height, 1);
    const layers = kind === "3D" ? this.pair(this.r, depth, 2) : only(kind === "CUBE" ? this.r : 0);
    for (let c = 0; c < 4; c += 1) {
      let total = reads[c] < 4 ? null : reads[c] - 4; // a constant is not weighted
      if (total !== null) {
        this.texel[c] = total;
        continue;
      }
      for (const layer of layers) {
        for (const row of rows) {
          for (const column of columns) {
            const there = first + layer.index * height + row.index;
            const inside = column.inside && row.inside && layer.inside;
            const held = this.held(4 * (there * this.texture.width + column.index), reads[c], inside);
            const value = f(f(f(column.weight * row.weight) * layer.weight) * held);
            total = total === null ? value : f(total + value);
          }
        }
      }
      this.texel[c] = total;
    }
    return this.texel;
  }
}

// Clamped; a NaN to the lower end.
function limited(value, low, high) {
  return value > low ? Math.min(value, Math.fround(high)) : Math.fround(low);
}

// The face of a cube map that a direction selects; where magnitudes are equal, z wins over y, and y
// over x.
function cubeFace(x, y, z) {
  const [alongX, alongY, alongZ] = [x, y, z].map(Math.abs);
  const axis = alongZ >= alongX && alongZ >= alongY ? 2 : alongY >= alongX ? 1 : 0;
  const negative = [x, y, z][axis] < 0;
  return { axis, negative, number: 2 * axis + Number(negative) };
}

// The coordinates of a direction on a face.
function onFace({ axis, negative }, x, y, z) {
  const f = Math.fround;
  const ma = Math.abs([x, y, z][axis]);
  const sc = [negative ? z : -z, x, negative ? -x : x][axis];
  const tc = axis === 1 ? (negative ? -z : z) : -y;
  return [sc, tc].map((coordinate) => f(f(f(coordinate / ma) + 1) * 0.5));
}
