// Screen 10: a kernel of Brook, its program, and what its lines read.

sections.kernel = async (root, { played: given, lines, origins }, address) => {
  let [line, place] = [null, { x: 10, y: 12 }];
  const played = await PlayedPlan.open(given, 120, () => {});
  const { plan, player, transport } = played;
  const { instructions } = Object.values(plan.programs)[0];
  const lookups = (n) => instructions.filter(({ texture }, k) => texture && origins[k] === n).length;
  const four = lines.findIndex((_, n) => lookups(n) === 4);
  const picture = new TexelPicture("The drum", given.views.now, (x, y) => {
    place = { x, y };
    show();
  });
  const source = lines.map((text, n) => element("button", { click: () => choose(n), pointerenter: () => question.answered && choose(n) }, text));
  const code = instructions.map(({ text }) => element("code", {}, text.replace(/ *#.*/, "")));
  const words = element("p", { class: "says", role: "status" });
  const question = new Question({
    asks: "Which line costs four lookups? Click it.", hint: "Brackets look a stream up at a place of one’s own.",
    tell: (n) => [n === four, `It reads the four neighbours in ${lookups(four)} lookups. Point at the other lines.`],
    shown: () => choose(four),
  });

  function choose(n) {
    if (!question.answered) question.take(n);
    else {
      line = n;
      show();
    }
  }

  function show() {
    const { at } = transport;
    const k = Math.min(at, plan.passes - 1);
    const mine = (_, n) => line !== null && origins[n] === line;
    const { steps } = player.trace(k, place.x, place.y);
    const [name] = at ? plan.pass(at - 1).targets : ["now"];
    picture.chosen = place;
    picture.show(player.texture(name), steps.filter(mine).flatMap(({ lookup }) => (lookup ? [{ ...lookup, width: 1, height: 1, kind: "read" }] : [])));
    source.forEach((button, n) => button.classList.toggle("acts", n === line));
    code.forEach((each, n) => each.classList.toggle("acts", mine(each, n)));
    const count = instructions.filter(mine).length;
    if (line !== null) words.textContent = `This line: ${lookups(line)} of its ${count} instructions are lookups. Outlined: what they read for the marked fragment.`;
  }

  screenOf(root, [question.root, words], [element("div", { class: "kernel" },
    element("div", { role: "group", "aria-label": "The kernel" }, ...source),
    element("pre", {}, ...code), picture.root), transport.root]);
  rove(root, ".kernel > :first-child button");
  played.onshow = show;
  played.show(0);
  keepControls(root, address);
  transport.playWhenSeen(picture.root);
};
