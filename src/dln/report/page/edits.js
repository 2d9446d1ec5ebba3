/* Edits: rules that are switched off and cutoffs that are moved, and their list for a file. */
"use strict";

const switchedOff = new Set(); // rules, by their place
const moved = new Map(); // cutoffs: key -> { cutoff, to }, with `to` null while the input is invalid
const lockedRules = new Set(circuit.model.locked ?? []);
const keyOf = ({ column, above }) => `${column} ${above}`;
const cutoffs = findCutoffs();

/** The cutoffs of numbers and dates, each once: [{ column, above, kind, name, isLocked, nRules }]. */
function findCutoffs() {
  const found = new Map();
  const locked = cutoffsOf(lockedRules);
  for (const literal of circuit.model.literals) {
    const { kind, binary, name } = circuit.model.columns[literal.column];
    if (!("above" in literal) || kind === "boolean" || (binary && literal.above >= 0 && literal.above < 1)) continue;
    found.set(keyOf(literal), { ...literal, kind, name, isLocked: locked.has(keyOf(literal)), nRules: 0 });
  }
  circuit.model.rules.forEach((_, rule) => {
    for (const key of cutoffsOf([rule])) if (found.has(key)) found.get(key).nRules++;
  });
  return [...found.values()].sort((one, other) => one.column - other.column || one.above - other.above);
}

/** The keys of the cutoffs that some rules depend on. */
function cutoffsOf(rules) {
  const seen = new Uint8Array(circuit.nLiterals + circuit.gates.length);
  const stack = [...rules].map((rule) => circuit.model.rules[rule].wire);
  const keys = new Set();
  while (stack.length) {
    const wire = stack.pop();
    if (seen[wire]) continue;
    seen[wire] = 1;
    if (wire < circuit.nLiterals) {
      keys.add(keyOf(circuit.model.literals[wire]));
      continue;
    }
    const { table, a, b } = circuit.gates[wire - circuit.nLiterals];
    if (table[0] !== table[2] || table[1] !== table[3]) stack.push(a);
    if (table[0] !== table[1] || table[2] !== table[3]) stack.push(b);
  }
  return keys;
}

function editedCircuit() {
  const { model } = circuit;
  const literals = model.literals.map((literal) => {
    const to = "above" in literal ? moved.get(keyOf(literal))?.to ?? null : null;
    return to === null ? literal : { ...literal, above: to };
  });
  const rules = model.rules.filter((_, rule) => !switchedOff.has(rule));
  return new circuit.constructor({ ...model, literals, rules }, page.gates);
}

/** The edits in the order in which they can be applied; null if there is none. */
function listEdits() {
  const kept = circuit.model.rules.map((_, rule) => rule).filter((rule) => !switchedOff.has(rule));
  const used = cutoffsOf(kept);
  const edits = [...switchedOff].sort((one, other) => one - other)
    .map((rule) => ({ edit: "drop", rule: rule + 1, text: page.rules[rule].text }));
  let waiting = [...moved.values()].filter(({ cutoff }) => used.has(keyOf(cutoff)));
  while (waiting.length) {
    // A cutoff that another one moves to has to move away first.
    const next = waiting.find(({ cutoff, to }) => !waiting.some((other) =>
      other.cutoff !== cutoff && other.cutoff.column === cutoff.column && other.cutoff.above === to));
    if (!next) return null;
    waiting = waiting.filter((other) => other !== next);
    const { cutoff, to } = next;
    edits.push({ edit: "cutoff", column: cutoff.name, from: exportedCutoff(cutoff, cutoff.above), to: exportedCutoff(cutoff, to) });
  }
  return edits;
}

const exportedCutoff = (cutoff, value) => (cutoff.kind === "date" ? `${value} s since 1970` : value);

function downloadEdits() {
  const about = { who: find("edit-who").value.trim(), when: new Date().toISOString().slice(0, 19) + "Z", why: find("edit-why").value.trim() };
  const given = Object.fromEntries(Object.entries(about).filter(([, text]) => text));
  const edits = listEdits().map((edit) => ({ ...edit, ...given }));
  download("edits.json", JSON.stringify({ format: "dln-edits", version: 1, model: page.id, edits }, null, 2) + "\n");
}

/** The mean over the rows of the test; rows of a sample count as often as the rows they stand for. */
function meanOverRows(values) {
  const weights = page.test.weights ?? testRows.map(() => 1);
  return sum(values.map((value, place) => value * weights[place])) / sum(weights);
}
