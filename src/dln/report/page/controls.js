/* The form: one control a feature, all of them together one row of cells. */
"use strict";

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in made && typeof value !== "string") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function drawing(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Write a cell of a feature as its user would. */
function cellText(feature, cell) {
  if (cell === null) return "missing";
  if (feature.kind === "category") {
    return typeof cell === "string" ? cell : feature.categories[cell];
  }
  if (feature.kind === "boolean" && (cell === 0 || cell === 1)) return cell ? "true" : "false";
  if (feature.kind === "date") return momentText(cell);
  return String(cell);
}

/** Seconds since 1970 as 2020-01-31, or with the time of day where there is one. */
function momentText(seconds) {
  const whole = Math.floor(seconds);
  const date = new Date(whole * 1000);
  if (!Number.isFinite(date.getTime()) || date.getUTCFullYear() < 1) return String(seconds);
  const micros = Math.round((seconds - whole) * 1e6);
  const text = date.toISOString().slice(0, 19) + (micros ? "." + String(micros).padStart(6, "0") : "");
  return text.endsWith("T00:00:00") ? text.slice(0, 10) : text;
}

/** Read what momentText wrote; NaN for anything else. */
function momentSeconds(text) {
  const form = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(\.\d{1,6})?)?$/;
  const [, day, time = "00:00:00", fraction = ""] = text.trim().match(form) ?? [];
  const seconds = Date.parse(`${day}T${time}Z`) / 1000;
  return fraction ? seconds + Number(fraction) : seconds;
}

/** A control of one feature; `cell` is always what it stands for, exactly. */
class Control {
  constructor(feature, changed) {
    this.feature = feature;
    this.changed = changed;
    this.last = feature.low ?? (feature.categories.length ? 0 : "other");
    this.gone = element("input", { type: "checkbox" });
    this.gone.addEventListener("change", () => this.choose(this.gone.checked ? null : this.last));
    const field = this.makeField();
    const missing = element("label", { class: "gone" }, this.gone, " missing");
    this.box = element(
      "div", { class: "field", role: "group", "aria-label": feature.name },
      element("div", { class: "line" }, element("b", {}, feature.name), field, missing),
      ...this.makeScale(),
    );
  }

  /** Take a cell that the user has chosen, and tell. */
  choose(cell) {
    this.show(cell);
    this.changed();
  }

  show(cell) {
    this.cell = cell;
    if (cell !== null) this.last = cell;
    this.gone.checked = cell === null;
    this.showCell(cell);
  }

  makeScale() {
    return [];
  }
}

class MenuControl extends Control {
  makeField() {
    this.menu = element("select", { "aria-label": this.feature.name });
    this.choices().forEach(([text], place) => {
      this.menu.append(element("option", { value: String(place) }, text));
    });
    this.menu.addEventListener("change", () => this.choose(this.choices()[this.menu.value][1]));
    return this.menu;
  }

  choices() {
    if (this.feature.kind === "boolean") return [["false", 0], ["true", 1]];
    const known = this.feature.categories.map((text, code) => [text, code]);
    return [...known, ["(any other)", "other"]];
  }

  showCell(cell) {
    this.menu.disabled = cell === null;
    const wanted = typeof cell === "string" ? "other" : cell;
    const place = this.choices().findIndex(([, value]) => value === wanted);
    this.menu.value = place < 0 ? "" : String(place);
  }
}

class NumberControl extends Control {
  makeField() {
    this.field = element("input", { type: "text", inputmode: "decimal", "aria-label": this.feature.name });
    this.field.addEventListener("input", () => this.read());
    return this.field;
  }

  makeScale() {
    const { low, high, step, name } = this.feature;
    this.slider = element("input", {
      type: "range", min: String(low), max: String(high), step: String(step), "aria-label": `${name}, slider`,
    });
    this.slider.addEventListener("input", () => this.choose(Number(this.slider.value)));
    return [this.makeBars(), this.slider];
  }

  read() {
    const text = this.field.value.trim();
    const cell = this.feature.kind === "date" ? momentSeconds(text) : text === "" ? NaN : Number(text);
    const bad = Number.isNaN(cell);
    this.field.classList.toggle("bad", bad);
    this.field.setAttribute("aria-invalid", String(bad));
    if (bad) return;
    this.keepText = true;
    this.choose(cell);
    this.keepText = false;
  }

  showCell(cell) {
    this.slider.disabled = this.field.disabled = cell === null;
    if (cell === null) return;
    this.slider.value = String(cell);
    if (!this.keepText) this.field.value = cellText(this.feature, cell);
    this.slider.setAttribute("aria-valuetext", this.field.value);
    this.field.classList.remove("bad");
    this.field.setAttribute("aria-invalid", "false");
  }

  /** The test rows by class, and the cutoffs. */
  makeBars() {
    const { bars, cutoffs, low, high } = this.feature;
    const most = Math.max(1, ...bars.map((counts) => counts.reduce((a, b) => a + b)));
    const picture = drawing("svg", {
      class: "bars", viewBox: `0 0 ${bars.length} 1`, preserveAspectRatio: "none",
      role: "img", "aria-label": `Test rows by ${this.feature.name}, with ${cutoffs.length} cutoffs`,
    });
    bars.forEach((counts, place) => {
      let top = 1;
      counts.forEach((count, number) => {
        if (!count) return;
        const height = count / most;
        top -= height;
        picture.append(drawing("rect", { class: `c${number % 8}`, x: place + 0.05, y: top, width: 0.9, height }));
      });
    });
    for (const cutoff of cutoffs) {
      const x = ((cutoff - low) / (high - low)) * bars.length;
      picture.append(drawing("line", { class: "cut", x1: x, x2: x, y1: 0, y2: 1 }));
    }
    return picture;
  }
}

function makeControl(feature, changed) {
  const isMenu = feature.kind === "category" || feature.kind === "boolean";
  return isMenu ? new MenuControl(feature, changed) : new NumberControl(feature, changed);
}
