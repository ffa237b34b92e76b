// What all scripts of the page share: elements, sentences in place, and the state in the address.

// What makes sections move: by id, a function of the section's element, its data and the address.
const sections = {};

// An element with attributes and children; an attribute that is a function listens to an event.
// A button submits nothing.
const element = (tag, attributes, ...children) =>
  assign(document.createElement(tag), { type: tag === "button" && tag, ...attributes }, ...children);

// An element of SVG, made as `element` makes one of HTML.
const drawn = (tag, ...rest) =>
  assign(document.createElementNS("http://www.w3.org/2000/svg", tag), ...rest);

function assign(made, attributes = {}, ...children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Says a sentence in place: in the element's line for it, which screen readers announce.
// An empty sentence removes the one before.
function say(root, sentence, kind = "said") {
  let line = root.querySelector(`:scope > .${kind}`);
  if (!line) {
    line = element("p", { class: kind, role: "status" });
    root.append(line);
  }
  line.textContent = sentence;
}

// Makes many elements one stop of Tab: arrow keys go to the next, up and down by rows of `across`.
// Returns a function to call when other elements are seen.
function rove(root, selector, across = 1) {
  const all = () => [...root.querySelectorAll(selector)];
  const seen = (item) => item.checkVisibility();
  let [stop] = all();
  for (const item of all()) item.tabIndex = -1;
  const enter = (item) => {
    stop.tabIndex = -1;
    stop = item;
    stop.tabIndex = 0;
  };
  root.addEventListener("focusin", ({ target }) => target.matches(selector) && enter(target));
  root.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (!step || !event.target.matches(selector)) return;
    event.preventDefault();
    const items = all().filter(seen);
    items[items.indexOf(event.target) + step]?.focus();
  });
  const again = () => enter(seen(stop) ? stop : all().find(seen) ?? stop);
  again();
  return again;
}

// Shows an element and the part of the page that it is in, or the first part.
function showElement(id, scroll = true) {
  const target = document.getElementById(id);
  const parts = [...document.querySelectorAll(".part")];
  const shown = parts.find((part) => part.contains(target)) ?? parts[0];
  for (const part of parts) part.hidden = part !== shown;
  const first = shown.querySelector("section");
  for (const section of document.querySelectorAll("section")) {
    section.classList.toggle("on-stage", section === (target?.closest("section") ?? first));
  }
  for (const link of document.querySelectorAll(".parts a")) {
    link.setAttribute("aria-current", link.hash === `#${shown.id}`);
  }
  if (!scroll) return;
  if (target === shown) scrollTo(0, 0);
  else target?.scrollIntoView();
}

// The state of the page in the part of the address behind #, so that a moment can be sent:
// words with values, as in #figure-2.pass=3. Values are text, which their readers interpret.
class Address {
  constructor() {
    this.readers = [];
    this.values = Address.read();
    addEventListener("hashchange", () => {
      if (!location.hash.includes("=")) { // a link to a section or a part
        showElement(location.hash.slice(1));
        return;
      }
      const values = Address.read();
      const parts = new Set([...values.keys()].map(Address.part));
      for (const [word, value] of this.values) {
        if (!parts.has(Address.part(word))) values.set(word, value);
      }
      if (Address.written(values) !== Address.written(this.values)) {
        this.values = values;
        this.set({});
        for (const reader of this.readers) reader();
      }
      this.arrive();
    });
  }

  // The section of a word. A link sets the state of its own sections and leaves the others alone.
  static part(word) {
    return word.split(".")[0];
  }

  // Shows the section of the first word; without words, the first part.
  arrive(scroll = true) {
    const [word] = this.values.keys();
    showElement(word ? Address.part(word) : location.hash.slice(1), scroll);
  }

  static read() {
    return new Map(new URLSearchParams(location.hash.slice(1)));
  }

  static written(values) {
    return [...values].map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  }

  // The value of a word, or null.
  get(key) {
    return this.values.get(key) ?? null;
  }

  // Gives words values, all at once, and puts them first, so that a link shows their section.
  // A value of null removes the word.
  set(values) {
    const given = Object.entries(values);
    for (const [key] of given) this.values.delete(key);
    this.values = new Map([...given.filter(([, value]) => value !== null).map(([key, value]) => [key, String(value)]), ...this.values]);
    const text = Address.written(this.values);
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }

  // Calls a reader now, and again when the reader of the page changes the address.
  follow(reader) {
    this.readers.push(reader);
    reader();
  }
}

// Kept, since a browser takes long to make one.
const GROUPS = new Intl.NumberFormat("en", { maximumSignificantDigits: 21 });

// A number with its digits in groups of three, as the tables have it.
function grouped(number) {
  return GROUPS.format(number).replaceAll(",", "\u202f");
}

// A number to three digits, or to all before the point.
const threeDigits = (value) => (value >= 1000 ? Math.round(value) : Number(value.toPrecision(3)));

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
