// Times as BigInts of Unix milliseconds, written and read.

import { dateOf } from './calendar.js';

// A Date, and so what knows of time zones, ends in the year 275760.
const lastDate = 8640000000000000n;

export function isoTime(ms) {
  const { year, rest } = dateOf(ms);
  return `${year}`.padStart(4, '0') + rest;
}

// isoDay is the day of isoTime, whose year may have more than four digits.
export function isoDay(ms) {
  return isoTime(ms).split('T')[0];
}

const local = new Intl.DateTimeFormat('sv-SE', {
  year: 'numeric', month: '2-digit', day: '2-digit',
  hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3,
});
const offset = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'longOffset' });

// localTime is the time where the reader is, with its distance from UTC.
export function localTime(ms) {
  if (!hasDate(ms)) return isoTime(ms);
  const date = new Date(Number(ms));
  const zone = offset.formatToParts(date).find((part) => part.type === 'timeZoneName').value;
  return `${local.format(date).replace(',', '.')} ${zone === 'GMT' ? '+00:00' : zone.replace('GMT', '')}`;
}

export function zoneName() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

function hasDate(ms) {
  return ms <= lastDate && ms >= -lastDate;
}

const shape = /^(\d{4}-\d\d-\d\d)T(?!24)\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/;

// parseTime reads a time such as 2026-01-02T03:04:05.678Z. One without its zone
// is refused: it would mean another instant on another machine.
export function parseTime(text) {
  const [, day] = shape.exec(text) ?? [];
  const ms = day && isDay(day) ? Date.parse(text) : NaN;
  if (Number.isNaN(ms)) {
    throw new SyntaxError(`${JSON.stringify(text)} is not a time: want one such as 2026-01-02T03:04:05.678Z or …+02:00`);
  }
  return BigInt(ms);
}

// isDay refuses February 30, which Date.parse takes for March 2.
function isDay(day) {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}

// parseTick reads the length of a tick.
export function parseTick(text) {
  if (!/^[0-9]{1,13}$/.test(text)) throw new SyntaxError(`${JSON.stringify(text)}: want whole milliseconds`);
  return BigInt(text);
}

const units = [['y', 31557600000n], ['d', 86400000n], ['h', 3600000n], ['min', 60000n], ['s', 1000n], ['ms', 1n]];

// duration writes the two largest units of a length of time.
export function duration(ms) {
  const first = units.findIndex(([, size]) => ms >= size);
  if (first < 0) return '0 ms';
  const parts = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    if (ms >= size) parts.push(`${ms / size} ${name}`);
    ms %= size;
  }
  return parts.join(' ');
}

// age says how long ago a time is, or how far ahead.
export function age(ms, now) {
  return now >= ms ? `${duration(now - ms)} ago` : `in ${duration(ms - now)}`;
}
