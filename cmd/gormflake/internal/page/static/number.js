// What becomes of an ID that JavaScript reads as a number.

import { el, fill } from './dom.js';

const largestExact = BigInt(Number.MAX_SAFE_INTEGER);

// showNumber says it, with the digits that change marked.
export function showNumber(container, id) {
  const read = BigInt(Number(id));
  fill(container, `${id}`, () => [
    el('p', { class: 'code' }, `Number("${id}")`),
    el('p', { class: 'code' }, '= ', ...changed(`${id}`, `${read}`)),
    el('p', { id: 'exactness' }, exactness(id, read)),
    el('p', { class: 'quiet' }, 'Send it as a string: ', el('code', {}, `{"id": "${id}"}`)),
  ]);
}

// changed marks what differs from the digits of the ID, at their end.
function changed(id, read) {
  let same = 0;
  while (same < read.length && id[same] === read[same]) same++;
  return same === read.length && id.length === same ? [read] : [read.slice(0, same), el('mark', {}, read.slice(same))];
}

// exactness says whether the number is the ID.
function exactness(id, read) {
  const bits = id.toString(2).length;
  if (id <= largestExact) return `A JavaScript number holds 53 bits exactly. This ID has ${bits}, so it survives; IDs of more bits are rounded.`;
  const rounded = `A JavaScript number holds 53 bits exactly. This ID has ${bits}`;
  if (read !== id) return `${rounded}, and is rounded to another ID.`;
  return `${rounded}. It survives because its last bits are 0; the next ID, ${id + 1n}, becomes ${BigInt(Number(id + 1n))}.`;
}
