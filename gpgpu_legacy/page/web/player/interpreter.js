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
    const { rect } = pass;
    const [column, row] = [x - rect.x, y - rect.y];
    if (column < 0 || row < 0 || column >= rect.width || row >= rect.height) return null;
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
    const { rect } = pass;
    machine.begin(pass, state);
    const targets = pass.targets.map((name, number) => ({
      texture: written[name],
      held: heldBy(written[name]),
      added: pass.blend === "add" ? addedIn(written[name]) : null,
      color: machine.color(number, written[name]),
    }));
    for (let row = 0; row < rect.height; row += 1) {
      for (let column = 0; column < rect.width; column += 1) {
        machine.at(column, row);
        if (!machine.run()) continue;
        for (const { texture, held, added, color } of targets) {
          const value = color();
          const n = 4 * ((rect.y + row) * texture.width + rect.x + column);
          for (let c = 0; c < texture.channels; c += 1) {
            const stored = held(value[c]);
            texture.data[n + c] = added ? added(texture.data[n + c], stored) : stored;
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
    for (const { unit, texture, filter, wraps } of pass.bindings) {
      this.units[unit] = new TextureUnit(state[texture], filter, wraps);
    }
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
  }

  // Goes to the fragment in a column and a row of the rectangle.
  at(column, row) {
    const { registers } = this;
    for (const n of this.cleared) registers.fill(0, n, n + 4);
    for (const [n, write] of this.attributes) write(registers, n, column + 0.5, row + 0.5);
  }

  // Runs the program; false where it discards the fragment.
  run() {
    for (const { execute } of this.instructions) {
      if (execute(this.registers)) return false;
    }
    return true;
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
      const { decoded, sources, execute, unclamped, lookup } = instruction;
      const operands = sources.map((read, n) => ({
        text: decoded.srcs[n].text,
        value: [0, 1, 2, 3].map((c) => read(this.registers, c)),
      }));
      const unsaturated = unclamped ? this.register(decoded.dst, unclamped) : null;
      discarded = Boolean(execute(this.registers)) || discarded;
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
      return { decoded, sources, execute };
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
    return (r) => {
      const [s, t, p] = of(sourceVector(a, r));
      return this.units[texture.unit].sample(s, t, p);
    };
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
  return (r, n, x, y) => {
    write(r, n, x, y);
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
  return (r, n, x, y) => (width * y <= height * x ? below : above)(r, n, x, y);
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

// A texture as a texture image unit reads it, in float32.
class TextureUnit {
  constructor(texture, filter, wraps) {
    this.texture = texture;
    this.filter = filter;
    this.wraps = texture.kind === "CUBE" ? Array(3).fill("clamp-to-edge") : wraps;
    this.texel = new Float32Array(4);
    this.s = this.t = this.r = 0;
  }

  // The texel at s, t and r; valid until the next lookup.
  sample(s, t, r) {
    if (this.texture.kind === "CUBE") [this.s, this.t, this.r] = cubeFace(s, t, r);
    else [this.s, this.t, this.r] = [s, t, r];
    if (this.filter === "linear") return this.mixed();
    const n = 4 * (this.row() * this.texture.width + this.column());
    const { data, reads } = this.texture;
    for (let c = 0; c < 4; c += 1) this.texel[c] = reads[c] < 4 ? data[n + reads[c]] : reads[c] - 4;
    return this.texel;
  }

  // The last lookup: the texture, the column and the row (through all layers) of the texel, and
  // what was read. A linear filter mixes that texel, the nearest one, with its neighbours.
  last() {
    const linear = this.filter === "linear";
    const texel = [...this.texel];
    return { texture: this.texture.name, x: this.column(), y: this.row(), texel, linear };
  }

  column() {
    return this.nearest(this.s, this.texture.width, 0);
  }

  row() {
    const { kind, height, depth } = this.texture;
    const row = kind === "1D" ? 0 : this.nearest(this.t, height, 1);
    if (kind === "CUBE") return this.r * height + row;
    return kind === "3D" ? this.nearest(this.r, depth, 2) * height + row : row;
  }

  // A coordinate in texels; if the texture repeats, of its fraction.
  inTexels(coordinate, size, axis) {
    const repeats = this.wraps[axis] === "repeat";
    const place = repeats ? Math.fround(coordinate - Math.floor(coordinate)) : coordinate;
    return this.texture.kind === "RECT" ? place : Math.fround(place * size);
  }

  // The texel that a coordinate is in; every wrap mode but repeat takes the same.
  nearest(coordinate, size, axis) {
    const place = Math.floor(this.inTexels(coordinate, size, axis));
    return place > 0 ? Math.min(place, size - 1) : 0; // a NaN reads texel 0
  }

  // The two texels whose centres are nearest: their index, their weight, and whether inside.
  pair(coordinate, size, axis) {
    const f = Math.fround;
    const wrap = this.wraps[axis];
    let place = this.inTexels(coordinate, size, axis);
    if (Number.isNaN(place)) place = 0.5;
    if (wrap !== "repeat") {
      const border = wrap === "clamp-to-edge" ? 0.5 : 0;
      place = Math.min(Math.max(place, border), size - border);
    }
    const low = Math.floor(f(place - 0.5));
    const alpha = f(f(place - 0.5) - low);
    const weights = [f(1 - alpha), alpha];
    return weights.map((weight, n) => {
      const index = low + n;
      if (wrap === "repeat") return { index: ((index % size) + size) % size, weight, inside: true };
      const inside = wrap !== "clamp" || (index >= 0 && index < size);
      return { index: Math.min(Math.max(index, 0), size - 1), weight, inside };
    });
  }

  // The texels of a linear filter, summed up in GL's order, with s fastest.
  mixed() {
    const { width, height, depth, kind, reads, data } = this.texture;
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
            const n = 4 * ((layer.index * height + row.index) * width + column.index) + reads[c];
            const inside = column.inside && row.inside && layer.inside;
            const weight = f(f(column.weight * row.weight) * layer.weight);
            const value = f(weight * (inside ? data[n] : 0));
            total = total === null ? value : f(total + value);
          }
        }
      }
      this.texel[c] = total;
    }
    return this.texel;
  }
}

// The coordinates of a direction on the face of a cube map that it selects, and the face's number;
// where magnitudes are equal, z wins over y, and y over x.
function cubeFace(x, y, z) {
  const f = Math.fround;
  const [alongX, alongY, alongZ] = [x, y, z].map(Math.abs);
  const side = (value) => (value < 0 ? 1 : 0);
  const on = (coordinate, ma) => f(f(f(coordinate / ma) + 1) * 0.5);
  const face = (number, sc, tc, ma) => [on(sc, ma), on(tc, ma), number];
  if (alongZ >= Math.max(alongX, alongY)) return face(4 + side(z), z < 0 ? -x : x, -y, alongZ);
  if (alongY >= alongX) return face(2 + side(y), x, y < 0 ? -z : z, alongY);
  return face(side(x), x < 0 ? z : -z, -y, alongX);
}
