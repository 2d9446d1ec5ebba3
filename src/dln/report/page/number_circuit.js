/* A circuit that predicts a number: points of rules -> score -> prediction through a link. */
"use strict";

class NumberCircuit extends Circuit {
  /** Points as a decimal number: one division by a power of ten, as in Python. */
  score(points) {
    const { digits } = this.model;
    return digits >= 0 ? points / 10 ** digits : points * 10 ** -digits;
  }

  answer(points) {
    const score = this.score(points);
    if (this.model.link === "log") return Math.exp(score);
    return this.model.link === "logit" ? 1 / (1 + Math.exp(-score)) : score;
  }

  /** The answer to a row: a number. The points of a row are a list of one, as votes are. */
  decide([points]) {
    return this.answer(points);
  }

  /** The number that a row of literals gets. */
  predict(literals) {
    return this.decide(this.votes(this.wires(literals)));
  }
}

/** The same circuit as a classifier: 1 if the prediction is in a range, 0 if not. */
class RangeCircuit extends NumberCircuit {
  constructor(model, gateTables, isInside) {
    super(model, gateTables);
    this.isInside = isInside;
  }

  classify(literals) {
    return Number(this.isInside(this.predict(literals)));
  }
}

/** A prediction as text: without a link it is exact, else it has six digits. */
function numberText(value) {
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const exact = circuit.model.link === "identity" ? value : Number(value.toPrecision(6));
  return String(exact).replace("-", "−");
}

/** What points add, with their factor if there is a link: "+0.32 (× 1.38)". */
function amountText(points) {
  const amount = circuit.score(points);
  const text = `${amount < 0 ? "−" : "+"}${Math.abs(amount)}`;
  if (circuit.model.link === "identity") return text;
  const odds = circuit.model.link === "logit" ? "odds " : "";
  return `${text} (${odds}× ${Number(Math.exp(amount).toPrecision(3))})`;
}

/** A number of the test rows with some digits. */
function roughly(value, digits = 4) {
  if (value === null || Number.isNaN(value)) return "–";
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))).replace("-", "−") : numberText(value);
}
