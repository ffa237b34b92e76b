// Lists to choose from, whose state is in the address, as in #cache.b=32.
class Choices {
  // lists: by name, {label, values: [[value, text], …], first}; without a label it is not shown.
  // changed: called once the address has been read, and after every change.
  constructor(id, lists, address, changed) {
    Object.assign(this, { id, lists, address, changed });
    this.chosen = {};
    this.selects = {};
    this.element = element("div", { class: "choices" });
    for (const [name, { label, values }] of Object.entries(lists).filter(([, list]) => list.label)) {
      const options = values.map(([value, text]) => element("option", { value }, text));
      const change = () => this.choose({ [name]: this.selects[name].value });
      const own = `${id}-${name}`;
      this.selects[name] = element("select", { id: own, change }, ...options);
      this.element.append(
        element("div", {}, element("label", { for: own }, label), this.selects[name]),
      );
    }
  }

  // Reads the address now, and whenever it changes.
  follow() {
    this.address.follow(() => this.#read());
  }

  // The value of a list, as text.
  get(name) {
    return this.chosen[name];
  }

  // The text of the value that is chosen.
  text(name) {
    return this.lists[name].values.find(([value]) => String(value) === this.chosen[name])[1];
  }

  // Chooses values by the names of their lists, and writes them into the address.
  choose(values) {
    this.address.set(
      Object.fromEntries(Object.entries(values).map(([name, v]) => [`${this.id}.${name}`, v])),
    );
    this.#read();
  }

  #read() {
    const complaints = [];
    for (const [name, { values, first }] of Object.entries(this.lists)) {
      const wanted = this.address.get(`${this.id}.${name}`);
      const known = values.map(([value]) => String(value));
      const taken = wanted === null || known.includes(wanted);
      this.chosen[name] = taken && wanted !== null ? wanted : String(first);
      if (name in this.selects) this.selects[name].value = this.chosen[name];
      if (taken) continue;
      const quoted = wanted.length > 40 ? `${wanted.slice(0, 40)}…` : wanted;
      complaints.push(
        `The address has ${this.id}.${name}=${quoted}, which is none of ${known.join(", ")}; ` +
          `shown is ${this.chosen[name]}.`,
      );
    }
    say(this.element, complaints.join(" "));
    this.changed();
  }
}
