// Lists to choose from, numbers in words, and matrices that two sections share.

// A select with a label. choices: [value, text]; change(value) is called when another is chosen.
function labelledSelect(label, choices, change) {
  const select = element(
    "select",
    { change: () => change(select.value) },
    ...choices.map(([value, text]) => element("option", { value }, text)),
  );
  return { select, root: element("label", { class: "control" }, `${label} `, select) };
}

// Writes the state of a section into the address, once its reader has touched the section: a page
// that only plays keeps its address. Browsers refuse one that changes too often, as it would while
// a slider is dragged, so it is written a moment later. words(): the state by its words.
class AddressWriter {
  static LATER_MS = 200;

  constructor(address, root, words) {
    Object.assign(this, { address, words, touched: false, later: null });
    for (const event of ["click", "keydown", "input", "paste"]) {
      root.addEventListener(event, () => (this.touched = true), { capture: true, once: true });
    }
  }

  cancel() {
    clearTimeout(this.later);
  }

  soon() {
    this.cancel();
    if (this.touched) this.later = setTimeout(() => this.now(), AddressWriter.LATER_MS);
  }

  now() {
    this.cancel();
    this.address.set(this.words());
  }
}

// Numbers from 1, for people: "column 3", "columns 1 to 2 and 5 to 6".
function inWords(noun, numbers) {
  const runs = neighbours(numbers).map(([first, last]) =>
    first === last
      ? `${first + 1}`
      : `${first + 1} ${last === first + 1 ? "and" : "to"} ${last + 1}`,
  );
  return `${noun}${new Set(numbers).size > 1 ? "s" : ""} ${runs.join(" and ")}`;
}

// The matrices that the reader edits in Figure 2; other sections listen to "change".
const editedMatrices = new (class extends EventTarget {
  A = Matrices.of(PRODUCTS.matrices.A);
  B = Matrices.of(PRODUCTS.matrices.B);

  take({ A, B }) {
    Object.assign(this, { A, B });
    this.dispatchEvent(new Event("change"));
  }
})();
