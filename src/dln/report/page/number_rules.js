/* The list of rules with what each adds, the strongest first. */
"use strict";

const MOST_RULES = 40; // more rules are listed on request
const pointsOf = (rule) => circuit.model.rules[rule].points;
const strength = (rule) => Math.abs(pointsOf(rule));
const ruleChips = (rule) => [amountChip(pointsOf(rule))];
let allRules = false;

function showRules() {
  const column = find("rules-column").value === "" ? null : Number(find("rules-column").value);
  const rules = page.rules.map((_, rule) => rule)
    .filter((rule) => column === null || page.rules[rule].columns.includes(column));
  rules.sort((one, other) => strength(other) - strength(one));
  find("rules-count").textContent = counted(rules.length, "rule");
  const heads = ["", "adds", "if", "fires in", "mean there", "mean elsewhere"];
  const head = element("thead", {}, element("tr", {}, ...heads.map((text, place) =>
    element("th", { scope: "col", class: place > 2 ? "num" : "" }, text))));
  const shown = allRules ? rules : rules.slice(0, MOST_RULES);
  const body = element("tbody", {}, ...shown.map(makeRuleRow));
  const box = element("div", { class: "scroll" }, element("table", { class: "rule-table" }, head, body));
  const more = element("button", { type: "button" }, `Show all ${whole(rules.length)} rules`);
  more.addEventListener("click", () => { allRules = true; showRules(); });
  find("rules-list").replaceChildren(
    rules.length ? box : element("p", { class: "note" }, "The model has no rules."),
    ...(shown.length < rules.length ? [more] : []));
  hintScroll(box);
  if (controls.every((control) => !control.problem)) lightFiring(predict(currentRow()).fired);
}

function makeRuleRow(rule) {
  const { text, share, mean, elsewhere } = page.rules[rule];
  return element(
    "tr", { "data-rule": String(rule), class: pointsOf(rule) < 0 ? "c1" : "c0", tabIndex: 0 },
    element("td", { class: "sign" }), element("td", { class: "chips" }, ...ruleChips(rule)),
    element("td", { class: "text" }, text),
    element("td", { class: "num", "data-name": "fires in" }, percent(share)),
    element("td", { class: "num", "data-name": "mean there" }, roughly(mean)),
    element("td", { class: "num", "data-name": "mean elsewhere" }, roughly(elsewhere)),
  );
}

function startRules() {
  find("rules-column").append(element("option", { value: "" }, "any column"),
    ...features.map((feature) => element("option", { value: String(feature.column) }, feature.title)));
  find("rules-column").addEventListener("change", showRules);
  showRules();
}

window.addEventListener("beforeprint", () => {
  allRules = true;
  showRules();
});
