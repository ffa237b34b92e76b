// Screen 5: a program of b steps; its passes, instructions and bytes, and its lines.

sections.programs = (root, data) => new Programs(root, data);

class Programs {
  constructor(root, { size, single, listing, oldest }) {
    Object.assign(this, { rows: single, listing, oldest, at: 0 });
    this.bars = new Bars();
    this.slider = element("input", {
      type: "range", min: 0, max: single.length - 1, step: 1, value: 0, "aria-label": "Steps in a pass, b",
      input: () => { this.at = Number(this.slider.value); this.#show(); },
    });
    this.named = element("output");
    this.text = element("pre", { class: "listing", tabindex: 0, role: "region", "aria-label": "The program of b steps" });
    this.length = element("p", { class: "says" });
    const four = single.findIndex(({ block }) => block === 4);
    this.question = new Question({
      asks: `Two ${size} × ${size} matrices take ${single[0].passes} passes at b = 1. How many at b = 4?`,
      typed: true,
      tell: (given) => [given === single[four].passes,
        `${single[four].passes}: a pass does 4 of the ${size} steps, and ${size} / 4 = ${single[four].passes}. Now move the slider.`],
      shown: () => { this.at = four; this.#show(); },
    });
    this.bars.root.classList.add("asked");
    screenOf(root, [this.question.root, this.length], [
      element("label", { class: "slide" }, "b ", this.slider, this.named), this.bars.root, this.text]);
    this.#show();
  }

  #show() {
    const { rows, at, oldest, listing } = this;
    const { block, passes, arithmetic, lookup } = rows[at];
    this.slider.value = at;
    this.slider.setAttribute("aria-valuetext", `b = ${block}`);
    this.named.textContent = `b = ${block}`;
    const most = (name) => Math.max(oldest[name], ...rows.map((row) => row[name]));
    const bytes = "bytes requested", mostBytes = most(bytes);
    this.bars.show([
      ["passes", passes, most("passes")], ["arithmetic", arithmetic, most("arithmetic")], ["lookup", lookup, most("lookup")],
      [bytes, rows[at][bytes], mostBytes], [`${bytes} in 2001`, oldest[bytes], mostBytes],
      ["copy bytes", rows[at]["copy bytes"], mostBytes],
    ]);
    const { head, step, tail } = listing;
    const part = (lines, kind) => element("span", { class: kind }, `${lines.join("\n")}\n`);
    this.text.replaceChildren(part(head, ""),
      ...Array.from({ length: block }, () => part(step, "step")), part(tail, ""));
    this.length.textContent = `At b = ${block} the program has ${head.length + step.length * block + tail.length} lines: ` +
      `${step.length} for each step, and ${head.length + tail.length} others. ` +
      "What limits b is the length of a program that a card loads.";
  }
}
