// The IDs in any text, such as a log.

import { parse } from './forms.js';
import { doubt } from './detect.js';
import { timeOf } from './parts.js';

// A number in a log is more often a status, a length or a Unix time than an ID
// of the layout's first days.
const early = 30n * 86400000n;

// A number that is left out is worth a word if it is as long as an ID.
const long = 13;

const token = /[0-9A-Za-z]+/g;

// scan returns the IDs that text holds, in its order, and how many long numbers it
// left out because their time makes no sense. Automatic means decimal, or, in a
// text without any, the form that finds most.
export function scan(text, layout, now, form = 'auto') {
  const list = readList(text, form);
  if (list) return { found: list, leftOut: 0 };
  if (form !== 'auto') return scanFor(text, layout, now, form);
  const decimal = scanFor(text, layout, now, 'decimal');
  if (decimal.found.length > 0) return decimal;
  return ['base32', 'base58', 'base62']
    .map((other) => scanFor(text, layout, now, other))
    .reduce((best, each) => (each.found.length > best.found.length ? each : best), decimal);
}

// readList takes a text that holds nothing but IDs by its word, whatever their
// times; undefined where the text is anything else.
function readList(text, form) {
  const words = text.split(/[\s,;"'[\]]+/).filter((word) => word !== '');
  if (form === 'auto' && words.every((word) => /^[0-9]+$/.test(word))) form = 'decimal';
  if (form === 'auto') return undefined;
  const list = words.map((word) => ({ form, text: word, id: idOf(form, word) }));
  return list.length > 0 && list.every(({ id }) => id > 0n) ? list : undefined;
}

function scanFor(text, layout, now, form) {
  const found = [];
  let leftOut = 0;
  for (const { 0: word, index } of text.matchAll(token)) {
    const id = isLikely(form, word) && !isFraction(text, index) ? idOf(form, word) : undefined;
    if (id === undefined) continue;
    if (doubt(layout, id, now) || timeOf(layout, id) < layout.epoch + early) leftOut += word.length >= long ? 1 : 0;
    else found.push({ form, text: word, id });
  }
  return { found, leftOut };
}

// isLikely leaves out the words and the numbers of a text in another form.
function isLikely(form, word) {
  return form === 'decimal' || form === 'base32' ? /[0-9]/.test(word) : /[0-9]/.test(word) && /[A-Za-z]/.test(word);
}

// idOf is undefined for what is no ID.
function idOf(form, word) {
  if (word.length > 19) return undefined;
  try {
    return parse(form, word);
  } catch {
    return undefined;
  }
}

// isFraction tells the digits after the point of a number.
function isFraction(text, index) {
  return text[index - 1] === '.' && /[0-9]/.test(text[index - 2] ?? '');
}
