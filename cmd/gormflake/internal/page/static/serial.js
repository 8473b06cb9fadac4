// Serial numbers as package serial of Go writes them. They consist of a code, the start of
// the ID's tick in UTC, and the fields of the layout, each as wide as its largest value. A
// separator may stand between the parts.

import { dateOf, daysOfMonth, timeOfDate } from './calendar.js';
import { quote } from './forms.js';
import { lastID, lowFields } from './layout.js';
import { compose, decompose, mask, timeOf } from './parts.js';
import { t } from './text.js';

// longest is the largest number of characters of a serial number, which has the longest
// code and the widest layout.
export const longest = 74;

// format returns the serial number of an ID. A number that is not an ID of the layout has
// none, so for it format returns the code, an exclamation mark and the number.
export function format(l, code, separator, id) {
  checkCode(code);
  checkSeparator(separator);
  if (id <= 0n || id > lastID(l)) return `${code}!${id}`;
  const shape = shapeOf(l);
  const parts = decompose(l, id);
  const { year, rest } = dateOf(parts.time);
  const time = `${year}`.padStart(4, '0') + rest.replace(/[^0-9]/g, '');
  return [code, time, ...shape.fields.map(({ name, width }) => `${parts[name]}`.padStart(width, '0'))].join(separator);
}

// parse returns the code, the separator and the ID of a serial number of the layout. It
// accepts only texts that format writes for an ID.
export function parse(l, text) {
  const match = shapeOf(l).whole.exec(text);
  if (!match) {
    throw new SyntaxError(t`serial: ${quote(text)} has another shape: want ${wanted(l)}`);
  }
  try {
    return { code: match[1], separator: match[2], id: idOf(l, match.slice(3)) };
  } catch (error) {
    throw new SyntaxError(t`serial: ${quote(text)}: ${error.message}`);
  }
}

// finder returns a function that looks for a serial number at an index of a text. Its result
// has the length of the text that has the shape of a serial number and, if it is one, the
// result of parse. With lettered, a code of digits alone does not count.
export function finder(l, lettered) {
  const { source } = shapeOf(l);
  const pattern = new RegExp(`${lettered ? '(?=[0-9]*[A-Z])' : ''}${source}(?![0-9A-Za-z])`, 'y');
  return (text, index) => {
    pattern.lastIndex = index;
    const match = pattern.exec(text);
    return match && { length: match[0].length, ...attempt(l, match[0]) };
  };
}

function attempt(l, text) {
  try {
    return parse(l, text);
  } catch {
    return {};
  }
}

// readCode returns the code in a field, and the separator that may follow it.
export function readCode(text) {
  const [, code, separator] = /^(.*?)([-_.]?)$/s.exec(text);
  checkCode(code);
  return { code, separator };
}

function checkCode(code) {
  if (!/^[0-9A-Z]{1,32}$/.test(code)) {
    throw new SyntaxError(t`code ${quote(code)}: want 1 to 32 of A-Z and 0-9`);
  }
}

function checkSeparator(separator) {
  if (!/^[-_.]?$/.test(separator)) {
    throw new SyntaxError(t`separator ${quote(separator)}: want none or one of - _ .`);
  }
}

// wanted returns the forms of serial numbers of a layout, with a zero for each digit.
function wanted(l) {
  const shape = shapeOf(l);
  const parts = ['CODE', '0'.repeat(17), ...shape.fields.map(({ width }) => '0'.repeat(width))];
  return t`${parts.join('')} or ${parts.join('-')}, with 1 to 32 of A-Z and 0-9 for CODE`;
}

const shapes = new WeakMap();

// shapeOf returns the fields and the pattern of the serial numbers of a layout. It computes
// them only once for each layout.
function shapeOf(l) {
  if (!shapes.has(l)) shapes.set(l, newShape(l));
  return shapes.get(l);
}

function newShape(l) {
  const present = lowFields(l).map((name) => ({ name, largest: mask(l[`${name}Bits`]) }))
    .filter(({ largest }) => largest > 0n)
    .map(({ name, largest }) => ({ name, width: `${largest}`.length }));
  const time = `([0-9]{4})${'([0-9]{2})'.repeat(5)}([0-9]{3})`;
  const source = `([0-9A-Z]{1,32})([-_.]?)${time}${present.map(({ width }) => `\\2([0-9]{${width}})`).join('')}`;
  return { fields: present, source, whole: new RegExp(`^${source}$`) };
}

// idOf returns the ID whose parts have these texts.
function idOf(l, texts) {
  const time = timeOfTexts(texts);
  const parts = { time, datacenter: 0n, worker: 0n, sequence: 0n };
  shapeOf(l).fields.forEach(({ name }, i) => { parts[name] = BigInt(texts[7 + i]); });
  const id = compose(l, parts);
  if (timeOf(l, id) !== time) throw new RangeError(t`it is within a tick of ${l.tick} ms: want its start`);
  if (id === 0n) throw new RangeError(t`it is ID 0, which no row has: want a later one`);
  return id;
}

function timeOfTexts(texts) {
  const year = BigInt(texts[0]);
  const [month, day, hour, minute, second, ms] = texts.slice(1, 7).map(Number);
  const check = (name, got, least, most) => {
    if (got < least || got > most) throw new RangeError(t`${t(name)} ${got} out of range [${least}, ${most}]`);
  };
  check('month', month, 1, 12);
  check('day', day, 1, daysOfMonth(year, month));
  check('hour', hour, 0, 23);
  check('minute', minute, 0, 59);
  check('second', second, 0, 59);
  return timeOfDate(year, month, day, hour, minute, second, ms);
}
