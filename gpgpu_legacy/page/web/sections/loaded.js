// Would it have loaded? A chip, a program and its block: the limits as bars, and the verdict.

const LOADED_MARKS = { loads: "✓", "loads, as far as is known": "(✓)", "does not load": "✗" };

sections.loaded = (root, data, address) => {
  const { cases, chips } = data;
  root.querySelector(".loaded-all").open = false;
  const titled = (list) => list.map(({ name, title }) => [name, title]);
  const choices = new Choices("loaded", {
    program: { label: "Program", values: titled(cases), first: data.program },
    chip: { values: titled(chips), first: data.chip },
    block: { values: [...new Set(cases.flatMap(({ blocks }) => blocks))].map((b) => [b, b]), first: null },
  }, address, show);
  const slider = element("input", { type: "range", name: "block", min: 0, step: 1,
    input: () => choices.choose({ block: chosen().blocks[slider.value] }) });
  const block = element("output", { class: "loaded-block" });
  const buttons = chips.map(({ name }) => element("button", { click: () => choices.choose({ chip: name }) }));
  const shown = element("div", {});
  const years = Map.groupBy(buttons, (button) => chips[buttons.indexOf(button)].year);
  const list = element("div", { class: "loaded-chips", role: "group", "aria-label": "Chips and APIs" },
    ...[...years].map(([year, those]) => element("div", { class: "loaded-year" },
      element("b", {}, year), element("div", {}, ...those))));
  choices.element.append(element("label", { class: "loaded-slider" }, "Block ", slider, " ", block));
  root.querySelector(".loaded-live").append(choices.element, element("div", { class: "loaded-body" }, list, shown));
  rove(list, "button");

  // The case, its blocks, the chip's number, and the place of the block: by default the first that
  // does not load.
  function chosen() {
    const one = cases.find(({ name }) => name === choices.get("program"));
    const chip = chips.findIndex(({ name }) => name === choices.get("chip"));
    const [{ blocks }, asked] = [one, Number(choices.get("block"))];
    const far = (b) => Math.abs(b - asked);
    const at = asked && blocks[0]
      ? blocks.reduce((best, b, n) => (far(b) < far(blocks[best]) ? n : best), 0)
      : Math.max(0, one.told[chip].findIndex((n) => data.told[n].reasons));
    return { one, blocks, chip, at };
  }

  function show() {
    const { one, blocks, chip, at } = chosen();
    const told = (n) => data.told[one.told[n][at]];
    const { answer, reasons, uses } = told(chip);
    const { name, title, notes, most } = chips[chip];
    Object.assign(slider, { max: blocks.length - 1, value: at, disabled: blocks[0] === null });
    const words = slider.disabled ? "no block" : `b = ${blocks[at]}`;
    slider.setAttribute("aria-valuetext", `${words}: ${answer}`);
    block.textContent = words;
    buttons.forEach((button, n) => {
      button.setAttribute("aria-pressed", n === chip);
      button.dataset.answer = told(n).answer;
      button.replaceChildren(element("span", { "aria-hidden": "true" }, LOADED_MARKS[told(n).answer]), ` ${chips[n].title}`,
        element("span", { class: "loaded-words" }, `: ${told(n).answer}`));
    });
    const rows = data.limits.map((limit, n) => [limit, data.uses[uses][n]]).filter(([, use]) => use !== null)
      .map(([limit, use]) => [limit, use, String(use).split("–").map(Number), ...most[limit]]);
    const counted = ([, , numbers]) => numbers.every(Number.isFinite);
    shown.replaceChildren(
      element("p", { class: "loaded-verdict" }, `${peopleName(one.method)}${slider.disabled ? "" : ` with ${words}`} on ${title}: `,
        element("strong", { class: reasons ? "no" : "yes" }, answer), `${reasons && ": "}${reasons}.`),
      ...rows.filter(counted).map(([limit, use, numbers, least, allowed]) => {
        const over = least !== null && Math.min(...numbers) > least;
        const width = least === null ? 0 : Math.min(100, (100 * Math.max(...numbers)) / least);
        return element("div", { class: "loaded-row" }, element("span", {}, limit),
          element("span", { class: `loaded-track${least === null ? " loaded-open" : ""}` },
            element("span", { class: over ? "loaded-over" : "", style: `width: ${width}%` })),
          element("span", { class: over ? "no" : "" }, `${use} of ${allowed}`));
      }),
      element("ul", { class: "note" }, ...rows.filter((row) => !counted(row)).map(([limit, use, , , allowed]) =>
        element("li", {}, `${limit}: ${use}; allowed: ${allowed}`))),
      element("details", {}, element("summary", {}, "Where these limits are from"),
        element("ul", { class: "note" }, ...notes.map((note) => element("li", {}, note)))),
      element("p", {}, element("code", {}, `gpgpu-legacy fit ${one.method} --chip ${name}`)));
  }

  choices.follow();
};
