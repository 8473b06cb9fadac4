// A layout divides the bits of an ID into fields, as snowflake.Layout does in Go. epoch and
// tick are BigInts of milliseconds, and the widths of fields are numbers. If sequenceFirst
// is set, the sequence is above the worker, which a layout of Go does not support.

import { t } from './text.js';

export const maxInt64 = 2n ** 63n - 1n;

// longest is the largest time.Duration of Go in milliseconds, which is the longest time
// since the epoch that a generator can count.
const longest = maxInt64 / 1000000n;
const longestTick = longest / 2n;

export const layouts = Object.freeze({
  twitter: layout(1288834974657n, 1n, 5, 5, 12, 63),
  'js-safe': layout(1577836800000n, 10n, 0, 6, 8, 53),
  discord: layout(1420070400000n, 1n, 5, 5, 12, 63),
  instagram: layout(1314220021721n, 1n, 0, 13, 10, 63),
  leaf: layout(1288834974657n, 1n, 0, 10, 12, 63),
  tsid: layout(1577836800000n, 1n, 0, 10, 12, 63),
  yitter: layout(1582136402000n, 1n, 0, 6, 6, 63),
  sonyflake: layout(1409529600000n, 10n, 0, 16, 8, 63, true),
});

export function layout(epoch, tick, datacenterBits, workerBits, sequenceBits, totalBits, sequenceFirst = false) {
  return Object.freeze({ epoch, tick, datacenterBits, workerBits, sequenceBits, totalBits, sequenceFirst });
}

const usual = Object.freeze(['datacenter', 'worker', 'sequence']);
const swapped = Object.freeze(['datacenter', 'sequence', 'worker']);

// lowFields returns the names of the fields below the time, from the top down.
export function lowFields(l) {
  return l.sequenceFirst ? swapped : usual;
}

export function lowBits(l) {
  return l.datacenterBits + l.workerBits + l.sequenceBits;
}

export function timeBits(l) {
  return l.totalBits - lowBits(l);
}

// endTick returns the first tick for which the layout has too few bits, or that a generator
// cannot count.
export function endTick(l) {
  const countable = longest / l.tick;
  const bits = 2n ** BigInt(timeBits(l));
  return bits < countable ? bits : countable;
}

// expires returns the first millisecond that the layout cannot express.
export function expires(l) {
  return l.epoch + endTick(l) * l.tick;
}

export function lastID(l) {
  return (endTick(l) << BigInt(lowBits(l))) - 1n;
}

export function sameLayout(a, b) {
  return Object.keys(a).every((field) => a[field] === b[field]);
}

// keyOf returns a text that is different for each layout.
export function keyOf(l) {
  return Object.values(l).join(' ');
}

// mistakes returns the name of each wrong field of a layout with a sentence about it. It
// returns an empty list for a valid layout.
export function mistakes(l) {
  const found = [];
  if (l.tick < 1n || l.tick > longestTick) {
    found.push(['tick', t`a tick of ${l.tick} ms: want 1 to ${longestTick} ms`]);
  } else if (l.epoch % l.tick !== 0n) {
    found.push(['epoch', t`the epoch is ${l.epoch % l.tick} ms off a whole tick of ${l.tick} ms: want whole ticks since 1970`]);
  }
  if (l.epoch < 0n) {
    found.push(['epoch', t`an epoch before 1970: want 1970-01-01T00:00:00Z or later`]);
  }
  if (l.epoch > longest) {
    found.push(['epoch', t`an epoch after 2262: want 2262-04-11T23:47:16.854Z or earlier`]);
  }
  if (l.totalBits < 1 || l.totalBits > 63) {
    found.push(['totalBits', t`${l.totalBits} bits in total: want 1 to 63`]);
  } else if (lowBits(l) >= l.totalBits) {
    found.push(['totalBits', t`datacenter, worker and sequence take ${lowBits(l)} of ${l.totalBits} bits: want at least one left for time`]);
  }
  return found;
}

// fromService returns the layout in an answer to GET /v1/layout.
export function fromService(answer) {
  return layout(BigInt(Date.parse(answer.epoch)), BigInt(answer.tick_ms),
    answer.datacenter_bits, answer.worker_bits, answer.sequence_bits, answer.total_bits);
}
