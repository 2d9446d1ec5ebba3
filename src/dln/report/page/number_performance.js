/* Predicted against actual numbers, and the distribution of residuals, as SVG. */
"use strict";

const WIDE = 320, TALL = 260, LEFT_EDGE = 58, TOP_EDGE = 10, BELOW = 44;

/** Round numbers for an axis: three to eight from low to high. */
function ticksOf(low, high) {
  const rough = (high - low) / 3 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [5, 2, 1].map((factor) => factor * power).find((size) => size <= rough);
  const ticks = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9; at++) ticks.push(Number((at * step).toPrecision(12)));
  return ticks;
}

const tickText = (value) => (Math.abs(value) >= 1e5 || (value && Math.abs(value) < 1e-3)
  ? value.toExponential(1).replace("e+", "e") : String(value)).replace("-", "−");

/** A frame with two axes; `make` gets the functions from numbers to places. */
function makeChart(label, [left, right], [bottom, top], xText, yText, make) {
  const x = (value) => LEFT_EDGE + (WIDE * (value - left)) / (right - left || 1);
  const y = (value) => TOP_EDGE + TALL * (1 - (value - bottom) / (top - bottom || 1));
  const floor = TOP_EDGE + TALL, middle = TOP_EDGE + TALL / 2;
  return drawing(
    "svg", { class: "plot", viewBox: `0 0 ${LEFT_EDGE + WIDE + 14} ${floor + BELOW}`, role: "img", "aria-label": label },
    ...ticksOf(left, right).flatMap((tick) => [
      drawing("line", { class: "grid", x1: x(tick), x2: x(tick), y1: TOP_EDGE, y2: floor }),
      drawing("text", { x: x(tick), y: floor + 16, "text-anchor": "middle" }, tickText(tick))]),
    ...ticksOf(bottom, top).flatMap((tick) => [
      drawing("line", { class: "grid", x1: LEFT_EDGE, x2: LEFT_EDGE + WIDE, y1: y(tick), y2: y(tick) }),
      drawing("text", { x: LEFT_EDGE - 6, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick))]),
    drawing("text", { class: "axis", x: LEFT_EDGE + WIDE / 2, y: floor + 36, "text-anchor": "middle" }, xText),
    drawing("text", { class: "axis", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, yText),
    ...make(x, y),
  );
}

/** Points of rows, or of the groups if the file has no rows. */
function makeAgreement() {
  const { points, groups } = page.errors;
  const dots = points ?? groups.map((group) => [group.predicted, group.actual]).filter(([predicted]) => predicted !== null);
  const all = dots.flat();
  const ends = dots.length ? widened(Math.min(...all), Math.max(...all)) : [0, 1]; // all may be infinite
  const what = points ? "rows" : "means of groups of rows";
  return makeChart(`Predicted against actual: ${what}.`, ends, ends, "predicted", "actual", (x, y) => [
    drawing("line", { class: "even", x1: x(ends[0]), y1: y(ends[0]), x2: x(ends[1]), y2: y(ends[1]) }),
    ...dots.map(([predicted, actual]) =>
      drawing("circle", { class: points ? "speck" : "dot", cx: x(predicted).toFixed(1), cy: y(actual).toFixed(1), r: points ? 3 : 5 })),
  ]);
}

function makeResiduals() {
  const { edges, counts } = page.errors.residuals;
  const most = Math.max(1, ...counts);
  const label = "Histogram of residuals, actual minus predicted.";
  return makeChart(label, [edges[0], edges[edges.length - 1]], [0, most], "actual minus predicted", "rows", (x, y) => [
    ...counts.map((count, bin) => drawing("rect", {
      class: "c0 bin", x: x(edges[bin]), y: y(count), width: Math.max(0.5, x(edges[bin + 1]) - x(edges[bin]) - 1), height: y(0) - y(count),
    }, drawing("title", {}, `${roughly(edges[bin])} to ${roughly(edges[bin + 1])}: ${counted(count, "row")}`))),
    ...(edges[0] < 0 && edges[edges.length - 1] > 0
      ? [drawing("line", { class: "even", x1: x(0), x2: x(0), y1: y(0), y2: y(most) })] : []),
  ]);
}

function widened(low, high) {
  const margin = 0.04 * (high - low) || Math.max(1, Math.abs(low));
  return [low - margin, high + margin];
}

function startPerformance() {
  find("agreement").replaceChildren(makeAgreement());
  find("residuals").replaceChildren(makeResiduals());
}
