// A texture as a picture: its texels in the colours of a scale, with their values where they fit,
// marks around some, and one that is chosen by a click or by the arrow keys. Row 0 is at the bottom, as
// in a window of OpenGL. Several channels are pictures beside and below one another, r and g above b
// and a. The texels of very long textures are stretched, so that none is a line.

const TEXELS_SIDE = { least: 1, grid: 8, values: 24, most: 52 }; // pixels along a texel
const TEXELS_WIDEST = 4096; // pixels along a picture
const TEXELS_HIGHEST = 460; // pixels of a picture's height before it is enlarged
const TEXELS_LONGEST = 8; // times as long as wide
const TEXELS_GAP = 6; // pixels between channels
const TEXELS_LETTER = 16; // pixels above a channel
const TEXELS_LEVELS = 256;
const TEXELS_MARKS = { written: "mark", read: "link", chosen: "ink" };

// The colours of numbers. view: as page/one_plan.py makes it.
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

  // Paints a pixel for each texel: a channel, or a picture of all.
  paint(canvas, { width, data }, channel) {
    const image = new ImageData(width, data.length / 4 / width);
    for (let n = 0; n < data.length; n += 4) {
      const colour = channel === null ? TexelColours.ofPicture(data, n) : this.of(data[n + channel]);
      // Row 0 is at the bottom, as in a window of OpenGL.
      const row = image.height - 1 - Math.floor(n / 4 / width);
      image.data.set([...colour, 255], 4 * (row * width + ((n / 4) % width)));
    }
    Object.assign(canvas, { width, height: image.height });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  // The colour of a texel that is shown as a picture.
  static ofPicture(data, n) {
    return [0, 1, 2].map((channel) => Math.round(255 * Math.min(Math.max(data[n + channel], 0), 1) || 0));
  }

  static isDark([red, green, blue]) {
    return 0.299 * red + 0.587 * green + 0.114 * blue < 140;
  }
}

// A listener here for each picture would keep all pictures that ever were.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const picture of document.querySelectorAll(".texels")) picture.dispatchEvent(new Event("recolour"));
});

class TexelPicture {
  // name: of the texture. view: of its numbers; `channels` are those that are shown, none where a
  // texel is shown as a colour of r, g and b. choose(x, y): called with the texel that is chosen.
  constructor(name, view, choose) {
    Object.assign(this, { name, view, choose, marks: [], chosen: null, zoom: 1, texture: null });
    this.colours = new TexelColours(view);
    const planes = Math.max(view.channels.length, 1);
    Object.assign(this, { across: Math.min(planes, 2), down: Math.ceil(planes / 2) });
    this.letter = planes > 1 ? TEXELS_LETTER : 0;
    this.canvas = element("canvas", {
      tabindex: 0, role: "application", "aria-roledescription": "texture",
      click: (event) => this.#click(event), keydown: (event) => this.#key(event),
    });
    this.box = element("div", { class: "texels-box" }, this.canvas);
    this.size = element("span", { class: "soft" });
    this.tools = element("span", { class: "texels-tools" },
      this.#button("−", `Show ${name} smaller`, 0.5), this.#button("+", `Show ${name} larger`, 2));
    this.said = element("p", { class: "texels-said", role: "status" });
    this.root = element("figure", { class: planes > 1 ? "texels texels-wide" : "texels", recolour: () => this.#draw() },
      element("figcaption", {}, element("strong", {}, name), " ", this.size, this.tools),
      this.box, this.legend(), this.said);
    new ResizeObserver(() => this.#draw()).observe(this.root);
  }

  // Shows the texels of a texture, as players give them, and marks around rectangles of texels:
  // {x, y, width, height, kind}, where kind is `written` or `read`.
  show(texture, marks = []) {
    this.texture = texture;
    this.marks = marks;
    this.width = texture.width;
    this.height = texture.data.length / 4 / texture.width;
    this.wide = Math.max(Math.floor(this.height / this.width / TEXELS_LONGEST), 1);
    this.high = Math.max(Math.floor(this.width / this.height / TEXELS_LONGEST), 1);
    this.size.textContent = `${this.width} × ${this.height}, ${texture.format}, y ↑`;
    this.canvas.setAttribute("aria-label",
      `${this.name}: ${this.width} columns and ${this.height} rows of texels. ` +
      `${this.#marksInWords()} The arrow keys choose a texel.`);
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
      "aria-label": label, title: label,
      click: () => { this.zoom = Math.max(this.zoom * factor, 1); this.#draw(); },
    }, text);
  }

  // The scale, as a line of its own.
  legend() {
    const { low, high, anchors, channels } = this.view;
    if (!channels.length) return element("p", { class: "soft" }, "a texel has the colour of its r, g and b");
    const ramp = element("span", { class: "texels-ramp" });
    ramp.style.background = `linear-gradient(to right, ${anchors.map((c) => `rgb(${c})`).join()})`;
    return element("p", { class: "soft" }, cellText(low), ramp, cellText(high));
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
    const { width, height, texel, plane } = this;
    const inPlane = (place, size, count, before) => {
      const nth = Math.min(Math.floor(place / (size + TEXELS_GAP)), count - 1);
      return place - nth * (size + TEXELS_GAP) - before;
    };
    const x = inPlane(event.clientX - box.left, plane.width, this.across, 0);
    const y = inPlane(event.clientY - box.top, plane.height, this.down, this.letter);
    this.#take(Math.min(Math.floor(x / texel.width), width - 1), height - 1 - Math.floor(y / texel.height));
  }

  #key(event) {
    const move = {
      ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1], Enter: [0, 0],
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
    const { width, height, wide, high, across, down, letter } = this;
    const gaps = (across - 1) * TEXELS_GAP;
    const fitting = Math.floor((this.root.clientWidth - 2 - gaps) / (width * wide * across));
    const standing = Math.floor(TEXELS_HIGHEST / (height * high * down));
    const fit = Math.min(Math.max(Math.min(fitting, standing), TEXELS_SIDE.least), TEXELS_SIDE.most);
    const longest = Math.max(width * wide * across, height * high * down);
    const most = Math.max(fit, Math.min(TEXELS_SIDE.most, Math.floor(TEXELS_WIDEST / longest)));
    this.zoom = Math.min(this.zoom, most / fit);
    const side = Math.floor(fit * this.zoom);
    this.tools.hidden = most < 2 * fit;
    this.texel = { width: side * wide, height: side * high };
    this.plane = { width: width * this.texel.width, height: height * this.texel.height + letter };
    const size = {
      width: across * this.plane.width + gaps, height: down * (this.plane.height + TEXELS_GAP) - TEXELS_GAP,
    };
    const dense = Math.min(devicePixelRatio || 1, 2);
    for (const [name, pixels] of Object.entries(size)) {
      this.canvas[name] = pixels * dense;
      this.canvas.style[name] = `${pixels}px`;
    }
    const context = this.canvas.getContext("2d");
    context.scale(dense, dense);
    context.imageSmoothingEnabled = false;
    const { channels } = this.view;
    (channels.length ? channels : [null]).forEach((channel, n) => {
      context.save();
      context.translate((n % across) * (this.plane.width + TEXELS_GAP),
        Math.floor(n / across) * (this.plane.height + TEXELS_GAP) + letter);
      this.#plane(context, channel);
      context.restore();
    });
  }

  // A channel, or a picture of all.
  #plane(context, channel) {
    const { texel, plane, letter } = this;
    const style = getComputedStyle(this.root);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    if (letter) {
      context.fillStyle = colour(["no", "yes", "link", "alpha"][channel]);
      context.font = "bold 13px system-ui, sans-serif";
      context.fillText(CHANNELS[channel], 1, -4);
    }
    context.drawImage(this.#pixels(channel), 0, 0, plane.width, plane.height - letter);
    const least = Math.min(texel.width, texel.height);
    if (least >= TEXELS_SIDE.grid) this.#grid(context);
    if (channel !== null && least >= TEXELS_SIDE.values) this.#values(context, channel);
    this.#frames(context, colour);
  }

  #pixels(channel) {
    const canvas = element("canvas", {});
    this.colours.paint(canvas, this.texture, channel);
    return canvas;
  }

