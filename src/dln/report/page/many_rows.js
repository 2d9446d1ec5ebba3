/* A circuit on many rows at once: a word of a wire holds the bits of 32 rows. */
"use strict";

class ManyRows {
  /** Take a list of cells by column number for each row. */
  constructor(rows) {
    this.rows = rows;
    this.known = new WeakMap(); // the bits of a literal are computed once
  }

  /** In which rows a literal is true. */
  literal(literal) {
    if (!this.known.has(literal)) {
      const bits = new Int32Array(Math.ceil(this.rows.length / 32));
      this.rows.forEach((cells, row) => {
        if (isTrue(literal, cells[literal.column])) bits[row >> 5] |= 1 << (row & 31);
      });
      this.known.set(literal, bits);
    }
    return this.known.get(literal);
  }

  /** In which rows each wire is true: literals first, then gates. */
  wires({ model, gates }) {
    const wires = model.literals.map((literal) => this.literal(literal));
    for (const { table, a, b } of gates) wires.push(gateBits(table, wires[a], wires[b]));
    return wires;
  }

  /** The votes of each row. */
  votes(circuit) {
    const wires = this.wires(circuit);
    const totals = circuit.base.map((start) => new Float64Array(this.rows.length).fill(start));
    circuit.model.rules.forEach(({ wire }, rule) => circuit.weights[rule].forEach((weight, output) => {
      if (weight) addWhere(wires[wire], weight, totals[output]);
    }));
    return this.rows.map((_, row) => totals.map((total) => total[row]));
  }
}

function gateBits(table, a, b) {
  const [neither, second, first, both] = table.map((bit) => -bit); // all bits of a word, or none
  return a.map((one, place) => {
    const other = b[place];
    return (neither & ~one & ~other) | (second & ~one & other) | (first & one & ~other) | (both & one & other);
  });
}

function addWhere(bits, amount, totals) {
  for (let row = 0; row < totals.length; row++) if ((bits[row >> 5] >> (row & 31)) & 1) totals[row] += amount;
}
