import assert from 'node:assert/strict';
import test from 'node:test';
import { marks } from '../static/axis.js';

test('marks stand at whole steps, and say their time', () => {
  const list = marks(1288834974657n, 0, 10000, 12);
  assert.deepEqual(list.map(({ at }) => (at + 657) % 1000), Array(10).fill(0));
  assert.equal(list[0].label, '01:42:55');
});

test('far from the start, where numbers are coarse, there is an end', () => {
  for (const far of [2 ** 53, 2 ** 60, 2 ** 63]) {
    assert.ok(marks(0n, far, far + 4096, 10).length <= 11, `${far}`);
    assert.ok(marks(0n, far, far, 10).length <= 11, `${far}`);
  }
});

test('years of more than four digits are written', () => {
  assert.match(marks(0n, 253402300800000, 253402300800000 + 86400000 * 9, 10)[0].label, /^10000-01-0/);
});
