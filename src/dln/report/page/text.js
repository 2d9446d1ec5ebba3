/* Numbers, values and dates as people read them. */
"use strict";

/**
 * Round as Python prints: exact halves go to the even digit, but toFixed rounds them up.
 * Otherwise 39 of 48 rows would be 81.3 % here and 81.2 % in `dln rules`.
 */
function fixed(value, digits) {
  const scaled = value * 10 ** digits;
  const isHalf = Number.isInteger(value * 2 ** (digits + 1)) && Math.abs(scaled % 1) === 0.5;
  return (isHalf ? (2 * Math.round(scaled / 2)) / 10 ** digits : value).toFixed(digits);
}
const percent = (share) => (share === null || Number.isNaN(share) ? "–" : `${fixed(100 * share, 1)}\u00a0%`);
const decimals = (value) => fixed(value, 3);
const whole = (count) => count.toLocaleString("en");
const counted = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
const signed = (vote) => (vote > 0 ? `+${vote}` : `−${-vote}`);

/** Write a value of a feature as its user would. */
function cellText(feature, cell) {
  if (cell === null) return "missing";
  if (feature.kind === "category") {
    return typeof cell === "string" ? cell : feature.categories[cell];
  }
  if (feature.kind === "boolean" && (cell === 0 || cell === 1)) return cell ? "true" : "false";
  if (feature.kind === "date") return momentText(cell);
  return String(cell);
}

/** Seconds since 1970 as 2020-01-31, with the time of day unless it is midnight. */
function momentText(seconds) {
  const full = Math.floor(seconds);
  const date = new Date(full * 1000);
  if (!Number.isFinite(date.getTime()) || date.getUTCFullYear() < 1) return String(seconds);
  const micros = Math.round((seconds - full) * 1e6);
  const text = date.toISOString().slice(0, 19) + (micros ? "." + String(micros).padStart(6, "0") : "");
  return text.endsWith("T00:00:00") ? text.slice(0, 10) : text;
}

/** Read what momentText wrote; NaN for anything else. */
function momentSeconds(text) {
  const form = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(\.\d{1,6})?)?$/;
  const [, day, time = "00:00:00", fraction = ""] = text.trim().match(form) ?? [];
  const seconds = Date.parse(`${day}T${time}Z`) / 1000;
  // Date.parse turns 30 February into 1 March.
  if (!new Date(seconds * 1000).toJSON()?.startsWith(day)) return NaN;
  return fraction ? seconds + Number(fraction) : seconds;
}
