/* Edit mode: controls for rules and cutoffs, and what edits change on the rows. */
"use strict";

const MOST_EDITABLE = 20; // more rules, or cutoffs, are listed on request
const openLists = new Set();
const answersAtFirst = testRows.map(({ votes }) => circuit.decide(votes));
const shownCutoff = (cutoff, value) => (cutoff.kind === "date" ? momentText(value) : String(value));

function showEdits() {
  const edited = editedCircuit();
  const answers = allCells.votes(edited).map((votes) => edited.decide(votes));
  const before = editFigures(answersAtFirst), after = editFigures(answers);
  for (const name of Object.keys(after)) {
    find(`edit-${name}`).textContent = after[name];
    find(`edit-${name}-before`).textContent = `${before[name]} before`;
  }
  find("edit-changed").textContent = percent(meanOverRows(answers.map((answer, place) => Number(answer !== answersAtFirst[place]))));
  find("edit-changed-by").textContent = changeNote(answersAtFirst, answers);
  showEditCount();
}

function showEditCount() {
  const problems = [...moved.values()].some(({ to }) => to === null);
  const edits = problems ? [] : listEdits();
  find("edit-count").textContent = problems ? "Correct the marked cutoff first."
    : edits === null ? "Two cutoffs of one column cannot be exchanged. Move one of them elsewhere."
    : edits.length ? counted(edits.length, "edit") : "No edits yet.";
  find("edit-download").disabled = !edits?.length;
  find("edit-reset").disabled = !switchedOff.size && !moved.size;
}

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
  const item = element("li", {}, element("label", {}, box, element("span", { class: "chips" }, ...ruleChips(rule)),
    element("span", { class: "text" }, page.rules[rule].text, ...lock)));
  item.classList.toggle("off", switchedOff.has(rule));
  return item;
}

function makeCutoffInput(cutoff) {
  const name = `${cutoff.name || "(unnamed)"} > ${shownCutoff(cutoff, cutoff.above)}`;
  const input = element("input", {
    type: "text", inputMode: cutoff.kind === "date" ? "text" : "decimal", disabled: cutoff.isLocked, "aria-label": `New cutoff for ${name}`,
  });
  const note = element("small");
  const uses = cutoff.isLocked ? ["used by a locked rule"] : cutoff.nRules > 1 ? [`in ${counted(cutoff.nRules, "rule")}`] : [];
  const show = () => {
    const move = moved.get(keyOf(cutoff));
    input.setAttribute("aria-invalid", String(move?.to === null));
    item.classList.toggle("moved", Boolean(move));
    note.textContent = [...(move ? [`was ${shownCutoff(cutoff, cutoff.above)}`] : []), ...uses].join(", ");
  };
  input.addEventListener("input", () => {
    const to = readCutoff(cutoff, input.value);
    if (to === cutoff.above) moved.delete(keyOf(cutoff));
    else moved.set(keyOf(cutoff), { cutoff, to });
    show();
    showEdits();
  });
  input.addEventListener("keydown", (event) => {
    const step = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const next = step && nextValue(cutoff, readCutoff(cutoff, input.value), step);
    if (next === undefined) return;
    event.preventDefault();
    input.value = shownCutoff(cutoff, next);
    input.dispatchEvent(new Event("input"));
  });
  const item = element("li", {}, element("span", { class: "text" }, `${cutoff.name || "(unnamed)"} >`), input, note);
  input.value = shownCutoff(cutoff, moved.get(keyOf(cutoff))?.to ?? cutoff.above);
  show();
  return item;
}

/** The next larger or smaller value of the rows: only there can a prediction change. */
function nextValue(cutoff, from, step) {
  const values = testRows.map((row) => row.cells[cutoff.column])
    .filter((value) => Number.isFinite(value) && from !== null && step * (value - from) > 0);
  return values.length ? values.reduce((one, other) => (step * (one - other) < 0 ? one : other)) : undefined;
}

/** Show some items of a list, and a button for the others. */
function fillList(id, items, make) {
  const isOpen = openLists.has(id) || items.length <= MOST_EDITABLE;
  const made = (isOpen ? items : items.slice(0, MOST_EDITABLE)).map(make);
  if (!isOpen) {
    const more = element("button", { type: "button" }, `Show all ${whole(items.length)}`);
    more.addEventListener("click", () => { openLists.add(id); showEditControls(); });
    made.push(element("li", { class: "more" }, more));
  }
  find(id).replaceChildren(...made);
  find(`${id}-count`).textContent = whole(items.length);
}

function showEditControls() {
  const which = find("edit-which").value;
  const isShown = { all: () => true, edited: (_, isEdited) => isEdited }[which] ?? ((columns) => columns.includes(Number(which)));
  const rules = circuit.model.rules.map((_, rule) => rule).filter((rule) => isShown(page.rules[rule].columns, switchedOff.has(rule)));
  rules.sort((one, other) => strength(other) - strength(one) || one - other);
  fillList("edit-rules", rules, makeRuleSwitch);
  const shown = cutoffs.filter((cutoff) => isShown([cutoff.column], moved.has(keyOf(cutoff))));
  if (which === "all") shown.sort((one, other) => other.nRules - one.nRules);
  fillList("edit-cutoffs", shown, makeCutoffInput);
}

function startEdit() {
  if (!find("edit")) return; // the page holds no rows
  find("edit-which").append(
    element("option", { value: "all" }, "all rules and cutoffs"), element("option", { value: "edited" }, "what is edited"),
    ...features.map(({ column, title }) => element("option", { value: String(column) }, title)));
  find("edit-which").addEventListener("change", () => { openLists.clear(); showEditControls(); });
  find("edit-sample").textContent = page.test.weights
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
