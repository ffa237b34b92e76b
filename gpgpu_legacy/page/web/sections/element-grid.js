// A matrix as a picture with its values: a cell for each element, grey as its texel is.

// Where the elements of a matrix lie in the texels of its texture; `transfer` is an input or an
// output of a plan.
class TexelLayout {
  constructor(transfer) {
    this.width = transfer.rect.width;
    this.height = transfer.rect.height;
    this.offsets = transfer.packing.offsets;
    this.rows = this.height + Math.max(...this.offsets.map(([row]) => row));
    this.columns = this.width + Math.max(...this.offsets.map(([, column]) => column));
  }

  // The elements in a texel, a channel each.
  elements(x, y) {
    return this.offsets.map(([row, column]) => ({ row: y + row, column: x + column }));
  }

  // The texel and the channel that hold an element.
  texel(row, column) {
    const channel = this.offsets.findLastIndex(([r, c]) => row >= r && column >= c);
    const [r, c] = this.offsets[channel];
    return { x: column - c, y: row - r, channel };
  }

  // The elements of a texture's numbers, row by row.
  values(texture) {
    return Float32Array.from({ length: this.rows * this.columns }, (_, at) => {
      const { x, y, channel } = this.texel(Math.floor(at / SIDE), at % SIDE);
      return texture.data[4 * (y * this.width + x) + channel];
    });
  }
}

const CHANNELS = ["r", "g", "b", "a"];

// The colours of a texel: black is 0 or less, white is `white` or more; what is below 0 has a blue
// of its own, so that its size can be seen. The text is black or white, whichever is more legible.
function texelColours(value, white) {
  if (Number.isNaN(value)) return { background: "#8c2f39", color: "#ffffff" };
  const share = Math.min(Math.abs(value) / white, 1) || 0;
  const parts = value < 0 ? [70, 120, 235] : [255, 255, 255];
  const rgb = parts.map((part) => Math.round(part * share));
  const [r, g, b] = rgb.map((part) => (part / 255) ** 2.2);
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return { background: `rgb(${rgb})`, color: light > 0.179 ? "#000000" : "#ffffff" };
}

// The picture of a 4×4 matrix. Its cells are walked with the arrow keys; one of them is in the order
// of the Tab key.
// label: names it. actions: {choose(row, column)}, called on a click or Enter, or
// {type(row, column, text, done), paste(text)} for one that can be edited; none for one
// that only shows. up: whether row 0 is at the bottom, as in a window of OpenGL.
class ElementGrid {
  constructor(label, actions = {}, up = false) {
    // cover(at): what stands in place of a number that is not shown yet, or null.
    Object.assign(this, { label, actions, up, cover: () => null });
    const cells = Array.from({ length: SIDE * SIDE }, (_, at) => this.#cell(Math.floor(at / SIDE), at % SIDE));
    this.cells = cells;
    const lines = Array.from({ length: SIDE }, (_, row) => cells.slice(row * SIDE, (row + 1) * SIDE));
    this.root = element("div", {
      class: "elements",
      role: actions.choose ? "grid" : "group",
      "aria-label": label,
      keydown: (event) => this.#walk(event),
    }, ...(actions.choose ? lines.map((line) => element("div", { role: "row", class: "elements-row" }, ...line)) : cells));
    this.#tabStop(0, 0);
  }

  #line(row) {
    return this.up ? SIDE - row : row + 1;
  }

