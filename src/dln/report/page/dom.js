/* Making and finding elements. Text is always set as text, never as markup. */
"use strict";

const find = (id) => document.getElementById(id);

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

/** Save text as a file of the reader. */
function download(name, text) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

/** Fade the edges of wide tables that can be scrolled, and let the keyboard scroll them. */
function hintScroll(box) {
  const update = () => {
    const rest = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more-right", rest > 1 && box.scrollLeft < rest - 1);
    box.classList.toggle("more-left", rest > 1 && box.scrollLeft > 1);
    if (rest > 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  box.addEventListener("scroll", update, { passive: true });
  new ResizeObserver(update).observe(box);
  if (box.firstElementChild) new ResizeObserver(update).observe(box.firstElementChild);
}
