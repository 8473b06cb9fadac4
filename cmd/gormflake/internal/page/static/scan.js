// The IDs in any text, such as a log.

import { day } from './detect.js';
import { format, mayBe, parse } from './forms.js';
import { lastID } from './layout.js';
import { max, min } from './parts.js';
import * as serial from './serial.js';

// An ID of the layout's first days does not count, because such a number in a log is more
// often a status, a length or a Unix time.
const early = 30n * day;

// The least number of characters of a word that counts as left out.
const long = 13;

// The largest number of IDs with which the timeline is still smooth.
export const mostIDs = 200000;

// scan finds the IDs in a text. found are the IDs in the order of the text, at most mostIDs,
// and more is true if there are further ones. leftOut is the number of long words that it
// left out because their time is unlikely. list is true if the text has nothing but IDs.
// The form auto means decimal and serial numbers or, if there are none, the form that
// finds most.
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

// readList returns the IDs of a text that has nothing but IDs, whatever their times. It
// returns undefined for any other text.
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

// boundsOf returns the smallest and the largest ID that count in a log. They are of the end
// of the layout's first days, and of a day from now.
function boundsOf(layout, now) {
  const last = lastID(layout);
  const ahead = max(layout, now + day);
  return { from: min(layout, layout.epoch + early), to: ahead < last ? ahead : last };
}

// fewestDigits returns the length of the shortest decimal ID that scan finds in a text with
// other words.
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

// mayBeSerial reports quickly whether a serial number may begin at the word. It has 17 digits
// of time after its code, in the same word or after a separator.
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

// isLikely reports whether a word may be an ID of this form. In base 58 and base 62 it must
// have a digit and a letter, so that words of a language and numbers do not count.
function isLikely(form, word) {
  return form === 'decimal' || form === 'base32' ? /[0-9]/.test(word) : /[0-9]/.test(word) && /[A-Za-z]/.test(word);
}

// itemOf returns the word with its ID, or undefined if it is not an ID.
function itemOf(form, word) {
  if (!mayBe(form, word)) return undefined;
  try {
    return { form, text: word, id: parse(form, word) };
  } catch {
    return undefined;
  }
}

// isFraction reports whether the word at index is the part of a number after its point.
function isFraction(text, index) {
  return text[index - 1] === '.' && /[0-9]/.test(text[index - 2] ?? '');
}
