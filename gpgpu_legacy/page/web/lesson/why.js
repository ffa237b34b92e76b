// Screen 7: a small cache under the lookups of a product, and what memory sends over b.

const WHY_FRAGMENTS = 64; // fragments of a walk: two rows of 32, or a tile
const [WHY_WIDTH, WHY_HEIGHT, WHY_LEFT, WHY_BOTTOM, WHY_TOP] = [340, 220, 92, 190, 14];

// The lookups of the first pass in an LRU cache of `most` lines: for each fragment, b of A and of B
// by turns, then the sum so far. side: of the tiles of fragments. count: the most lookups to make.
function cacheWalk({ size, texels }, { b, side, most }, fragments, count = Infinity) {
  const [lines, looked] = [new Map(), []];
  for (let n = 0; n < fragments && looked.length < count; n += 1) {
    const tile = Math.floor(n / side ** 2);
    const x = (tile % (size / side)) * side + (n % side);
    const y = Math.floor(tile / (size / side)) * side + (Math.floor(n / side) % side);
    const steps = Array.from({ length: b }, (_, k) => [["A", k, y], ["B", x, k]]).flat();
    for (const [texture, column, row] of [...steps, ["sum", x, y]].slice(0, count - looked.length)) {
      const first = column - (column % texels);
      const line = `${texture}, row ${row}, from ${first}`;
      const hit = lines.delete(line);
      lines.set(line, { texture, first, row });
      if (lines.size > most) lines.delete(lines.keys().next().value);
      looked.push({ texture, column, row, first, line, hit, fragment: n });
    }
  }
  return { looked, lines };
}

