// Serial numbers as package serial of Go writes them: a code, the start of the
// ID's tick in UTC, and the fields of the layout, each as wide as its largest
// value. A separator may stand between them.

import { dateOf, daysOfMonth, timeOfDate } from './calendar.js';
import { quote } from './forms.js';
import { lastID, lowFields } from './layout.js';
import { compose, decompose, mask, timeOf } from './parts.js';
import { t } from './text.js';

// longest is a serial number of the longest code and the widest layout.
export const longest = 74;

// format returns the serial number of an ID. What is not an ID of the layout has
// none, and gives the code, an exclamation mark and the number.
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

// parse reads the serial number of an ID of the layout, whatever its code and
// separator, and returns all three. It takes nothing that format does not write.
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

// finder returns a function that finds the serial number at a place of a text.
// Its result says how long the text is that has the shape of one, and what it
// is, if it is one. With lettered, a code of digits alone does not count.
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

// readCode reads what a reader enters: a code, and perhaps a separator behind.
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

// wanted describes the serial numbers of a layout by their zeros.
function wanted(l) {
  const shape = shapeOf(l);
  const parts = ['CODE', '0'.repeat(17), ...shape.fields.map(({ width }) => '0'.repeat(width))];
  return t`${parts.join('')} or ${parts.join('-')}, with 1 to 32 of A-Z and 0-9 for CODE`;
}

const shapes = new WeakMap();

// shapeOf is what all serial numbers of a layout share, kept for the next one.
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

// idOf puts the texts of the parts together.
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
