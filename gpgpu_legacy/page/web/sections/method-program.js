// The program of a method with an instruction marked, and the channels that meet in it.
class MethodProgram {
  // choose(part): called with the part of the state that the reader chooses.
  constructor(choose) {
    this.choose = choose;
    this.select = labelledSelect(
      "Program of",
      PRODUCTS.methods.map(({ name, title }) => [name, title]),
      (program) => choose({ program, instruction: null, texel: { x: 0, y: 0 } }),
    );
    this.transport = new Transport({
      label: "Instruction",
      step: METHODS_STEP_MS.product,
      go: (instruction) => choose({ instruction }),
      words: (at, last) => `${at + 1} of ${last + 1}`,
    });
    this.about = element("p", {});
    this.picture = element("div", {
      class: "methods-picture scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "Channels that meet",
    });
    this.lines = element("div", {
      class: "trace-scroll",
      tabindex: 0,
      role: "region",
      "aria-label": "The program",
    });
    this.root = element(
      "div",
      { class: "methods-program" },
      element("div", { class: "controls" }, this.select.root),
      this.about,
      this.transport.root,
      element("div", { class: "methods-both" }, this.lines, this.picture),
    );
  }

  show(played, { program, instruction, texel }) {
    this.select.select.value = program;
    this.layout = played.layouts.C;
    const k = played.last ?? played.draws[0];
    const { x, y } = played.nearest(texel);
    const { trace } = played.traces(k).find((each) => each.x === x && each.y === y);
    const decoded = played.plan.programs[played.passes[k].program];
    // Without a wish, the first arithmetic on two colours.
    const first = decoded.instructions.findIndex(({ op }) => op === "MAD" || op === "MUL");
    const at = Math.min(instruction ?? first, trace.steps.length - 1);
    const pass = played.draws.indexOf(k) + 1;
    this.about.textContent = `What it does in pass ${pass}, in the fragment at (${x}, ${y}):`;
    if (this.transport.last !== trace.steps.length - 1)
      this.transport.shape(trace.steps.length - 1);
    this.transport.show(at);
    this.lines.replaceChildren(
      traceList(trace, played.channels, {
        marked: at,
        choose: (line) => this.choose({ instruction: line }),
      }),
    );
    const marked = this.lines.querySelector("[aria-current]");
    this.lines.scrollTop = marked.parentElement.offsetTop - this.lines.clientHeight / 3;
    this.picture.replaceChildren(swizzlePicture(decoded, trace, at, this.layout));
  }
}
