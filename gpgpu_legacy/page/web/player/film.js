// A plan as a film: the picture that the last pass wrote, with arcs to the texels that fragments looked
// up elsewhere, and a strip of pictures from its run.

const FILM_FRAMES = 12;
const FILM_ARCS = 20;
const FILM_DOTS = 160; // pixels of a picture of places

class Film {
  // played: a PlayedPlan, whose transport it takes. frames: the numbers of passes in the strip.
  // shows: the textures that it shows; none for all. places: whether texels are places, with x and y.
  constructor(played, { frames, shows, places }) {
    Object.assign(this, { played, plan: played.plan, shows, places });
    this.frames = frames ?? [...new Set(Array.from({ length: FILM_FRAMES }, (_, n) =>
      Math.round((this.plan.passes * n) / (FILM_FRAMES - 1))))];
    this.picture = element("canvas", { class: "film-picture", role: "img" });
    this.arcs = drawn("svg", { class: "film-arcs", "aria-hidden": "true" });
    this.strip = element("div", { class: "film-strip", role: "group", "aria-label": "Pictures of the run" });
    this.screen = element("div", { class: "film-screen" }, this.picture, this.arcs);
    const last = played.pictures[this.#name(this.plan.passes)];
    this.colours = last.colours; // of all its pictures: what it shows is one quantity
    this.legend = last.legend();
    this.legend.append("; row 0 at the bottom");
    this.legend.hidden = places || last.view.channels.length === 3;
    this.numbers = []; // of each picture of the strip
    this.thumbnails = this.#thumbnails();
    this.strip.append(...this.thumbnails);
    rove(this.strip, "button");
    played.onshow = (at) => this.show(at);
  }

  // The texture that shows the state after so many passes: of those shown, the one written last.
  #name(at) {
    for (let k = at - 1; k >= 0; k -= 1) {
      const [name] = this.plan.pass(k).targets;
      if (!this.shows.length || this.shows.includes(name)) return name;
    }
    return this.shows[0] ?? this.plan.pass(0).bindings?.[0]?.texture ?? this.plan.textures[0].name;
  }

  #paint(canvas, at) {
    const name = this.#name(at);
    const { channels } = this.played.pictures[name].view;
    if (this.places) this.#dots(canvas, this.played.player.texture(name));
    else this.colours.paint(canvas, this.played.player.texture(name), channels.length === 3 ? null : 0);
  }

  // A dot for each texel, at the place that it holds, between -1.5 and 1.5.
  #dots(canvas, { data }) {
    Object.assign(canvas, { width: FILM_DOTS, height: FILM_DOTS });
    const context = canvas.getContext("2d");
    context.fillRect(0, 0, FILM_DOTS, FILM_DOTS);
    context.fillStyle = "white";
    for (let n = 0; n < data.length; n += 4) {
      const [x, y] = [(1.5 + data[n]) / 3, (1.5 - data[n + 1]) / 3];
      context.fillRect(FILM_DOTS * x - 1, FILM_DOTS * y - 1, 3, 3);
    }
  }

  #thumbnails() {
    return this.frames.map((at) => {
      const canvas = element("canvas", {});
      this.played.player.seek(at);
      this.#paint(canvas, at);
      this.numbers.push(this.played.player.texture(this.#name(at)).data.filter((_, n) => n % 4 === 0));
      return element("button", {
        "aria-label": `After pass ${at}`, click: () => this.played.transport.to(at),
      }, canvas, element("span", { "aria-hidden": "true" }, at));
    });
  }

  // Arcs from some fragments: each to the one texel that it looked up away from its own place.
  #links(pass) {
    if (pass?.kind !== "draw" || pass.targets[0] !== this.#name(pass.number + 1)) return [];
    const { interpreter } = this.played.player;
    if (interpreter.at !== pass.number + 1) return [];
    interpreter.seek(pass.number);
    const { width, height, x: left, y: bottom } = pass.rect;
    const every = Math.max(1, Math.floor((width * height) / FILM_ARCS)) | 1;
    const links = [];
    for (let n = 0; n < width * height; n += every) {
      const [x, y] = [n % width, Math.floor(n / width)];
      const { steps } = interpreter.fragment(pass, interpreter.state, x, y);
      const away = steps.flatMap(({ lookup }) =>
        lookup && (lookup.x !== left + x || lookup.y !== bottom + y) ? [lookup] : []);
      if (away.length === 1) links.push([left + x, bottom + y, away[0].x, away[0].y]);
    }
    interpreter.seek(pass.number + 1);
    return links;
  }

  show(at) {
    this.#paint(this.picture, at);
    const { width, height } = this.picture;
    this.picture.setAttribute("aria-label", `${this.#name(at)} after pass ${at}: ${width} × ${height} texels`);
    this.arcs.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const up = (y) => height - y - 0.5;
    this.arcs.replaceChildren(...this.#links(at ? this.plan.pass(at - 1) : null).flatMap(([x1, y1, x2, y2]) => {
      const [ax, ay, bx, by] = [x1 + 0.5, up(y1), x2 + 0.5, up(y2)];
      const [mx, my] = [(ax + bx) / 2 - (by - ay) / 4, (ay + by) / 2 + (bx - ax) / 4];
      const d = `M${ax} ${ay}Q${mx} ${my} ${bx} ${by}`;
      return [drawn("path", { d, class: "halo" }), drawn("path", { d }),
        drawn("circle", { cx: ax, cy: ay, r: width / 90 })];
    }));
    const shown = this.frames.findLast((frame) => frame <= at);
    this.thumbnails.forEach((button, n) => button.setAttribute("aria-current", this.frames[n] === shown));
  }
}
