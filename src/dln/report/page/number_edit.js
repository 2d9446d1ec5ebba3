/* What edits of a number change: R², the mean absolute error, and the predictions. */
"use strict";

function editFigures(answers) {
  const errors = answers.map((answer, place) => answer - testRows[place].target);
  const { mae, mse, variance } = page.errors;
  const squared = estimate(mse, errors, (error) => error * error);
  return { r2: variance ? roughly(1 - squared / variance) : "–", mae: roughly(estimate(mae, errors, Math.abs)) };
}

/** The mean size of errors. A sample is corrected by what it gets wrong before the edits. */
function estimate(known, errors, size) {
  const found = meanOverRows(errors.map(size));
  if (!page.test.weights) return found;
  return Math.max(0, found + (known ?? NaN) - meanOverRows(testRows.map((row) => size(errorOf(row)))));
}

/** By how much predictions change: ", by −3.2 to +1". */
function changeNote(before, after) {
  const changes = after.map((answer, place) => answer - before[place]).filter(Boolean);
  if (!changes.length) return "";
  const ends = changes.reduce(([low, high], change) => [Math.min(low, change), Math.max(high, change)], [Infinity, -Infinity]);
  const [low, high] = ends.map((end) => `${end > 0 ? "+" : ""}${roughly(end)}`);
  return low === high ? `, by ${low}` : `, by ${low} to ${high}`;
}
