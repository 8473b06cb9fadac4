import assert from 'node:assert/strict';
import test from 'node:test';
import { doubt, read } from '../static/detect.js';
import { hardly } from '../static/hardly.js';
import { arrange } from '../static/lanes.js';
import { mostIDs, scan } from '../static/scan.js';
import * as serial from '../static/serial.js';
import { compose, format, forms, layouts, lastID } from '../static/snowflake.js';

const now = Date.parse('2026-03-01T12:00:00Z');
const clock = BigInt(now);
const id = compose(layouts.twitter, { time: clock - 3600000n, datacenter: 3n, worker: 7n, sequence: 99n });

test('every form of an ID is read as that ID', () => {
  for (const layout of Object.values(layouts)) {
    const recent = compose(layout, { time: clock - 3600000n, datacenter: 0n, worker: 7n, sequence: 9n });
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

test('a text without a sensible reading says why', () => {
  assert.throws(() => read('AzL8n0Y58m7', layouts.twitter, clock), /base62.*more than a day ahead/);
  assert.throws(() => read('AzL8n0Y58m7', layouts['js-safe'], clock), /above 9007199254740991/);
  assert.throws(() => read('hello-world', layouts.twitter, clock), /not an ID: want up to 19 digits, or base 32, 58 or 62$/);
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

test('serial numbers are read, in the layout that is chosen', () => {
  for (const [name, layout] of Object.entries(layouts)) {
    for (const [code, separator] of [['PAY', ''], ['R2', '-'], ['9', '_'], ['X', '.']]) {
      const recent = compose(layout, { time: (clock - 3600000n) / layout.tick * layout.tick, datacenter: 0n, worker: 7n, sequence: 9n });
      const text = serial.format(layout, code, separator, recent);
      assert.deepEqual(read(text, layout, clock), [{ form: 'serial', text, id: recent, serial: { code, separator } }], name);
      assert.deepEqual(scan(`see ${text}, please`, layout, clock, 'serial').found.map((each) => each.id), [recent], text);
    }
  }
  const other = serial.format(layouts['js-safe'], 'A', '', lastID(layouts['js-safe']));
  assert.throws(() => read(other, layouts.twitter, clock), /it is a serial number of the layout js-safe/);
});

test('a short text of digits can be an ID and a serial number', () => {
  const timeAlone = { epoch: 0n, tick: 1n, datacenterBits: 0, workerBits: 0, sequenceBits: 0, totalBits: 43 };
  const text = serial.format(timeAlone, '1', '', clock);
  assert.deepEqual(read(text, timeAlone, clock).map((each) => each.form), ['decimal', 'serial']);
});

test('serial numbers are found in a log, and their digits are not IDs', () => {
  const plain = serial.format(layouts.twitter, 'PAY', '', id);
  const separated = serial.format(layouts.twitter, 'REF', '-', id + 1n);
  const log = `2026-03-01T11:00:00.123Z order_${plain} {"n":"${separated}"} ${id + 2n} and ${separated}.
    20260301110000123456789 ${serial.format(layouts.twitter, '9', '', id)} ${plain}x PAY2026023011000000007070000 ${plain}0 a-${plain}-b`;
  const { found } = scan(log, layouts.twitter, clock);
  assert.deepEqual(found.map((each) => [each.form, each.text]), [['serial', plain], ['serial', separated], ['decimal', `${id + 2n}`], ['serial', separated], ['serial', plain]]);
  assert.deepEqual(found[1].serial, { code: 'REF', separator: '-' });
});

test('a list of serial numbers is taken by its word', () => {
  const list = [1n, lastID(layouts.twitter)].map((each) => serial.format(layouts.twitter, '8', '', each));
  assert.deepEqual(scan(list.join('\n'), layouts.twitter, clock).found.map((each) => each.id), [1n, lastID(layouts.twitter)]);
});

test('of very many IDs the first are taken', () => {
  const lines = Array.from({ length: mostIDs + 1 }, (_, i) => `${id + BigInt(i)}`);
  for (const [text, more] of [[lines.join('\n'), true], [lines.map((line) => `id=${line}`).join('\n'), true], [lines.slice(1).join('\n'), false]]) {
    const result = scan(text, layouts.twitter, clock);
    assert.equal(result.found.length, mostIDs);
    assert.equal(result.more, more);
  }
});

test('a hundred thousand workers are arranged', () => {
  const many = { epoch: 0n, tick: 1n, datacenterBits: 0, workerBits: 20, sequenceBits: 2, totalBits: 63 };
  const items = Array.from({ length: 100000 }, (_, i) => ({ id: (1n << 40n) + (BigInt(99999 - i) << 2n) }));
  const { lanes, ids, span } = arrange(many, items);
  assert.equal(lanes.length, 100000);
  assert.ok(lanes.every((lane, i) => lane.index === i && lane.worker === BigInt(i) && lane.count === 1));
  assert.equal(ids[0].lane, lanes[0]);
  assert.equal(span, 0);
});

test("the page's own hex and JavaScript's n are read", () => {
  const hex = `0x${id.toString(16).padStart(16, '0')}`;
  for (const text of [hex, `${id}n`]) assert.equal(read(text, layouts.twitter, clock)[0].id, id, text);
  assert.throws(() => read('0xffffffffffffffff', layouts.twitter, clock), /out of range/);
  assert.equal(scan(`[${id}n, ${id + 1n}n]`, layouts.twitter, clock).found.length, 2);
});

test('what is hardly an ID is doubted', () => {
  const at = BigInt(Date.parse('2026-02-01T00:00:00Z'));
  const doubted = (text, layout = layouts.twitter) => hardly(layout, { id: BigInt(text), text: `${text}`, form: 'decimal' }, clock);
  for (const [text, unit] of [[at / 1000n, 'seconds'], [at, 'milliseconds'], [at * 1000n, 'microseconds'], [at * 1000000n, 'nanoseconds']]) {
    assert.match(doubted(text), new RegExp(`^it may be ${unit} since 1970: 2026-02-01T00:00:00`));
  }
  assert.match(doubted(`${Number(id)}`), /rounded/);
  assert.match(doubted(4111111111111111n), /card/);
  assert.match(hardly(layouts.twitter, { id, text: 'information', form: 'base58' }, clock), /word/);
  assert.equal(doubted(id), '');
  assert.equal(doubted(compose(layouts['js-safe'], { time: clock, datacenter: 0n, worker: 7n, sequence: 9n }), layouts['js-safe']), '');
});
