import assert from 'node:assert/strict';
import test from 'node:test';
import { age, duration, isoTime, longAge, longTime, parseTime } from '../static/time.js';

test('times are written, also past the last Date', () => {
  assert.equal(isoTime(1288834974657n), '2010-11-04T01:42:54.657Z');
  assert.equal(isoTime(8640000000000001n), '275760-09-13T00:00:00.001Z');
  assert.equal(isoTime(9223372036854775807n), '292278994-08-17T07:12:55.807Z');
  assert.equal(isoTime(253402300800000n), '10000-01-01T00:00:00.000Z');
  assert.equal(isoTime(-1n), '1969-12-31T23:59:59.999Z');
});

test('times are read', () => {
  assert.equal(parseTime('2010-11-04T01:42:54.657Z'), 1288834974657n);
  assert.equal(parseTime('2010-11-04T03:42:54.657+02:00'), 1288834974657n);
  assert.equal(parseTime('2024-02-29T00:00Z'), 1709164800000n);
});

test('what is not a time is refused', () => {
  for (const text of ['', 'now', '2024-02-30T00:00:00Z', '2024-13-01T00:00:00Z', '2024-02-29T25:00:00Z', '2024-02-29T24:00:00Z', '2024-02-29T00:00:60Z', '-1h', '0x', '1e3', '9223372036854775808', '9'.repeat(100)]) {
    assert.throws(() => parseTime(text), /want one such as/, text);
  }
});

test('lengths of time', () => {
  assert.equal(duration(0n), '0 ms');
  assert.equal(duration(61001n), '1 min 1 s');
  assert.equal(duration(3600000n), '1 h');
  assert.equal(duration(3600001n), '1 h');
  assert.equal(age(1000n, 3500n), '2.5s ago');
  assert.equal(age(3500n, 1000n), 'in 2.5s');
});

test('ages go by the calendar', () => {
  const at = (text) => parseTime(text);
  assert.equal(age(at('2016-04-30T11:18:25.796Z'), at('2026-11-22')), '10y 6mo ago');
  assert.equal(age(at('2025-11-22'), at('2026-11-22')), '1y 0mo ago');
  assert.equal(age(at('2025-11-22T00:00:00.001Z'), at('2026-11-22')), '11mo 30d ago');
  assert.equal(age(at('2024-01-31'), at('2024-02-29')), '1mo 0d ago');
  assert.equal(longAge(at('2016-04-30'), at('2017-04-30')), '1 year ago');
  assert.equal(longAge(at('2026-11-22'), at('2026-11-21T22:59:00Z')), '1 hour and 1 minute from now');
  assert.equal(longTime(1462015105796n), 'Saturday, 30 April 2016, 11:18:25.796 UTC');
});
