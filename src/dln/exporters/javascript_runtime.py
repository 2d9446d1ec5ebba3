"""The parts of a JavaScript module that are the same for every circuit."""

from __future__ import annotations

RUNTIME = """\
export const modelId = @id@;
export const inputs = [@inputs@
];
@tables@export const rules = [@rules@
];
export const parts = new Map([@parts@
]);

const ruleSlots = @slots@;
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

@readers@@wires@
/** Return 0 or 1 for every rule. */
function run(row) {
  const w = new Uint8Array(@n_slots@);
  const cells = [
@cells@
  ];
@run@
  return ruleSlots.map((slot) => w[slot]);
}

@functions@"""

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
