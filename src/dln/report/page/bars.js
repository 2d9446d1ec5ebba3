/* Test rows by value and class: a histogram for numbers, one bar per category. */
"use strict";

function countsText(counts) {
  const parts = counts.map((count, colour) => [count, colour]).filter(([count]) => count);
  return parts.length ? parts.map(([count, colour]) => `${whole(count)} ${colourName(colour)}`).join(", ") : "no rows";
}

/** Stacked rectangles; `box` is { x, y, width, height } of the whole stack. */
function stack(counts, box) {
  const total = sum(counts);
  let top = box.y + box.height;
  return counts.flatMap((count, colour) => {
    if (!count) return [];
    const height = (box.height * count) / total;
    top -= height;
    return [drawing("rect", { class: `c${colour}`, x: box.x, y: top, width: box.width, height })];
  });
}

/** A histogram over a slider, with the model's thresholds as lines. */
function makeHistogram(feature) {
  const { bars, cutoffs, low, high, title: name } = feature;
  const most = Math.max(1, ...bars.map(([, , counts]) => sum(counts)));
  const width = 1000, height = 100;
  const at = (value) => width * ((value - low) / (high - low));
  const picture = drawing("svg", {
    class: "bars", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img",
    "aria-label": `Histogram of ${name} by class, with ${counted(cutoffs.length, "threshold")} of the model`,
  });
  for (const [from, to, counts] of bars) {
    if (!sum(counts)) continue;
    const end = feature.isWhole ? Math.min(to, high + 0.5) : to; // the last bin may reach beyond the slider
    const middle = at((from + end) / 2), half = Math.min((at(end) - at(from)) * 0.45, 22);
    const tall = (height * sum(counts)) / most;
    const title = drawing("title", {}, `${rangeText(feature, from, to)}: ${countsText(counts)}`);
    picture.append(drawing("g", {}, title,
      ...stack(counts, { x: middle - half, y: height - tall, width: 2 * half, height: tall })));
  }
  // Between whole numbers a threshold is drawn halfway: 54 is below it, 55 above.
  const place = (cutoff) => (feature.isWhole ? Math.floor(cutoff) + 0.5 : cutoff);
  for (const cutoff of cutoffs) {
    const title = drawing("title", {}, `threshold ${cellText(feature, cutoff)}`);
    const x = at(place(cutoff));
    picture.append(drawing("line", { class: "cut", x1: x, x2: x, y1: 0, y2: height }, title));
  }
  return picture;
}

function rangeText(feature, from, to) {
  const [first, last] = feature.isWhole ? [from + 0.5, to - 0.5] : [from, to];
  const [one, other] = [first, last].map((value) => cellText(feature, Number(value.toPrecision(6))));
  return one === other ? one : `${one} to ${other}`;
}

/** One stacked bar per category; `choose` takes the category that was clicked. */
function makeCategoryBars(feature, choose) {
  const lines = feature.bars.map(([cell, counts]) => [cellText(feature, cell), counts, cell]);
  if (sum(feature.other ?? [])) lines.push([feature.others ? "all others" : "unknown", feature.other, undefined]);
  if (sum(feature.missing)) lines.push(["missing", feature.missing, null]);
  const most = Math.max(1, ...lines.map(([, counts]) => sum(counts)));
  // The menu above is the control for keyboard and screen reader; clicking a bar is a shortcut.
  const box = element("div", { class: "categories", "aria-hidden": "true" });
  for (const [text, counts, cell] of lines) {
    const track = element("span", { class: "track" });
    counts.forEach((count, colour) => {
      const part = element("i", { class: `c${colour}` });
      part.style.width = `${(100 * count) / most}%`;
      if (count) track.append(part);
    });
    const line = element("div", { class: "category", title: `${text}: ${countsText(counts)}` },
      element("span", { class: "name" }, text), track, element("span", { class: "num" }, whole(sum(counts))));
    line.cell = cell;
    if (cell !== undefined) line.addEventListener("click", () => choose(cell));
    box.append(line);
  }
  return box;
}
