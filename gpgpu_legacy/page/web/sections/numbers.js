// Numbers of float32 as people read and write them, and matrices of them.

// The shortest digits that give the same float32 again.
function float32Text(value) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; digits < 10; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === value) return String(short).replace("e+", "e");
  }
  return String(value).replace("e+", "e");
}

// At most about five characters, for a cell.
function cellText(value) {
  if (!Number.isFinite(value) || value === 0) return float32Text(value + 0).replace("-", "−");
  const size = Math.abs(value);
  let text = float32Text(value);
  if (size >= 99999.5 || size < 0.0005) {
    text = value
      .toExponential(text.length > 5 && size < 1 ? 0 : 1)
      .replace("e+", "e")
      .replace(".0e", "e");
  } else if (text.replace("-", "").length > 5) {
    text = String(Number(value.toFixed(size < 10 ? 3 : size < 100 ? 2 : size < 1000 ? 1 : 0)));
  }
  return text.replace("-", "−");
}

// A text as its reader wrote it, in a sentence about it.
function quoted(text) {
  return `“${text.length > 24 ? `${text.slice(0, 24)}…` : text}”`;
}

const NUMERAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

// What is typed into a cell, as {value}, or as {fault}: what is wrong with it, in words.
// A fraction such as 3/8 is a number as well.
function readNumber(typed) {
  const text = typed.trim().replace("−", "-");
  const shown = quoted(text);
  const parts = text.split("/");
  if (!text) return { fault: "an empty cell is no number" };
  const good = parts.length <= 2 && parts.every((part) => NUMERAL.test(part.trim()));
  const value = Math.fround(parts.length === 2 ? parts[0] / parts[1] : Number(text));
  if (!good || Number.isNaN(value)) {
    const comma = /^[+-]?\d+,\d+$/.test(text) ? `; write ${text.replace(",", ".")}` : "";
    return { fault: `${shown} is no number that a matrix can hold${comma}` };
  }
  if (!Number.isFinite(value)) {
    return { fault: `${shown} is beyond the largest number of float32, about 3.4e38` };
  }
  return { value };
}

const SIDE = 4; // rows and columns of the lesson's matrices

// Matrices of the lesson, as the player takes them: {rows, columns, values}, row by row.
class Matrices {
  static made(value) {
    const values = Float32Array.from({ length: SIDE * SIDE }, (_, at) =>
      value(Math.floor(at / SIDE), at % SIDE),
    );
    return { rows: SIDE, columns: SIDE, values };
  }

  static of(rows) {
    return Matrices.made((row, column) => rows[row][column]);
  }

  static identity() {
    return Matrices.made((row, column) => (row === column ? 1 : 0));
  }

  // For the address: columns are parted by _ and rows by ~.
  static text({ values }) {
    return Array.from({ length: SIDE }, (_, row) =>
      Array.from(values.subarray(row * SIDE, (row + 1) * SIDE), float32Text).join("_"),
    ).join("~");
  }

  // The matrix of such a text, or of a pasted table, as {matrix}, or as {fault}.
  static read(text) {
    const lines = text.trim().split(/[~\n\r]+/);
    const table = lines.map((line) => line.split(/[_\s,;]+/).filter(Boolean));
    if (table.length !== SIDE || table.some((row) => row.length !== SIDE)) {
      return { fault: `${quoted(text)} is not ${SIDE} rows of ${SIDE} numbers` };
    }
    const numbers = table.map((row) => row.map(readNumber));
    const bad = numbers.flat().find((number) => number.fault);
    return bad
      ? { fault: bad.fault }
      : { matrix: Matrices.of(numbers.map((row) => row.map((n) => n.value))) };
  }

  // The product in double precision, row by row.
  static product(a, b) {
    return Float64Array.from({ length: SIDE * SIDE }, (_, at) => {
      const [row, column] = [Math.floor(at / SIDE), at % SIDE];
      let sum = 0;
      for (let k = 0; k < SIDE; k++) sum += a.values[row * SIDE + k] * b.values[k * SIDE + column];
      return sum;
    });
  }
}
