import assert from 'node:assert/strict';
import test from 'node:test';
import { doubt, read } from '../static/detect.js';
import { scan } from '../static/scan.js';
import { compose, format, forms, layouts, lastID } from '../static/snowflake.js';

const now = Date.parse('2026-03-01T12:00:00Z');
const clock = BigInt(now);
const id = compose(layouts.twitter, { time: clock - 3600000n, datacenter: 3n, worker: 7n, sequence: 99n });

test('every form of an ID is read as that ID', () => {
  for (const layout of Object.values(layouts)) {
    const recent = compose(layout, { time: clock - 3600000n, datacenter: 0n, worker: 7n, sequence: 99n });
    for (const form of forms) {
      const readings = read(format(form, recent), layout, clock);
      assert.ok(readings.some((each) => each.form === form && each.id === recent), `${form} ${recent}: ${readings.length} readings`);
    }
  }
});

test('digits only are decimal, whatever their time', () => {
  assert.deepEqual(read('2000000000000', layouts.twitter, clock).map((each) => each.form), ['decimal']);
  assert.equal(read(`${2n ** 63n - 1n}`, layouts.twitter, clock)[0].id, 2n ** 63n - 1n);
  assert.throws(() => read('0123', layouts.twitter, clock), /starts with its zero/);
});

test('an ambiguous text has every reading that makes sense', () => {
  // Base 58 and base 62 give the same letters other values.
  const readings = read('kVw2Mt8RzB', layouts.twitter, clock);
  assert.deepEqual(readings.map((each) => each.form), ['base62', 'base58']);
  assert.ok(readings[0].id > readings[1].id, 'the latest first');
});

test('a text without a sensible reading says why for each form', () => {
  assert.throws(() => read('AzL8n0Y58m7', layouts.twitter, clock), /base62.*more than a day ahead/);
  assert.throws(() => read('AzL8n0Y58m7', layouts['js-safe'], clock), /above 9007199254740991/);
  assert.throws(() => read('hello-world', layouts.twitter, clock), /unexpected "-" at offset 5/);
});

test('a form that is chosen is kept', () => {
  assert.equal(read('123', layouts.twitter, clock, 'base62')[0].id, 3971n);
  assert.throws(() => read('22l', layouts.twitter, clock, 'base58'), /unexpected "l"/);
});

test('the bounds of sense', () => {
  const { twitter } = layouts;
  assert.notEqual(doubt(twitter, 0n, clock), '');
  assert.equal(doubt(twitter, 1n, clock), '');
  const at = (time) => compose(twitter, { time, datacenter: 0n, worker: 0n, sequence: 0n });
  assert.equal(doubt(twitter, at(clock + 86400000n), clock), '');
  assert.notEqual(doubt(twitter, at(clock + 86400001n), clock), '');
  assert.match(doubt(layouts['js-safe'], lastID(layouts['js-safe']) + 1n, clock), /above/);
});

test('IDs are found in a log', () => {
  const log = `2026-03-01T11:00:00.123456789Z INFO order ${id} created status=200 took=1.25ms at=${now} bytes=1024
    {"id":"${id + 1n}","ns":0.${id}} user_${id + 2n}, request 550e8400-e29b-41d4-a716-446655440000 hex ${id}f`;
  const { found, leftOut } = scan(log, layouts.twitter, clock);
  assert.deepEqual(found.map((each) => each.id), [id, id + 1n, id + 2n]);
  assert.equal(leftOut, 1, 'the Unix time; the fraction, the status and the length are too short');
});

test('a log of another form is found too', () => {
  for (const form of ['base32', 'base58', 'base62']) {
    const lines = [0n, 5n, 9n].map((more) => `saved ${format(form, id + more)} ok`).join('\n');
    assert.deepEqual(scan(lines, layouts.twitter, clock).found.map((each) => each.id), [id, id + 5n, id + 9n], form);
  }
});

test('a text without IDs has none', () => {
  assert.deepEqual(scan('the quick brown fox jumps over 13 lazy dogs', layouts.twitter, clock).found, []);
});
