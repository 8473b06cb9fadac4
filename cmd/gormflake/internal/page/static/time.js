// Functions that format and parse times, which are BigInts of Unix milliseconds.

import { dateOf, daysOfMonth, monthsBetween, timeOfDate, weekday } from './calendar.js';
import { quote } from './forms.js';
import { t } from './text.js';

// The last time of a Date. JavaScript knows no time zones after it.
const lastDate = 8640000000000000n;

export function isoTime(ms) {
  const { year, rest } = dateOf(ms);
  return `${year}`.padStart(4, '0') + rest;
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

// longTime returns a time for a sentence, such as Saturday, 30 April 2016, 11:18:25.796 UTC.
export function longTime(ms) {
  const { year, rest } = dateOf(ms);
  return t`${t(days[weekday(ms)])}, ${Number(rest.slice(4, 6))} ${t(months[Number(rest.slice(1, 3)) - 1])} ${year}, ${rest.slice(7, -1)} UTC`;
}

// isoDay returns the day of isoTime, whose year may have more than four digits.
export function isoDay(ms) {
  return isoTime(ms).split('T')[0];
}

const local = new Intl.DateTimeFormat('sv-SE', {
  year: 'numeric', month: '2-digit', day: '2-digit',
  hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3,
});
const offset = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'longOffset' });

// localTime returns the time in the zone of the browser, with its offset from UTC.
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

const shape = /^(\d{4})-(\d\d)-(\d\d)(?:(?:T| +)(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?: *(Z|([+-])(\d\d):(\d\d)))?)?$/;

// A smaller number is a Unix time in seconds, and any other one is in milliseconds. As
// seconds it would be in the year 5138, and as milliseconds it is in 1973.
const milliFrom = 100000000000n;

// parseTime returns the time of a text, in the forms of the command line. These are a date,
// a date and a time in UTC or with an offset, and Unix time in decimal or hex. With now, it
// also accepts relative times such as now and -1h.
export function parseTime(text, now) {
  const ms = unixTime(text) ?? calendarTime(text) ?? (now === undefined ? undefined : relativeTime(text, now));
  if (ms === undefined) throw new SyntaxError(t`${quote(text)} is not a time: want one such as 2026-01-02T03:04:05.678Z, 2026-01-02, or Unix time such as 1767323045678 or 0x19b7ca98f2e${now === undefined ? '' : t`, or now, -1h, +30m`}`);
  return ms;
}

function unixTime(text) {
  if (!/^([0-9]+|0[xX][0-9a-fA-F]+)$/.test(text) || text.length > 40) return undefined;
  const number = BigInt(text);
  if (number >= 2n ** 63n) return undefined;
  return number < milliFrom ? number * 1000n : number;
}

function calendarTime(text) {
  const match = shape.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((each) => Number(each ?? 0));
  const [fraction, zone, sign, hours, minutes] = match.slice(7);
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(BigInt(year), month) || hour > 23 || minute > 59 || second > 59) return undefined;
  const ms = timeOfDate(BigInt(year), month, day, hour, minute, second, Number((fraction ?? '').slice(0, 3).padEnd(3, '0')));
  if (zone === undefined || zone === 'Z') return ms;
  if (Number(hours) > 24 || Number(minutes) > 60) return undefined; // as Go has it
  return ms - BigInt(`${sign}1`) * (BigInt(hours) * 3600000n + BigInt(minutes) * 60000n);
}

const lengths = { h: 3600000, m: 60000, s: 1000, ms: 1 };

function relativeTime(text, now) {
  const match = /^(?:now)?(?:([+-])(?:(\d{1,6})d)?((?:\d+(?:\.\d*)?(?:h|ms|m|s))*))?$/.exec(text);
  if (!match || text === '') return undefined;
  const [, sign, days = 0, rest = ''] = match;
  if (sign && !days && !rest) return undefined;
  let length = Number(days) * 86400000;
  for (const [, count, unit] of rest.matchAll(/([\d.]+)(h|ms|m|s)/g)) length += Number(count) * lengths[unit];
  return now + BigInt(Math.trunc(sign === '-' ? -length : length));
}

// parseTick returns the length of a tick.
export function parseTick(text) {
  if (!/^[0-9]{1,13}$/.test(text)) throw new SyntaxError(t`${quote(text)}: want whole milliseconds`);
  return BigInt(text);
}

const units = [['y', 31557600000n], ['d', 86400000n], ['h', 3600000n], ['min', 60000n], ['s', 1000n], ['ms', 1n]];

// duration returns a length of time in its two largest units. A year is 365.25 days.
export function duration(ms) {
  const first = units.findIndex(([, size]) => ms >= size);
  if (first < 0) return t`0 ms`;
  const parts = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    if (ms >= size) parts.push(t`${ms / size} ${t(name)}`);
    ms %= size;
  }
  return parts.join(' ');
}

// span returns the time between two times in its two largest units, by the calendar of UTC,
// as the command line does.
function span(from, to) {
  const { months: count, rest } = monthsBetween(from, to);
  const [d, h, m, s] = [rest / 86400000n, rest / 3600000n % 24n, rest / 60000n % 60n, rest / 1000n % 60n];
  if (count >= 12) return [[Math.floor(count / 12), 'y'], [count % 12, 'mo']];
  if (count > 0) return [[count, 'mo'], [d, 'd']];
  if (d > 0n) return [[d, 'd'], [h, 'h']];
  if (h > 0n) return [[h, 'h'], [m, 'm']];
  if (m > 0n) return [[m, 'm'], [s, 's']];
  return s > 0n ? [[`${s}.${rest / 100n % 10n}`, 's']] : [[rest, 'ms']];
}

// age returns how long ago a time is, or how far ahead, with short units.
export function age(ms, now) {
  const [from, to] = ms <= now ? [ms, now] : [now, ms];
  const text = span(from, to).map(([count, unit]) => `${count}${t(unit)}`).join(' ');
  return ms <= now ? t`${text} ago` : t`in ${text}`;
}

const unitWords = {
  y: ['year', 'years'], mo: ['month', 'months'], d: ['day', 'days'], h: ['hour', 'hours'],
  m: ['minute', 'minutes'], s: ['second', 'seconds'], ms: ['millisecond', 'milliseconds'],
};

// longAge returns how long ago a time is, or how far ahead, in words for a sentence.
export function longAge(ms, now) {
  if (ms <= now && now - ms < 1000n) return t`just now`;
  const [from, to] = ms <= now ? [ms, now] : [now, ms];
  const text = span(from, to).filter(([count], i) => i === 0 || count > 0)
    .map(([count, unit]) => t`${count} ${t(unitWords[unit][`${count}` === '1' ? 0 : 1])}`).join(t` and `);
  return ms <= now ? t`${text} ago` : t`${text} from now`;
}
