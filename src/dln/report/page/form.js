/* The form: a row of values, predicted again at every change. */
"use strict";

const controls = features.map((feature) => makeControl(feature, update));
let loaded = null; // the test row in the form, if any
let edited = false;

/** Put a row of values, by column, into the form. */
function load(cells, row = null) {
  loaded = row;
  edited = false;
  for (const control of controls) control.show(cells[control.feature.column]);
  refresh();
}

/** A control has changed. */
function update() {
  edited = true;
  refresh();
}

function refresh() {
  const invalid = controls.filter((control) => control.problem);
  if (invalid.length) showNoOutcome(invalid);
  else {
    const cells = currentRow();
    showOutcome(cells, predict(cells));
  }
  const unusual = controls.filter((control) => control.message.classList.contains("warning"));
  find("caution").textContent = !unusual.length || invalid.length ? ""
    : `${counted(unusual.length, "value")} outside the test data: ${unusual.map((control) => control.feature.title).join(", ")}.`;
  showStatus();
}

function currentRow() {
  const cells = circuit.model.columns.map(() => null);
  for (const control of controls) cells[control.feature.column] = control.cell;
  return cells;
}

/** Say which row is in the form, and whether it was changed. */
function showStatus() {
  find("reset").disabled = !edited;
  if (!loaded) {
    find("status").replaceChildren(edited ? "Your own values." : `Typical values of the ${rowWord}s.`);
    return;
  }
  const name = `${rowWord[0].toUpperCase()}${rowWord.slice(1)} ${whole(loaded.number)} · `;
  find("status").replaceChildren(name, ...rowStatus(loaded, edited));
}

/** Typical values, where the file holds no rows. */
function typicalCells() {
  const cells = circuit.model.columns.map(() => null);
  for (const feature of features) cells[feature.column] = feature.start;
  return cells;
}

function reset() {
  load(loaded ? loaded.cells : typicalCells(), loaded);
}

function startForm() {
  find("form").append(...controls.map((control) => control.box));
  find("form").addEventListener("submit", (event) => event.preventDefault());
  find("reset").addEventListener("click", reset);
}
