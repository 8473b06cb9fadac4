import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import * as snowflake from '../static/snowflake.js';
import { check } from './check.js';

test('the vectors that Go wrote', () => {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url)));
  assert.ok(vectors.layouts.length >= 12, 'layouts');
  assert.deepEqual(check(snowflake, vectors), []);
});

// A check that finds nothing wrong must be able to.
test('a changed vector is found', () => {
  const vectors = JSON.parse(readFileSync(new URL('vectors.json', import.meta.url)));
  vectors.layouts[0].ids[0].parts.worker += '1';
  vectors.refused.push({ form: 'decimal', text: '1' });
  assert.equal(check(snowflake, vectors).length, 3);
});
