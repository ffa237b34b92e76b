// A plan as the page plays it: its passes with every number evaluated, and matrices in textures.

// What is wrong with a plan or with matrices, as a sentence for the reader.
class PlanError extends Error {}

class PlanOf {
  // scene: what page/scenes.py makes of a plan.
  constructor(scene) {
    const record = scene.plan;
    this.scene = scene;
    this.name = record.name;
    this.operands = (record.operands ?? []).map(planMatrix);
    this.results = (record.results ?? []).map(planMatrix);
    this.textures = record.textures.map(planTexture);
    this.inputs = record.inputs ?? [];
    this.outputs = record.outputs ?? [];
    this.programs = Object.fromEntries(
      Object.entries(scene.programs).map(([name, program]) => [
        name,
        planProgram(program, record.programs[name]),
      ]),
    );
    this.steps = [];
    let first = 0;
    for (const [number, step] of record.steps.entries()) {
      const body = step.kind === "Repeat" ? step.body : [step];
      const count = step.kind === "Repeat" ? step.count : 1;
      for (const { kind } of count ? body : []) {
        if (kind === "ComputePass") {
          throw new PlanError(`${this.name} dispatches kernels, and the page runs programs alone.`);
        }
      }
      this.steps.push({ number, first, count, body });
      first += count * body.length;
    }
    // How many passes run.
    this.passes = first;
  }

  // The texture of that name.
  texture(name) {
    const found = this.textures.find((texture) => texture.name === name);
    if (!found) throw new PlanError(`${this.name} has no texture ${name}.`);
    return found;
  }

  // Pass k of those that run, from 0, with every number evaluated. `kind` is draw, copy or clear;
  // `number` is k, `step` and `place` say where it stands in the plan, `iteration` is its Repeat's.
  // Of a draw: `program`, `targets`, `rect`, `bindings`, `texcoords`, `attributes`, `locals`, `env`,
  // `state`, `blend`, as plan/framebuffer.py reads it, or none, `mask`, `scissor`, and `drawn`, the part of
  // its rectangle in the scissor; of a copy: `source`, `sourceRect`, `target`, `rect`; of a clear:
  // `target`, `value`, and as `rect` the whole target, all layers. `targets` and `rect` are there in all.
  pass(k) {
    const { step, record, place, iteration } = this.placed(k);
    const at = (number) => numberAt(number, iteration);
    const vector = (numbers) => numbers.map(at);
    const common = { number: k, step: step.number, place, iteration };
    if (record.kind === "CopyPass") {
      return {
        ...common,
        kind: "copy",
        source: record.source,
        sourceRect: planRect(record.source_rect, at),
        target: record.target,
        targets: [record.target],
        rect: planRect(record.target_rect, at),
      };
    }
    if (record.kind === "ClearPass") {
      const { width, rows } = this.texture(record.target);
      return {
        ...common,
        kind: "clear",
        target: record.target,
        targets: [record.target],
        value: vector(record.value),
        rect: { x: 0, y: 0, width, height: rows },
      };
    }
    const rect = planRect(record.rect, at);
    const scissor = record.scissor ? planRect(record.scissor, at) : null;
    const { blend = "none", mask = "rgba" } = record;
    const state = this.scene.state?.[step.number]?.[place] ?? {};
    return {
      ...common,
      kind: "draw",
      program: record.program,
      targets: record.targets,
      rect,
      bindings: record.bindings ?? [],
      texcoords: (record.texcoords ?? []).map(({ set, corners }) => ({
        set,
        corners: corners.map(vector),
      })),
      attributes: (record.attributes ?? []).map(({ kind, corners }) => ({
        kind,
        corners: corners.map(vector),
      })),
      locals: (record.locals ?? []).map(({ index, value }) => ({ index, value: vector(value) })),
      env: (record.env ?? []).map(({ index, value }) => ({ index, value: vector(value) })),
      state: Object.fromEntries(
        Object.entries(state).map(([name, value]) => [name, Float32Array.from(vector(value))]),
      ),
      blend, mask, scissor,
      drawn: scissor ? partIn(rect, scissor) : rect,
    };
  }

