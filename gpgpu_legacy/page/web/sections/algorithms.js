// The other algorithms: one of them at a time, played as plans are.

class AlgorithmsView {
  constructor(root, data, address) {
    Object.assign(this, { address, algorithms: data.algorithms, shown: null, asked: 0 });
    this.select = element("select", { change: () => this.choose(this.select.value) },
      ...this.algorithms.map(({ name }) => element("option", { value: name }, peopleName(name))));
    this.about = element("p");
    this.stage = element("div");
    this.choices = element("div", { class: "choices" }, element("label", {}, "Algorithm ", this.select));
    this.more = element("details", {}, element("summary", {}, "More: its textures, the fragment behind a texel, the program and its counts"), this.stage);
    this.film = element("div", {});
    this.question = new Question({
      asks: "", hint: "After pass k (k + 1) / 2 runs of 2ᵏ numbers are sorted, every second one downwards: which run first reaches over its place, and begins at 0?",
      tell: (given) => this.tell(given), shown: () => this.played.transport.to(this.by),
    });
    screenOf(root, [this.choices, this.about, this.question.root], [this.film, this.more]);
  }

  // Asks when the smallest number of a sort comes to its place for good; the pictures of the film answer.
  ask({ frames, numbers }) {
    const least = Math.min(...numbers[0]);
    const first = numbers[0].indexOf(least);
    const right = numbers.findLastIndex((values) => values[0] !== least) + 1;
    this.by = frames[right];
    this.tell = (given) => [given === this.by,
      `After pass ${this.by} the first run has ${2 ** right} sorted numbers, and place ${first} is in it for the first time.`];
    const from = Math.max(0, Math.min(right - 2, frames.length - 4));
    this.question.again(`The smallest number begins at place ${first}. After which of these passes is it at place 0, to stay?`,
      frames.slice(from, from + 4).map((frame) => [frame, `pass ${frame}`]));
  }

  choose(name) {
    this.address.set({ "algorithms.name": name, "algorithms.pass": null, "algorithms.texel": null });
    return this.open(name, null, null, "");
  }

  // Shows what the address asks for.
  follow() {
    const asked = this.address.get("algorithms.name");
    const known = this.algorithms.some(({ name }) => name === asked);
    const first = this.algorithms[0].name;
    const fault = asked === null || known ? ""
      : `The address asks for the algorithm “${asked.slice(0, 24)}”, which is not here; ${first} is shown.`;
    const words = ["algorithms.pass", "algorithms.texel"].map((word) => this.address.get(word));
    return this.open(known ? asked : first, ...words, fault);
  }

  async open(name, pass, texel, fault) {
    this.asked += 1;
    const { asked } = this;
    if (this.shown !== name) {
      const algorithm = this.algorithms.find((each) => each.name === name);
      const played = await PlayedPlan.open(algorithm.played, algorithm.step, (to) => {
        this.address.set({ "algorithms.name": name, "algorithms.pass": to.pass, "algorithms.texel": to.texel });
      });
      if (asked !== this.asked) { // another has been chosen since
        played.release();
        return;
      }
      this.played?.release();
      Object.assign(this, { shown: name, played });
      this.select.value = name;
      this.about.replaceChildren(
        `${algorithm.says} `,
        element("span", { class: "soft" }, `${algorithm.summary[0].toUpperCase()}${algorithm.summary.slice(1)}: ${algorithm.source}. What was lacking: ${algorithm.lacked}.`));
      this.stage.replaceChildren(played.root);
      const film = new Film(played, algorithm);
      this.film.replaceChildren(
        element("div", { class: "film" }, element("div", {}, film.screen, film.legend), film.strip),
        played.transport.root, played.moment);
      this.question.root.hidden = !algorithm.sorts;
      if (algorithm.sorts) this.ask(film);
      if (pass === null) played.transport.playWhenSeen(film.screen);
    }
    const wrong = this.played.follow(pass, texel);
    say(this.choices, [fault, wrong].filter(Boolean).join(" "));
  }
}

sections.algorithms = async (root, data, address) => {
  const view = new AlgorithmsView(root, data, address);
  let first = null;
  address.follow(() => { first = view.follow(); });
  await first;
};
