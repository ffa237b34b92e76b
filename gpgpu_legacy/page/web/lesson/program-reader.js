// The instructions of a fragment program, read by the assembler's own tables.

// Words of a text that are wrong, and a sentence about them.
class ProgramFault extends Error {
  constructor(words, says) {
    const text = words.map((word) => word.text).join("");
    super(`${text || "The end"} ${says}`);
    Object.assign(this, { at: words[0].at, end: words.at(-1).at + words.at(-1).text.length });
  }
}

class ProgramReader {
  // tables: see `tables` in page/sections/write.py.
  constructor(tables) {
    Object.assign(this, tables, { kinds: new Map(Object.entries(tables.kinds)), numbers: new Map(tables.names.map((name, n) => [name, n])) });
  }

  // A text as a program of a scene: `registers`, `instructions`, and the `faults` that it has.
  read(text) {
    const program = { registers: [...this.registers], colors: [0], instructions: [], faults: [] };
    const bare = text.replace(/#[^\r\n]*/g, (comment) => " ".repeat(comment.length)).replace(/[ \t\r\n]+$/, "");
    const words = [...bare.matchAll(RegExp(this.words, "gsy"))].map(({ groups, index, 0: { length } }) => {
      const [kind, word] = Object.entries(groups).find(([, group]) => group !== undefined);
      return { kind: this.kinds.get(word) ?? kind, text: word, at: index + length - word.length };
    });
    for (words.push({ text: "", at: text.length }); words.length > 1;) {
      const statement = words.splice(0, 1 + words.findIndex(({ kind, text: word }) => kind === "_SEMICOLON" || !word));
      try {
        program.instructions.push(this.#instruction(statement, program.registers));
      } catch (fault) {
        if (!(fault instanceof ProgramFault)) throw fault;
        program.faults.push(fault);
        // A semicolon may be missing before another opcode.
        const next = statement.findIndex(({ kind, at }, n) => n && kind === "OPCODE" && at >= fault.at);
        if (next > 0) words.unshift(...statement.slice(next));
      }
    }
    return program;
  }

  // The first word that the grammar does not allow at its place.
  #misfit(words) {
    const stack = [this.start];
    return words.find(({ kind }) => {
      for (;;) {
        const action = this.states[stack.at(-1)][kind === "_SEMICOLON" ? "$END" : kind];
        if (action === undefined) return stack.at(-1) !== this.end || kind !== "_SEMICOLON";
        if (action < 0) {
          const [rule, length] = this.rules[-1 - action];
          stack.length -= length;
          stack.push(this.states[stack.at(-1)][rule]);
        } else return !stack.push(action);
      }
    });
  }

  #instruction(words, registers) {
    const [head] = words;
    const op = head.text.replace("_SAT", "");
    if (head.kind !== "OPCODE") throw new ProgramFault([head], "is no opcode");
    const { operands, count, cost } = this.opcodes[op];
    const form = this.forms[op].replace("2D", this.operands.texTarget);
    const bad = this.#misfit(words);
    const parts = [[]]; // the operands, each behind the opcode or its comma
    let depth = 0;
    for (const word of words.slice(0, bad ? words.indexOf(bad) : -1)) {
      depth += { "{": 1, "}": -1 }[word.text] ?? 0;
      if (word.text === "," && !depth) parts.push([]);
      parts.at(-1).push(word);
    }
    const wrong = parts[count]?.slice(0, 1) ?? (bad || parts.length < count ? [bad ?? words.at(-1)] : null);
    if (wrong) throw new ProgramFault(wrong, `does not belong here: as in ${form}`);
    const made = { op, cost, text: words.map(({ text }) => text).join(" "), srcs: [], saturate: op !== head.text };
    operands.forEach((kind, n) => {
      const own = parts.slice(n, n + 1 === operands.length ? count : n + 1).flat().slice(1);
      const text = own.map((word) => word.text).join("");
      const found = RegExp(`^(?:${this.operands[kind]})$`).exec(text);
      if (!found) throw new ProgramFault(own, `cannot stand here: as in ${form}`);
      const { sign, name, constant, suffix = "xyzw", unit = 0 } = found.groups ?? {};
      const places = [...suffix].map(placeOf);
      if (kind === "maskedDstReg") Object.assign(made, { dst: this.numbers.get(name), mask: places.map((c) => COMPONENT_LETTERS[c]).join("") });
      else if (kind === "texImageUnit") made.texture = { unit: Number(unit), target: "RECT" };
      else if (kind === "extendedSwizzle") {
        const each = text.split(",");
        Object.assign(made.srcs[0], { swizzle: each.map((one) => placeOf(one.at(-1))), negate: each.map((one) => one[0] === "-") });
      } else if (name ?? constant) {
        const numbers = constant?.replace(/[{}]/g, "").split(",").map(Number);
        const value = [0, 0, 0, 1].map((missing, c) => (constant?.[0] === "{" ? numbers[c] ?? missing : numbers?.[0]));
        made.srcs.push({
          text, swizzle: [0, 1, 2, 3].map((c) => places[c] ?? places[0]), negate: Array(4).fill(sign === "-"),
          register: constant ? registers.push({ kind: "constant", value }) - 1 : this.numbers.get(name),
        });
      }
    });
    return made;
  }
}

// The selector that a letter, 0 or 1 stands for in a swizzle.
function placeOf(letter) {
  const n = "xyzwrgba01".indexOf(letter);
  return n < 8 ? n % 4 : n - 4;
}

// What a program takes of each resource: instructions, and the nodes of lookups that need no result of
// their own node, as issue (24) of the specification counts them.
function resourcesOf({ registers, instructions }) {
  let [nodes, lookups, written, touched] = [1, 0, [], []];
  for (const { cost, dst, srcs } of instructions) {
    const read = srcs.map(({ register }) => register);
    if (cost !== "arithmetic") {
      lookups += 1;
      if (read.some((n) => written.includes(n)) || touched.includes(dst)) [nodes, written, touched] = [nodes + 1, [], []];
    } else touched.push(...[...read, dst].filter((n) => registers[n].kind === "temporary"));
    written.push(dst);
  }
  return [instructions.length, instructions.length - lookups, lookups, nodes];
}
