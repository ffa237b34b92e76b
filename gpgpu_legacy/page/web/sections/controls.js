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
