import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as serial from '../static/serial.js';
import * as snowflake from '../static/snowflake.js';
import { check } from './check.js';

test('the vectors that Go wrote', () => {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url)));
  assert.ok(vectors.layouts.length >= 12, 'layouts');
  assert.deepEqual(check(snowflake, serial, vectors), []);
});

// check must find differences, or the test above would pass in any case.
test('a changed vector is found', () => {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url)));
  vectors.layouts[0].ids[0].parts.worker += '1';
  vectors.layouts[0].serials[0].text += '0';
  vectors.layouts[0].refusedSerials.push(vectors.layouts[0].serials[1].text);
  vectors.refused.push({ form: 'decimal', text: '1' });
  assert.equal(check(snowflake, serial, vectors).length, 6);
});
