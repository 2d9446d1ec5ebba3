/* What the model says about the row in the form: class, votes, changes, and rules that fire. */
"use strict";

/** Show the outcome of a valid row. */
function showOutcome(cells, outcome) {
  const { votes, winner } = outcome;
  const probabilities = circuit.probabilities(votes);
  find("detail").hidden = false;
  find("prediction").replaceChildren(classMark(winner));
  find("probability").textContent = `Probability ${percent(probabilities[winner])}.`;
  find("margin").textContent = marginText(votes, winner);
  showSplit(probabilities);
  showVotes(votes, winner);
  showMissing(cells);
  showFired(outcome.fired);
  showChanges(nearestChanges(circuit, features, cells), ({ winner }) => classMark(winner), "flips the class");
}

/** Show that there is no outcome; nothing of the last one stays. */
function showNoOutcome(invalid) {
  const names = invalid.map((control) => `“${control.feature.title}”`).join(", ");
  find("detail").hidden = true;
  find("prediction").textContent = "No prediction";
  find("probability").textContent = `Correct the value of ${names}.`;
  find("margin").textContent = "";
  find("votes").removeAttribute("aria-label");
  for (const id of ["split", "votes", "changes", "fired"]) find(id).replaceChildren();
  find("fired-count").textContent = "";
  lightFiring([]);
}

function marginText(votes, winner) {
  if (votes.length < 2) return "It is the only class.";
  const { margin, second } = leadOf(votes, winner);
  if (margin) return `${counted(margin, "vote")} ahead of ${page.classes[second]}.`;
  const first = page.classes[winner];
  return `Tie with ${page.classes[second]}; “${first}” wins because it is listed first.`;
}

/** A thin bar of all probabilities. */
function showSplit(probabilities) {
  find("split").replaceChildren(...probabilities.map((share, label) => {
    const part = element("i", { class: `c${colourOf(label)}` });
    part.style.width = `${100 * share}%`;
    return part;
  }));
}

function showVotes(votes, winner) {
  const least = Math.min(0, ...votes), most = Math.max(1, ...votes);
  const ranked = votes.map((vote, label) => [vote, label]);
  if (votes.length > 8) ranked.sort(([one], [other]) => other - one).splice(8);
  find("votes").setAttribute("aria-label", ranked.map(([vote, label]) => `${page.classes[label]}: ${vote}`).join(", "));
  find("votes").replaceChildren(...ranked.map(([vote, label]) => {
    const fill = element("i", { class: `c${colourOf(label)}` });
    fill.style.width = `${(100 * (vote - least)) / (most - least)}%`;
    return element(
      "div", { class: label === winner ? "vote won" : "vote" },
      element("span", { class: "name", title: page.classes[label] }, page.classes[label]),
      element("span", { class: "track" }, fill), element("span", { class: "num" }, String(vote)),
    );
  }));
}

/** One chip per class that gets votes: "+2 ill". */
function voteChips(votes) {
  const ranked = votes.map((vote, label) => [vote, label]).filter(([vote]) => vote);
  ranked.sort(([one], [other]) => Math.abs(other) - Math.abs(one));
  const chips = ranked.slice(0, 4).map(([vote, label]) =>
    element("span", { class: `chip c${colourOf(label)}${vote < 0 ? " against" : ""}` }, `${signed(vote)} for ${page.classes[label]}`));
  if (ranked.length > 4) chips.push(element("span", { class: "chip" }, `and ${ranked.length - 4} more`));
  return chips;
}

let allFired = false;

function showFired(fired) {
  const rules = fired.flatMap((fires, rule) => (fires ? [rule] : []));
  const weight = (rule) => Math.max(...circuit.model.rules[rule].votes.map(Math.abs));
  rules.sort((one, other) => weight(other) - weight(one));
  const shown = allFired ? rules : rules.slice(0, MOST_FIRED);
  const lines = shown.map((rule) => {
    const { votes } = circuit.model.rules[rule];
    return element("li", { "data-rule": String(rule), class: `c${colourOf(mainClass(votes))}` },
      element("span", { class: "chips" }, ...voteChips(votes)), ` ${page.rules[rule].text}`);
  });
  if (shown.length < rules.length) {
    const more = element("button", { type: "button" }, `Show all ${rules.length}`);
    more.addEventListener("click", () => { allFired = true; showFired(fired); });
    lines.push(element("li", { class: "plain" }, more));
  }
  const base = circuit.model.base_votes;
  if (base.some((vote) => vote)) {
    lines.unshift(element("li", { class: `c${colourOf(mainClass(base))}` }, element("span", { class: "chips" }, ...voteChips(base)), " always"));
  }
  find("fired").replaceChildren(...(lines.length ? lines : [element("li", { class: "plain" }, "No rule fires.")]));
  find("fired-count").textContent = `${rules.length} of ${page.rules.length}`;
  lightFiring(fired);
}

/** Say which row is in the form, its true class, and whether it is predicted correctly. */
function rowStatus({ target, winner }, isEdited) {
  const verdict = isEdited ? "values changed" : winner === target ? "predicted correctly" : "error";
  const isWrong = verdict === "error";
  return ["true class ", classMark(target), isWrong ? " " : " · ",
    element("b", { class: isWrong ? "badge" : "verdict-note" }, verdict)];
}
