"""The parts of a JavaScript module that are the same for every circuit."""

from __future__ import annotations

RUNTIME = """\
export const modelId = @id@;
export const inputs = [@inputs@
];
export const classes = [@classes@
];
export const rules = [@rules@
];
export const parts = new Map([@parts@
]);

const baseVotes = @base@;
const ruleSlots = @slots@;
const ruleVotes = [@votes@
];
@codes@
function cellOf(row, name) {
  if (!Object.hasOwn(row, name)) {
    throw new Error(`the model reads ${JSON.stringify(name)}, but the row has no such property`);
  }
  return row[name];
}

/** Refuse a value. Text is shown in quotes, because it may look like a number. */
function refuse(name, cell, expected) {
  const shown = typeof cell === "string" ? JSON.stringify(cell) : String(cell);
  throw new TypeError(`${JSON.stringify(name)} holds ${shown}, expected ${expected}; convert it`);
}

@readers@@functions@
/** Return 0 or 1 for every rule. */
function run(row) {
  const w = new Uint8Array(@n_slots@);
  const cells = [
@cells@
  ];
@run@
  return ruleSlots.map((slot) => w[slot]);
}

/** Return the class, the votes of each class and the numbers of the rules that fired. */
export function explain(row) {
  const fired = [];
  const votes = [...baseVotes];
  run(row).forEach((bit, rule) => {
    if (bit === 1) {
      fired.push(rule);
      ruleVotes[rule].forEach((vote, place) => {
        votes[place] += vote;
      });
    }
  });
  let winner = 0;
  votes.forEach((count, place) => {
    if (count > votes[winner]) winner = place;
  });
  return { class: classes[winner], votes, rules: fired };
}

/** Return the class with the most votes. A tie goes to the first class. */
export function predict(row) {
  return explain(row).class;
}

/** Return the votes of each class. */
export function votes(row) {
  return explain(row).votes;
}

@probabilities@"""

READERS = {
    "readCategory": """\
/** Return the code of a category: NaN if missing, -1 for an unknown category. */
function readCategory(row, name, codes) {
  let cell = cellOf(row, name);
  if (cell === null || cell === undefined || Number.isNaN(cell)) return NaN;
  if (typeof cell === "boolean") cell = Number(cell);
  if (typeof cell === "bigint") {
    const near = Number(cell);
    if (Number.isFinite(near) && BigInt(near) === cell) cell = near;
  }
  return codes.get(cell) ?? -1;
}

""",
    "readDate": """\
/** Return seconds since 1970. */
function readDate(row, name) {
  const cell = cellOf(row, name);
  if (cell instanceof Date) return cell.getTime() / 1000;
  if (cell === null || cell === undefined) return NaN;
  if (typeof cell !== "number") refuse(name, cell, "a Date");
  return cell;
}

""",
    "readNumber": """\
function readNumber(row, name) {
  const cell = cellOf(row, name);
  if (cell === null || cell === undefined) return NaN;
  if (!["number", "bigint", "boolean"].includes(typeof cell)) refuse(name, cell, "a number");
  return Number(cell);
}

""",
}
"""Functions that turn a value into a number or a code, for each kind of column."""

SOFTMAX = """\
const temperature = @temperature@;

/** Return the probability of each class: the softmax of votes / temperature. */
export function probabilities(row) {
  const counts = votes(row);
  const most = counts.reduce((a, b) => Math.max(a, b));
  const odds = counts.map((count) => Math.exp((count - most) / temperature));
  const total = odds.reduce((a, b) => a + b);
  return odds.map((odd) => odd / total);
}
"""
"""Probabilities of a circuit without a calibration."""

TABLE = """\
const leads = @leads@;
const values = [@values@
];

/** Return the probability of each class, looked up by vote leads. */
export function probabilities(row) {
  const counts = votes(row);
  if (counts.length === 2) {
    const second = lookUp(counts[1] - counts[0], values[0]);
    return [1 - second, second];
  }
  const weights = counts.map((count, place) => {
    const others = counts.reduce((a, b, k) => (k === place ? a : Math.max(a, b)), -Infinity);
    return lookUp(count - others, values[place % values.length]);
  });
  const total = weights.reduce((a, b) => a + b);
  return weights.map((weight) => weight / total);
}

/** Interpolate linearly between two leads of the table. */
function lookUp(lead, table) {
  if (lead < leads[0]) return table[0];
  for (let k = 1; k < leads.length; k += 1) {
    if (lead < leads[k]) {
      const step = table[k] - table[k - 1];
      return table[k - 1] + (step * (lead - leads[k - 1])) / (leads[k] - leads[k - 1]);
    }
  }
  return table[leads.length - 1];
}
"""
"""Probabilities of a calibrated circuit."""
