// What becomes of an ID that JavaScript reads as a number.

import { el, fill } from './dom.js';
import { t } from './text.js';

const largestExact = BigInt(Number.MAX_SAFE_INTEGER);

// printed is what a console and JSON write of the number: the fewest digits that
// no other number has, and zeros.
function printed(id) {
  return `${Number(id)}`;
}

// showNumber says it, with the digits that change marked.
export function showNumber(container, id) {
  fill(container, `${id}`, () => [
    el('p', { class: 'code' }, `Number("${id}")`),
    el('p', { class: 'code' }, '= ', ...changed(`${id}`, printed(id))),
    el('p', { id: 'exactness' }, exactness(id)),
    el('p', { class: 'quiet' }, t`Send it as a string: `, el('code', {}, `{"id": "${id}"}`)),
  ]);
}

// changed marks what differs from the digits of the ID, at their end.
function changed(id, read) {
  let same = 0;
  while (same < read.length && id[same] === read[same]) same++;
  return same === read.length && id.length === same ? [read] : [read.slice(0, same), el('mark', {}, read.slice(same))];
}

// exactness says whether the number is the ID, and is written as it.
function exactness(id) {
  const bits = t`A JavaScript number holds 53 bits exactly. This ID has ${id.toString(2).length}`;
  if (id <= largestExact) return t`${bits}, so it survives; IDs of more bits are rounded.`;
  if (printed(id) === `${id}`) return t`${bits}. It survives by its last digits; the next ID, ${id + 1n}, becomes ${printed(id + 1n)}.`;
  if (BigInt(Number(id)) === id) return t`${bits}. Its last bits are 0: the number is exact, but written with other digits.`;
  return t`${bits}, and is rounded to another ID.`;
}
