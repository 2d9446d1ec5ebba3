/* Edit mode: switch rules off and move cutoffs, see what changes on the rows, download the edits. */
"use strict";

const switchedOff = new Set(); // rules, by their place
const moved = new Map(); // cutoffs: key -> { cutoff, to }, with `to` null while the input is invalid
const lockedRules = new Set(circuit.model.locked ?? []);
const keyOf = ({ column, above }) => `${column} ${above}`;
const cutoffs = findCutoffs();
const rowWeights = weighRows();

/** The cutoffs of numbers and dates, each once: [{ column, above, feature }]. */
function findCutoffs() {
  const found = new Map();
  const fixedCutoffs = literalsOf(lockedRules);
  circuit.model.literals.forEach((literal, place) => {
    const { kind, binary, name } = circuit.model.columns[literal.column];
    if (!("above" in literal) || kind === "boolean" || (binary && literal.above >= 0 && literal.above < 1)) return;
    const cutoff = found.get(keyOf(literal)) ?? { ...literal, kind, name, isLocked: false };
    cutoff.isLocked ||= fixedCutoffs[place] === 1;
    found.set(keyOf(literal), cutoff);
  });
  return [...found.values()].sort((one, other) => one.column - other.column || one.above - other.above);
}

/** Which literals some rules depend on. */
function literalsOf(rules) {
  const seen = new Uint8Array(circuit.nLiterals + circuit.gates.length);
  const stack = [...rules].map((rule) => circuit.model.rules[rule].wire);
  while (stack.length) {
    const wire = stack.pop();
    if (seen[wire]) continue;
    seen[wire] = 1;
    if (wire < circuit.nLiterals) continue;
    const { table, a, b } = circuit.gates[wire - circuit.nLiterals];
    if (table[0] !== table[2] || table[1] !== table[3]) stack.push(a);
    if (table[0] !== table[1] || table[2] !== table[3]) stack.push(b);
  }
  return seen.subarray(0, circuit.nLiterals);
}

/** If the page holds a sample, wrong predictions are more frequent in it; weights undo that. */
function weighRows() {
  const wrong = testRows.filter((row) => row.winner !== row.target).length;
  const { total, wrong: allWrong } = page.test;
  const ofWrong = wrong ? allWrong / wrong : 0;
  const ofRight = wrong < testRows.length ? (total - allWrong) / (testRows.length - wrong) : 0;
  return testRows.map((row) => (row.winner === row.target ? ofRight : ofWrong));
}

function editedCircuit() {
  const { model } = circuit;
  const literals = model.literals.map((literal) => {
    const to = "above" in literal ? moved.get(keyOf(literal))?.to ?? null : null;
    return to === null ? literal : { ...literal, above: to };
  });
  return new Circuit({ ...model, literals, rules: model.rules.filter((_, rule) => !switchedOff.has(rule)) }, page.gates);
}

/** Accuracy, balanced accuracy and the share of rows that changed, for predicted classes. */
function measure(winners) {
  const right = page.classes.map(() => 0), all = page.classes.map(() => 0);
  let changed = 0;
  testRows.forEach((row, place) => {
    all[row.target] += rowWeights[place];
    if (winners[place] === row.target) right[row.target] += rowWeights[place];
    if (winners[place] !== row.winner) changed += rowWeights[place];
  });
  const recalls = right.map((count, label) => count / all[label]).filter((recall) => !Number.isNaN(recall));
  return { accuracy: sum(right) / sum(all), balanced: sum(recalls) / recalls.length, changed: changed / sum(all) };
}

function showEdits() {
  const edited = editedCircuit();
  const before = measure(testRows.map((row) => row.winner));
  const after = measure(testRows.map((row) => edited.classify(edited.literals(row.cells))));
  for (const name of ["accuracy", "balanced"]) {
    find(`edit-${name}`).textContent = percent(after[name]);
    find(`edit-${name}-before`).textContent = `${percent(before[name])} before`;
  }
  find("edit-changed").textContent = percent(after.changed);
  const problems = [...moved.values()].some(({ to }) => to === null);
  const edits = problems ? [] : listEdits();
  find("edit-count").textContent = problems ? "Correct the marked cutoff first."
    : edits === null ? "Two cutoffs of one column cannot be exchanged. Move one of them elsewhere."
    : edits.length ? counted(edits.length, "edit") : "No edits yet.";
  find("edit-download").disabled = !edits?.length;
  find("edit-reset").disabled = !switchedOff.size && !moved.size;
}

