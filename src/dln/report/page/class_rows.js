/* Test rows of a classifier: their lists, and the marks of their classes. */
"use strict";

const ROW_HEADS = ["true class", "predicted"];
const isError = (row) => row.winner !== row.target;
const leadOverTruth = (row) => row.votes[row.winner] - row.votes[row.target];
const errors = testRows.filter(isError)
  .sort((one, other) => leadOverTruth(other) - leadOverTruth(one) || one.number - other.number);

function rowLists() {
  return [
    { name: `all ${rowWord}s`, word: "row", rows: testRows },
    { name: `errors only (${whole(errors.length)}), largest margin first`, word: "error", rows: errors },
    ...page.classes.map((label, place) => {
      const rows = testRows.filter((row) => row.target === place);
      return { name: `true class ${label} (${whole(rows.length)})`, word: "row", rows };
    }),
  ];
}

function rowMarks(row) {
  const badge = isError(row) ? element("b", { class: "badge" }, "error") : "";
  return [element("td", {}, classMark(row.target)), element("td", {}, classMark(row.winner), badge)];
}

function rowsNote() {
  const { total, wrong } = page.test, kept = testRows.length;
  return `${counted(total, rowWord)}, ${whole(wrong)} predicted wrongly.` +
    (kept < total ? ` This file holds ${whole(kept)} of them: ${whole(errors.length)} errors and ${whole(kept - errors.length)} others, chosen at random. All figures come from all rows.` : "");
}
