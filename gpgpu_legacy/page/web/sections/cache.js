// The cache: a curve over b of a recorded table, the ratios in all settings, and heat maps of hits.

// What a curve shows: its words in the list and on the axis, the sentence about a method, a value.
const CACHE_MEASURES = {
  share: {
    label: "share of A and B from memory",
    axis: "bytes of A and B from memory, over those looked up (lines come whole)",
    says: (m, value) => `memory sends ${value} of the bytes that ${m} looks up in A and B`,
    text: (value) => `${cacheDigits(100 * value)} %`,
  },
  misses: {
    label: "misses of reads",
    axis: "of the reads, misses",
    says: (method, value) => `${value} of the reads of ${method} miss`,
    text: (value) => `${cacheDigits(100 * value)} %`,
  },
  bytes: {
    label: "bytes from memory",
    axis: "bytes from memory",
    says: (method, value) => `${method} takes ${value} from memory`,
    text: (value) => `${cacheDigits(value / 1e9)} GB`,
  },
};

// Three digits, and no power of ten.
const cacheDigits = (value) => String(Number(value.toPrecision(3)));

sections.cache = (root, data, address) => new CacheView(root, data, address);

class CacheView {
  constructor(root, data, address) {
    this.data = data;
    this.products = [
      [data.before, null],
      ...data.blocked.flatMap((method) => data.blocks.map((block) => [method, block])),
    ];
    const plain = (values) => values.map((value) => [value, value]);
    const { shown } = data;
    this.choices = new Choices("cache", {
      method: { label: "method in colour", values: plain(data.blocked), first: data.method },
      b: { label: "block b", values: plain(data.blocks), first: data.block },
      cache: { label: "cache", values: plain(data.caches), first: shown.cache },
      raster: { label: "order of fragments", values: plain(data.rasters), first: shown.raster },
      layout: { label: "layout of textures", values: plain(data.layouts), first: shown.layout },
      flight: { label: "fragments in flight", values: plain(data.inFlight), first: shown.flight },
      n: {
        label: "matrices",
        values: data.tables.map(({ n }) => [n, `${n}×${n}`]),
        first: data.tables[0].n,
      },
      measure: {
        label: "curve",
        values: Object.entries(CACHE_MEASURES).map(([name, { label }]) => [name, label]),
        first: "share",
      },
    }, address, () => this.draw());
    this.sentence = element("p", { class: "cache-sentence", "aria-live": "polite" });
    this.chart = element("div", {
      class: "scroll", tabindex: "0", role: "region", "aria-label": "The curve over b",
    });
    this.grid = root.querySelector(".cache-grid");
    this.maps = new CacheMaps(data);
    root.querySelector(".cache-live").replaceChildren(
      this.choices.element, this.sentence, this.chart, this.maps.element,
    );
    this.choices.follow();
  }

  get setting() {
    const { choices } = this;
    return {
      raster: choices.get("raster"),
      layout: choices.get("layout"),
      flight: Number(choices.get("flight")),
      cache: choices.get("cache"),
    };
  }

  // A measure of a product in a setting, of the table that is chosen.
  value(measure, setting, method, block) {
    const { data } = this;
    const table = data.tables.find(({ n }) => String(n) === this.choices.get("n"));
    const places = [
      [data.rasters, setting.raster],
      [data.layouts, setting.layout],
      [data.inFlight, setting.flight],
      [data.caches, setting.cache],
    ];
    const where = places.reduce((at, [all, one]) => at * all.length + all.indexOf(one), 0);
    const product = this.products.findIndex(([m, b]) => m === method && b === block);
    return table[measure][where * this.products.length + product];
  }

  draw() {
    const { data, choices, setting } = this;
    const name = choices.get("measure");
    const measure = CACHE_MEASURES[name];
    const [method, block] = [choices.get("method"), Number(choices.get("b"))];
    const of = (m, b) => this.value(name, setting, m, b);
    const before = of(data.before, null);
    const own = of(method, block);
    const least = data.blocks.reduce((a, b) => (of(method, b) < of(method, a) ? b : a));
    this.sentence.textContent = this.#sentence(name, method, block, own / before) +
      ` Its least here is ${measure.text(of(method, least))}, at b = ${least}.`;
    const lines = [
      ...data.blocked.map((m) => ({ name: m, values: data.blocks.map((b) => of(m, b)) })),
      { name: data.before, values: data.blocks.map(() => before) },
    ];
    lines.sort((a, b) => (a.name === method) - (b.name === method)); // the coloured one on top
    this.chart.replaceChildren(this.#curve(lines, method, block, measure));
    this.#drawGrid(name, method, block);
    this.maps.draw(setting, block);
  }

  #sentence(name, method, block, ratio) {
    const { data, setting } = this;
    const measure = CACHE_MEASURES[name];
    const value = measure.text(this.value(name, setting, method, block));
    const times = cacheDigits(ratio);
    let verdict = ".";
    if (name === "share") {
      const words = ["more coherent, as the paper says", "as coherent", "less coherent"];
      verdict = `: ${words[1 + Math.sign(ratio - 1)]}.`;
    }
    const says = measure.says(method, value);
    return `At b = ${block}, ${says}, ${times} times ${data.before}’s${verdict}`;
  }

