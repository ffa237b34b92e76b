// What a product that is played does, in words.

// What the last pass does, as parts of a sentence.
function momentInWords(played) {
  if (played.at === 0) {
    return ["Nothing is drawn yet: A and B lie in their textures. Play, or move the slider."];
  }
  const pass = played.passes[played.at - 1];
  if (pass.kind === "clear") return ["The screen is cleared: the framebuffer holds 0."];
  const number = played.draws.indexOf(played.last) + 1;
  const head = element("strong", {}, `Pass ${number} of ${played.draws.length}`);
  const { A, B } = played.lookedUp();
  const columns = `${inWords("column", A)} of A`;
  const rows = `${inWords("row", B)} of B`;
  const drawn = ` draws ${pass.rect.width} × ${pass.rect.height} fragments. `;
  return [head, drawn, `It stretches ${columns} across the rectangle and ${rows} down it, and multiplies the two. ` +
    "The framebuffer adds the result to what it holds."];
}

// A fragment of the last pass: what it computes, its instructions, and the true product beside it.
function fragmentInWords(played, texel) {
  return [
    element("h3", {}, `The fragment at (${texel.x}, ${texel.y})`),
    element("p", {}, `It computes row ${texel.y + 1}, column ${texel.x + 1} of the product.`),
    ...tracedInWords(played, texel),
    element("p", {}, besideTheProduct(played, { row: texel.y, column: texel.x })),
  ];
}

function tracedInWords(played, texel) {
  if (played.last === null) {
    return [element("p", { class: "soft" }, "No pass has drawn it yet.")];
  }
  const trace = played.trace(texel);
  const label = `Its instructions in pass ${played.draws.indexOf(played.last) + 1}`;
  const scroll = { class: "trace-scroll", tabindex: 0, role: "region", "aria-label": label };
  return [
    element("h4", {}, label),
    element("div", scroll, traceList(trace, played.channels)),
    traceEnd(trace, played.channels, played.ending(played.last)),
  ];
}

// An element of the true product, beside what the framebuffer holds.
function besideTheProduct(played, { row, column }) {
  const at = row * SIDE + column;
  const held = played.elements(played.framebuffer)[at];
  return `C[${row + 1}, ${column + 1}]: the true product is ${traceNumber(played.product[at])}, and the framebuffer holds ${traceNumber(held)}.`;
}