sections.why = (root, data, address) => {
  const { size, texels, line_bytes: bytes, blocks, caches, orders } = data;
  const all = caches.flatMap(({ sent }) => sent.flat());
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const share = (value) => (100 * Math.log(value / low)) / Math.log(high / low);
  const x = (n) => WHY_LEFT + 24 + ((WHY_WIDTH - WHY_LEFT - 40) * n) / (blocks.length - 1);
  const y = (part) => WHY_BOTTOM - ((WHY_BOTTOM - WHY_TOP) * part) / 100;
  const guesses = blocks.map((b) => element("input", {
    type: "range", min: 0, max: 100, value: 50, "aria-label": `b${b}: the bytes that you expect`, input: () => draw(),
  }));
  const chart = drawn("svg", { class: "staircase", role: "img", viewBox: `0 0 ${WHY_WIDTH} ${WHY_HEIGHT}`, pointerdown: sketch, pointermove: sketch });
  const select = (label, texts, first) => {
    const made = labelledSelect(label, texts.map((text, n) => [n, text]), open);
    made.select.value = first;
    return made;
  };
  const block = select("b", blocks, 3);
  const cache = select("Cache", caches.map(({ title }) => title), 0);
  const order = select("Order of fragments", orders.map(({ title }) => title), 0);
  const chosen = () => {
    const { lines: most, sent } = caches[cache.select.value];
    return { b: blocks[block.select.value], most, sent: sent[order.select.value], side: orders[order.select.value].side };
  };
  const transport = new Transport({ label: "Lookup", step: 100, go: show, words: (at, last) => `lookup ${at} of ${last}` });
  const pictures = ["A", "B", "sum"].map((name) => [name, element("canvas", { role: "img", "aria-label": name, width: size, height: size })]);
  const held = element("ol", { class: "lines", "aria-label": "The lines in the cache, the newest first" });
  const words = element("p", { class: "says", role: "status" });
  const least = element("p", { class: "note", role: "status" });
  const question = new Question({
    asks: `Draw the bytes that you expect memory to send, over b, from a cache of ${caches[0].lines} lines.`,
    choices: [["drawn", "This is my curve"]],
    hint: `A row of fragments reads b rows of B, in ${size / texels} b lines. Do they stay in the cache until the next row of fragments?`,
    tell: () => {
      const { sent } = chosen();
      const best = sent.indexOf(Math.min(...sent));
      const drawnBest = guesses.reduce((a, { value }, n) => (Number(value) < Number(guesses[a].value) ? n : a), 0);
      return [drawnBest === best, `The least is at b = ${blocks[best]}. A larger b reads and writes the sum less often; but once the ${size / texels} b lines of B ` +
        "do not fit, every row of fragments fetches them again. Now change the cache."];
    },
    shown: open,
  });

  // Draws a point of the curve under a pointer that is down.
  function sketch({ clientX, clientY, buttons }) {
    const box = chart.getBoundingClientRect();
    const scale = WHY_WIDTH / box.width;
    const guess = guesses[Math.round(((clientX - box.left) * scale - x(0)) / (x(1) - x(0)))];
    if (!buttons || !guess || question.answered) return;
    guess.value = (100 * (WHY_BOTTOM - (clientY - box.top) * scale)) / (WHY_BOTTOM - WHY_TOP);
    guess.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function draw() {
    const { sent } = chosen();
    const curve = (parts, kind) => drawn("path", { class: kind, d: parts.map((part, n) => `${n ? "L" : "M"}${x(n)} ${y(part)}`).join("") });
    const text = (at, up, words, kind = "") => drawn("text", { x: at, y: up, class: kind }, words);
    const ticks = [low, 1e5, 1e6, high].flatMap((value) => [
      drawn("line", { x1: WHY_LEFT, x2: WHY_WIDTH, y1: y(share(value)), y2: y(share(value)), class: "rule" }),
      text(0, y(share(value)) + 4, inThousands(value), "soft")]);
    chart.replaceChildren(...ticks, ...blocks.map((b, n) => text(x(n) - 6, WHY_HEIGHT - 14, b, "soft")), text(WHY_LEFT - 8, WHY_HEIGHT - 14, "b =", "soft"),
      curve(guesses.map(({ value }) => Number(value)), "float"), ...guesses.map(({ value }, n) => drawn("circle", { cx: x(n), cy: y(value), r: 5 })),
      ...(question.answered ? [curve(sent.map(share), "bits")] : []));
    blocks.forEach((b, n) => guesses[n].setAttribute("aria-valuetext", `${inThousands(Math.round(low * (high / low) ** (guesses[n].value / 100)))} bytes`));
    const of = blocks.map((b, n) => `b = ${b}: ${inThousands(sent[n])}`).join("; ");
    chart.setAttribute("aria-label", question.answered ? `Bytes that memory sends: ${of}` : "The curve that you draw");
    least.textContent = question.answered ? `Dashed: yours. In all passes, memory sends ${of} bytes.` : "Drag in the picture, or move the points by arrow keys.";
  }

  // Begins a walk.
  function open() {
    const { looked } = cacheWalk(data, chosen(), WHY_FRAGMENTS);
    transport.shape(looked.length, looked.flatMap(({ fragment }, n) => (fragment !== looked[n + 1]?.fragment ? [n + 1] : [])));
    cache.select.disabled = order.select.disabled = !question.answered;
    show(transport.at);
    draw();
  }

  function show(at) {
    const { looked, lines } = cacheWalk(data, chosen(), WHY_FRAGMENTS, at);
    const { fragment = 0, line: last, hit } = looked.at(-1) ?? {};
    const style = getComputedStyle(root);
    const colour = (name) => style.getPropertyValue(`--${name}`);
    for (const [name, canvas] of pictures) {
      const context = canvas.getContext("2d");
      const fill = (kind, column, row, width = 1) => {
        context.fillStyle = colour(kind);
        context.fillRect(column, size - 1 - row, width, 1);
      };
      context.clearRect(0, 0, size, size);
      for (const { texture, first, row } of lines.values()) if (texture === name) fill("line", first, row, texels);
      for (const each of looked.filter((one) => one.texture === name && one.fragment === fragment)) {
        if (each.hit) fill("soft", each.column, each.row);
        else fill("mark", each.first, each.row, texels);
      }
    }
    held.replaceChildren(...[...lines.keys()].reverse().map((line) => element("li", { class: line === last ? (hit ? "hit" : "acts") : "" }, line)));
    const misses = looked.filter((each) => !each.hit).length;
    words.textContent = !at ? "Nothing is looked up yet: press Play." : `Fragment ${fragment + 1}: so far ${misses} of ${at} lookups missed (now a ${hit ? "hit" : "miss"}), and memory sent ${grouped(misses * bytes)} bytes.`;
  }

  const walk = element("div", { class: "stripes" }, ...pictures.map(([name, canvas]) => framed(name, canvas)), framed("the cache", held));
  const drawing = element("div", { class: "sketch", role: "group", "aria-label": "The curve" }, chart, ...guesses, least);
  rove(drawing, "input", 0); // up and down move a point
  question.asks.after(drawing);
  const legend = element("p", { class: "note" }, "Light: in the cache. Grey: hits of this fragment. Orange: lines that memory sent it.");
  screenOf(root, [question.root], [walk, words, legend, transport.root,
    element("div", { class: "controls" }, block.root, cache.root, order.root)]);
  open();
  if (calm()) transport.to(transport.last / 2 + 1);
  keepControls(root, address);
  transport.playWhenSeen(walk);
};
