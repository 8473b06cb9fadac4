import assert from 'node:assert/strict';
import test from 'node:test';
import { layout, layouts, mistakes } from '../static/layout.js';
import { fromFragment, toFragment } from '../static/link.js';
import { describe } from '../static/shape.js';

const custom = layout(1577836800000n, 10n, 0, 7, 8, 54);

test('a link returns what was linked', () => {
  const state = { text: '1 2\n<b>&#', form: 'base58', code: 'PAY-', layout: custom };
  assert.deepEqual(fromFragment(toFragment(state)), { ...state, name: 'custom', problem: '' });
});

test('a layout that has a name is linked by it, whatever it was chosen as', () => {
  for (const [name, known] of Object.entries(layouts)) {
    const fragment = toFragment({ text: '5', form: 'auto', code: '', layout: { ...known } });
    assert.equal(fragment, `#ids=5&layout=${name}`);
    assert.deepEqual(fromFragment(fragment).layout, known);
  }
});

test('a layout whose sequence is first is linked with that order', () => {
  const second = layout(1735689600000n, 10n, 0, 16, 8, 63, true); // of sonyflake 2
  const fragment = toFragment({ text: '5', form: 'auto', code: '', layout: second });
  assert.deepEqual(fromFragment(fragment).layout, second);
  assert.match(fromFragment(fragment.replace('sequence.worker', 'worker')).problem, /^order "worker": want none, or sequence.worker$/);
  assert.match(describe(second), /^39 bits of 10 ms since 2025-01-01T00:00:00.000Z, 0 datacenter, 8 sequence, 16 worker;/);
});

test('an epoch may be Unix time, as most are published', () => {
  for (const epoch of ['1420070400000', '1420070400', '0x14aa2cab000', '2015-01-01', '2015-01-01T01:00:00+01:00']) {
    const read = fromFragment(`#layout=custom&epoch=${encodeURIComponent(epoch)}&tick=1&bits=5.5.12.63`);
    assert.deepEqual([read.layout, read.problem], [layouts.discord, ''], epoch);
  }
});

test('what cannot be read is no layout, and said', () => {
  const long = '9'.repeat(100000);
  const epoch = 'epoch=1970-01-01T00:00:00Z';
  for (const fragment of [`#layout=custom&${epoch}&bits=0.0.0.63&tick=${long}`,
    `#layout=custom&${epoch}&bits=0.0.0.63&tick=9223372036855`, `#layout=custom&${epoch}&bits=0.0.0.63&tick=0x10`,
    `#layout=custom&${epoch}&bits=0.0.0.63&tick=`, '#layout=custom&epoch=x&bits=99.99.99.99&tick=1', '#layout=custom',
    '#layout=custom&epoch=-1h&tick=1&bits=5.5.12.63', '#layout=custom&epoch=now&tick=1&bits=5.5.12.63',
    '#layout=', '#layout=__proto__', `#layout=${long}`, '#as=__proto__', '#as=&layout=twitter']) {
    const { layout: read, problem } = fromFragment(fragment);
    assert.equal(read, undefined, fragment.slice(0, 90));
    assert.ok(problem !== '' && problem.length < 300, `${fragment.slice(0, 90)}: ${problem.slice(0, 300)}`);
  }
  for (const fragment of ['', '#', '#%', '#%E0%A4%A&ids=%', '#ids=5']) assert.equal(fromFragment(fragment).problem, '', fragment);
  assert.equal(fromFragment('#ids=%3Cimg%20src=x%3E&as=__proto__').text, '<img src=x>');
});

test('the longest tick is half of the longest Duration in Go', () => {
  assert.deepEqual(mistakes(layout(0n, 4611686018427n, 0, 0, 0, 63)), []);
  assert.match(mistakes(layout(0n, 4611686018428n, 0, 0, 0, 63))[0][1], /want 1 to 4611686018427 ms/);
});

test('a layout is described up to its last day', () => {
  assert.match(describe(layout(0n, 1n, 0, 0, 0, 63)), /; runs out 2262-04-11$/);
  assert.match(describe(layout(1577836800000n, 10n, 0, 8, 8, 63)), /; runs out 2312-04-11$/);
  assert.match(describe(layout(1577836800000n, 10n, 0, 6, 8, 53)), /; runs out 2194-03-18$/);
});
