// The zone is set before the module is loaded, because the module creates its formats at
// once. Therefore these tests have their own file.
import assert from 'node:assert/strict';
import test from 'node:test';

process.env.TZ = 'America/New_York';
const { localTime, zoneName } = await import('../static/time.js');

test('the hour that comes twice is told apart by its distance from UTC', () => {
  assert.equal(zoneName(), 'America/New_York');
  assert.equal(localTime(1793511000123n), '2026-11-01 01:30:00.123 -04:00');
  assert.equal(localTime(1793511000123n + 3600000n), '2026-11-01 01:30:00.123 -05:00');
});

test('the hour that is left out', () => {
  assert.equal(localTime(1772953199999n), '2026-03-08 01:59:59.999 -05:00');
  assert.equal(localTime(1772953200000n), '2026-03-08 03:00:00.000 -04:00');
});

test('midnight is hour 0', () => {
  assert.equal(localTime(1767243600000n), '2026-01-01 00:00:00.000 -05:00');
});

test('what no Date holds has no zone', () => {
  assert.equal(localTime(8640000000000001n), '275760-09-13T00:00:00.001Z');
});
