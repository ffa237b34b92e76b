// A texture as a picture: its texels in the colours of a scale, with their values where they fit,
// marks around some, and one that is chosen by a click or by the arrow keys. Row 0 is at the top, as
// matrices are written.

const TEXELS_SIDE = { least: 1, grid: 8, values: 24, most: 52 }; // pixels along a cell
const TEXELS_WIDEST = 4096; // pixels along a picture
const TEXELS_LEVELS = 256;

// The colours of numbers. view: as page/played.py makes it.
class TexelColours {
  constructor(view) {
    this.view = view;
    this.table = Array.from({ length: TEXELS_LEVELS }, (_, level) =>
      TexelColours.mixed(view.anchors, level / (TEXELS_LEVELS - 1)));
    this.far = new Set(view.far);
  }

  static mixed(anchors, part) {
    const place = part * (anchors.length - 1);
    const below = Math.min(Math.floor(place), anchors.length - 2);
    return anchors[below].map((from, channel) =>
      Math.round(from + (anchors[below + 1][channel] - from) * (place - below)));
  }

  of(value) {
    const { low, high, not_finite: notFinite, far_colour: farColour } = this.view;
    if (!Number.isFinite(value)) return notFinite;
    if (this.far.has(value)) return farColour;
    const part = Math.min(Math.max((value - low) / (high - low || 1), 0), 1);
    return this.table[Math.round(part * (TEXELS_LEVELS - 1))];
  }

  // The colour of a texel that is shown as a picture.
  static ofPicture(data, n) {
    return [0, 1, 2].map((channel) => Math.round(255 * Math.min(Math.max(data[n + channel], 0), 1) || 0));
  }

  static isDark([red, green, blue]) {
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
  }
}

class TexelPicture {
  // name: of the texture. view: of its numbers; `channels` are those that are shown, none where a
  // texel is shown as a colour of r, g and b. choose(x, y): called with the texel that is chosen.
  constructor(name, view, choose) {
    Object.assign(this, { name, view, choose, marks: [], chosen: null, zoom: 1, texture: null });
    this.colours = new TexelColours(view);
    this.side = view.channels.length > 1 ? 2 : 1; // the cells along a texel, one for each channel
    this.canvas = element("canvas", {
      tabindex: 0, role: "application", "aria-roledescription": "texture",
      click: (event) => this.#click(event), keydown: (event) => this.#key(event),
    });
    this.box = element("div", { class: "texels-box" }, this.canvas);
    this.size = element("span", { class: "soft" });
    this.tools = element("span", { class: "texels-tools" },
      this.#button("−", `Show ${name} smaller`, 0.5), this.#button("+", `Show ${name} larger`, 2));
    this.said = element("p", { class: "texels-said", role: "status" });
    this.root = element("figure", { class: "texels" },
      element("figcaption", {}, element("strong", {}, name), " ", this.size, this.tools),
      this.box, this.legend(), this.said);
    new ResizeObserver(() => this.#draw()).observe(this.root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#draw());
  }

  // Shows the texels of a texture, as players give them, and marks around rectangles of texels:
  // {x, y, width, height, kind}, where kind is `written` or `read`.
  show(texture, marks = []) {
    this.texture = texture;
    this.marks = marks;
    this.width = texture.width;
    this.height = texture.data.length / 4 / texture.width;
    this.size.textContent = `${this.width} × ${this.height}, ${texture.format}`;
    this.canvas.setAttribute("aria-label",
      `${this.name}: ${this.width} columns and ${this.height} rows of texels. ` +
      `${this.#marksInWords()} The arrow keys choose a texel.`);
    this.#say();
    this.#draw();
  }

  // Marks a texel as chosen, and calls nobody; null takes the mark away.
  mark(texel) {
    this.chosen = texel;
    this.#say();
    this.#draw();
  }

  has({ x, y }) {
    return x < this.width && y < this.height;
  }

  #marksInWords() {
    return this.marks.map(({ x, y, width, height, kind }) => {
      const columns = width > 1 ? `columns ${x} to ${x + width - 1}` : `column ${x}`;
      const rows = height > 1 ? `rows ${y} to ${y + height - 1}` : `row ${y}`;
      return `${kind[0].toUpperCase()}${kind.slice(1)}: ${columns}, ${rows}.`;
    }).join(" ");
  }

  #button(text, label, factor) {
    return element("button", {
      type: "button", "aria-label": label, title: label,
      click: () => { this.zoom = Math.max(this.zoom * factor, 1); this.#draw(); },
    }, text);
  }

  // The scale, as a line of its own.
  legend() {
    const { low, high, anchors, channels } = this.view;
    if (!channels.length) return element("p", { class: "soft" }, "a texel has the colour of its r, g and b");
    const ramp = element("span", { class: "texels-ramp" });
    ramp.style.background = `linear-gradient(to right, ${anchors.map((c) => `rgb(${c})`).join()})`;
    const names = channels.length > 1 ? `; ${channels.map((c) => "rgba"[c]).join(", ")} in a texel` : "";
    return element("p", { class: "soft" }, cellText(low), ramp, `${cellText(high)}${names}`);
  }

  #say() {
    const { chosen, texture } = this;
    if (!chosen || !texture || !this.has(chosen)) {
      this.said.textContent = "";
      return;
    }
    const n = 4 * (chosen.y * this.width + chosen.x);
    const values = Array.from(texture.data.subarray(n, n + texture.channels), float32Text);
    this.said.textContent = `texel (${chosen.x}, ${chosen.y}): ${values.join(", ")}`;
  }

