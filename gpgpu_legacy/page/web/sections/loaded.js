// Would it have loaded? A chip, a program and its block: the limits as bars, and the verdict.

sections.loaded = (root, data, address) => {
  const live = root.querySelector(".loaded-live");
  root.querySelector(".loaded-all").open = false;
  const { cases } = data;
  const usual = data.chips[loadedUsual(cases.find(({ name }) => name === data.first))].name;
  const titled = (list) => list.map(({ name, title }) => [name, title]);
  const choices = new Choices("loaded", {
    program: { label: "Program", values: titled(cases), first: data.first },
    chip: { values: titled(data.chips), first: usual },
    block: { values: [...new Set(cases.flatMap(({ blocks }) => blocks))].map((b) => [b, b]), first: null },
  }, address, show);
  const slider = element("input", { type: "range", name: "block", min: 0, step: 1,
    input: () => choices.choose({ block: chosen().case.blocks[slider.value] }) });
  const block = element("output", { class: "loaded-block" });
  const chips = data.chips.map(({ name, title }) =>
    element("button", { click: () => choices.choose({ chip: name }) },
      element("span", { "aria-hidden": "true" }), ` ${title}`,
      element("span", { class: "loaded-words" })));
  const verdict = element("div", { class: "loaded-verdict" });
  const bars = element("div", { class: "loaded-bars" });
  const rest = element("div", {});
  choices.element.append(element("label", { class: "loaded-slider" }, "Block ", slider, " ", block));
  live.append(choices.element, element("div", { class: "loaded-body" }, loadedYears(data.chips, chips),
    element("div", {}, verdict, bars, rest)));
  rove(live.querySelector(".loaded-chips"), "button");

  // The case, the chip and the place of the block; none in the address is the first that does not load.
  function chosen() {
    const one = cases.find(({ name }) => name === choices.get("program"));
    const chip = data.chips.findIndex(({ name }) => name === choices.get("chip"));
    const asked = Number(choices.get("block"));
    const at = asked ? loadedNearest(one.blocks, asked) : Math.max(0, one.chips[chip].answers.indexOf("n"));
    return { case: one, chip, at };
  }

  function show() {
    const state = chosen();
    const { blocks } = state.case;
    slider.max = blocks.length - 1;
    slider.value = state.at;
    slider.disabled = blocks[0] === null;
    const words = blocks[0] === null ? "no block" : `b = ${blocks[state.at]}`;
    const answer = state.case.chips[state.chip].answers[state.at];
    slider.setAttribute("aria-valuetext", `${words}: ${data.answers[answer]}`);
    block.textContent = words;
    chips.forEach((button, index) => {
      const there = state.case.chips[index].answers[state.at];
      button.dataset.answer = there;
      button.firstChild.textContent = loadedMarks[there];
      button.lastChild.textContent = `: ${data.answers[there]}`;
      button.setAttribute("aria-pressed", index === state.chip);
    });
    const rows = loadedRows(data, state);
    verdict.replaceChildren(...loadedVerdict(data, state, rows));
    bars.replaceChildren(...rows.filter((row) => row.amount !== null).map(loadedBar));
    rest.replaceChildren(...loadedRest(data, state, rows));
  }

  choices.follow();
};

const loadedMarks = { y: "✓", k: "(✓)", n: "✗" };

// The chip to begin with: the first on which some blocks load and others do not.
function loadedUsual(one) {
  const both = ({ answers }) => answers.includes("n") && /[yk]/.test(answers);
  return Math.max(0, one.chips.findIndex(both));
}

function loadedNearest(blocks, wanted) {
  const distance = (block) => Math.abs(block - wanted) || 0;
  return blocks.reduce((best, block, index) => distance(block) < distance(blocks[best]) ? index : best, 0);
}

// The chips as buttons, in groups by their years; APIs are the last group.
function loadedYears(chips, buttons) {
  const groups = Map.groupBy(buttons, (button) => chips[buttons.indexOf(button)].year ?? "APIs and minima");
  return element("div", { class: "loaded-chips", role: "group", "aria-label": "Chips and APIs" },
    ...[...groups].map(([year, those]) => element("div",
      { class: "loaded-year" },
      element("b", {}, year), element("div", {}, ...those))));
}

