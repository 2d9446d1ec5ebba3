/* The list of rules: each once, grouped by the class it votes for or by a column it reads. */
"use strict";

const MOST_OPEN = 40; // with more rules in all groups together, only the first group begins open
const ruleColumns = new Map(features.map((feature) => [feature.column, feature]));
const votesOf = (rule) => circuit.model.rules[rule].votes;
const strength = (rule) => Math.max(...votesOf(rule).map(Math.abs));
const ruleChips = (rule) => voteChips(votesOf(rule));

/** How many votes depend on each column: groups come in this order. */
const columnWeight = new Map(features.map((feature) => [feature.column, 0]));
page.rules.forEach(({ columns }, rule) => {
  for (const column of columns) columnWeight.set(column, columnWeight.get(column) + strength(rule));
});

/** A rule of several columns stands under the one that most votes depend on. */
function mainColumn(rule) {
  const { columns } = page.rules[rule];
  return columns.reduce((best, column) => (columnWeight.get(column) > columnWeight.get(best) ? column : best), columns[0]);
}

/** Groups of rules: [{ title, rules }], the strongest rules first. */
function groupRules(by, column) {
  const rules = page.rules.map((_, rule) => rule).filter((rule) => votesOf(rule).some((vote) => vote))
    .filter((rule) => column === null || page.rules[rule].columns.includes(column));
  rules.sort((one, other) => strength(other) - strength(one));
  const keys = by === "class" ? page.classes.map((_, label) => label)
    : [...columnWeight.keys()].sort((one, other) => columnWeight.get(other) - columnWeight.get(one));
  const keyOf = by === "class" ? (rule) => mainClass(votesOf(rule)) : mainColumn;
  const groups = keys.map((key) => ({
    title: by === "class" ? classMark(key) : ruleColumns.get(key).title,
    base: by === "class" && column === null ? circuit.model.base_votes[key] : 0,
    rules: rules.filter((rule) => keyOf(rule) === key),
  }));
  const constant = rules.filter((rule) => !page.rules[rule].columns.length);
  if (by === "column" && constant.length) groups.push({ title: "no column", base: 0, rules: constant });
  return groups.filter((group) => group.rules.length || group.base || (by === "class" && column === null));
}

function showRules() {
  const by = find("rules-by").value;
  const column = find("rules-column").value === "" ? null : Number(find("rules-column").value);
  const groups = groupRules(by, column);
  const total = sum(groups.map((group) => group.rules.length));
  find("rules-count").textContent = counted(total, "rule");
  find("rules-list").replaceChildren(...groups.map((group, place) => makeGroup(group, total <= MOST_OPEN || place === 0)));
  for (const box of find("rules-list").querySelectorAll(".scroll")) hintScroll(box);
  if (controls.every((control) => !control.problem)) lightFiring(predict(currentRow()).fired);
}

function makeGroup({ title, base, rules }, open) {
  const body = element("tbody");
  if (base) body.append(makeBaseRow(base));
  body.append(...rules.map(makeRuleRow));
  const heads = ["", "votes", "rule", "fires in", "precision", "lift"];
  const head = element("thead", {}, element("tr", {}, ...heads.map((text, place) =>
    element("th", { scope: "col", class: place > 2 ? "num" : "" }, text))));
  const summary = element("summary", {}, element("h3", {}, title), " ", element("small", {}, counted(rules.length, "rule")));
  const table = rules.length || base ? element("div", { class: "scroll" }, element("table", { class: "rule-table" }, head, body))
    : element("p", { class: "note" }, "No rule is listed under this class.");
  return element("details", { open }, summary, table);
}

function makeBaseRow(base) {
  const text = element("span", { class: "chip" }, signed(base));
  return element("tr", {}, element("td"), element("td", {}, text), element("td", { class: "text" }, "always"),
    element("td"), element("td"), element("td"));
}

function makeRuleRow(rule) {
  const votes = votesOf(rule), label = mainClass(votes), { text, share, precision, lift } = page.rules[rule];
  return element(
    "tr", { "data-rule": String(rule), class: `c${colourOf(label)}`, tabIndex: 0 },
    element("td", { class: "sign" }), element("td", { class: "chips" }, ...ruleChips(rule)),
    element("td", { class: "text" }, text),
    element("td", { class: "num", "data-name": "fires in" }, percent(share)),
    element("td", { class: "num", "data-name": "precision" }, percent(precision[label])),
    element("td", { class: "num", "data-name": "lift" }, lift[label] === null ? "–" : fixed(lift[label], 2)),
  );
}

function startRules() {
  const menu = find("rules-column");
  menu.append(element("option", { value: "" }, "any column"),
    ...features.map((feature) => element("option", { value: String(feature.column) }, feature.title)));
  for (const id of ["rules-by", "rules-column"]) find(id).addEventListener("change", showRules);
  showRules();
}
