// Screen 11: a program of one's own, drawn at each key beside its target.

const WRITE_GREYS = { anchors: [[0, 0, 0], [255, 255, 255]], low: 0, high: 1, far: [], not_finite: [214, 40, 160] };
const WRITE_HIDDEN = 3; // other inputs, on which a program must be right, too

sections.write = (root, { tasks, cards, resources, scene, box: tables, version }, address) => {
  const [plan, reader, colours] = [new PlanOf(scene), new ProgramReader(tables), new TexelColours(WRITE_GREYS)];
  const { width, height } = plan.textures[0];
  const { program: name, targets, bindings } = plan.pass(0);
  let task, inputs, target, hidden;
  const choice = labelledSelect("Task", tasks.map(({ title }, n) => [n, title]), open);
  const card = labelledSelect("Card", cards.map(({ chip }, n) => [n, chip]), show);
  const box = element("textarea", {
    "aria-label": "Program", spellcheck: "false", input: show,
    placeholder: "TEX R0, fragment.texcoord[0], texture[0], RECT;\nMOV result.color, R0;",
  });
  const marks = element("pre", { "aria-hidden": "true" });
  const field = element("div", {}, element("div", { class: "editor" }, marks, box));
  const asks = element("p", { class: "asks" });
  const words = element("p", { class: "says", role: "status" });
  const bars = new Bars();
  const loads = element("p", { class: "note", role: "status" });
  const pictures = element("div", { class: "stripes" });

  const texels = (value) => Float32Array.from({ length: 4 * width * height }, (_, n) => value(n >> 2, n & 3));

  // What a program draws from textures, and how many fragments it discards.
  function drawn(program, given) {
    const run = new Interpreter(plan, {});
    const machine = new FragmentMachine(program);
    const runs = () => FragmentMachine.prototype.run.call(machine);
    let discarded = 0;
    machine.run = () => runs() || (discarded += 1, false);
    run.programs[name] = machine;
    given.forEach((data, n) => run.state[bindings[n].texture].data.set(data));
    run.seek(1);
    return { data: run.texture(targets[0]).data, discarded };
  }

  // NaN as the first number of each texel that differs in a channel that is compared.
  function wrong({ data }, { data: right }) {
    const differs = (n) => !Object.is(data[n] + 0, right[n] + 0); // -0 is 0
    return data.map((_, n) => (n % 4 === 0 && [0, 1, 2, 3].slice(0, task.channels).some((c) => differs(n + c)) ? NaN : 0));
  }

  const nans = (data) => data.filter((value, n) => n % 4 === 0 && Number.isNaN(value)).length;

  // Shows a task, whose target its solution draws.
  function open() {
    task = tasks[choice.select.value];
    asks.textContent = `${task.asks} Par: ${task.par} instruction${task.par > 1 ? "s" : ""}.`;
    const made = (of) => task.inputs.map((channels) => texels((n, c) => of(channels[c] ?? "0", n) / task.scale));
    const aimed = (given) => ({ given, target: drawn(reader.read(task.solution), given) });
    const levels = (digits) => [...digits].map((digit) => parseInt(digit, 16));
    ({ given: inputs, target } = aimed(made((digits, n) => parseInt(digits[n] ?? 0, 16))));
    hidden = Array.from({ length: WRITE_HIDDEN }, () =>
      aimed(made((digits) => Math.floor(Math.random() * (1 + Math.max(...levels(digits)))))));
    show();
  }

  function show() {
    const text = box.value;
    const program = reader.read(text);
    const { faults, instructions } = program;
    let from = 0;
    marks.replaceChildren(...faults.flatMap(({ at, end, message }) => {
      const before = text.slice(from, at);
      from = end;
      return [before, element("u", { "data-says": message }, text.slice(at, end) || " ")];
    }), `${text.slice(from)}\n`);
    box.setAttribute("aria-invalid", faults.length > 0);
    const [used, { chip, most }] = [resourcesOf(program), cards[card.select.value]];
    bars.show(resources.map((resource, n) => [resource, used[n], most[n] ?? Infinity, `${used[n]} of ${most[n] ?? "any number"}`]));
    const beyond = resources.filter((_, n) => most[n] !== null && used[n] > most[n]);
    loads.textContent = `The ${chip} ${beyond.length ? `does not load it: too many ${beyond.join(" and ")}` : "loads it"}.`;
    const mine = faults.length || !instructions.length ? null : drawn(program, inputs);
    const off = mine && wrong(mine, target);
    words.textContent = says(program, mine, off);
    const panels = [...inputs.map((data, n) => [`texture[${n}]`, data]), ["the target", target.data], ["yours", mine?.data], ["what differs", off]];
    pictures.replaceChildren(...panels.map(([title, data]) => {
      const canvas = element("canvas", { role: "img", "aria-label": title, width, height });
      if (data) colours.paint(canvas, { width, data }, task.channels > 1 && data !== off ? null : 0);
      return framed(title, canvas);
    }));
  }

  function says(program, mine, off) {
    const { faults, instructions: { length } } = program;
    if (faults.length) return faults[0].message + (faults.length > 1 ? ` (and ${faults.length - 1} more)` : "");
    if (!mine) return "The box is empty: write an instruction.";
    const notes = [[mine.discarded, "discarded"], [nans(mine.data), "NaN"]].filter(([n]) => n).map(([n, what]) => ` ${n} ${n > 1 ? "are" : "is"} ${what}.`);
    if (nans(off)) return `${nans(off)} of ${width * height} texels differ.${notes.join("")}`;
    if (hidden.some(({ given, target: right }) => nans(wrong(drawn(program, given), right)))) {
      return "Right on this picture, but not on others.";
    }
    const over = length - task.par;
    return `Right, bit for bit, on ${WRITE_HIDDEN} other pictures, too: ${length} instructions, ${over > 0 ? `${over} above par` : over ? "below par!" : "at par"}.`;
  }

  screenOf(root, [element("div", { class: "question" }, choice.root, asks)], [
    field, words, pictures, card.root, bars.root, loads, root.querySelector("details")]);
  open();
  keepControls(root, address, { "write.version": version });
  address.follow(() => {
    const of = address.get("write.version") ?? version;
    say(field, of === version ? "" : `This text is of version ${quoted(of)}, and the page of ${version}: it may mean something else here.`);
  });
};
