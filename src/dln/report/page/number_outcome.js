/* What the model says about the row in the form: the number, what each rule adds, and changes. */
"use strict";

const MOST_LISTED = 5; // of the rules that fire, until all are asked for
let allFired = false;
let goal = null; // the number to reach, once the user has typed one

function showOutcome(cells, outcome) {
  const [points] = outcome.votes;
  find("detail").hidden = false;
  find("prediction").textContent = numberText(circuit.answer(points));
  find("sum").textContent = sumText(points);
  showMissing(cells);
  showFired(outcome.fired);
  showReach(cells, circuit.answer(points));
}

function showNoOutcome(invalid) {
  const names = invalid.map((control) => `“${control.feature.title}”`).join(", ");
  find("detail").hidden = true;
  find("prediction").textContent = "No prediction";
  find("sum").textContent = `Correct the value of ${names}.`;
  for (const id of ["changes", "fired"]) find(id).replaceChildren();
  find("fired-count").textContent = "";
  lightFiring([]);
}

/** The prediction as a sum: "12.5 + 3.2". */
function sumText(points) {
  const { offset, link } = circuit.model;
  const added = circuit.score(points - offset);
  const total = `${numberOf(circuit.score(offset))} ${added < 0 ? "−" : "+"} ${Math.abs(added)}`;
  if (link === "log") return `exp(${total})`;
  return link === "logit" ? `1 / (1 + exp(−s)), s = ${total}` : `${total}`;
}

const numberOf = (value) => String(value).replace("-", "−");

/** The start and the rules that fire, those that move the prediction most first. */
function showFired(fired) {
  const { rules, offset } = circuit.model;
  const firing = rules.flatMap((_, rule) => (fired[rule] ? [rule] : []));
  firing.sort((one, other) => Math.abs(rules[other].points) - Math.abs(rules[one].points));
  const shown = allFired ? firing : firing.slice(0, MOST_LISTED);
  const most = Math.max(1, ...rules.map(({ points }) => Math.abs(points)));
  const lines = shown.map((rule) => {
    const { points } = rules[rule];
    const fill = element("i", { class: points < 0 ? "c1" : "c0" });
    fill.style.width = `${(100 * Math.abs(points)) / most}%`;
    return element("li", { "data-rule": String(rule), class: points < 0 ? "c1" : "c0" },
      element("span", { class: "chips" }, amountChip(points)), ` ${page.rules[rule].text}`,
      element("span", { class: "track thin", "aria-hidden": "true" }, fill));
  });
  lines.unshift(element("li", { class: "plain" }, element("span", { class: "chips" },
    element("span", { class: "chip" }, numberOf(circuit.score(offset)))), " start"));
  if (shown.length < firing.length) {
    const more = element("button", { type: "button" }, `Show all ${firing.length}`);
    more.addEventListener("click", () => { allFired = true; showFired(fired); });
    lines.push(element("li", { class: "plain" }, more));
  }
  find("fired").replaceChildren(...lines);
  find("fired-count").textContent = `${firing.length} of ${page.rules.length}`;
  lightFiring(fired);
}

const amountChip = (points) => element("span", { class: `chip ${points < 0 ? "c1 against" : "c0"}` }, amountText(points));

/** List the changes of one feature that reach the goal. */
function showReach(cells, now) {
  const way = find("goal-way").value;
  const field = find("goal");
  if (goal === null) field.value = String(startGoal(now, way));
  const wanted = Number(field.value.replace(",", ".").replace("−", "-"));
  const isValid = field.value.trim() !== "" && Number.isFinite(wanted);
  field.setAttribute("aria-invalid", String(!isValid));
  if (!isValid) {
    find("changes").replaceChildren(element("li", { class: "plain" }, "Enter a number to reach."));
    return;
  }
  const isInside = way === "least" ? (value) => value >= wanted : (value) => value <= wanted;
  const words = `at ${way} ${numberOf(wanted)}`;
  if (isInside(now)) {
    find("changes").replaceChildren(element("li", { class: "plain" }, `The prediction is ${words} already.`));
    return;
  }
  const ranged = new RangeCircuit(circuit.model, page.gates, isInside);
  const gives = ({ feature, after }) => {
    const changed = cells.slice();
    changed[feature.column] = after;
    return element("b", {}, numberText(circuit.predict(circuit.literals(changed))));
  };
  showChanges(nearestChanges(ranged, features, cells), gives, `gives ${words}`);
}

/** A goal to begin with: one typical error away from the prediction. */
function startGoal(now, way) {
  const step = page.errors.mae || 1;
  return Number((way === "least" ? now + step : now - step).toPrecision(3));
}

function rowStatus({ target, votes }, isEdited) {
  if (isEdited) return [`actual ${roughly(target, 6)} · `, element("b", { class: "verdict-note" }, "values changed")];
  const error = circuit.answer(votes[0]) - target;
  const verdict = error === 0 ? "exact" : `${roughly(Math.abs(error), 3)} too ${error > 0 ? "high" : "low"}`;
  return [`actual ${roughly(target, 6)} · predicted `, element("b", { class: "verdict-note" }, verdict)];
}

find("goal").addEventListener("input", () => { goal = find("goal").value; refresh(); });
find("goal-way").addEventListener("change", () => refresh());
