/* Walking through the test rows, and their table. Both show the same list of rows. */
"use strict";

const PAGE_ROWS = 20;
const lists = rowLists();
let list = lists[0];
let first = 0; // of the rows in the table

const placeInList = () => list.rows.indexOf(loaded);

/** Choose a list; both menus follow. Without the current row in it, go to its first row. */
function chooseList(chosen) {
  list = lists[chosen];
  for (const id of ["walk-list", "rows-list"]) find(id).value = String(chosen);
  first = 0;
  if (placeInList() < 0 && list.rows.length) load(list.rows[0].cells, list.rows[0]);
  showWalk();
}

function walk(step) {
  const place = placeInList();
  const next = list.rows[place < 0 ? 0 : place + step];
  if (next) goTo(next);
}

function goTo(row) {
  load(row.cells, row);
  showWalk();
}

function showWalk() {
  const place = placeInList();
  find("walk-back").disabled = place <= 0;
  find("walk-next").disabled = !list.rows.length || place === list.rows.length - 1;
  find("walk-place").textContent = place < 0 ? `no ${list.word}s`
    : `${list.word} ${whole(place + 1)} of ${whole(list.rows.length)}`;
  if (place >= 0) first = place - (place % PAGE_ROWS);
  showTable();
}

function showTable() {
  const last = Math.min(first + PAGE_ROWS, list.rows.length);
  find("rows-table").tBodies[0].replaceChildren(...list.rows.slice(first, last).map(makeRow));
  find("rows-place").textContent = list.rows.length
    ? `${whole(first + 1)} to ${whole(last)} of ${whole(list.rows.length)}` : "No rows.";
  find("rows-back").disabled = first === 0;
  find("rows-next").disabled = last >= list.rows.length;
}

function makeRow(row) {
  const choose = element("button", { type: "button", class: "link", "aria-label": `Load row ${row.number}` }, whole(row.number));
  const made = element(
    "tr", { "aria-current": String(row === loaded) },
    element("td", { class: "num" }, choose),
    ...rowMarks(row),
    ...features.map((feature) => {
      const text = cellText(feature, row.cells[feature.column]);
      const isNumber = feature.kind === "number" || feature.kind === "integer";
      return element("td", { title: text, class: isNumber ? "num" : "" }, text);
    }),
  );
  made.addEventListener("click", () => {
    goTo(row);
    find("try").scrollIntoView();
  });
  return made;
}

function turnPage(step) {
  first += step * PAGE_ROWS;
  showTable();
}

function startRows() {
  if (page.test.rows === null) return;
  find("rows-note").textContent = rowsNote();
  for (const id of ["walk-list", "rows-list"]) {
    find(id).append(...lists.map(({ name }, place) => element("option", { value: String(place) }, name)));
    find(id).addEventListener("change", (event) => chooseList(Number(event.target.value)));
  }
  find("walk-back").addEventListener("click", () => walk(-1));
  find("walk-next").addEventListener("click", () => walk(1));
  find("rows-back").addEventListener("click", () => turnPage(-1));
  find("rows-next").addEventListener("click", () => turnPage(1));
  const heads = ["row", ...ROW_HEADS, ...features.map((feature) => feature.title)];
  find("rows-table").tHead.append(element("tr", {}, ...heads.map((text, place) => {
    const kind = features[place - 1 - ROW_HEADS.length]?.kind;
    const isNumber = place === 0 || kind === "number" || kind === "integer";
    return element("th", { title: text, scope: "col", class: isNumber ? "num" : "" }, text);
  })));
  find("rows-table").style.setProperty("--columns", String(heads.length));
  if (testRows.length) goTo(testRows[page.test.start]);
}
