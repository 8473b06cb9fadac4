// The marks of a time axis.

import { isoTime } from './time.js';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * second),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour),
  ...[1, 2, 5, 10, 30, 90, 365, 1825, 3650, 36500, 365000].map((n) => n * day),
];

// marks returns at most count marks between from and to, which are offsets in
// milliseconds from start, with their labels in UTC.
export function marks(start, from, to, count) {
  const step = steps.find((each) => (to - from) / each <= count) ?? to - from;
  const zero = Number(start % BigInt(Math.max(1, Math.round(step))));
  const list = [];
  const first = Math.ceil((from + zero) / step) * step - zero;
  for (let i = 0; i <= count; i++) { // limited, because far from the start a small step may not change the sum
    const at = first + i * step;
    if (at > to) break;
    list.push({ at, label: label(start, at, step) });
  }
  return list;
}

function label(start, at, step) {
  const [date, time] = isoTime(start + BigInt(Math.round(at))).split('T');
  if (step >= day) return date;
  return step < second ? time.slice(0, 12) : step < minute ? time.slice(0, 8) : time.slice(0, 5);
}
