// Texts that can be read as an ID, but are hardly one.

import { day, doubt } from './detect.js';
import { t } from './text.js';
import { isoTime } from './time.js';

const year = 365n * day;
const early = 30n * day;

// The units of a Unix time. A time in a unit becomes milliseconds if it is multiplied by the
// first number and divided by the second.
const units = [['seconds', 1000n, 1n], ['milliseconds', 1n, 1n], ['microseconds', 1n, 1000n], ['nanoseconds', 1n, 1000000n]];

// hardly returns why the item is hardly an ID of the layout, or '' if it may be one.
export function hardly(layout, { id, text = '', form }, now) {
  if (form === 'serial') return doubt(layout, id, now);
  if (/^[A-Za-z][a-z]+$/.test(text)) return t`it looks like a word`;
  return unixTime(id, now) || rounded(id) || doubt(layout, id, now) || soon(layout, id, now);
}

// unixTime returns the Unix time within ten years of now for which a number may stand, or
// ''. IDs can be as large as nanoseconds, but hardly end with six zeros.
function unixTime(id, now) {
  for (const [name, times, by] of units) {
    const time = id * times / by;
    const away = time < now ? now - time : time - now;
    if (away < 10n * year && (by < 1000000n || id % by === 0n)) return t`it may be ${t(name)} since 1970: ${isoTime(time)}`;
  }
  return '';
}

function rounded(id) {
  const text = `${id}`;
  return id > 2n ** 53n && text.endsWith('00') && `${Number(id)}` === text ? t`it ends with 00 as digits that JavaScript has rounded do` : '';
}

// soon returns a doubt about an ID of the layout's first days, because numbers of cards,
// which have 16 digits, have such times.
function soon(layout, id, now) {
  const since = (id >> BigInt(layout.datacenterBits + layout.workerBits + layout.sequenceBits)) * layout.tick;
  const half = (now - layout.epoch) / 2n;
  return since < (half < early ? half : early) ? t`it is of the layout's first days, as the number of a card is` : '';
}
