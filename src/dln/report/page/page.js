/* The page: the form's row is predicted again at every change, test rows can be loaded into it. */
"use strict";

const find = (id) => document.getElementById(id);
const modelText = find("model").textContent;
const page = JSON.parse(find("page").textContent);
const circuit = new Circuit(JSON.parse(modelText), page.gates);
const picture = new Picture(find("picture"));

/** JSON has no infinities; the page gets them as text. */
function number(cell) {
  return cell === "inf" ? Infinity : cell === "-inf" ? -Infinity : cell;
}

function revive(features) {
  for (const feature of features) {
    if (feature.kind === "category") continue;
    for (const part of feature.atoms.flatMap((atom) => [atom, atom.fromBelow, atom.fromAbove])) {
      if (part && "cell" in part) part.cell = number(part.cell);
    }
  }
  return features;
}

const features = revive(page.features);
const controls = features.map((feature) => makeControl(feature, update));
find("form").append(...controls.map((control) => control.box));
find("form").addEventListener("submit", (event) => event.preventDefault());

/* -- one row ------------------------------------------------------------------------------- */

/** Put a row of cells, by column, into the form. */
function load(cells) {
  for (const control of controls) control.show(cells[control.feature.column]);
  update();
}

function currentRow() {
  const cells = circuit.model.columns.map(() => null);
  for (const control of controls) cells[control.feature.column] = control.cell;
  return cells;
}

function predict(cells) {
  const wires = circuit.wires(circuit.literals(cells));
  const votes = circuit.votes(wires);
  return { votes, winner: circuit.winner(votes), fired: circuit.fired(wires) };
}

function update() {
  const cells = currentRow();
  const outcome = predict(cells);
  find("prediction").textContent = page.classes[outcome.winner];
  showMargin(outcome);
  showVotes(outcome);
  showFired(outcome.fired);
  showChanges(nearestChanges(circuit, features, cells));
}

function showMargin({ votes, winner }) {
  const others = votes.filter((_, place) => place !== winner);
  const margin = others.length ? votes[winner] - Math.max(...others) : 0;
  const second = votes.findIndex((vote, place) => place !== winner && vote === Math.max(...others));
  const share = (100 * circuit.probabilities(votes)[winner]).toFixed(1);
  const lead = !others.length ? "the only class"
    : margin ? `${margin} vote${margin === 1 ? "" : "s"} ahead of ${page.classes[second]}`
    : `tied with ${page.classes[second]}; of those tied, the first class wins`;
  find("margin").textContent = `${lead}; probability ${share} %`;
}

function showVotes({ votes, winner }) {
  const least = Math.min(0, ...votes), most = Math.max(1, ...votes);
  const lines = votes.map((vote, place) => {
    const fill = element("i", {});
    fill.style.width = `${(100 * (vote - least)) / (most - least)}%`;
    return element(
      "div", { class: `vote c${place % 8}${place === winner ? " won" : ""}` },
      element("span", { title: page.classes[place] }, page.classes[place]),
      element("span", { class: "track" }, fill), element("span", { class: "num" }, String(vote)),
    );
  });
  find("votes").setAttribute("aria-label", votes.map((vote, i) => `${page.classes[i]}: ${vote}`).join(", "));
  find("votes").replaceChildren(...lines);
}

function votesText(votes) {
  const signed = (vote) => (vote > 0 ? `+${vote}` : String(vote));
  return votes.map((vote, place) => [vote, place]).filter(([vote]) => vote)
    .map(([vote, place]) => `${signed(vote)} ${page.classes[place]}`).join(", ");
}

function showFired(fired) {
  const lines = fired.map((isTrue, rule) => [isTrue, rule]).filter(([isTrue]) => isTrue).map(([, rule]) =>
    element("li", { "data-rule": String(rule) },
      `${votesText(circuit.model.rules[rule].votes)}: ${page.rules[rule]}`));
  find("fired").replaceChildren(...(lines.length ? lines : [element("li", {}, "none")]));
  for (const row of document.querySelectorAll("tr[data-rule]")) {
    row.classList.toggle("fired", fired[row.dataset.rule]);
  }
}

