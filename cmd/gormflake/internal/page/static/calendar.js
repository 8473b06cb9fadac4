// Dates of UTC, of any year. A Date of JavaScript ends in the year 275760. The calendar
// repeats every 400 years, so these functions compute with a year of the first cycles.

const cycle = 146097n * 86400000n;

// dateOf returns the year, and the rest as in an ISO time: -01-02T03:04:05.678Z.
export function dateOf(ms) {
  const { year, date } = split(ms);
  return { year, rest: date.toISOString().slice(4) };
}

function split(ms) {
  const cycles = ms / cycle;
  const date = new Date(Number(ms - cycles * cycle));
  return { year: BigInt(date.getUTCFullYear()) + 400n * cycles, date };
}

// timeOfDate returns the time of a date in milliseconds since 1970. January is month 1.
export function timeOfDate(year, month, day, hour, minute, second, ms) {
  const cycles = (year - 2000n) / 400n;
  return BigInt(Date.UTC(Number(year - 400n * cycles), month - 1, day, hour, minute, second, ms)) + cycles * cycle;
}

export function daysOfMonth(year, month) {
  return new Date(Date.UTC(2000 + Number(year % 400n), month, 0)).getUTCDate();
}

// weekday returns the day of the week, which is 0 on Sundays.
export function weekday(ms) {
  return split(ms).date.getUTCDay();
}

// monthsBetween returns the number of whole months from a time to a later one, and the
// rest in milliseconds. A month ends on the same day of the next month, or on its last day.
export function monthsBetween(from, to) {
  const [a, b] = [split(from), split(to)];
  let months = Number(b.year - a.year) * 12 + b.date.getUTCMonth() - a.date.getUTCMonth();
  let reached = addMonths(a, months);
  if (reached > to) reached = addMonths(a, --months);
  return { months, rest: to - reached };
}

function addMonths({ year, date }, months) {
  const all = BigInt(date.getUTCMonth() + months);
  const [y, month] = [year + all / 12n, Number(all % 12n) + 1];
  return timeOfDate(y, month, Math.min(date.getUTCDate(), daysOfMonth(y, month)),
    date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), date.getUTCMilliseconds());
}