/** The edits in the order in which they can be applied; null if there is none. */
function listEdits() {
  const kept = circuit.model.rules.map((_, rule) => rule).filter((rule) => !switchedOff.has(rule));
  const used = literalsOf(kept);
  const isUsed = (cutoff) => circuit.model.literals.some((literal, place) => used[place] && keyOf(literal) === keyOf(cutoff));
  const edits = [...switchedOff].sort((one, other) => one - other)
    .map((rule) => ({ edit: "drop", rule: rule + 1, text: page.rules[rule].text }));
  let waiting = [...moved.values()].filter(({ cutoff }) => isUsed(cutoff));
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
const shownCutoff = (cutoff, value) => (cutoff.kind === "date" ? momentText(value) : String(value));

function readCutoff(cutoff, text) {
  const value = cutoff.kind === "date" ? momentSeconds(text) : text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) ? value : null;
}

function makeRuleSwitch(rule) {
  const box = element("input", { type: "checkbox", checked: !switchedOff.has(rule), disabled: lockedRules.has(rule) });
  box.addEventListener("change", () => {
    if (box.checked) switchedOff.delete(rule);
    else switchedOff.add(rule);
    item.classList.toggle("off", !box.checked);
    showEdits();
  });
  const lock = lockedRules.has(rule) ? [" ", element("small", {}, "locked")] : [];
  const item = element("li", {}, element("label", {}, box, element("span", { class: "chips" }, ...voteChips(votesOf(rule))),
    element("span", { class: "text" }, page.rules[rule].text, ...lock)));
  item.classList.toggle("off", switchedOff.has(rule));
  return item;
}

function makeCutoffInput(cutoff) {
  const name = `${cutoff.name || "(unnamed)"} > ${shownCutoff(cutoff, cutoff.above)}`;
  const input = element("input", {
    type: "text", inputMode: cutoff.kind === "date" ? "text" : "decimal", disabled: cutoff.isLocked, "aria-label": `New cutoff for ${name}`,
  });
  input.value = shownCutoff(cutoff, moved.get(keyOf(cutoff))?.to ?? cutoff.above);
  input.addEventListener("input", () => {
    const to = readCutoff(cutoff, input.value);
    if (to === cutoff.above) moved.delete(keyOf(cutoff));
    else moved.set(keyOf(cutoff), { cutoff, to });
    input.setAttribute("aria-invalid", String(to === null));
    showEdits();
  });
  const lock = cutoff.isLocked ? [" ", element("small", {}, "used by a locked rule")] : [];
  return element("li", {}, element("span", { class: "text" }, name, ...lock), element("span", {}, "move to ", input));
}

function showEditControls() {
  const rules = circuit.model.rules.map((_, rule) => rule);
  rules.sort((one, other) => strength(other) - strength(one) || one - other);
  find("edit-rules").replaceChildren(...rules.map(makeRuleSwitch));
  find("edit-cutoffs").replaceChildren(...cutoffs.map(makeCutoffInput));
}

function downloadEdits() {
  const about = { who: find("edit-who").value.trim(), when: new Date().toISOString().slice(0, 19) + "Z", why: find("edit-why").value.trim() };
  const given = Object.fromEntries(Object.entries(about).filter(([, text]) => text));
  const edits = listEdits().map((edit) => ({ ...edit, ...given }));
  download("edits.json", JSON.stringify({ format: "dln-edits", version: 1, model: page.id, edits }, null, 2) + "\n");
}

function startEdit() {
  if (!find("edit")) return; // the page holds no rows
  find("edit-rules-count").textContent = counted(circuit.model.rules.length, "rule");
  find("edit-cutoffs-count").textContent = counted(cutoffs.length, "cutoff");
  find("edit-sample").textContent = testRows.length < page.test.total
    ? `Figures are estimated from the ${whole(testRows.length)} ${rowWord}s in this page.` : "";
  find("edit-download").addEventListener("click", downloadEdits);
  find("edit-reset").addEventListener("click", () => {
    switchedOff.clear();
    moved.clear();
    showEditControls();
    showEdits();
  });
  showEditControls();
  showEdits();
}

startEdit();