  // The functions of a draw: of each binding, `lookup` to a texel, `lod` to λ or null, `nearest` to the
  // column and the row of the nearest texel, and `linear`, whether it has a linear filter; `writes`: for
  // each target, from a colour, the fog coordinate, what the texel holds, and the state, to what it holds
  // then; `fails`, the alpha test, or null.
  codeOf({ step, place }) {
    this.code ??= this.scene.code.texts.map(compiledText);
    const made = (number) => (number === null ? null : this.code[number]);
    const { units, writes, fails } = this.scene.code.passes[step][place];
    const functions = ({ lookup, lod, nearest, linear }) =>
      ({ lookup: made(lookup), lod: made(lod), nearest: made(nearest), linear });
    return { units: units.map(functions), writes: writes.map(made), fails: made(fails) };
  }

  // Gives a constant of a program another value, wherever its text has it. The scene keeps the first.
  setConstant(name, register, value) {
    const program = this.programs[name];
    const vector = `{${value.join(", ")}}`;
    const written = (text, registers) =>
      text.replace(CONSTANT, (old) => (registers.shift() === register ? vector : old));
    program.text = program.text.map((text, n) => written(text, constantsIn(program, n + 1)));
    program.registers = program.registers.map((each, n) => (n === register ? { ...each, value } : each));
    program.instructions = program.instructions.map((instruction) => ({
      ...instruction,
      text: program.text[instruction.line - 1],
      srcs: instruction.srcs.map((src) => ({ ...src, text: written(src.text, [src.register]) })),
    }));
  }

  // What pass k costs, by the names of Counts: fragments, lookup, arithmetic, bytes_requested, …
  // What it does not cost is left out.
  counts(k) {
    const { step, place } = this.placed(k);
    const { fixed, each } = this.scene.counts[step.number][place];
    const { rect, drawn = rect } = this.pass(k);
    const { width, height } = drawn;
    const total = { ...fixed };
    for (const [name, count] of Object.entries(each)) {
      total[name] = (total[name] ?? 0) + count * width * height;
    }
    return total;
  }

  placed(k) {
    const step = this.steps.find(
      ({ first, count, body }) => k >= first && k < first + count * body.length,
    );
    if (!step || !Number.isInteger(k)) {
      throw new PlanError(`${this.name} has passes 0 to ${this.passes - 1}, and none ${k}.`);
    }
    const place = (k - step.first) % step.body.length;
    const iteration = (k - step.first - place) / step.body.length;
    return { step, place, iteration, record: step.body[place] };
  }
}

// A function of the machine, by its text.
function compiledText(text) {
  const f = Math.fround; // in the text
  return eval(text);
}

// The numbers of plan.json -----------------------------------------------------------------------

// A number in an iteration: a constant, base + step·i, or a list with a value for each.
function numberAt(number, iteration) {
  if (Array.isArray(number)) return Number(number[iteration]);
  if (typeof number === "object") return number.base + number.step * iteration;
  return Number(number); // NaN and the infinities are texts
}

// The part of a rectangle inside another.
function partIn(one, other) {
  const [x, y] = [Math.max(one.x, other.x), Math.max(one.y, other.y)];
  const end = (side, size) => Math.min(one[side] + one[size], other[side] + other[size]);
  return { x, y, width: Math.max(0, end("x", "width") - x), height: Math.max(0, end("y", "height") - y) };
}

// Whether a pass draws or writes a texel.
function reaches({ rect, drawn = rect }, x, y) {
  const { width, height } = partIn(drawn, { x, y, width: 1, height: 1 });
  return width > 0 && height > 0;
}

function planRect(rect, at) {
  return { x: at(rect.x), y: at(rect.y), width: at(rect.width), height: at(rect.height) };
}

function planMatrix({ name, rows, columns, shape }) {
  return { name, rows, columns, shape: shape ?? [rows, columns] };
}

function planTexture({ name, kind, extent, format, initial }) {
  const { width, height, depth = 1, levels = 1 } = extent;
  const heights = Array.from({ length: levels }, (_, n) => Math.max(1, height >> n));
  return {
    name,
    kind,
    width,
    height,
    depth,
    levels,
    rows: depth * heights.reduce((sum, each) => sum + each),
    format,
    ...DEFINITIONS.formats[format],
    initial: (initial ?? [0, 0, 0, 0]).map(Number),
  };
}

// A program with its text: `text` has its lines, and each instruction its own `text` and `line`,
// which counts from 1.
function planProgram(program, text) {
  const lines = text.trimEnd().split("\n");
  return {
    ...program,
    text: lines,
    instructions: program.order.map((form, n) => ({
      ...program.forms[form],
      line: program.line + n,
      text: lines[program.line + n - 1],
    })),
  };
}