  #cell(row, column) {
    const { choose, type, paste } = this.actions;
    const shown = { class: "element", style: `grid-area: ${this.#line(row)} / ${column + 1}` };
    const walked = { ...shown, tabindex: -1, "data-place": `${row},${column}` };
    if (type) {
      const cell = element("input", {
        ...walked,
        inputmode: "text",
        autocomplete: "off",
        spellcheck: "false",
        "aria-label": `${this.label}, row ${row + 1}, column ${column + 1}`,
        focus: () => {
          this.#tabStop(row, column);
          cell.value = cell.dataset.whole;
          cell.select();
        },
        input: () => {
          const good = type(row, column, cell.value, false);
          cell.setAttribute("aria-invalid", String(!good));
        },
        blur: () => {
          if (cell.value !== cell.dataset.whole) type(row, column, cell.value, true);
          cell.removeAttribute("aria-invalid");
          cell.value = cell.dataset.short;
        },
        paste: (event) => {
          const text = event.clipboardData.getData("text");
          if (!/[\s,;]/.test(text.trim())) return;
          event.preventDefault();
          paste(text);
        },
      });
      return cell;
    }
    if (choose) {
      return element("button", {
        ...walked,
        role: "gridcell",
        focus: () => this.#tabStop(row, column),
        click: () => choose(row, column),
      });
    }
    return element("span", shown);
  }

  // Shows numbers, row by row. white: the number that is white.
  // clipped(row, column): whether a number is not what was meant, since its format ends there.
  paint(values, white, clipped = () => false) {
    this.cells.forEach((cell, at) => {
      const value = values[at];
      const [row, column] = [Math.floor(at / SIDE), at % SIDE];
      Object.assign(cell.style, texelColours(value, white));
      const cover = this.cover(at);
      cell.classList.toggle("undrawn", cover !== null);
      const end = cover === null && clipped(row, column);
      cell.classList.toggle("clipped", end);
      const whole = cover === null ? float32Text(value) : "not shown yet";
      const short = cover ?? cellText(value);
      if (cell.tagName === "INPUT") {
        Object.assign(cell.dataset, { whole, short });
        if (cell !== document.activeElement) cell.value = short;
        cell.title = end ? `${whole}: the texture ends at 1 and at 0` : whole;
        return;
      }
      if (cell.textContent !== short) cell.textContent = short;
      if (cell.tagName === "BUTTON") {
        // The name has what is seen; the title says it exactly.
        const said = `${this.label}, row ${row + 1}, column ${column + 1}: ${cover === null ? short : whole}`;
        cell.setAttribute("aria-label", end ? `${said}, clamped` : said);
        cell.title = end ? `${whole}, clamped` : whole;
      }
    });
  }

  // Lets the cells appear one after the other.
  fill(duration) {
    this.cells.forEach((cell, n) => cell.animate([{ opacity: 0 }, { opacity: 1 }],
      { duration: duration / SIDE, delay: (duration * n) / this.cells.length, fill: "backwards" }));
  }

  // Puts frames around elements; those of a kind that were there before go.
  // places: [{row, column}]; each rectangle of neighbours gets one frame.
  frame(kind, places) {
    for (const frame of this.root.querySelectorAll(`.frame.${kind}`)) frame.remove();
    for (const [top, bottom] of neighbours(places.map(({ row }) => row))) {
      for (const [left, right] of neighbours(places.map(({ column }) => column))) {
        this.root.append(
          element("span", {
            class: `frame ${kind}`,
            "aria-hidden": "true",
            style: `grid-area: ${Math.min(this.#line(top), this.#line(bottom))} / ${left + 1} / ` +
              `${Math.max(this.#line(top), this.#line(bottom)) + 1} / ${right + 2}`,
          }),
        );
      }
    }
  }

  cell(row, column) {
    return this.cells[row * SIDE + column];
  }

  #tabStop(row, column) {
    for (const cell of this.cells) if (cell.tabIndex === 0) cell.tabIndex = -1;
    const cell = this.cell(row, column);
    if (cell.tagName !== "SPAN") cell.tabIndex = 0;
  }

  #walk(event) {
    const place = event.target.dataset?.place;
    if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = place.split(",").map(Number);
    const down = this.up ? -1 : 1;
    const step = { ArrowUp: [-down, 0], ArrowDown: [down, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const by = step[event.key] ?? (event.key === "Enter" && this.actions.type ? [1, 0] : null);
    if (!by || (this.actions.type && by[1] && !atTheEdge(event.target, by[1]))) return;
    event.preventDefault();
    const next = [row + by[0], column + by[1]];
    if (next[0] < 0 || next[1] < 0 || next[0] >= SIDE) return;
    if (next[1] < SIDE) this.cell(...next).focus();
  }
}

// Whether an arrow key would leave the text of an input: all of it is selected, or the caret is at
// that end.
function atTheEdge(input, by) {
  const { selectionStart: start, selectionEnd: end, value } = input;
  if (start === 0 && end === value.length) return true;
  return start === end && start === (by < 0 ? 0 : value.length);
}

// The runs of consecutive numbers among some, as [first, last].
function neighbours(numbers) {
  const sorted = [...new Set(numbers)].sort((a, b) => a - b);
  const runs = [];
  for (const number of sorted) {
    if (runs.length && runs.at(-1)[1] === number - 1) runs.at(-1)[1] = number;
    else runs.push([number, number]);
  }
  return runs;
}
