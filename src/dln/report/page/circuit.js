/* A circuit as in its JSON file: values of a row -> literals -> gates -> votes -> class.
 *
 * A value of a numeric column is a number; a value of a category column is the index of its
 * category, or text if the category is unknown; null is missing. Tests follow Python: missing
 * values fail `above` and `among`, and the first class wins a tie.
 */
"use strict";

class Circuit {
  constructor(model, gateTables) {
    this.model = model;
    this.nLiterals = model.literals.length;
    this.gates = model.gates.map(([name, a, b]) => ({ table: gateTables[name], a, b }));
    this.base = model.base_votes ?? [model.offset]; // a number has points in place of votes
    this.weights = model.rules.map(({ votes, points }) => votes ?? [points]);
  }

  /** Which literals are true for a row of cells, by column number. */
  literals(cells) {
    return Uint8Array.from(this.model.literals, (literal) => isTrue(literal, cells[literal.column]));
  }

  /** The value of every wire: literals first, then gates. */
  wires(literals) {
    const wires = new Uint8Array(this.nLiterals + this.gates.length);
    wires.set(literals);
    let wire = this.nLiterals;
    for (const { table, a, b } of this.gates) wires[wire++] = table[2 * wires[a] + wires[b]];
    return wires;
  }

  /** Whether each rule fires. */
  fired(wires) {
    return this.model.rules.map((rule) => wires[rule.wire] === 1);
  }

  votes(wires) {
    const votes = [...this.base];
    this.model.rules.forEach(({ wire }, rule) => {
      if (wires[wire]) this.weights[rule].forEach((vote, number) => (votes[number] += vote));
    });
    return votes;
  }

  winner(votes) {
    return votes.indexOf(Math.max(...votes));
  }

  /** The answer to a row: the number of its class. */
  decide(votes) {
    return this.winner(votes);
  }

  /** The class of a row whose literals are known. */
  classify(literals) {
    return this.winner(this.votes(this.wires(literals)));
  }

  /** The probability of each class: looked up by vote leads, or the softmax of votes / temperature. */
  probabilities(votes) {
    const { calibration, temperature } = this.model;
    if (!calibration) {
      const most = Math.max(...votes);
      return shares(votes.map((vote) => Math.exp((vote - most) / temperature)));
    }
    if (votes.length === 2) {
      const second = lookUp(votes[1] - votes[0], calibration.leads, calibration.values[0]);
      return [1 - second, second];
    }
    return shares(votes.map((vote, number) => {
      const others = Math.max(...votes.filter((_, other) => other !== number));
      const { leads, values } = calibration;
      return lookUp(vote - others, leads, values[number % values.length]);
    }));
  }
}

/** Whether a literal is true for a cell of its column. */
function isTrue(literal, cell) {
  if (literal.missing) return cell === null;
  if (cell === null) return false;
  return literal.among ? literal.among.includes(cell) : cell > literal.above;
}

/** Divide weights by their sum. */
function shares(weights) {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

/** Interpolate linearly between two leads of a table. */
function lookUp(lead, leads, values) {
  if (lead < leads[0]) return values[0];
  const next = leads.findIndex((known) => lead < known);
  if (next < 0) return values[values.length - 1];
  const step = values[next] - values[next - 1];
  return values[next - 1] + (step * (lead - leads[next - 1])) / (leads[next] - leads[next - 1]);
}
