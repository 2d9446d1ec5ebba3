/* The form's fields: one control per feature; together they are one row of values. */
"use strict";

let controlCount = 0;

/** A control of one feature. `cell` is its value; `problem` says why it has none. */
class Control {
  constructor(feature, changed) {
    this.feature = feature;
    this.changed = changed;
    this.id = `field-${controlCount++}`;
    this.problem = "";
    this.last = feature.start;
    this.gone = element("input", { type: "checkbox" });
    this.gone.addEventListener("change", () => this.choose(this.gone.checked ? null : this.last));
    this.message = element("p", { class: "message", id: `${this.id}-message`, role: "status" });
    const field = this.makeField();
    field.id = this.id;
    field.setAttribute("aria-describedby", this.message.id);
    this.box = element(
      "div", { class: "field" },
      element("div", { class: "line" },
        element("label", { class: "name", for: this.id }, feature.title), field,
        element("label", { class: "gone" }, this.gone, " missing")),
      ...this.makePicture(),
      this.message,
    );
  }

  /** Take a value that the user has chosen, and report it. */
  choose(cell) {
    this.show(cell);
    this.changed();
  }

  show(cell) {
    this.problem = "";
    this.cell = cell;
    if (cell !== null) this.last = cell;
    this.gone.checked = cell === null;
    this.showCell(cell);
    this.tell(this.warning, "warning");
  }

  /** Refuse what was typed: there is no value until it is corrected. */
  refuse(problem) {
    this.problem = problem;
    this.tell(problem, "problem");
    this.changed();
  }

  tell(text, kind) {
    this.message.textContent = text;
    this.message.className = text ? `message ${kind}` : "message";
  }

  get warning() {
    return "";
  }
}

class MenuControl extends Control {
  makeField() {
    this.menu = element("select");
    this.choices().forEach(([text], place) => {
      this.menu.append(element("option", { value: String(place) }, text));
    });
    this.menu.addEventListener("change", () => this.choose(this.choices()[this.menu.value][1]));
    return this.menu;
  }

  choices() {
    if (this.feature.kind !== "category") return [0, 1].map((value) => [cellText(this.feature, value), value]);
    const known = this.feature.categories.map((text, code) => [text, code]);
    return [...known, ["(any other)", "other"]];
  }

  makePicture() {
    this.picture = makeCategoryBars(this.feature, (cell) => this.choose(cell));
    return [this.picture];
  }

  showCell(cell) {
    this.menu.disabled = cell === null;
    const wanted = typeof cell === "string" ? "other" : cell;
    const place = this.choices().findIndex(([, value]) => value === wanted);
    this.menu.value = place < 0 ? "" : String(place);
    for (const line of this.picture.children) line.classList.toggle("chosen", line.cell === cell);
  }

  get warning() {
    const isText = typeof this.cell === "string";
    return isText ? "The training rows did not have this category." : "";
  }
}

class NumberControl extends Control {
  makeField() {
    const inputmode = this.feature.kind === "integer" ? "numeric" : this.feature.kind === "date" ? "text" : "decimal";
    this.field = element("input", { type: "text", inputmode });
    this.field.addEventListener("input", () => this.read());
    return this.field;
  }

  makePicture() {
    const { low, high, step, title: name } = this.feature;
    this.slider = element("input", {
      type: "range", min: String(low), max: String(high), step: String(step), "aria-label": `${name}, slider`,
    });
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    return [makeHistogram(this.feature), this.slider];
  }

  read() {
    const text = this.field.value.trim();
    const [cell, problem] = parseCell(this.feature, text);
    this.field.setAttribute("aria-invalid", String(problem !== ""));
    if (problem) return this.refuse(problem);
    this.keepText = true;
    this.choose(cell);
    this.keepText = false;
  }

  showCell(cell) {
    this.slider.disabled = this.field.disabled = cell === null;
    this.field.setAttribute("aria-invalid", "false");
    if (cell === null) {
      this.field.value = ""; // not the value of the row before
      return;
    }
    this.slider.value = String(cell);
    if (!this.keepText) this.field.value = cellText(this.feature, cell);
    this.slider.setAttribute("aria-valuetext", this.field.value);
  }

  get warning() {
    const { range } = this.feature;
    if (this.cell === null || !range || (this.cell >= range[0] && this.cell <= range[1])) return "";
    const [low, high] = range.map((end) => cellText(this.feature, end));
    return `Outside the range of the ${rowWord}s, ${low} to ${high}.`;
  }
}

/** Read what was typed: [value, problem]; one of the two is empty. */
function parseCell(feature, text) {
  const { kind, start } = feature;
  const example = cellText(feature, start);
  if (text === "") return [null, `Enter a value, or tick “missing”.`];
  if (kind === "date") {
    const seconds = momentSeconds(text);
    return Number.isNaN(seconds) ? [null, `Enter a date such as ${example}.`] : [seconds, ""];
  }
  // A comma is the decimal sign of many readers; Number() alone would also read 0x10.
  const isNumber = /^[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|Infinity)$/.test(text);
  if (!isNumber) return [null, `Enter a number such as ${example}${/,/.test(text) ? ", with a decimal point" : ""}.`];
  const value = Number(text);
  if (kind === "integer" && !Number.isInteger(value)) {
    return [null, `Enter a whole number such as ${Number.isFinite(value) ? Math.round(value) : example}.`];
  }
  return [value, ""];
}

/** Categories, booleans, and numbers that are 0 or 1 in every row. */
function isChosenFromMenu(feature) {
  return feature.kind === "category" || feature.hasTwoValues;
}

function makeControl(feature, changed) {
  return isChosenFromMenu(feature) ? new MenuControl(feature, changed) : new NumberControl(feature, changed);
}
