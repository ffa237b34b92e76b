// The cache: the ratios in all settings as a heat map, and a curve over b for the one chosen.

const cachePercent = (value) => `${cacheDigits(100 * value)} %`;

// What a curve shows: its words in the list and on the axis, the sentence about a method, a value.
const CACHE_MEASURES = {
  share: {
    label: "share of A and B from memory",
    axis: "bytes of A and B from memory, over those looked up (lines come whole)",
    says: (method, value) => `memory sends ${value} of the bytes that ${method} looks up in A and B`,
    text: cachePercent,
  },
  misses: {
    label: "misses of reads",
    axis: "of the reads, misses",
    says: (method, value) => `${value} of the reads of ${method} miss`,
    text: cachePercent,
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
      method: { label: "method", values: data.blocked.map((m) => [m, peopleName(m)]), first: data.method },
      b: { label: "block b", values: plain(data.blocks), first: data.block },
      n: { label: "matrices", values: data.tables.map(({ n }) => [n, `${n}×${n}`]), first: data.tables[0].n },
      measure: {
        label: "measure",
        values: Object.entries(CACHE_MEASURES).map(([name, { label }]) => [name, label]),
        first: "share",
      },
      cache: { values: plain(data.caches), first: shown.cache },
      raster: { values: plain(data.rasters), first: shown.raster },
      layout: { values: plain(data.layouts), first: shown.layout },
      flight: { values: plain(data.inFlight), first: shown.flight },
    }, address, () => this.draw());
    this.sentence = element("p", { class: "cache-sentence", "aria-live": "polite" });
    this.chart = new Chart((svg, width) => this.#curve(svg, width));
    this.caption = root.querySelector(".cache-caption");
    const map = root.querySelector(".cache-map");
    this.cells = this.#cells(map);
    map.before(this.choices.element);
    root.querySelector(".cache-live").remove();
    map.after(this.sentence, this.chart.root);
    this.choices.follow();
  }

  // The cells of the heat map with the settings that they choose.
  #cells(map) {
    const { rasters, layouts, caches, inFlight } = this.data;
    const settings = rasters.flatMap((raster) => layouts.flatMap((layout) => caches.flatMap((cache) =>
      inFlight.map((flight) => ({ raster, layout, cache, flight })))));
    const cells = [...map.querySelectorAll("td")].map((cell, i) => {
      const setting = settings[i];
      const choose = () => this.choices.choose(setting);
      assign(cell, { role: "gridcell", click: choose,
        keydown: ({ key }) => key === "Enter" && choose() });
      return { cell, setting };
    });
    const table = map.querySelector("table");
    table.setAttribute("role", "grid");
    for (const row of table.rows) row.setAttribute("role", "row");
    rove(table, "td", caches.length * inFlight.length);
    return cells;
  }

  get setting() {
    const { choices } = this;
    const [raster, layout, cache] = ["raster", "layout", "cache"].map((name) => choices.get(name));
    return { raster, layout, cache, flight: Number(choices.get("flight")) };
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
    const { choices, setting } = this;
    const [name, method, block] = [choices.get("measure"), choices.get("method"), Number(choices.get("b"))];
    const ratio = (there) => this.value(name, there, method, block) / this.value(name, there, this.data.before, null);
    this.sentence.textContent = this.#sentence(name, method, block, ratio(setting));
    this.caption.textContent = `The ${CACHE_MEASURES[name].label}, as a multiple of ${peopleName(this.data.before)}: ` +
      `${peopleName(method)}, n = ${choices.get("n")}, b = ${block}. Choose a cell to see its curve.`;
    for (const { cell, setting: there } of this.cells) {
      const value = ratio(there);
      cell.textContent = cacheDigits(value);
      cell.className = value < 1 ? "better" : "worse";
      cell.style.setProperty("--much", Math.min(1, Math.abs(Math.log2(value)) / 2));
      cell.ariaSelected = Object.keys(there).every((key) => there[key] === setting[key]);
    }
    this.chart.redraw();
  }

  #sentence(name, method, block, ratio) {
    const { data, setting } = this;
    const { text, says } = CACHE_MEASURES[name];
    const of = (b) => this.value(name, setting, method, b);
    const least = data.blocks.reduce((a, b) => (of(b) < of(a) ? b : a));
    const words = ["more coherent, as the paper says", "as coherent", "less coherent"];
    const verdict = name === "share" ? `: ${words[1 + Math.sign(ratio - 1)]}.` : ".";
    return `${setting.cache}, ${setting.raster}, ${setting.layout}, ${setting.flight} in flight: at b = ${block}, ` +
      `${says(peopleName(method), text(of(block)))}, ${cacheDigits(ratio)} times those of ` +
      `${peopleName(data.before)}${verdict} Its least here is ${text(of(least))}, at b = ${least}.`;
  }

  // The lines over b: one in colour, the others grey, each with its name at its end.
  #curve(svg, width) {
    const { data, choices, setting } = this;
    const name = choices.get("measure");
    const { axis, text: worded } = CACHE_MEASURES[name];
    const [chosen, block] = [choices.get("method"), Number(choices.get("b"))];
    const lines = [data.before, ...data.blocked].map((method) => ({
      method,
      values: data.blocks.map((b) => this.value(name, setting, method, method === data.before ? null : b)),
    })).sort((a, b) => (a.method === chosen) - (b.method === chosen)); // the coloured one on top
    const narrow = width < 600;
    const named = Math.max(...lines.map(({ method }) => chartWidth(peopleName(method), true)));
    const [left, right, top, bottom, height] = [64, narrow ? 12 : named + 16, 50, 296, 340];
    const { at, ticks } = logAxis(lines.flatMap(({ values }) => values), bottom, top, 1.15);
    const step = (width - left - right - 12) / (data.blocks.length - 1);
    const x = (i) => left + 12 + i * step;
    const text = (px, py, words, more = {}) =>
      svg.append(drawn("text", { x: px, y: py, ...more }, words));
    text(0, 14, narrow ? axis.replace(/,? over .*| \(.*/, "") : axis);
    for (const tick of ticks) {
      svg.append(drawn("path", { class: "rule", d: `M${left},${at(tick)}H${width - right}` }));
      text(left - 8, at(tick) + 4, worded(tick), { class: "soft", "text-anchor": "end" });
    }
    data.blocks.forEach((b, i) => {
      const marked = b === block ? "mark" : "soft";
      text(x(i), bottom + 20, b, { class: marked, "text-anchor": "middle" });
      if (b === block) svg.append(drawn("path", { class: "mark", d: `M${x(i)},${top}V${bottom}` }));
    });
    text((left + width - right) / 2, height - 4, `b (the paper chooses ${data.block})`, {
      class: "soft", "text-anchor": "middle",
    });
    for (const { method, values } of lines) {
      const points = values.map((v, i) => [x(i).toFixed(1), at(v).toFixed(1)]);
      const kind = method === chosen ? "chosen" : "other";
      svg.append(drawn("polyline", { class: kind, points: points.join(" ") }));
      for (const [cx, cy] of points) {
        svg.append(drawn("circle", { class: kind, cx, cy, r: method === chosen ? 4 : 2.5 }));
      }
    }
    const drawnBoxes = lines.flatMap(({ values }) => values.slice(1).flatMap((value, i) =>
      Array.from({ length: 9 }, (_, n) => {
        const [px, py] = [x(i) + (step * n) / 8, at(values[i]) + ((at(value) - at(values[i])) * n) / 8];
        return [px - 3, py - 3, px + 3, py + 3];
      })));
    const ends = lines.toReversed().map(({ method, values }) => ({
      x: x(values.length - 1), y: at(values.at(-1)), name: peopleName(method), bold: method === chosen,
    }));
    nameEach(ends, width, drawnBoxes).forEach(({ place, leader }, i) => {
      text(place.x, place.y, ends[i].name, { class: ends[i].bold ? "chosen" : "soft" });
      svg.append(...leader);
    });
    // A click on a column chooses its b; the keyboard has the list.
    data.blocks.forEach((b, i) => svg.append(drawn("rect", {
      class: "hit", x: x(i) - step / 2, y: top, width: step, height: bottom - top,
      click: () => this.choices.choose({ b }),
    })));
    return { height, label: `${axis}, over b: ${this.sentence.textContent}` };
  }
}
