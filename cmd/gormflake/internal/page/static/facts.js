// What there is to say about one ID: a sentence, its times, its texts.

import { copyButton } from './copy.js';
import { byID, dayAndHour, el, fill } from './dom.js';
import { format, forms } from './forms.js';
import { keyOf } from './layout.js';
import { decompose, max, min } from './parts.js';
import * as serials from './serial.js';
import { isoTime, localTime, longAge, longTime, zoneName } from './time.js';

// showFacts fills the tables. The serial number is shown if its code is given.
export function showFacts(layout, id, serial) {
  const key = `${id} ${keyOf(layout)}`;
  fill(byID('times').tBodies[0], key, () => timeRows(layout, decompose(layout, id)));
  fill(byID('texts').tBodies[0], `${key} ${serial?.code}${serial?.separator}`, () => textRows(layout, id, serial));
}

// showSentence says when the ID was made, and by whom.
export function showSentence(layout, id, now) {
  const parts = decompose(layout, id);
  const name = (field) => [' ', el('b', { class: `ink ${field}` }, `${field} ${parts[field]}`)];
  const ahead = parts.time > now;
  byID('sentence').replaceChildren(
    ahead ? 'Its time is ' : 'Made on ', el('b', { class: 'ink time' }, longTime(parts.time)), ', ', el('span', { id: 'age' }, longAge(parts.time, now)),
    ...(layout.workerBits > 0 ? [ahead ? ', of' : ', by', ...name('worker')] : []),
    ...(layout.datacenterBits > 0 ? [layout.workerBits > 0 ? ' in' : ', in', ...name('datacenter')] : []),
    ...(layout.sequenceBits > 0 ? [', with', ...name('sequence')] : []), '.');
}

// showAge keeps the age true while the page is open.
export function showAge(layout, id, now) {
  byID('age').textContent = longAge(decompose(layout, id).time, now);
}

function timeRows(layout, { time }) {
  const tick = layout.tick === 1n ? 'this ms' : `these ${layout.tick} ms`;
  return [
    row('UTC', isoTime(time), 'time in UTC', 'utc', undefined, dayAndHour),
    row('Local', localTime(time), 'local time', 'local', zoneName()),
    row('Unix ms', `${time}`, 'Unix milliseconds', 'unix'),
    bound('Lowest', '>=', min(layout, time), tick, 'min'),
    bound('Highest', '<=', max(layout, time), tick, 'max'),
  ];
}

// bound is the row of an end of the tick, with what it is for.
function bound(which, comparison, end, tick, id) {
  return el('tr', {},
    el('th', { scope: 'row' }, `${which} ID `, el('small', {}, `of ${tick}`)),
    el('td', {}, el('span', { id }, `${end}`), ' ', el('small', { class: 'quiet' }, `for WHERE id ${comparison} …`)),
    el('td', {}, copyButton(`${which.toLowerCase()} ID of ${tick}`, () => `${end}`)));
}

const names = { decimal: 'Decimal', base32: 'Base 32', base58: 'Base 58', base62: 'Base 62' };

function textRows(layout, id, serial) {
  return [
    ...(serial ? [row('Serial', serials.format(layout, serial.code, serial.separator, id), 'Serial number', 'serial')] : []),
    ...forms.map((form) => row(names[form], format(form, id), names[form], form)),
    row('Hex', `0x${id.toString(16).padStart(16, '0')}`, 'hexadecimal', 'hex'),
  ];
}

function row(label, text, what, id, title, show = (text) => [text]) {
  return el('tr', {},
    el('th', { scope: 'row', title }, label),
    el('td', { id }, ...show(text)),
    el('td', {}, copyButton(what, () => text)));
}
