// The number that an ID becomes if JavaScript reads it as one.

import { el, fill } from './dom.js';
import { t } from './text.js';

const largestExact = BigInt(Number.MAX_SAFE_INTEGER);

// printed returns the number as a console and JSON write it, which is with the fewest digits
// that no other number has, followed by zeros.
function printed(id) {
  return `${Number(id)}`;
}

// showNumber shows the number, and marks the digits that differ from the ID.
export function showNumber(container, id) {
  fill(container, `${id}`, () => [
    el('p', { class: 'code' }, `Number("${id}")`),
    el('p', { class: 'code' }, '= ', ...changed(`${id}`, printed(id))),
    el('p', { id: 'exactness' }, exactness(id)),
    el('p', { class: 'quiet' }, t`Send it as a string: `, el('code', {}, `{"id": "${id}"}`)),
  ]);
}

// changed returns the digits of the number. Those at the end that differ from the ID are
// marked.
function changed(id, read) {
  let same = 0;
  while (same < read.length && id[same] === read[same]) same++;
  return same === read.length && id.length === same ? [read] : [read.slice(0, same), el('mark', {}, read.slice(same))];
}

// exactness returns a sentence that says whether the number equals the ID, and whether it
// has the same digits.
function exactness(id) {
  const bits = t`A JavaScript number holds 53 bits exactly. This ID has ${id.toString(2).length}`;
  if (id <= largestExact) return t`${bits}, so it survives; IDs of more bits are rounded.`;
  if (printed(id) === `${id}`) return t`${bits}. It survives by its last digits; the next ID, ${id + 1n}, becomes ${printed(id + 1n)}.`;
  if (BigInt(Number(id)) === id) return t`${bits}. Its last bits are 0: the number is exact, but written with other digits.`;
  return t`${bits}, and is rounded to another ID.`;
}