// A constant in the text of a program.
const CONSTANT = /\{[^}]*\}/g;

// The registers of the constants in a line of a program, in the order of its text. A line may be an
// instruction, or give a constant a name.
function constantsIn({ registers, instructions, text }, line) {
  const [, named] = /^PARAM (\w+) = \{/.exec(text[line - 1]) ?? [];
  return instructions.flatMap((instruction) => instruction.srcs.filter((src) =>
    registers[src.register].kind === "constant" &&
    (named ? src.text.replace(/^-/, "").split(".")[0] === named : instruction.line === line && src.text.includes("{"))))
    .map(({ register }) => register).slice(0, named ? 1 : undefined);
}

// What formats hold ------------------------------------------------------------------------------

// By format, what a lookup reads after a texture has stored a float32.
const ENCODINGS = encodingsIn(Math.fround);

// The parts of a blend's text.
function blendOf(text) {
  const [equation, source = "one", destination = "one", ...constant] = text.split(",");
  return { equation, source, destination, constant: constant.length ? constant.map(Number) : [0, 0, 0, 0] };
}

// Matrices in textures ---------------------------------------------------------------------------

// A texture with all texels at its initial value: `data` has four numbers a texel, row after row,
// layer after layer: its channels, then 0, 0, 1.
function freshTexture(texture) {
  const { name, width, rows, format, channels } = texture;
  const made = { name, width, rows, format, channels };
  made.data = new Float32Array(4 * width * rows);
  fillTexture(made, texture.initial);
  return made;
}

function fillTexture(texture, value) {
  const held = ENCODINGS[texture.format];
  const texel = [0, 0, 0, 1].map((missing, channel) =>
    channel < texture.channels ? held(Math.fround(value[channel])) : missing,
  );
  for (let n = 0; n < texture.data.length; n += 4) texture.data.set(texel, n);
}

// The textures of a plan before its first pass, by name. matrices: by name,
// `{rows, columns, values}` with the values row after row.
function packed(plan, matrices) {
  const textures = Object.fromEntries(plan.textures.map((t) => [t.name, freshTexture(t)]));
  for (const { name, rows, columns } of plan.operands) {
    const given = matrices[name];
    if (!given) throw new PlanError(`${plan.name} needs the matrix ${name}.`);
    if (given.rows !== rows || given.columns !== columns) {
      throw new PlanError(
        `${plan.name} takes ${rows} × ${columns} numbers as ${name}, ` +
          `and was given ${given.rows} × ${given.columns}.`,
      );
    }
  }
  for (const input of plan.inputs) {
    const texture = textures[input.texture];
    const held = ENCODINGS[texture.format];
    const { columns, values } = matrices[input.matrix];
    eachChannel(input, texture, (n, row, column) => {
      texture.data[n] = row >= 0 ? held(Math.fround(values[row * columns + column])) : 0;
    });
  }
  return textures;
}

// The matrices that a plan computes, by name, out of its textures after the last pass.
function unpacked(plan, textures) {
  const results = {};
  for (const { name, rows, columns } of plan.results) {
    results[name] = { rows, columns, values: new Float32Array(rows * columns) };
  }
  for (const output of plan.outputs) {
    const { columns, values } = results[output.matrix];
    const { data } = textures[output.texture];
    eachChannel(output, textures[output.texture], (n, row, column) => {
      if (row >= 0) values[row * columns + column] = data[n];
    });
  }
  return results;
}

// Calls visit(n, row, column) for each channel of a transfer's rectangle: n is the channel's place
// in the texture's data; row and column are the element's that it holds, -1 where it holds none.
function eachChannel({ region, rect, packing }, texture, visit) {
  const { offsets, row_step: rowStep = 1, column_step: columnStep = 1 } = packing;
  const across = packing.transposed ? region.rows : region.columns;
  const down = packing.transposed ? region.columns : region.rows;
  for (let channel = 0; channel < texture.channels; channel += 1) {
    const [firstRow, firstColumn] = offsets[channel];
    for (let y = 0; y < rect.height; y += 1) {
      for (let x = 0; x < rect.width; x += 1) {
        const n = 4 * ((rect.y + y) * texture.width + rect.x + x) + channel;
        const p = firstRow + rowStep * y;
        const q = firstColumn + columnStep * x;
        if (p >= down || q >= across) visit(n, -1, -1);
        else if (packing.transposed) visit(n, region.row + q, region.column + p);
        else visit(n, region.row + p, region.column + q);
      }
    }
  }
}
