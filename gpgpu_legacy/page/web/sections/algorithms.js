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
    screenOf(root, [this.choices, this.about], [this.film, this.more]);
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
        `${algorithm.summary[0].toUpperCase()}${algorithm.summary.slice(1)}. `,
        element("span", { class: "soft" }, `${algorithm.source}. What was lacking: ${algorithm.lacked}.`));
      this.stage.replaceChildren(played.root);
      const film = new Film(played, algorithm);
      this.film.replaceChildren(
        element("div", { class: "film" }, element("div", {}, film.screen, film.legend), film.strip),
        played.transport.root, played.moment);
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
