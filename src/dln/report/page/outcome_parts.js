/* What the outcome of a class and of a number share: missing values, rules that fire, changes. */
"use strict";

const MOST_CHANGES = 5, MOST_FIRED = 8;

/** Name the missing values: nothing else says why a rule with <= or != fires for them. */
function showMissing(cells) {
  const names = features.filter(({ column }) => cells[column] === null).map(({ title }) => title);
  find("absent").textContent = names.length
    ? `Missing: ${names.join(", ")}. Missing values fail >, = and in; they pass <=, != and not in.` : "";
}

/** Mark the rules that fire in the list of all rules. */
function lightFiring(fired) {
  for (const row of document.querySelectorAll("tr[data-rule]")) {
    const fires = Boolean(fired[row.dataset.rule]);
    row.classList.toggle("fired", fires);
    row.firstElementChild.textContent = fires ? "✓" : "";
    row.firstElementChild.title = fires ? "Fires for the values in the form" : "";
  }
}

/** List changes of one feature; `gives` makes the mark of what a change gives. */
function showChanges(changes, gives, aim) {
  const lines = changes.slice(0, MOST_CHANGES).map((change) => {
    const { feature, after, condition } = change;
    const apply = element("button", { type: "button" }, "Apply");
    const exact = isChosenFromMenu(feature) || after === null;
    const text = exact ? condition : `${condition}, for example ${cellText(feature, after)}`;
    apply.setAttribute("aria-label", `Apply ${text}`);
    apply.addEventListener("click", () => {
      controls.find((control) => control.feature === feature).choose(after);
    });
    return element("li", {}, `${text}: `, gives(change), " ", apply);
  });
  const someAreFixed = features.some((feature) => circuit.model.columns[feature.column].immutable);
  const which = someAreFixed ? "a single feature that is not immutable" : "a single feature";
  const none = element("li", { class: "plain" }, `No change of ${which} ${aim}.`);
  find("changes").replaceChildren(...(lines.length ? lines : [none]));
}
