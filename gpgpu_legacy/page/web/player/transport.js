// Play, pause, steps and a slider, the same wherever something is played.

const TRANSPORT_SPEEDS = [0.5, 1, 2, 4, 8, 16];

// Goes through the numbers from 0 to a last one, as from before the first pass to after the last.
// Space plays and pauses, the arrow keys step, Home and End go to the ends; so Tab passes by the buttons
// that do the same.
class Transport {
  // label: what the numbers count, as in "Pass". step: the milliseconds for each at speed 1.
  // go(at): called with the number to go to. words(at, last): what is said of a number.
  constructor({ label, step, go, words = (at, last) => `${at} of ${last}` }) {
    Object.assign(this, { label, step, go, words, at: 0, last: 0, timer: null });
    const button = (text, title, click) =>
      element("button", { title, "aria-label": title, tabindex: text === "Play" ? 0 : -1, click }, text);
    this.buttons = {
      first: button("|◀", "To the beginning", () => this.to(0)),
      before: button("◀◀", "The iteration before", () => this.to(this.stop(-1))),
      back: button("◀", "Back", () => this.to(this.at - 1)),
      play: button("Play", "Play", () => this.toggle()),
      next: button("▶", "Forward", () => this.to(this.at + 1)),
      after: button("▶▶", "The iteration after", () => this.to(this.stop(1))),
      end: button("▶|", "To the end", () => this.to(this.last)),
    };
    this.slider = element("input", {
      type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": label,
      input: () => this.to(Number(this.slider.value)),
    });
    this.speed = element("select", { "aria-label": `${label}: speed` },
      ...TRANSPORT_SPEEDS.map((speed) =>
        element("option", { value: speed, selected: speed === 1 }, `${speed}×`)),
      element("option", { value: "iteration" }, "by iterations"));
    this.said = element("span", { class: "transport-said", "aria-hidden": "true" });
    this.root = element("div", {
      class: "transport", role: "group", "aria-label": label, keydown: (event) => this.key(event),
    }, element("span", { class: "transport-buttons" }, ...Object.values(this.buttons)),
    this.slider, this.said, this.speed);
    this.shape(0);
  }

  // How many numbers there are beyond 0; it stops, and goes to none beyond the last. stops: those at
  // which iterations end, where iterations can be stepped.
  shape(last, stops = []) {
    this.pause();
    Object.assign(this, { last, stops });
    for (const name of ["before", "after"]) this.buttons[name].hidden = !stops.length;
    this.speed.querySelector("[value=iteration]").hidden = !stops.length;
    this.slider.max = last;
    this.show(Math.min(this.at, last));
  }

  // Where the next iteration ends, or the one before.
  stop(way) {
    const { at, last, stops } = this;
    return way > 0 ? stops.find((stop) => stop > at) ?? last : stops.findLast((stop) => stop < at) ?? 0;
  }

  // Shows a number, without calling `go`.
  show(at) {
    this.at = at;
    this.slider.value = at;
    const words = this.words(at, this.last);
    this.slider.setAttribute("aria-valuetext", `${this.label} ${words}`);
    this.said.textContent = words;
    const { first, before, back, next, after, end, play } = this.buttons;
    for (const button of [first, before, back]) button.setAttribute("aria-disabled", at === 0);
    for (const button of [next, after, end]) button.setAttribute("aria-disabled", at === this.last);
    play.setAttribute("aria-disabled", this.last === 0);
  }

  // Goes to a number, as its reader asks, and pauses.
  to(at) {
    this.pause();
    this.move(at);
  }

  move(at) {
    const reached = Math.max(0, Math.min(at, this.last));
    if (reached === this.at) return;
    this.show(reached);
    this.go(reached);
  }

  get playing() {
    return this.timer !== null;
  }

  // Plays to the end; from the beginning if it stands there.
  play() {
    if (this.playing || this.last === 0) return;
    if (this.at === this.last) this.move(0);
    this.wait();
    this.name("Pause");
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    this.name("Play");
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  // Plays once most of a picture is seen, and waits while it is out of sight or under the pointer.
  // It no longer does once the reader has touched it, nor where the reader wants reduced motion.
  playWhenSeen(picture) {
    if (calm()) return;
    let mine = true;
    const touched = () => { mine = false; };
    for (const event of ["pointerdown", "keydown"]) this.root.addEventListener(event, touched, { once: true });
    picture.addEventListener("pointerenter", ({ pointerType }) => { this.held = pointerType === "mouse"; });
    picture.addEventListener("pointerleave", () => { this.held = false; });
    new IntersectionObserver(([entry]) => {
      if (!entry.isIntersecting) this.pause();
      else if (mine && this.at < this.last) this.play();
    }, { threshold: 0.7 }).observe(picture);
  }

  // Milliseconds that a number is shown while it plays.
  get pace() {
    return this.step / (Number(this.speed.value) || 1);
  }

  wait() {
    this.timer = setTimeout(() => {
      const byIterations = this.speed.value === "iteration";
      if (!this.held) this.move(byIterations ? this.stop(1) : this.at + 1);
      if (!this.playing) return; // `go` has paused it
      if (this.at < this.last) this.wait();
      else this.pause();
    }, this.pace);
  }

  name(text) {
    const { play } = this.buttons;
    play.textContent = text;
    play.title = text;
    play.setAttribute("aria-label", text);
  }

  key(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.altKey || event.metaKey || target === this.speed) return;
    const steps = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.last,
      PageUp: this.stop(-1), PageDown: this.stop(1) };
    if (key === " " && target === this.slider) this.toggle();
    else if (key in steps) this.to(steps[key]);
    else return; // a button takes Space itself
    event.preventDefault();
  }
}

// The number that a text in the address stands for: `{at}`, or `{at, fault}` with a sentence.
// last: the last number that there is. noun: what it counts, as in "pass".
function transportPlace(text, last, noun) {
  if (text === null) return { at: 0 };
  const at = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
  if (at <= last) return { at };
  const shown = text.length > 24 ? `${text.slice(0, 24)}…` : text;
  return {
    at: 0,
    fault: `The address asks for ${noun} “${shown}”; there are 0 to ${last}, and 0 is shown.`,
  };
}
