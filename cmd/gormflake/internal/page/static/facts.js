// The facts about one ID, which are a sentence, its times and its texts.

import { copyButton } from './copy.js';
import { byID, dayAndHour, el, fill } from './dom.js';
import { format, forms } from './forms.js';
import { keyOf } from './layout.js';
import { decompose, max, min } from './parts.js';
import * as serials from './serial.js';
import { t } from './text.js';
import { isoTime, localTime, longAge, longTime, zoneName } from './time.js';

// showFacts fills the tables of times and texts. serial is the code and separator of the
// serial number, or undefined if none is shown.
export function showFacts(layout, id, serial) {
  const key = `${id} ${keyOf(layout)}`;
  fill(byID('times').tBodies[0], key, () => timeRows(layout, decompose(layout, id)));
  fill(byID('texts').tBodies[0], `${key} ${serial?.code}${serial?.separator}`, () => textRows(layout, id, serial));
}

// showSentence shows when the ID was made, and by which worker.
export function showSentence(layout, id, now) {
  const parts = decompose(layout, id);
  const name = (field) => [t` `, el('b', { class: `ink ${field}` }, t`${t(field)} ${parts[field]}`)];
  const ahead = parts.time > now;
  byID('sentence').replaceChildren(
    ahead ? t`Its time is ` : t`Made on `, el('b', { class: 'ink time' }, longTime(parts.time)), t`, `, el('span', { id: 'age' }, longAge(parts.time, now)),
    ...(layout.workerBits > 0 ? [ahead ? t`, of` : t`, by`, ...name('worker')] : []),
    ...(layout.datacenterBits > 0 ? [layout.workerBits > 0 ? t` in` : t`, in`, ...name('datacenter')] : []),
    ...(layout.sequenceBits > 0 ? [t`, with`, ...name('sequence')] : []), t`.`);
}

// showAge updates the age in the sentence.
export function showAge(layout, id, now) {
  byID('age').textContent = longAge(decompose(layout, id).time, now);
}

function timeRows(layout, { time }) {
  const tick = layout.tick === 1n ? t`this ms` : t`these ${layout.tick} ms`;
  return [
    row('UTC', isoTime(time), t`time in UTC`, 'utc', undefined, dayAndHour),
    row(t`Local`, localTime(time), t`local time`, 'local', zoneName()),
    row(t`Unix ms`, `${time}`, t`Unix milliseconds`, 'unix'),
    bound(t`Lowest ID`, '>=', min(layout, time), tick, 'min'),
    bound(t`Highest ID`, '<=', max(layout, time), tick, 'max'),
  ];
}

// bound returns the row of the lowest or highest ID of the tick, with its use in SQL.
function bound(which, comparison, end, tick, id) {
  return el('tr', {},
    el('th', { scope: 'row' }, `${which} `, el('small', {}, t`of ${tick}`)),
    el('td', {}, el('span', { id }, `${end}`), ' ', el('small', { class: 'quiet' }, t`for WHERE id ${comparison} …`)),
    el('td', {}, copyButton(t`${which} of ${tick}`, () => `${end}`)));
}

const names = { decimal: 'Decimal', base32: 'Base 32', base58: 'Base 58', base62: 'Base 62' };

function textRows(layout, id, serial) {
  return [
    ...(serial ? [row(t`Serial`, serials.format(layout, serial.code, serial.separator, id), t`Serial number`, 'serial')] : []),
    ...forms.map((form) => row(t(names[form]), format(form, id), t(names[form]), form)),
    row(t`Hex`, `0x${id.toString(16).padStart(16, '0')}`, t`hexadecimal`, 'hex'),
  ];
}

function row(label, text, what, id, title, show = (text) => [text]) {
  return el('tr', {},
    el('th', { scope: 'row', title }, label),
    el('td', { id }, ...show(text)),
    el('td', {}, copyButton(what, () => text)));
}
