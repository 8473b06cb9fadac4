// The tables about one ID: its fields, its times, its texts.

import { bitsOf } from './bits.js';
import { copyButton } from './copy.js';
import { byID, el } from './dom.js';
import { format, forms } from './forms.js';
import { decompose, mask, max, min } from './parts.js';
import * as serials from './serial.js';
import { age, isoTime, localTime, zoneName } from './time.js';

// showFacts fills the tables. The serial number is shown if its code is given.
export function showFacts(layout, id, serial) {
  const parts = decompose(layout, id);
  rows('fields', bitsOf(layout, id).filter(({ name }) => name !== 'unused').map((field) => fieldRow(field, parts)));
  rows('times', timeRows(layout, parts));
  rows('texts', textRows(layout, id, serial));
}

// showAge keeps the age true while the page is open.
export function showAge(layout, id, now) {
  byID('age').textContent = age(decompose(layout, id).time, now);
}

function rows(table, list) {
  byID(table).tBodies[0].replaceChildren(...list);
}

function fieldRow({ name, bits, high }, parts) {
  const value = name === 'time' ? parts.tick : parts[name];
  return el('tr', {},
    el('th', { scope: 'row' }, el('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }), name === 'time' ? 'tick' : name),
    el('td', { class: 'number quiet' }, bits === 1 ? `${high}` : `${high}–${high - bits + 1}`),
    el('td', { class: 'number', id: `value-${name}` }, `${value}`),
    el('td', { class: 'number quiet' }, `${mask(bits)}`));
}

function timeRows(layout, { time }) {
  return [
    row('UTC', isoTime(time), 'time in UTC', 'utc'),
    row('Local', localTime(time), 'local time', 'local', zoneName()),
    el('tr', {}, el('th', { scope: 'row' }, 'Age'), el('td', { id: 'age' }), el('td')),
    row('Unix ms', `${time}`, 'Unix milliseconds', 'unix'),
    row('First ID', `${min(layout, time)}`, 'first ID of the tick', 'min', 'the smallest ID of this tick: WHERE id >= …'),
    row('Last ID', `${max(layout, time)}`, 'last ID of the tick', 'max', 'the largest ID of this tick: WHERE id <= …'),
  ];
}

const names = { decimal: 'Decimal', base32: 'Base 32', base58: 'Base 58', base62: 'Base 62' };

function textRows(layout, id, serial) {
  return [
    ...(serial ? [row('Serial', serials.format(layout, serial.code, serial.separator, id), 'Serial number', 'serial')] : []),
    ...forms.map((form) => row(names[form], format(form, id), names[form], form)),
    row('Hex', `0x${id.toString(16).padStart(16, '0')}`, 'hexadecimal', 'hex'),
    numberRow(id),
  ];
}

// numberRow says what a JavaScript number makes of the ID.
function numberRow(id) {
  return el('tr', {},
    el('th', { scope: 'row' }, 'Number'),
    el('td', { id: 'number', class: id <= largestExact ? 'good' : 'bad' }, exactness(id)),
    el('td'));
}

const largestExact = BigInt(Number.MAX_SAFE_INTEGER);

function exactness(id) {
  if (id <= largestExact) return 'exact in JavaScript';
  const read = BigInt(Number(id));
  return read === id ? 'above 2^53: exact by chance' : `JavaScript reads ${read}`;
}

function row(label, text, what, id, title) {
  return el('tr', {},
    el('th', { scope: 'row', title }, label),
    el('td', { id }, text),
    el('td', {}, copyButton(what, () => text)));
}
