// The IDs in any text, such as a log.

import { day } from './detect.js';
import { format, mayBe, parse } from './forms.js';
import { lastID } from './layout.js';
import { max, min } from './parts.js';
import * as serial from './serial.js';

// A number in a log is more often a status, a length or a Unix time than an ID
// of the layout's first days.
const early = 30n * day;

// A number that is left out is worth a word if it is as long as an ID.
const long = 13;

// The timeline stays smooth with as many.
export const mostIDs = 200000;

// scan returns the IDs that text holds, in its order, how many long numbers it
// left out because their time makes no sense, and whether there are more than
// mostIDs, of which it returns the first; list is true if the text holds nothing
// else. Automatic means decimal and serial
// numbers, or, in a text without any, the form that finds most.
export function scan(text, layout, now, form = 'auto') {
  const list = readList(text, layout, form);
  if (list) return list;
  const bounds = boundsOf(layout, now);
  if (form !== 'auto') return scanFor(text, layout, bounds, [form]);
  const usual = scanFor(text, layout, bounds, ['decimal', 'serial']);
  if (usual.found.length > 0) return usual;
  return ['base32', 'base58', 'base62']
    .map((other) => scanFor(text, layout, bounds, [other]))
    .reduce((best, each) => (each.found.length > best.found.length ? each : best), usual);
}

// readList takes a text that holds nothing but IDs by its word, whatever their
// times; undefined where the text is anything else.
function readList(text, layout, form) {
  if (form !== 'auto') return listOf(text, layout, form);
  return listOf(text, layout, 'decimal') ?? listOf(text, layout, 'serial');
}

const listed = /[^\s,;"'[\]]+/g;

function listOf(text, layout, form) {
  const found = [];
  const readSerial = form === 'serial' ? serial.finder(layout, false) : undefined;
  for (const { 0: whole } of text.matchAll(listed)) {
    const word = whole.replace(/^([0-9]{14,19})n$/, '$1'); // of a BigInt
    if (found.length === mostIDs) return { found, leftOut: 0, more: true, list: true };
    const item = readSerial ? serialItem(word, readSerial(word, 0)) : itemOf(form, word);
    if (!item || item.id === 0n || item.text.length < word.length) return undefined;
    found.push(item);
  }
  return found.length > 0 ? { found, leftOut: 0, more: false, list: true } : undefined;
}

// boundsOf are the IDs that make sense in a log: later than the layout's first
// days, and no more than a day ahead.
function boundsOf(layout, now) {
  const last = lastID(layout);
  const ahead = max(layout, now + day);
  return { from: min(layout, layout.epoch + early), to: ahead < last ? ahead : last };
}

// fewestDigits is the length of the shortest decimal ID that a text can have
// besides other words.
export function fewestDigits(layout) {
  return `${min(layout, layout.epoch + early)}`.length;
}

const token = /[0-9A-Za-z]+/g;

function scanFor(text, layout, bounds, forms) {
  const form = forms.find((each) => each !== 'serial');
  const readSerial = forms.includes('serial') ? serial.finder(layout, form !== undefined) : undefined;
  const words = new RegExp(token);
  const shortest = form && Math.min(long, format(form, bounds.from).length);
  const result = { found: [], leftOut: 0, more: false };
  for (let match; (match = words.exec(text)) && !result.more;) {
    const found = readSerial && mayBeSerial(text, match) && readSerial(text, match.index);
    if (found) words.lastIndex = match.index + found.length;
    const item = found ? serialItem(text.substr(match.index, found.length), found) : match[0].length >= shortest && numberOf(form, text, match);
    if (item) add(result, item, bounds);
  }
  return result;
}

function add(result, item, { from, to }) {
  if (item.id < from || item.id > to) {
    result.leftOut += item.text.length >= long ? 1 : 0;
  } else if (result.found.length === mostIDs) {
    result.more = true;
  } else {
    result.found.push(item);
  }
}

// mayBeSerial leaves out nearly all words at little cost: a serial number has
// 17 digits of time behind its code, in the same word or behind a separator.
function mayBeSerial(text, { 0: word, index }) {
  return word.length > 17 || '-_.'.includes(text[index + word.length] ?? ' ');
}

function serialItem(text, found) {
  if (found?.id === undefined) return undefined;
  const { id, code, separator } = found;
  return { form: 'serial', text: text.slice(0, found.length), id, serial: { code, separator } };
}

function numberOf(form, text, { 0: word, index }) {
  return isLikely(form, word) && !isFraction(text, index) ? itemOf(form, word) : undefined;
}

// isLikely leaves out the words and the numbers of a text in another form.
function isLikely(form, word) {
  return form === 'decimal' || form === 'base32' ? /[0-9]/.test(word) : /[0-9]/.test(word) && /[A-Za-z]/.test(word);
}

// itemOf is undefined for what is not an ID.
function itemOf(form, word) {
  if (!mayBe(form, word)) return undefined;
  try {
    return { form, text: word, id: parse(form, word) };
  } catch {
    return undefined;
  }
}

// isFraction tells the digits after the point of a number.
function isFraction(text, index) {
  return text[index - 1] === '.' && /[0-9]/.test(text[index - 2] ?? '');
}
