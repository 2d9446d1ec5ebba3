/* The diagram: zoom, move, and highlight the path of a rule. Large ones are made when opened. */
"use strict";

class Picture {
  constructor(box) {
    this.svg = box.querySelector("svg");
    const { x, y, width, height } = this.svg.viewBox.baseVal;
    this.whole = { x, y, width, height };
    // The element keeps its height whatever part of the picture it shows.
    this.svg.style.height = `${this.svg.getBoundingClientRect().height}px`;
    this.begin();
    this.svg.addEventListener("pointerdown", (event) => this.drag(event));
    this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  fit() {
    this.show({ ...this.whole });
  }

  /** Show all of it if that can be read, and otherwise the top. */
  begin() {
    this.fit();
    if (this.unitsPerPixel() < 1.5) return;
    const place = this.svg.getBoundingClientRect();
    const { x, y, width } = this.whole;
    const left = x + Math.min(0, (width - place.width) / 2); // centred if it is narrower
    this.show({ x: left, y, width: place.width, height: place.height });
  }

  /** Zoom around a point given as shares of width and height; the middle by default. */
  zoom(factor, across = 0.5, down = 0.5) {
    const { x, y, width, height } = this.view;
    const wide = Math.min(this.whole.width * 1.5, Math.max(this.whole.width / 40, width / factor));
    const high = (wide / width) * height;
    this.show({ x: x + (width - wide) * across, y: y + (height - high) * down, width: wide, height: high });
  }

  show(view) {
    this.view = view;
    this.svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
  }

  drag(start) {
    const from = { ...this.view };
    const scale = this.unitsPerPixel();
    const move = (event) => {
      this.show({
        ...from,
        x: from.x - (event.clientX - start.clientX) * scale,
        y: from.y - (event.clientY - start.clientY) * scale,
      });
    };
    this.svg.setPointerCapture(start.pointerId);
    this.svg.addEventListener("pointermove", move);
    const end = () => this.svg.removeEventListener("pointermove", move);
    this.svg.addEventListener("pointerup", end, { once: true });
    this.svg.addEventListener("pointercancel", end, { once: true });
  }

  /** Without Ctrl the wheel scrolls the page as usual. */
  wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const place = this.svg.getBoundingClientRect();
    const across = (event.clientX - place.left) / place.width;
    const down = (event.clientY - place.top) / place.height;
    this.zoom(Math.exp(-event.deltaY / 400), across, down);
  }

  unitsPerPixel() {
    const place = this.svg.getBoundingClientRect();
    return Math.max(this.view.width / place.width, this.view.height / place.height);
  }

  /** Highlight the paths of some rules; null ends it. */
  light(rules) {
    this.svg.classList.toggle("dln-picking", rules !== null);
    const wanted = new Set((rules ?? []).map(String));
    for (const part of this.svg.querySelectorAll("[data-rules]")) {
      const own = part.dataset.rules.split(" ");
      part.classList.toggle("dln-lit", own.some((rule) => wanted.has(rule)));
    }
  }
}

let picture = null;

/** Make the picture, out of its template if that was not done yet. */
function openDiagram() {
  const box = find("picture");
  if (picture || !box) return;
  const template = find("diagram-template");
  if (template) box.append(template.content.cloneNode(true));
  picture = new Picture(box);
}

function rulesOf(target) {
  const part = target.closest?.("[data-rule], [data-rules]");
  if (!part) return null;
  return part.dataset.rules !== undefined ? part.dataset.rules.split(" ") : [part.dataset.rule];
}

function startDiagram() {
  for (const [start, end] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(start, (event) => {
      const rules = rulesOf(event.target);
      if (rules) picture?.light(rules);
    });
    document.addEventListener(end, (event) => { if (rulesOf(event.target)) picture?.light(null); });
  }
  if (!find("picture")) return;
  const box = find("diagram-box");
  if (box.tagName === "DETAILS") box.addEventListener("toggle", () => { if (box.open) openDiagram(); });
  else openDiagram();
  find("zoom-in").addEventListener("click", () => picture?.zoom(1.4));
  find("zoom-out").addEventListener("click", () => picture?.zoom(1 / 1.4));
  find("zoom-fit").addEventListener("click", () => picture?.fit());
}
