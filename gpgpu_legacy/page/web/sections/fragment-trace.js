// A fragment, instruction by instruction: what it read, computed, and left in the framebuffer.

// What an instruction does to its operands, as a formula; others are written as a function.
const TRACE_FORMULAS = { MOV: [], ADD: ["+"], SUB: ["−"], MUL: ["×"], MAD: ["×", "+"] };

// How many components of each operand are read by instructions that mix components.
const TRACE_WIDTHS = { DP3: 3, DP4: 4, DPH: 4, DST: 4, LIT: 4, XPD: 3 };

const destinationOf = (step) =>
  (/\S\s+([^\s,;]+)/.exec(step.text)?.[1] ?? "").replace(/\.[xyzwrgba]+$/, "");

// Digits enough to follow the arithmetic.
function traceNumber(value) {
  const text = float32Text(value);
  return (text.length > 9 ? String(Number(value.toPrecision(6))) : text).replace("-", "−");
}

// Some channels of a value, each in its channel's colour where there are several.
function traceValue(value, channels) {
  const single = channels.length === 1;
  return element(
    "span",
    { class: "trace-value" },
    ...channels.map((channel) =>
      element(
        "span",
        {
          class: single ? "" : `channel-${CHANNELS[channel]}`,
          title: float32Text(value[channel]),
        },
        traceNumber(value[channel]),
      ),
    ),
  );
}

// The registers that instructions look textures up with.
function coordinateRegisters(trace) {
  const looking = trace.steps.filter((step) => step.lookup);
  return new Set(looking.map((step) => step.operands[0].text.replace(/\.[xyzwrgba]+$/, "")));
}

// An instruction's text with r, g, b and a for components of colours, as the papers write them.
function traceText(text, coordinates) {
  return text.replace(/\b(\w+)\.([xyzw]+)\b/g, (all, register, letters) => {
    if (coordinates.has(register)) return all;
    return `${register}.${letters.replace(/./g, (letter) => CHANNELS["xyzw".indexOf(letter)])}`;
  });
}

// What an instruction did, as a line of a list; its text alone if it computes nothing.
function traceLine(step, channels, text) {
  if (!step.result) return [element("code", {}, text)];
  const work = element("span", { class: "trace-work" });
  if (step.lookup) {
    const { texture, x, y } = step.lookup;
    work.append(`${texture} at (${x}, ${y})`);
  } else {
    const signs = TRACE_FORMULAS[step.op];
    const width = TRACE_WIDTHS[step.op];
    const read = width ? [0, 1, 2, 3].slice(0, width) : channels;
    step.operands.forEach((operand, at) => {
      if (at) work.append(signs ? ` ${signs[at - 1]} ` : ", ");
      work.append(traceValue(operand.value, read));
    });
    if (!signs) work.prepend(`${step.op} `);
  }
  work.append(" = ", element("strong", {}, traceValue(step.result, channels)));
  if (step.unsaturated && channels.some((c) => step.unsaturated[c] !== step.result[c])) {
    work.append(
      element("span", { class: "trace-clamped" }, "saturated, from "),
      traceValue(step.unsaturated, channels),
    );
  }
  return [element("code", {}, text), work];
}

// The list of a trace's instructions. channels: those that the textures hold; others are not shown.
// choose(at), if given, makes each a button; marked is the number of the one that is marked.
// asWritten: whether components keep the letters of the program.
function traceList(trace, channels, { choose = null, marked = null, asWritten = false } = {}) {
  const coordinates = coordinateRegisters(trace);
  const lines = trace.steps.map((step, at) => {
    const written = [0, 1, 2, 3].filter((channel) => step.written.includes("xyzw"[channel]));
    const held = written.filter((channel) => channels.includes(channel));
    const shown = coordinates.has(destinationOf(step)) || !held.length ? written : held;
    const text = asWritten ? step.text : traceText(step.text, coordinates);
    const line = traceLine(step, shown, text);
    const current = at === marked ? { "aria-current": "step" } : {};
    return element("li", {}, ...(choose
      ? [element("button", { class: "trace-step", tabindex: at === marked ? 0 : -1, click: () => choose(at), ...current }, ...line)]
      : line));
  });
  return element("ol", { class: "trace" }, ...lines);
}

// The instruction that gives a fragment its colour.
const drawnStep = (trace) =>
  trace.steps.findLast((step) => destinationOf(step).startsWith("result.color"));

// Whether the framebuffer's format cut the result of a channel off.
// blend: of the pass. ends: whether the format holds nothing beyond 0 and 1.
function isClamped(trace, channel, { blend, ends }) {
  const value = drawnStep(trace).result[channel] + (blend === "add" ? trace.before[channel] : 0);
  return ends && !(value >= 0 && value <= 1);
}

// What the framebuffer made of a fragment's result, in a sentence with its numbers.
function traceEnd(trace, channels, ending) {
  const drawn = traceValue(drawnStep(trace).result, channels);
  const before = traceValue(trace.before, channels);
  const sentence = element("p", { class: "trace-end" }, "The framebuffer ");
  if (ending.blend === "add") sentence.append("adds: ", before, " + ", drawn);
  else sentence.append("held ", before, " and is given ", drawn);
  sentence.append(" → ", element("strong", {}, traceValue(trace.after, channels)));
  if (channels.some((channel) => isClamped(trace, channel, ending))) {
    const end = trace.after[channels[0]] > 0 ? "8 bits end at 1.0" : "8 bits begin at 0";
    sentence.append(" ", element("span", { class: "trace-clamped" }, `clamped: ${end}`));
  }
  return sentence;
}
