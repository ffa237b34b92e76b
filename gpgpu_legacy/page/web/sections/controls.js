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

// Rows or columns of places, from 1, for people: "column 3", "columns 1 to 2 and 5 to 6".
function inWords(noun, places) {
  const numbers = places.map((place) => place[noun]);
  const runs = neighbours(numbers).map(([first, last]) =>
    first === last
      ? `${first + 1}`
      : `${first + 1} ${last === first + 1 ? "and" : "to"} ${last + 1}`,
  );
  return `${noun}${new Set(numbers).size > 1 ? "s" : ""} ${runs.join(" and ")}`;
}

// The matrices that the reader edits, the same in all sections, which listen to "change".
const editedMatrices = new (class extends EventTarget {
  A = Matrices.of(PRODUCTS.matrices.A);
  B = Matrices.of(PRODUCTS.matrices.B);

  take({ A = this.A, B = this.B }) {
    Object.assign(this, { A, B });
    this.dispatchEvent(new Event("change"));
  }

  // Begins with the matrices now, and again when they have changed and an element is in sight.
  follow(root, reader) {
    let [stale, seen] = [false, false];
    const look = () => {
      if (!stale || !seen) return;
      stale = false;
      reader();
    };
    this.addEventListener("change", () => {
      stale = true;
      look();
    });
    new IntersectionObserver(([entry]) => {
      seen = entry.isIntersecting;
      look();
    }).observe(root);
    reader();
  }
})();

// The grid in which one of them is edited. say(sentence): tells what cannot be taken, or "".
function operandGrid(name, say) {
  const type = (row, column, text, done) => {
    const { value, fault } = readNumber(text);
    const matrix = editedMatrices[name];
    const at = row * matrix.columns + column;
    if (fault) {
      const begun =
        /^\s*[+-−]?\d*\.?\d*(e[+-]?\d*)?(\/\d*)?\s*$/i.test(text) && Math.abs(Number(text)) < 1e38;
      if (done || !begun) {
        say(
          `${fault[0].toUpperCase()}${fault.slice(1)}: ${name} keeps ` +
            `${float32Text(matrix.values[at])} in row ${row + 1}, column ${column + 1}.`,
        );
      }
      return false;
    }
    say("");
    if (!Object.is(matrix.values[at], value)) {
      const values = matrix.values.slice();
      values[at] = value;
      editedMatrices.take({ [name]: { ...matrix, values } });
    }
    return true;
  };
  const paste = (text) => {
    const { matrix, fault } = Matrices.read(text);
    say(fault ? `That was not pasted into ${name}: ${fault}. ${name} is as it was.` : "");
    if (fault) return;
    editedMatrices.take({ [name]: matrix });
  };
  return new ElementGrid(name, { type, paste });
}

// Shows A and B in their grids.
function paintOperands(grids, played) {
  const { A, B } = played.matrices;
  const white = played.white([...A.values, ...B.values]);
  for (const name of ["A", "B"]) {
    const { values } = played.matrices[name];
    grids[name].paint(values, white, (row, column) => {
      const value = values[row * SIDE + column];
      return played.ends && (value > 1 || value < 0);
    });
  }
  return white;
}
