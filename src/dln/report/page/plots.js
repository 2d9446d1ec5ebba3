/* The ROC curve and the calibration plot, as SVG with its numbers in text. */
"use strict";

const SIDE = 260, LEFT = 46, TOP = 10, BOTTOM = 44;
const acrossPlot = (share) => LEFT + SIDE * share;
const downPlot = (share) => TOP + SIDE * (1 - share);

/** A square from 0 to 100 % on both axes. */
function makePlot(label, xText, yText, ...parts) {
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => {
    const x = acrossPlot(share), y = downPlot(share), text = String(100 * share);
    return [
      drawing("line", { class: "grid", x1: x, x2: x, y1: downPlot(0), y2: downPlot(1) }),
      drawing("line", { class: "grid", x1: acrossPlot(0), x2: acrossPlot(1), y1: y, y2: y }),
      drawing("text", { x, y: downPlot(0) + 16, "text-anchor": "middle" }, text),
      drawing("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, text),
    ];
  });
  const middle = downPlot(0.5);
  return drawing(
    "svg", { class: "plot", viewBox: `0 0 ${LEFT + SIDE + 14} ${TOP + SIDE + BOTTOM}`, role: "img", "aria-label": label },
    ...grid,
    drawing("line", { class: "even", x1: acrossPlot(0), y1: downPlot(0), x2: acrossPlot(1), y2: downPlot(1) }),
    drawing("text", { class: "axis", x: acrossPlot(0.5), y: downPlot(0) + 36, "text-anchor": "middle" }, xText),
    drawing("text", { class: "axis", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, yText),
    ...parts,
  );
}

function makeRoc(curve, { sensitivity, specificity }) {
  const points = rocPoints(curve).map(([x, y]) => `${acrossPlot(x).toFixed(1)},${downPlot(y).toFixed(1)}`);
  const x = 1 - specificity.value, y = sensitivity.value;
  const area = drawing("polygon", { class: "area", points: `${points.join(" ")} ${acrossPlot(1)},${downPlot(0)}` });
  const here = drawing("circle", { class: "here", cx: acrossPlot(x), cy: downPlot(y), r: 6 });
  const label = `ROC curve, area ${decimals(curve.auc[0])}. The threshold is at sensitivity ${percent(y)} and specificity ${percent(1 - x)}.`;
  return makePlot(label, "1 − specificity (%)", "sensitivity (%)", area,
    drawing("polyline", { class: "curve", points: points.join(" ") }), here);
}

function makeCalibration(curve, name) {
  const parts = [], spoken = [];
  for (const [rows, mean, hits] of curve.bins) {
    if (!rows) continue;
    const { value, low, high } = proportion(hits, rows);
    const x = acrossPlot(mean);
    const text = `${counted(rows, "row")} with mean probability ${percent(mean)}: ${percent(value)} are ${name} (95 % interval ${percent(low)} to ${percent(high)})`;
    spoken.push(text);
    parts.push(drawing("g", {},
      drawing("title", {}, text),
      drawing("line", { class: "interval", x1: x, x2: x, y1: downPlot(low), y2: downPlot(high) }),
      drawing("circle", { class: "dot", cx: x, cy: downPlot(value), r: 5 })));
  }
  return makePlot(`Calibration plot. ${spoken.join(". ")}.`, "predicted probability (%)", `observed share (%)`, ...parts);
}