  #grid(context) {
    const { width, height, texel } = this;
    context.strokeStyle = "rgba(128, 128, 128, 0.45)";
    context.lineWidth = 1;
    context.beginPath();
    for (let x = 0; x <= width; x += 1) {
      context.moveTo(x * texel.width + 0.5, 0);
      context.lineTo(x * texel.width + 0.5, height * texel.height);
    }
    for (let y = 0; y <= height; y += 1) {
      context.moveTo(0, y * texel.height + 0.5);
      context.lineTo(width * texel.width, y * texel.height + 0.5);
    }
    context.stroke();
  }

  #values(context, channel) {
    const { width, height, texel, texture: { data } } = this;
    context.font = `${Math.min(Math.round(texel.width * 0.34), 14)}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    const fits = (text) => context.measureText(text).width <= 1.2 * (texel.width - 6);
    for (let n = 0; n < width * height; n += 1) {
      const value = data[4 * n + channel];
      const text = [cellText(value), cellText(Number(value.toPrecision(2)))].find(fits);
      if (text === undefined) continue;
      context.fillStyle = TexelColours.isDark(this.colours.of(value)) ? "#ffffff" : "#000000";
      const row = height - 1 - Math.floor(n / width);
      context.fillText(text, ((n % width) + 0.5) * texel.width, (row + 0.5) * texel.height, texel.width - 6);
    }
  }

  #frames(context, colour) {
    const { texel } = this;
    const chosen = this.chosen && this.has(this.chosen)
      ? [{ ...this.chosen, width: 1, height: 1, kind: "chosen" }] : [];
    for (const { x, y, width, height, kind } of [...this.marks, ...chosen]) {
      const [left, top] = [x * texel.width, (this.height - y - height) * texel.height];
      const frame = [left + 1.5, top + 1.5, width * texel.width - 2, height * texel.height - 2];
      if (texel.width < TEXELS_SIDE.grid && kind === "chosen") {
        frame.splice(0, 4, left - 3, top - 3, texel.width + 6, texel.height + 6);
      }
      for (const [line, name] of [[5, "paper"], [2.5, TEXELS_MARKS[kind]]]) {
        context.lineWidth = line;
        context.strokeStyle = colour(name);
        context.strokeRect(...frame);
      }
    }
  }
}