  // The lines over b as SVG: one in colour, the others grey, each with its name behind its end.
  #curve(lines, method, block, measure) {
    const { blocks, block: printed } = this.data;
    const [left, right, top, bottom, width, height] = [64, 180, 40, 44, 760, 340];
    const all = lines.flatMap(({ values }) => values);
    const low = Math.log(Math.min(...all)) - 0.15;
    const high = Math.log(Math.max(...all)) + 0.15;
    const x = (i) => left + (i * (width - left - right)) / (blocks.length - 1);
    const y = (v) => top + ((high - Math.log(v)) / (high - low)) * (height - top - bottom);
    const svg = drawn("svg", {
      viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img",
      "aria-label": `${measure.axis}, over b: ${this.sentence.textContent}`,
    });
    const text = (px, py, words, more = {}) =>
      svg.append(drawn("text", { x: px, y: py, ...more }, words));
    text(8, 20, measure.axis);
    for (const tick of cacheTicks(Math.exp(low), Math.exp(high))) {
      svg.append(drawn("path", { class: "rule", d: `M${left},${y(tick)}H${width - right}` }));
      text(left - 8, y(tick) + 4, measure.text(tick), { class: "soft", "text-anchor": "end" });
    }
    blocks.forEach((b, i) => {
      const marked = b === block ? "mark" : "soft";
      text(x(i), height - bottom + 20, b, { class: marked, "text-anchor": "middle" });
      if (b === block) {
        svg.append(drawn("path", { class: "mark", d: `M${x(i)},${top}V${height - bottom}` }));
      }
    });
    text((left + width - right) / 2, height - 6, `b (the paper chooses ${printed})`, {
      class: "soft", "text-anchor": "middle",
    });
    for (const { name, values } of lines) {
      const points = values.map((v, i) => [x(i).toFixed(1), y(v).toFixed(1)]);
      const kind = name === method ? "chosen" : "other";
      svg.append(drawn("polyline", { class: kind, points: points.join(" ") }));
      for (const [cx, cy] of points) {
        svg.append(drawn("circle", { class: kind, cx, cy, r: name === method ? 4 : 2.5 }));
      }
    }
    const ends = lines.map(({ name, values }) => ({ name, y: y(values.at(-1)) + 4 }));
    ends.sort((a, b) => a.y - b.y);
    ends.forEach((end, i) => {
      if (i > 0) end.y = Math.max(end.y, ends[i - 1].y + 17);
    });
    for (const { name, y: at } of ends) {
      text(width - right + 10, at, name, { class: name === method ? "chosen" : "soft" });
    }
    // A click on a column chooses its b; the keyboard has the list.
    const step = x(1) - x(0);
    blocks.forEach((b, i) => svg.append(drawn("rect", {
      class: "hit", x: x(i) - step / 2, y: top, width: step, height: height - top - bottom,
      click: () => this.choices.choose({ b }),
    })));
    return svg;
  }

  // The ratios of a measure in all settings with the fragments in flight that are chosen.
  #drawGrid(name, method, block) {
    const { data, setting } = this;
    const head = (words) => element("th", { scope: "col", class: "number" }, words);
    const rows = data.rasters.flatMap((raster) => data.layouts.map((layout) => {
      const cells = data.caches.map((cache) => {
        const there = { ...setting, raster, layout, cache };
        const before = this.value(name, there, data.before, null);
        const ratio = this.value(name, there, method, block) / before;
        const chosen = Object.keys(there).every((key) => there[key] === setting[key]);
        const choose = element("button", {
          class: ratio < 1 ? "yes" : "", "aria-pressed": String(chosen),
          "aria-label": `${raster}, ${layout}, ${cache}: ${cacheDigits(ratio)}`,
          click: () => {
            this.choices.choose({ raster, layout, cache });
            this.grid.querySelector("[aria-pressed=true]").focus();
          },
        }, cacheDigits(ratio));
        return element("td", { class: "number" }, choose);
      });
      const named = element("th", { scope: "row" }, raster);
      return element("tr", {}, named, element("td", {}, layout), ...cells);
    }));
    const of = CACHE_MEASURES[name].label;
    const caption = `The ${of}, as a multiple of ${data.before}’s: ${method} at ` +
      `n = ${this.choices.get("n")} and b = ${block}, with ${setting.flight} in flight. Below 1, ` +
      "in green, it is better. Choose one to see its curve.";
    this.grid.replaceChildren(element("table", {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {},
        element("th", { scope: "col" }, "order"), element("th", { scope: "col" }, "layout"),
        ...data.caches.map(head))),
      element("tbody", {}, ...rows)));
  }
}

// Some round numbers between two others, on a logarithmic axis.
function cacheTicks(low, high) {
  const ticks = [];
  const few = high / low > 1000 ? [1] : high / low > 10 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    ticks.push(...few.map((digit) => digit * 10 ** power));
  }
  return ticks.filter((tick) => tick >= low && tick <= high);
}

