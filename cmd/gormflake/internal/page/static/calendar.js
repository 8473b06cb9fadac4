// Dates of UTC, of any year. The calendar repeats every 400 years, so that a
// Date, which ends in the year 275760, is asked about one of the first.

const cycle = 146097n * 86400000n;

// dateOf returns the year, and the rest as in an ISO time: -01-02T03:04:05.678Z.
export function dateOf(ms) {
  const cycles = ms / cycle;
  const date = new Date(Number(ms - cycles * cycle));
  return { year: BigInt(date.getUTCFullYear()) + 400n * cycles, rest: date.toISOString().slice(4) };
}

// timeOfDate is the inverse: milliseconds since 1970. The month begins with 1.
export function timeOfDate(year, month, day, hour, minute, second, ms) {
  const cycles = (year - 2000n) / 400n;
  return BigInt(Date.UTC(Number(year - 400n * cycles), month - 1, day, hour, minute, second, ms)) + cycles * cycle;
}

export function daysOfMonth(year, month) {
  return new Date(Date.UTC(2000 + Number(year % 400n), month, 0)).getUTCDate();
}
