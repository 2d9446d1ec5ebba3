/* The model and the page's JSON object (content.py says what it holds), ready to use. */
"use strict";

const modelText = find("model").textContent;
const page = JSON.parse(find("page").textContent);
const model = JSON.parse(modelText);
const circuit = new (model.readout === "score" ? NumberCircuit : Circuit)(model, page.gates);
const features = revive(page.features);
const rowWord = page.test.word; // "test row", or "row" if the model was trained on some of them
const testRows = (page.test.rows ?? []).map(readRow);
const allCells = new ManyRows(testRows.map(({ cells }) => cells));
allCells.votes(circuit).forEach((votes, row) => Object.assign(testRows[row], { votes, winner: circuit.winner(votes) }));

/** JSON has no infinities; the page gets them as text. */
function number(cell) {
  return cell === "inf" ? Infinity : cell === "-inf" ? -Infinity : cell;
}

function revive(described) {
  for (const feature of described) {
    if (feature.kind === "category") continue;
    for (const part of feature.atoms.flatMap((atom) => [atom, atom.fromBelow, atom.fromAbove])) {
      if (part && "cell" in part) part.cell = number(part.cell);
    }
  }
  return described;
}

/** A row of the file: its number, true class and values by column. */
function readRow([rowNumber, target, ...values]) {
  const cells = circuit.model.columns.map(() => null);
  features.forEach((feature, place) => {
    cells[feature.column] = feature.kind === "category" ? values[place] : number(values[place]);
  });
  return { number: rowNumber, target, cells };
}

function predict(cells) {
  const wires = circuit.wires(circuit.literals(cells));
  const votes = circuit.votes(wires);
  return { votes, winner: circuit.winner(votes), fired: circuit.fired(wires) };
}

/** The lead of the predicted class over the next: { margin, second }. */
function leadOf(votes, winner) {
  const others = votes.map((vote, place) => (place === winner ? -Infinity : vote));
  const second = others.indexOf(Math.max(...others));
  return { margin: votes[winner] - votes[second], second };
}

/* -- class colours ------------------------------------------------------------------------- */

const N_COLOURS = Number(document.body.dataset.colours);
const colourOf = (label) => Math.min(label, N_COLOURS - 1);

/** What a colour stands for: a class, or all classes that share the last colour. */
function colourName(colour) {
  const shared = page.classes.length - N_COLOURS + 1;
  return colour === N_COLOURS - 1 && shared > 1 ? `${shared} other classes` : page.classes[colour];
}

/** A class with its colour; the name is always there. */
function classMark(label, text = page.classes[label]) {
  return element("span", { class: `mark c${colourOf(label)}` }, text);
}

/** The class under which a rule is listed: the one with its most votes, or with most against it. */
function mainClass(votes) {
  const most = Math.max(...votes);
  return votes.indexOf(most > 0 ? most : Math.min(...votes));
}
