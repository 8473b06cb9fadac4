import assert from 'node:assert/strict';
import test from 'node:test';
import { layout, mistakes } from '../static/layout.js';
import { fromFragment, toFragment } from '../static/link.js';
import { describe } from '../static/shape.js';

test('a link returns what was linked', () => {
  const custom = layout(1577836800000n, 10n, 0, 6, 8, 53);
  const state = { text: '1 2\n<b>&#', form: 'base58', code: 'PAY-', name: 'custom', layout: custom };
  assert.deepEqual(fromFragment(toFragment(state)), state);
});

test('a hostile link gives nothing but texts', () => {
  const long = '9'.repeat(100000);
  for (const fragment of ['#', '#%', '#%E0%A4%A&ids=%', `#layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=${long}`,
    '#layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=9223372036855', '#layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=0x10',
    '#layout=custom&epoch=1970-01-01T00:00:00Z&bits=0.0.0.63&tick=', '#layout=custom&epoch=x&bits=99.99.99.99&tick=1', '#layout=custom']) {
    const { layout: read } = fromFragment(fragment);
    assert.equal(read, undefined, fragment.slice(0, 90));
  }
  assert.equal(fromFragment('#ids=%3Cimg%20src=x%3E&as=__proto__').text, '<img src=x>');
});

test('the longest tick is half of the longest Duration in Go', () => {
  assert.deepEqual(mistakes(layout(0n, 4611686018427n, 0, 0, 0, 63)), []);
  assert.match(mistakes(layout(0n, 4611686018428n, 0, 0, 0, 63))[0][1], /want 1 to 4611686018427 ms/);
});

test('a layout is described up to its last day', () => {
  assert.match(describe(layout(0n, 1n, 0, 0, 0, 63)), /; until 2262-04-11$/);
  assert.match(describe(layout(1577836800000n, 10n, 0, 8, 8, 63)), /; until 2312-04-11$/);
  assert.match(describe(layout(1577836800000n, 10n, 0, 6, 8, 53)), /; until 2194-03-18$/);
});
