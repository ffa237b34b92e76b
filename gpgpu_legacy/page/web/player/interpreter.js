// A plan on the reference machine: float32, every operation rounded, as the numpy executor has it.

const INTERPRETER_OPCODES = opcodesIn(Math.fround);
const IN_SINGLES = interpolationIn(Math.fround);
const IN_DOUBLES = interpolationIn((number) => number);
const COMPONENT_LETTERS = "xyzw";
const RELATIONS = relationsIn(Math.fround);
// The trips of a loop, and the instructions that a fragment executes.
const [MOST_TRIPS, MOST_EXECUTED] = [255, 65536];
// The most numbers in the states that are kept, so that going back need not begin anew.
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

  // The number of the last known state at or before the state after k passes.
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
  // the pass does not reach it. The state stays as it is.
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
    machine.begin(pass, this.plan.codeOf(pass).units, textures);
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
    const { rect, drawn } = pass;
    const { units, writes, fails } = this.plan.codeOf(pass);
    machine.begin(pass, units, state);
    const targets = pass.targets.map((name, number) => ({
      texture: written[name],
      write: writes[number],
      color: machine.color(number),
    }));
    const alpha = machine.color(0);
    const [left, bottom] = [drawn.x - rect.x, drawn.y - rect.y];
    for (let row = bottom; row < bottom + drawn.height; row += 1) {
      for (let column = left; column < left + drawn.width; column += 1) {
        machine.at(column, row);
        if (!machine.run() || fails?.(alpha[3])) continue;
        for (const { texture: { data, width }, write, color } of targets) {
          const n = 4 * ((rect.y + row) * width + rect.x + column);
          const held = data.subarray(n, n + 4);
          held.set(write(color, machine.registers, held, pass.state));
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

  // Takes what a pass gives the program. units: the functions of its bindings.
  begin(pass, units, state) {
    this.units = {};
    for (const [n, { unit, texture }] of pass.bindings.entries()) {
      this.units[unit] = new TextureUnit(state[texture], units[n]);
    }
    this.rect = pass.rect;
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
    this.corners = detailed ? DEFINITIONS.beside.map(() => this.registers.slice()) : [];
  }

  // Goes to the fragment in a column and a row of the rectangle.
  at(column, row) {
    const own = [column + 0.5, row + 0.5];
    this.place(this.registers, own, own);
    if (!this.corners.length) return;
    const [across, up] = [IN_SINGLES.quad(this.rect.x, own[0]), IN_SINGLES.quad(this.rect.y, own[1])];
    this.corners.forEach((registers, n) => {
      const [right, above] = DEFINITIONS.beside[n];
      this.place(registers, [across[right], up[above]], own);
    });
  }

  // Sets the registers of a fragment with its centre there, in the triangle that has the centre `own`.
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
    const { jumps } = this.program;
    if (!jumps) return !this.instructions.some((instruction) => this.step(instruction));
    for (const instruction of this.executed(jumps)) if (this.step(instruction)) return false;
    return true;
  }

  // The instructions that a fragment executes, each before it does.
  *executed(jumps = {}) {
    const trips = [];
    for (let [n, left] = [0, MOST_EXECUTED]; n < this.instructions.length; n += 1, left -= 1) {
      if (!left) throw new PlanError(`A fragment executes more than ${MOST_EXECUTED} instructions.`);
      const instruction = this.instructions[n];
      yield instruction;
      if (!(n in jumps)) continue;
      const { decoded: { op }, holds, sources: [count] } = instruction;
      const to = jumps[n] - 1;
      if (count) trips[n] = Math.floor(Math.min(count(this.registers, 0), MOST_TRIPS));
      const tested = holds?.(this.registers);
      const repeats = () => (count ? !(trips[n] >= 1) : (trips[to] -= 1) >= 1);
      if (op === "IF" ? !tested : op === "ELSE" || (tested ?? repeats())) n = to;
    }
  }

  // The registers of the colour for a target.
  color(number) {
    const { separate, colors } = this.program;
    const place = colors[separate ? number : 0];
    return place === undefined ? new Float32Array(4) : this.registers.subarray(4 * place, 4 * place + 4);
  }

  // Runs the program and tells of each instruction: its operands as it reads them; its destination
  // afterwards, and as it would be without saturation; the components written; its lookup.
  trace() {
    const steps = [];
    let discarded = false;
    for (const instruction of this.executed(this.program.jumps)) {
      const { decoded, sources, unclamped, lookup } = instruction;
      const operands = sources.map((read, n) => ({
        text: decoded.srcs[n].text,
        value: sourceVector(read, this.registers),
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

  // A register's four numbers; if an instruction is given, those after it, which is then undone.
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
    const { form, of } = INTERPRETER_OPCODES[decoded.op] ?? {};
    const passes = decoded.test && this.passing(decoded.test);
    const holds = passes && ((r) => [0, 1, 2, 3].some((c) => passes(r, c)));
    if (form === "kill") {
      const execute = holds ?? ((r) => of(...sources.map((read) => sourceVector(read, r))));
      return { decoded, sources, execute, ends: true };
    }
    if (!form) return { decoded, sources, holds, execute: () => false };
    const places = [...decoded.mask].map((letter) => COMPONENT_LETTERS.indexOf(letter));
    const made = { decoded, sources };
    const compute = this.computing(form, of, sources, decoded.texture, places, made);
    const bases = (decoded.stores ?? [decoded.dst]).map((n) => 4 * n);
    const storing = (clamp) => registerStore(bases, places, compute, clamp, passes);
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

  // A test as a function of the registers and a component.
  passing({ relation, ...source }) {
    const read = this.source(source);
    return (r, c) => RELATIONS[relation](read(r, c));
  }

  // A source as a function of the registers and a component, under its swizzle and its sign.
  source({ register, swizzle, negate, absolute }) {
    const places = swizzle.map((selector) =>
      selector < 4 ? 4 * register + selector : this.constants + selector - 4,
    );
    const read = absolute ? (r, c) => Math.abs(r[places[c]]) : (r, c) => r[places[c]];
    return negate ? (r, c) => (negate[c] ? -read(r, c) : read(r, c)) : read;
  }
}

function sourceVector(read, registers) {
  return [read(registers, 0), read(registers, 1), read(registers, 2), read(registers, 3)];
}

// All components are computed, and tested, before any is stored: in the destination, and in the
// condition code if the instruction sets it.
function registerStore(bases, places, compute, clamp, passes) {
  return (r) => {
    const value = compute(r);
    const written = passes ? places.filter((n) => passes(r, n)) : places;
    for (const base of bases) {
      for (const n of written) r[base + n] = clamp ? saturatedOf(value[n]) : value[n];
    }
    return false;
  };
}

// Attributes -------------------------------------------------------------------------------------

// An attribute as a function that writes it for the fragment with its centre at (x, y), relative to
// the pass's rectangle.
function attributeOf({ name, index }, pass) {
  const { rect } = pass;
  if (name === "position") {
    return (r, n, x, y) => r.set(IN_SINGLES.position(rect.x, rect.y, x, y), n);
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
function overTriangles(corners, { width, height }) {
  const { base, dx, dy } = trianglePlanes(corners, { width, height });
  const [below, above] = [0, 1].map((n) => interpolatedBy([base[n], dx[n], dy[n]]));
  return (r, n, x, y, own) => (IN_DOUBLES.above(width, height, ...own) ? above : below)(r, n, x, y);
}

// The planes of corner values over a rectangle, for each of its two triangles.
function trianglePlanes([origin, right, far, top], { width, height }) {
  const corners = origin.map((value, c) => [value, right[c], far[c], top[c]]);
  const rises = corners.map((four) => IN_DOUBLES.slopes(...four, width, height));
  const [below, above, left, beyond] = [0, 1, 2, 3].map((n) => rises.map((rise) => rise[n]));
  const bent = corners.some((four) => IN_DOUBLES.bent(...four));
  return { base: [origin, origin], dx: [below, bent ? above : below], dy: [bent ? beyond : left, left] };
}

function interpolatedBy(plane) {
  const [base, dx, dy] = plane.map((values) => Float32Array.from(values, (value) => value + 0)); // -0 becomes 0
  return (r, n, x, y) => {
    for (let c = 0; c < 4; c += 1) r[n + c] = IN_SINGLES.interpolated(base[c], dx[c], dy[c], x, y);
  };
}

// Lookups ----------------------------------------------------------------------------------------

// A texture as a texture image unit reads it, by the functions of a binding.
class TextureUnit {
  constructor(texture, functions) {
    Object.assign(this, functions, { texture, detailed: functions.lod !== null, lambda: 0 });
  }

  // The texel at s, t and r, in the levels that λ and a bias choose.
  sample(s, t, r, bias = 0) {
    [this.s, this.t, this.r, this.bias] = [s, t, r, bias];
    this.texel = this.lookup(this.texture.data, s, t, r, this.lambda, bias);
    return this.texel;
  }

  // λ without biases, from s, t and r in the corners of a quad.
  detail(points) {
    const count = this.lod.length / points.length;
    this.lambda = this.lod(...points.flatMap((point) => point.slice(0, count)));
  }

  // The last lookup: the texture, the column and the row (through all layers) of the texel, and
  // what was read. A linear filter mixes that texel, the nearest one in the nearest level, with others.
  last() {
    const [x, y] = this.nearest(this.texture.data, this.s, this.t, this.r, this.lambda, this.bias);
    return { texture: this.texture.name, x, y, texel: [...this.texel], linear: this.linear };
  }
}