// Where the reads of small products hit, one map a method, all on one scale.
class CacheMaps {
  constructor(data) {
    this.data = data;
    this.maps = data.maps;
    this.methods = [data.before, ...data.blocked];
    this.title = element("p", {});
    this.read = element("p", { class: "soft", "aria-live": "polite" });
    this.plates = this.methods.map((method) => new CacheMap(method, this));
    const colours = this.maps.colours.map((rgb) => `rgb(${rgb.join(",")})`).join(",");
    this.element = element("div", { class: "cache-maps" }, this.title,
      element("div", { class: "cache-plates" }, ...this.plates.map(({ element: e }) => e)),
      element("p", { class: "cache-scale soft" }, "no read hits ",
        element("span", { style: `background: linear-gradient(to right, ${colours})` }),
        " every read hits"),
      this.read);
    this.picture = new Image();
    this.loaded = new Promise((resolve) => this.picture.addEventListener("load", resolve));
    this.picture.src = this.maps.picture;
  }

  // The block of a map that is nearest to one.
  nearest(block) {
    const mapped = this.maps.products.map(([, b]) => b).filter((b) => b !== null);
    const far = (b) => Math.abs(Math.log(b / block));
    return mapped.reduce((a, b) => (far(b) < far(a) ? b : a));
  }

  async draw(setting, block) {
    const { rasters, layouts, inFlight } = this.data;
    const { n, cache } = this.maps;
    const order = rasters.indexOf(setting.raster) * layouts.length;
    const place = order + layouts.indexOf(setting.layout);
    const row = place * inFlight.length + inFlight.indexOf(setting.flight);
    const near = this.nearest(block);
    this.title.textContent =
      `Where reads hit, at n = ${n}: each square is a fragment, its colour the share of its reads ` +
      `that hit a cache of ${cache}, over all passes (${setting.raster}, ${setting.layout}, ` +
      `${setting.flight} in flight; b = ${near}).`;
    this.read.textContent = "Point at a fragment, or choose a map and use the arrow keys.";
    await this.loaded;
    for (const plate of this.plates) {
      const column = this.maps.products.findIndex(
        ([method, b]) => method === plate.method && (b === null || b === near),
      );
      plate.draw(row, column);
    }
  }
}

// One method's map.
class CacheMap {
  constructor(method, all) {
    Object.assign(this, { method, all, ratios: [], side: 1, at: null });
    this.canvas = element("canvas", {
      tabindex: "0", role: "img",
      pointermove: (event) => this.#point(event),
      pointerleave: () => this.#go(null),
      keydown: (event) => this.#key(event),
    });
    this.caption = element("figcaption", {});
    this.element = element("figure", {}, this.canvas, this.caption);
  }

  draw(row, column) {
    const { maps, picture } = this.all;
    this.side = maps.sides[column];
    this.canvas.width = this.canvas.height = this.side;
    const context = this.canvas.getContext("2d", { willReadFrequently: true });
    const from = [column * maps.n, row * maps.n, this.side, this.side];
    context.drawImage(picture, ...from, 0, 0, this.side, this.side);
    const { data } = context.getImageData(0, 0, this.side, this.side);
    this.ratios = Array.from({ length: this.side ** 2 }, (_, i) => data[4 * i] / maps.levels);
    const hits = cacheDigits(100 * maps.hits[row][column]);
    this.caption.textContent = `${this.method}: ${hits} % of the reads hit`;
    this.canvas.setAttribute("aria-label", `Heat map of hits. ${this.caption.textContent}`);
    this.at = null;
    this.#paint();
  }

  #paint() {
    const context = this.canvas.getContext("2d");
    const image = context.createImageData(this.side, this.side);
    this.ratios.forEach((ratio, i) => image.data.set([...this.#colour(ratio), 255], 4 * i));
    if (this.at) image.data.set([0, 255, 255, 255], 4 * (this.at[1] * this.side + this.at[0]));
    context.putImageData(image, 0, 0);
  }

  #colour(ratio) {
    const { colours } = this.all.maps;
    const place = ratio * (colours.length - 1);
    const i = Math.min(Math.floor(place), colours.length - 2);
    return colours[i].map((low, c) => low + (place - i) * (colours[i + 1][c] - low));
  }

  #point(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = (from, length, at) => Math.floor(((at - from) / length) * this.side);
    this.#go([place(box.left, box.width, event.clientX), place(box.top, box.height, event.clientY)]);
  }

  #key(event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (!(event.key in step)) return;
    event.preventDefault();
    const [x, y] = this.at ?? [0, this.side];
    const [right, down] = this.at ? step[event.key] : [0, -1];
    this.#go([x + right, y + down]);
  }

  // Marks a place and says its ratio; null takes the mark away.
  #go(at) {
    const last = this.side - 1;
    this.at = at && at.map((place) => Math.max(0, Math.min(last, place)));
    this.#paint();
    if (!this.at) return;
    const [x, row] = this.at;
    const hits = cacheDigits(100 * this.ratios[row * this.side + x]);
    this.all.read.textContent =
      `${this.method}, fragment (${x}, ${last - row}): about ${hits} % of its reads hit.`;
  }
}
