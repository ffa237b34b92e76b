// Which channels meet in an instruction, drawn: a line from each channel that it reads to the one
// that it computes, made from its swizzles.

const SWIZZLE_WIDTH = 640;
const SWIZZLE_CELL = { width: 120, height: 50 };
const SWIZZLE_SUM = { width: 210, height: 50 };

// The picture of an instruction. program: with its `instructions` decoded. trace: of a fragment;
// at: the number of the instruction. layout: where channels lie in the matrix.
function swizzlePicture(program, trace, at, layout) {
  const { op, srcs, mask } = program.instructions[at];
  const step = trace.steps[at];
  const channels = layout.offsets.map((_, channel) => channel);
  const coordinates = coordinateRegisters(trace);
  const written = channels.filter((channel) => mask?.includes(COMPONENT_LETTERS[channel]));
  const colours = !coordinates.has(destinationOf(step)) && !step.lookup && written.length;
  if (!colours || srcs.length < 2) return swizzleSentence(step, channels, coordinates);
  const height = channels.length * SWIZZLE_CELL.height + 36;
  const sums = (SWIZZLE_WIDTH - SWIZZLE_SUM.width) / 2;
  const boxes = [
    { left: 0, of: 0 },
    { left: SWIZZLE_WIDTH - SWIZZLE_CELL.width, of: 1 },
  ];
  const top = (channel) => 34 + channel * SWIZZLE_CELL.height;
  const picture = drawn("svg", {
    viewBox: `0 0 ${SWIZZLE_WIDTH} ${height}`,
    role: "img",
    class: "swizzles",
    "aria-label": swizzleWords(step, srcs, written),
  });
  for (const { left, of } of boxes) {
    const { text } = srcs[of];
    picture.append(
      swizzleName(left, of, `${traceText(text, coordinates)}${swizzleSource(trace, at, text)}`),
    );
    const value = registerBefore(trace, at, srcs[of], step.operands[of]);
    for (const channel of channels) {
      picture.append(
        swizzleCell(left, top(channel), SWIZZLE_CELL, channel, channels.length, [
          traceNumber(value[channel]),
        ]),
      );
    }
  }
  picture.append(swizzleName(sums, null, `${traceText(`${destinationOf(step)}`, coordinates)} =`));
  const [first, second, third] = step.operands;
  const sign = { MUL: "×", MAD: "×", ADD: "+" }[op] ?? ",";
  for (const channel of written) {
    const lines = [
      `${traceNumber(first.value[channel])} ${sign} ${traceNumber(second.value[channel])}` +
        (third ? ` + ${traceNumber(third.value[channel])}` : ""),
      `= ${traceNumber(step.result[channel])}`,
    ];
    picture.append(swizzleCell(sums, top(channel), SWIZZLE_SUM, channel, channels.length, lines));
    for (const { left, of } of boxes) {
      const from = srcs[of].swizzle[channel];
      if (from >= channels.length) continue; // a constant
      const ends = of ? [left, sums + SWIZZLE_SUM.width] : [left + SWIZZLE_CELL.width, sums];
      picture.append(swizzleLine(ends, [top(from), top(channel)], channel, channels.length));
    }
  }
  return picture;
}

// The name of a column of channels; the last column's ends where the column does.
function swizzleName(left, of, text) {
  return of === 1
    ? drawn("text", { x: SWIZZLE_WIDTH, y: 20, "text-anchor": "end", class: "swizzles-name" }, text)
    : drawn("text", { x: left, y: 20, class: "swizzles-name" }, text);
}

// A channel with its numbers, its letter, and the quadrant of the matrix that it holds.
function swizzleCell(x, y, { width, height }, channel, count, lines) {
  const first = y + height / 2 + 5 - (lines.length - 1) * 9;
  const middle = x + width / 2 + (count > 1 ? 14 : 0);
  const quadrant = [0, 1, 2, 3].map((n) =>
    drawn("rect", {
      x: x + 10 + 8 * (n % 2),
      y: y + 22 + 8 * Math.floor(n / 2),
      width: 7,
      height: 7,
      class: n === channel ? "swizzles-here" : "swizzles-there",
    }),
  );
  return drawn(
    "g",
    { class: count > 1 ? `swizzles-cell channel-${CHANNELS[channel]}` : "swizzles-cell" },
    drawn("rect", {
      x: x + 2,
      y: y + 2,
      width: width - 4,
      height: height - 4,
      rx: 6,
      class: "swizzles-box",
    }),
    ...(count > 1
      ? [
          drawn("text", { x: x + 14, y: y + 18, class: "swizzles-letter" }, CHANNELS[channel]),
          ...quadrant,
        ]
      : []),
    ...lines.map((line, n) =>
      drawn(
        "text",
        {
          x: middle,
          y: first + 18 * n,
          "text-anchor": "middle",
          class: n ? "swizzles-result" : "swizzles-number",
        },
        line,
      ),
    ),
  );
}

// From the side of a channel to the side of the one that it becomes a part of.
function swizzleLine([x1, x2], [top1, top2], channel, count) {
  const [y1, y2] = [top1 + 9 + 8 * channel, top2 + SWIZZLE_CELL.height / 2];
  const from = count > 1 ? y1 : top1 + SWIZZLE_CELL.height / 2;
  const middle = (x1 + x2) / 2;
  return drawn("path", {
    d: `M${x1} ${from} C${middle} ${from} ${middle} ${y2} ${x2} ${y2}`,
    class: count > 1 ? `swizzles-line channel-${CHANNELS[channel]}` : "swizzles-line",
  });
}

// The texel that a register was looked up from, if it was.
function swizzleSource(trace, at, text) {
  const register = text.replace(/\.\w+$/, "");
  const looked = trace.steps.slice(0, at).findLast((step) => destinationOf(step) === register);
  if (!looked?.lookup) return "";
  const { texture, x, y } = looked.lookup;
  return `, from ${texture} (${x}, ${y})`;
}

// The four numbers of the register behind an operand, before its swizzle.
function registerBefore(trace, at, { text }, operand) {
  const register = text.replace(/^-/, "").replace(/\.\w+$/, "");
  const before = trace.steps.slice(0, at).findLast((step) => destinationOf(step) === register);
  return before ? before.result : operand.value;
}

// What a screen reader says of the lines.
function swizzleWords(step, srcs, written) {
  const channel = (source, at) => CHANNELS[source.swizzle[at]] ?? "a constant";
  return `${step.text} ${written
    .map((at) => `${CHANNELS[at]}: ${channel(srcs[0], at)} with ${channel(srcs[1], at)}`)
    .join("; ")}`;
}

// What an instruction without arithmetic on two colours does.
function swizzleSentence(step, channels, coordinates) {
  const sentence = element("p", { class: "swizzles-sentence" });
  if (step.lookup) {
    const { texture, x, y } = step.lookup;
    sentence.append(
      `${destinationOf(step)} becomes the texel of ${texture} at (${x}, ${y}): `,
      traceValue(step.result, channels),
    );
  } else if (coordinates.has(destinationOf(step))) {
    const shown = [0, 1, 2, 3].filter((channel) =>
      step.written.includes(COMPONENT_LETTERS[channel]),
    );
    sentence.append("The coordinates of the next lookups become ", traceValue(step.result, shown));
  } else {
    sentence.append(`${destinationOf(step)} becomes `, traceValue(step.result, channels));
  }
  return sentence;
}
