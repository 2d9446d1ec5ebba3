/* The dial of a path: shows one of several models. The page is loaded again for each.
 *
 * The browser keeps the state of the page: the size, and the values of the form by column name. A
 * column that a small model does not read keeps its value for a larger one.
 */
"use strict";

const sizes = find("sizes") ? JSON.parse(find("sizes").textContent) : null;
const remembered = sizes && history.state?.sizes === sizes.id ? history.state : null;
const shownSize = remembered?.size ?? sizes?.start;

if (sizes) {
  const bodies = document.querySelectorAll("template.size");
  find("shown").append(bodies[shownSize].content.cloneNode(true));
  for (const body of bodies) body.remove();
}

const nameOf = ({ column }) => circuit.model.columns[column].name;

/** Put the values that the form had before the size changed over a row of values. */
function recall(cells) {
  const known = new Map(remembered?.values);
  for (const feature of features) {
    if (!known.has(nameOf(feature))) continue;
    const value = known.get(nameOf(feature));
    const code = feature.categories?.indexOf(value) ?? -1;
    cells[feature.column] = code < 0 ? value : code;
  }
  return cells;
}

/** The values of the form by column name, and those of columns that only other sizes read. */
function valuesToKeep() {
  const known = new Map(remembered?.values);
  for (const { feature, cell, problem } of controls) {
    if (problem) continue;
    const isCode = feature.categories && typeof cell === "number";
    known.set(nameOf(feature), isCode ? feature.categories[cell] : cell);
  }
  return [...known];
}

function showSize(size) {
  find("dial-text").textContent = sizes.texts[size];
  find("dial-size").setAttribute("aria-valuetext", sizes.texts[size]);
}

function startDial() {
  if (!sizes) return;
  if (remembered) load(recall(currentRow()));
  const slider = find("dial-size");
  slider.value = String(shownSize);
  showSize(shownSize);
  slider.addEventListener("input", () => showSize(Number(slider.value)));
  slider.addEventListener("change", () => {
    const size = Number(slider.value);
    if (size === shownSize) return;
    history.replaceState({ sizes: sizes.id, size, values: valuesToKeep() }, "");
    location.reload();
  });
  find("dial").addEventListener("submit", (event) => event.preventDefault());
}
