/* Test rows with a number: their lists, and what is actual and predicted. */
"use strict";

const ROW_HEADS = ["actual", "predicted", "error"];
const errorOf = (row) => circuit.answer(row.votes[0]) - row.target;

function rowLists() {
  const byError = [...testRows].sort((one, other) => Math.abs(errorOf(other)) - Math.abs(errorOf(one)));
  return [
    { name: `all ${rowWord}s`, word: "row", rows: testRows },
    { name: "largest errors first", word: "row", rows: byError },
    { name: "largest prediction first", word: "row", rows: [...testRows].sort((one, other) => other.votes[0] - one.votes[0]) },
  ];
}

function rowMarks(row) {
  const texts = [roughly(row.target, 6), numberText(circuit.answer(row.votes[0])), roughly(errorOf(row), 3)];
  return texts.map((text) => element("td", { class: "num" }, text));
}

function rowsNote() {
  const { total } = page.test, kept = testRows.length;
  return `${counted(total, rowWord)}.` +
    (kept < total ? ` This file holds ${whole(kept)} of them, with the largest errors and others chosen at random. All figures come from all rows.` : "");
}