// What is said of each limit: {limit, found, amount, advertised, native, where, advice}.
function loadedRows(data, { case: one, chip, at }) {
  const rows = [];
  for (const [limit, runs] of Object.entries(one.chips[chip].limits)) {
    const said = data.said[loadedAt(runs, at)];
    if (!said) continue;
    const found = (one.chips[chip].found[limit] ?? one.found[limit])[at];
    const numbers = String(found).split("–").map(Number);
    const amount = numbers.every(Number.isFinite) ? Math.max(...numbers) : null;
    rows.push({ limit: data.limits[limit], found, amount, ...said });
  }
  return rows;
}

// What a run of numbers has at an index.
function loadedAt(runs, at) {
  return runs.findLast(([from]) => from <= at)?.[1] ?? -1;
}

const loadedSides = (row) => [row.advertised, row.native].filter(Boolean);
const loadedIs = (row, outcome) => loadedSides(row).some((side) => side.outcome === outcome);

function loadedExcess(row) {
  const over = loadedSides(row).filter((side) => side.outcome === "exceeded");
  const numbers = over.map((side) => side.allowed).filter((value) => typeof value === "number");
  if (numbers.length) return `${row.limit} ${row.found} > ${Math.min(...numbers)}`;
  return `${row.limit} (${row.found}; allowed: ${over[0].allowed})`;
}

function loadedVerdict(data, { case: one, chip, at }, rows) {
  const on = one.chips[chip];
  const { title } = data.chips[chip];
  const over = rows.filter((row) => loadedIs(row, "exceeded"));
  const b = one.blocks[at] === null ? "" : ` with b = ${one.blocks[at]}`;
  const reasons = over.length ? `: ${over.map(loadedExcess).join(", ")}` : "";
  const lines = [element("p", {}, `${peopleName(one.method)}${b} on ${title}: `,
    element("strong", { class: `loaded-${on.answers[at]}` }, data.answers[on.answers[at]]), `${reasons}.`)];
  for (const row of over) {
    const said = [row.where && `first exceeded by ${row.where}`, row.advice].filter(Boolean);
    if (said.length) {
      lines.push(element("p", { class: "note" }, `${row.limit}: ${said.join("; ")}.`));
    }
  }
  const unknown = rows.filter((row) => loadedIs(row, "unknown")).map((row) => row.limit);
  if (unknown.length) {
    lines.push(element("p", { class: "note" }, `Not known for certain: ${unknown.join(", ")}.`));
  }
  return lines;
}

// A limit that fills up: what is found over what is allowed, by the tighter side.
function loadedBar(row) {
  const known = loadedSides(row).filter((side) => typeof side.allowed === "number");
  known.sort((one, other) => one.allowed - other.allowed);
  const least = known.length ? known[0].allowed : null;
  const unlimited = loadedSides(row).some((side) => side.allowed === "unlimited");
  const over = loadedIs(row, "exceeded");
  const share = least === null ? 0 : Math.min(1, row.amount / least);
  const more = known[0]?.at_least ? "at least " : "";
  const most = least !== null ? `of ${more}${least}` : unlimited ? "no limit" : "limit not known";
  const sources = loadedSides(row).map((side) => side.source).filter(Boolean);
  return element("div", { class: "loaded-row", title: [...new Set(sources)].join(", ") },
    element("span", {}, row.limit),
    element("span", { class: `loaded-track${least === null ? " loaded-open" : ""}` },
      element("span", { class: over ? "loaded-over" : "", style: `width: ${100 * share}%` })),
    element("span", { class: over ? "no" : "" }, `${row.found}${least === null ? "," : ""} ${most}`));
}

// What bars do not show: limits in words, and where the numbers are from.
function loadedRest(data, { case: one, chip, at }, rows) {
  const parts = [];
  const said = rows.filter((row) => row.amount === null);
  parts.push(element("ul", { class: "note" }, ...said.map((row) => {
    const allowed = [...new Set(loadedSides(row).map((side) => side.allowed ?? "not known"))];
    return element("li", { class: loadedIs(row, "exceeded") ? "no" : "" },
      `${row.limit}: ${row.found}; allowed: ${allowed.join(", ")}`);
  })));
  const tags = new Set(rows.flatMap(loadedSides).map((side) => side.source).filter(Boolean));
  parts.push(element("details", {}, element("summary", {}, "Where these limits are from"),
    element("ul", { class: "note" }, ...data.chips[chip].notes.map((note) => element("li", {}, note)),
      ...[...tags].map((tag) => element("li", {}, data.sources[tag])))));
  parts.push(element("p", {}, element("code", {},
    `gpgpu-legacy fit ${one.method} --chip ${data.chips[chip].name}`)));
  return parts;
}