  // Choosing ---------------------------------------------------------------------------------------

  #click(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = Math.floor(((event.clientX - box.left) / box.width) * this.width);
    const y = Math.floor(((event.clientY - box.top) / box.height) * this.height);
    this.#take(x, y);
  }

  #key(event) {
    const move = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], Enter: [0, 0],
    }[event.key];
    if (!move || !this.texture) return;
    event.preventDefault();
    const { x, y } = this.chosen ?? { x: -move[0], y: -move[1] };
    this.#take(x + move[0], y + move[1]);
  }

  #take(x, y) {
    const inside = (value, size) => Math.min(Math.max(value, 0), size - 1);
    this.choose(inside(x, this.width), inside(y, this.height));
  }

  // Drawing ----------------------------------------------------------------------------------------

  #draw() {
    if (!this.texture || !this.root.clientWidth) return;
    const { width, height, side } = this;
    const fitting = Math.floor((this.root.clientWidth - 2) / width);
    const fit = Math.min(Math.max(fitting, TEXELS_SIDE.least), TEXELS_SIDE.most * side);
    const most = Math.max(fit, Math.min(TEXELS_SIDE.most * side, Math.floor(TEXELS_WIDEST / Math.max(width, height))));
    this.zoom = Math.min(this.zoom, most / fit);
    const cell = Math.floor(fit * this.zoom);
    this.tools.hidden = most < 2 * fit;
    const dense = Math.min(devicePixelRatio || 1, 2);
    this.canvas.width = width * cell * dense;
    this.canvas.height = height * cell * dense;
    this.canvas.style.width = `${width * cell}px`;
    this.canvas.style.height = `${height * cell}px`;
    const context = this.canvas.getContext("2d");
    context.scale(dense, dense);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.#pixels(), 0, 0, width * cell, height * cell);
    if (cell >= TEXELS_SIDE.grid) this.#grid(context, cell);
    if (cell / side >= TEXELS_SIDE.values) this.#values(context, cell / side);
    this.#frames(context, cell);
  }

  // A pixel for each cell.
  #pixels() {
    const { width, height, side, texture: { data }, view: { channels } } = this;
    const image = new ImageData(width * side, height * side);
    this.#eachCell((column, line, n, channel) => {
      const colour = channels.length ? this.colours.of(data[n + channel]) : TexelColours.ofPicture(data, n);
      image.data.set([...colour, 255], 4 * (line * width * side + column));
    });
    const canvas = element("canvas", { width: width * side, height: height * side });
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  // Calls visit(column, line, n, channel) for each cell: its place in the picture, from the top,
  // its texel's place in the data, and the channel.
  #eachCell(visit) {
    const { width, height, side, view: { channels } } = this;
    const shown = channels.length ? channels : [0];
    for (let y = 0; y < height; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const n = 4 * (y * width + x);
        shown.forEach((channel, at) =>
          visit(x * side + (at % side), y * side + Math.floor(at / side), n, channel));
      }
    }
  }

  #grid(context, cell) {
    context.strokeStyle = "rgba(128, 128, 128, 0.45)";
    context.lineWidth = 1;
    context.beginPath();
    for (let x = 0; x <= this.width; x += 1) {
      context.moveTo(x * cell + 0.5, 0);
      context.lineTo(x * cell + 0.5, this.height * cell);
    }
    for (let y = 0; y <= this.height; y += 1) {
      context.moveTo(0, y * cell + 0.5);
      context.lineTo(this.width * cell, y * cell + 0.5);
    }
    context.stroke();
  }

  #values(context, cell) {
    const { texture: { data }, view: { channels } } = this;
    if (!channels.length) return;
    context.font = `${Math.min(Math.round(cell * 0.34), 14)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const fits = (text) => context.measureText(text).width <= cell - 2;
    this.#eachCell((column, line, n, channel) => {
      const value = data[n + channel];
      const text = [cellText(value), cellText(Number(value.toPrecision(2)))].find(fits);
      if (text === undefined) return;
      context.fillStyle = TexelColours.isDark(this.colours.of(value)) ? "#ffffff" : "#000000";
      context.fillText(text, (column + 0.5) * cell, (line + 0.5) * cell);
    });
  }

  #frames(context, cell) {
    const style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(name).trim();
    const chosen = this.chosen && this.has(this.chosen)
      ? [{ ...this.chosen, width: 1, height: 1, kind: "chosen" }] : [];
    for (const { x, y, width, height, kind } of [...this.marks, ...chosen]) {
      const frame = [x * cell + 1.5, y * cell + 1.5, width * cell - 2, height * cell - 2];
      if (cell < TEXELS_SIDE.grid && kind === "chosen") {
        frame.splice(0, 4, x * cell - 3, y * cell - 3, cell + 6, cell + 6);
      }
      for (const [line, name] of [[5, "--paper"], [2.5, `--texel-${kind}`]]) {
        context.lineWidth = line;
        context.strokeStyle = colour(name);
        context.strokeRect(...frame);
      }
    }
  }
}