function showChanges(changes) {
  const lines = changes.slice(0, 5).map((change) => {
    const { feature, after, condition, winner } = change;
    const apply = element("button", { type: "button" }, "apply");
    const text = `${condition}, such as ${cellText(feature, after)}`;
    apply.setAttribute("aria-label", `apply ${text}`);
    apply.addEventListener("click", () => {
      controls.find((control) => control.feature === feature).choose(after);
    });
    const exact = feature.kind === "category" || feature.kind === "boolean" || after === null;
    return element("li", {}, `${exact ? condition : text} gives ${page.classes[winner]} `, apply);
  });
  const none = element("li", { class: "none" }, "No change of one feature changes the class.");
  find("changes").replaceChildren(...(lines.length ? lines : [none]));
}

/* -- test rows ----------------------------------------------------------------------------- */

const PAGE_ROWS = 20;
const testRows = page.test.rows.map((row) => {
  const cells = row.cells.map((cell, column) =>
    circuit.model.columns[column].kind === "category" ? cell : number(cell));
  return { ...row, cells, ...predict(cells) };
});
const filters = [["all rows", () => true], ["wrong predictions", (row) => row.winner !== row.target]]
  .concat(page.classes.map((label, place) => [`rows of class ${label}`, (row) => row.target === place]));
let place = 0, current = null;

function shownRows() {
  return testRows.filter(filters[Number(find("rows-filter").value)][1]);
}

function showRows() {
  const rows = shownRows();
  place = Math.max(0, Math.min(place, rows.length - 1));
  place -= place % PAGE_ROWS;
  const last = Math.min(place + PAGE_ROWS, rows.length);
  find("rows-table").tBodies[0].replaceChildren(...rows.slice(place, last).map(makeRow));
  find("rows-place").textContent = rows.length ? `${place + 1} to ${last} of ${rows.length}` : "none";
  find("rows-back").disabled = place === 0;
  find("rows-next").disabled = last >= rows.length;
}

function makeRow(row) {
  const wrong = row.winner !== row.target;
  const cells = features.map((feature) => {
    const text = cellText(feature, row.cells[feature.column]);
    return element("td", { title: text }, text);
  });
  const made = element(
    "tr", { tabindex: "0", "aria-current": String(row === current) },
    element("td", { class: "num" }, String(row.number)),
    element("td", {}, page.classes[row.target]),
    element("td", wrong ? { class: "wrong" } : {}, page.classes[row.winner] + (wrong ? " ✗" : "")),
    ...cells,
  );
  const choose = () => {
    current = row;
    for (const other of made.parentNode.children) other.setAttribute("aria-current", String(other === made));
    load(row.cells);
    find("try").scrollIntoView();
  };
  made.addEventListener("click", choose);
  made.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose();
    }
  });
  return made;
}

const { total, wrong } = page.test;
find("rows-note").textContent =
  `${total.toLocaleString("en")} rows, ${wrong.toLocaleString("en")} of them predicted wrongly; these come first.` +
  (testRows.length < total ? ` The first ${testRows.length.toLocaleString("en")} are in this file.` : "");
find("rows-filter").append(...filters.map(([text], number) => element("option", { value: String(number) }, text)));
find("rows-filter").addEventListener("change", () => { place = 0; showRows(); });
find("rows-back").addEventListener("click", () => { place -= PAGE_ROWS; showRows(); });
find("rows-next").addEventListener("click", () => { place += PAGE_ROWS; showRows(); });
find("rows-table").tHead.append(element("tr", {}, ...["row", "true class", "predicted"].map((text) => element("th", {}, text)),
  ...features.map((feature) => element("th", { title: feature.name }, feature.name))));

/* -- lights, zoom and download ------------------------------------------------------------- */

function rulesOf(target) {
  const part = target.closest?.("[data-rule], [data-rules]");
  if (!part) return null;
  return part.dataset.rules !== undefined ? part.dataset.rules.split(" ") : [part.dataset.rule];
}

for (const [start, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
  document.addEventListener(start, (event) => {
    const rules = rulesOf(event.target);
    if (rules) picture.light(rules);
  });
  document.addEventListener(end, (event) => { if (rulesOf(event.target)) picture.light(null); });
}
find("zoom-in").addEventListener("click", () => picture.zoom(1.4));
find("zoom-out").addEventListener("click", () => picture.zoom(1 / 1.4));
find("zoom-fit").addEventListener("click", () => picture.fit());
find("download").addEventListener("click", () => {
  const link = element("a", { download: "model.json" });
  link.href = URL.createObjectURL(new Blob([modelText], { type: "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
});

window.addEventListener("beforeprint", () => {
  picture.fit();
  for (const part of document.querySelectorAll("details")) part.open = true;
});

showRows();
load(testRows.length ? testRows[0].cells : circuit.model.columns.map(() => null));
