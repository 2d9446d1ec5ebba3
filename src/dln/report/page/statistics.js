/* Counts -> sensitivity, specificity and predictive values with 95 % confidence intervals.
 *
 * Python computes the same figures for the model's own decision (intervals.py); a test compares.
 */
"use strict";

const Z = 1.959963984540054;

/** A proportion with Wilson's interval: { value, low, high, hits, total }; null without rows. */
function proportion(hits, total) {
  if (!total) return null;
  const share = hits / total, weight = (Z * Z) / total;
  const centre = (share + weight / 2) / (1 + weight);
  const half = (Z * Math.sqrt((share * (1 - share)) / total + weight / (4 * total))) / (1 + weight);
  return {
    value: share, hits, total,
    low: hits === 0 ? 0 : Math.max(0, centre - half),
    high: hits === total ? 1 : Math.min(1, centre + half),
  };
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);

/** Count { tp, fp, fn, tn } if the class is predicted from a level of its curve upwards. */
function countsFrom(curve, level) {
  const tp = sum(curve.positive.slice(level)), fp = sum(curve.negative.slice(level));
  return { tp, fp, fn: sum(curve.positive) - tp, tn: sum(curve.negative) - fp };
}

/** Count the same for the model's own decision, from the confusion matrix. */
function countsOfModel(confusion, positive) {
  const tp = confusion[positive][positive];
  const fn = sum(confusion[positive]) - tp;
  const fp = sum(confusion.map((row) => row[positive])) - tp;
  return { tp, fp, fn, tn: sum(confusion.map(sum)) - tp - fn - fp };
}

function figuresOf({ tp, fp, fn, tn }) {
  return {
    sensitivity: proportion(tp, tp + fn),
    specificity: proportion(tn, tn + fp),
    ppv: proportion(tp, tp + fp),
    npv: proportion(tn, tn + fn),
    accuracy: proportion(tp + tn, tp + fp + fn + tn),
  };
}

/** Points of the ROC curve: [1 - specificity, sensitivity], from (0, 0) to (1, 1). */
function rocPoints(curve) {
  const n = curve.levels.length;
  const positives = sum(curve.positive), negatives = sum(curve.negative);
  let tp = 0, fp = 0;
  const points = [[0, 0]];
  for (let level = n - 1; level >= 0; level--) {
    tp += curve.positive[level];
    fp += curve.negative[level];
    points.push([fp / negatives, tp / positives]);
  }
  return points;
}
