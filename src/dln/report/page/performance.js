/* Figures of one class against the rest, at the model's own decision or at a chosen threshold. */
"use strict";

const FIGURES = [
  ["sensitivity", "Sensitivity", "also called recall", ({ hits, total }, [yes]) => `${whole(hits)} of ${whole(total)} rows of class ${yes} found`],
  ["specificity", "Specificity", "", ({ hits, total }, [, , others]) => `${whole(hits)} of ${whole(total)} rows of ${others} recognised`],
  ["ppv", "Positive predictive value", "also called precision", ({ hits, total }, [yes]) => `${whole(hits)} of ${whole(total)} predictions of class ${yes} are correct`],
  ["npv", "Negative predictive value", "", ({ hits, total }, [, , others]) => `${whole(hits)} of ${whole(total)} predictions of ${others} are correct`],
];

let positive = page.classes.length - 1;
let level = null; // index into the curve's levels; null is the model's own decision

/** The names of the class and of the rest, and how a sentence names the rest. */
function sides() {
  const yes = page.classes[positive];
  if (page.classes.length > 2) return [yes, `not ${yes}`, "other classes"];
  const no = page.classes[1 - positive];
  return [yes, no, `class ${no}`];
}

function currentCounts() {
  return level === null ? countsOfModel(page.confusion, positive) : countsFrom(page.curves[positive], level);
}

/** The level that predicts the class about as often as the model does. */
function modelLevel() {
  const curve = page.curves[positive];
  const { tp, fp } = countsOfModel(page.confusion, positive);
  let best = 0, gap = Infinity;
  for (let place = 0; place <= curve.levels.length; place++) {
    const found = countsFrom(curve, place);
    const distance = Math.abs(found.tp - tp) + Math.abs(found.fp - fp);
    if (distance <= gap) [best, gap] = [place, distance];
  }
  return best;
}

function thresholdText() {
  if (level === null) return "The model’s own decision: the class with the most votes.";
  const { levels } = page.curves[positive];
  const [yes] = sides();
  if (level === levels.length) return `Never predict ${yes}.`;
  if (level === 0) return `Always predict ${yes}.`;
  return `Predict ${yes} from a probability of ${percent(levels[level])}.`;
}

function showPerformance() {
  const counts = currentCounts(), figures = figuresOf(counts), names = sides();
  const curve = page.curves[positive];
  const slider = find("threshold");
  slider.max = String(curve.levels.length);
  slider.value = String(level ?? modelLevel());
  slider.setAttribute("aria-valuetext", thresholdText());
  find("threshold-text").textContent = thresholdText();
  find("threshold-reset").disabled = level === null;
  find("performance").className = `c${colourOf(positive)}`;
  find("figures").replaceChildren(...FIGURES.map(([key, name, also, explain]) => makeFigure(figures[key], name, also, explain, names)));
  showMatrix(counts, names);
  showOverall(counts, figures, names);
  const hasBoth = curve.auc !== null;
  find("roc").replaceChildren(hasBoth ? makeRoc(curve, figures) : `The curve needs positive and negative ${rowWord}s.`);
  find("roc-text").textContent = hasBoth
    ? `Area under the curve (AUC): ${decimals(curve.auc[0])}, 95 % interval ${decimals(curve.auc[1])} to ${decimals(curve.auc[2])}.` : "";
  find("calibration").replaceChildren(makeCalibration(curve, names[0]));
  find("calibration-text").textContent = `Calibration error: ${percent(curve.calibrationError)}.`;
}

function makeFigure(figure, name, also, explain, names) {
  const title = element("dt", { title: also }, name);
  if (!figure) return element("div", { class: "figure" }, title, element("dd", {}, element("b", {}, "–"), element("small", {}, "no rows")));
  return element("div", { class: "figure" }, title, element("dd", {},
    element("b", {}, percent(figure.value)), makeInterval(figure),
    element("small", {}, `95 % interval ${fixed(100 * figure.low, 1)} to ${percent(figure.high)}`),
    element("small", {}, explain(figure, names))));
}

/** A line from 0 to 100 % with the interval and the figure on it. */
function makeInterval({ value, low, high }) {
  const band = element("i", { class: "band" }), point = element("i", { class: "point" });
  band.style.left = `${100 * low}%`;
  band.style.width = `${100 * (high - low)}%`;
  point.style.left = `${100 * value}%`;
  return element("span", { class: "interval", "aria-hidden": "true" }, band, point);
}

function showMatrix({ tp, fp, fn, tn }, [yes, no]) {
  const cell = (count, total, isRight) => {
    const made = element("td", { class: isRight ? "num right" : "num" }, whole(count));
    made.style.setProperty("--share", String(total ? count / total : 0));
    return made;
  };
  const line = (name, one, other, isYes) => element("tr", {},
    element("th", { scope: "row" }, name),
    cell(one, one + other, isYes), cell(other, one + other, !isYes), element("td", { class: "num total" }, whole(one + other)));
  find("matrix").tHead.replaceChildren(element("tr", {}, element("td"),
    ...[`predicted ${yes}`, `predicted ${no}`, "all"].map((text) => element("th", { scope: "col", class: "num" }, text))));
  find("matrix").tBodies[0].replaceChildren(line(`truly ${yes}`, tp, fn, true), line(`truly ${no}`, fp, tn, false));
}

function showOverall({ tp, fp, fn, tn }, { accuracy, sensitivity, specificity }, [yes]) {
  const balanced = sensitivity && specificity ? (sensitivity.value + specificity.value) / 2 : null;
  find("overall").textContent =
    `Accuracy ${percent(accuracy.value)}, balanced accuracy ${percent(balanced)}. ` +
    `${percent((tp + fn) / (tp + fp + fn + tn))} of the ${rowWord}s are of class ${yes}; predictive values depend on this share.`;
}

function startPerformance() {
  const menu = find("positive");
  menu.append(...page.classes.map((label, place) => element("option", { value: String(place) }, label)));
  menu.value = String(positive);
  menu.addEventListener("change", () => {
    positive = Number(menu.value);
    level = null;
    showPerformance();
  });
  find("threshold").addEventListener("input", (event) => {
    level = Number(event.target.value);
    showPerformance();
  });
  find("threshold-reset").addEventListener("click", () => {
    level = null;
    showPerformance();
  });
  for (const cell of document.querySelectorAll("td[data-share]")) cell.style.setProperty("--share", cell.dataset.share);
  for (const table of document.querySelectorAll("table[data-classes]")) table.style.setProperty("--classes", table.dataset.classes);
  showPerformance();
}
