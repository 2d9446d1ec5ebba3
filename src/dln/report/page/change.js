/* For each feature, the nearest other value that changes the class; the smallest change first.
 * Immutable columns are left out.
 *
 * A feature's values fall into atoms that the circuit cannot distinguish. All atoms are tried, so
 * the answer is exact. Distances and their order are those of Circuit.explain in Python.
 */
"use strict";

const KNOWN = 0, UNKNOWN = 1, MISSING = 2;

/** List { feature, atom, after, condition, winner, crossed, distance } for a row of cells. */
function nearestChanges(circuit, features, cells) {
  const literals = circuit.literals(cells);
  const present = circuit.classify(literals);
  const found = [];
  for (const feature of features) {
    if (circuit.model.columns[feature.column].immutable) continue;
    const change = nearestInFeature(circuit, feature, cells[feature.column], literals, present);
    if (change) found.push(change);
  }
  return found.sort((one, other) => compare(betweenFeatures(one), betweenFeatures(other)));
}

function nearestInFeature(circuit, feature, cell, literals, present) {
  const winners = feature.atoms.map((atom) => circuit.classify(withAtom(circuit, literals, feature, atom)));
  const steps = feature.atoms.map((atom) => stepTo(feature, atom, cell));
  let best = -1;
  winners.forEach((winner, place) => {
    if (winner === present) return;
    if (best < 0 || compare(withinFeature(steps[place]), withinFeature(steps[best])) < 0) {
      best = place;
    }
  });
  if (best < 0) return null;
  const condition = conditionOf(feature, winners, best);
  return { feature, ...steps[best], condition, winner: winners[best] };
}

/** The row's literals, with those of one feature replaced by their values in one atom. */
function withAtom(circuit, literals, feature, atom) {
  const changed = literals.slice();
  const low = atom.low ?? -Infinity; // values of a gap are above every cutoff up to its low end
  for (const literal of feature.literals) {
    changed[literal] = atom.gap ? low >= circuit.model.literals[literal].above : 0;
  }
  for (const literal of atom.literals ?? []) changed[literal] = 1;
  return changed;
}

const withinFeature = (step) => [step.tier, step.distance ?? 0, step.crossed];
const betweenFeatures = (step) => [step.tier, step.crossed, step.relative, step.feature.column];

function compare(one, other) {
  const place = one.findIndex((value, index) => value !== other[index]);
  return place < 0 ? 0 : one[place] - other[place];
}

function stepTo(feature, atom, cell) {
  const far = { distance: null, relative: 1 };
  if (atom.missing) {
    const above = feature.cutoffs.filter((cutoff) => cell !== null && cell > cutoff).length;
    return { after: null, tier: MISSING, crossed: Math.max(1, above), ...far };
  }
  if (!atom.gap) {
    return { after: atom.cell, tier: atom.known ? KNOWN : UNKNOWN, crossed: 1, ...far };
  }
  const low = atom.low ?? -Infinity, high = atom.high ?? Infinity;
  const value = cell ?? NaN;
  const crossed = feature.cutoffs.filter((cutoff) => value > cutoff !== low >= cutoff).length;
  if (cell === null) return { after: atom.cell, tier: KNOWN, crossed: Math.max(1, crossed), ...far };
  const boolean = feature.kind === "boolean";
  const within = (low < value || low === -Infinity) && value <= high;
  if (within && !boolean) {
    return { after: atom.cell, tier: KNOWN, crossed, distance: 0, relative: 0 };
  }
  const entry = low >= value ? atom.fromBelow : atom.fromAbove;
  const distance = Math.abs(entry.edge - value);
  const relative = boolean ? 1 : relativeTo(value, low >= value, distance);
  return { after: entry.cell, tier: KNOWN, crossed, distance, relative };
}

function relativeTo(value, upwards, distance) {
  if (distance === 0) return 0;
  const larger = Math.max(Math.abs(value), Math.abs(upwards ? value + distance : value - distance));
  return larger < Infinity ? distance / larger : 1;
}

/** Describe the atoms around the chosen one that give the same class. */
function conditionOf(feature, winners, place) {
  const { atoms } = feature;
  if (!atoms[place].gap) return atoms[place].text;
  let first = place, last = place;
  while (atoms[first - 1]?.gap && winners[first - 1] === winners[place]) first--;
  while (atoms[last + 1]?.gap && winners[last + 1] === winners[place]) last++;
  const low = atoms[first].ends[0], high = atoms[last].ends[1];
  if (low !== null && high !== null) return `${low} < ${feature.text} <= ${high}`;
  const bounds = [atoms[first].above, atoms[last].upTo].filter((text) => text !== null);
  // A missing value is not above the cutoff either. If its class differs, say so.
  const apart = atoms[0].missing && winners[0] !== winners[place];
  if (atoms[first].above === null && (apart || !bounds.length)) {
    bounds.push(`${feature.text} is not missing`);
  }
  return bounds.join(" and ");
}
