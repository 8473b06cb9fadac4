import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { zh } from '../static/zh.js';
import { textsOf, textsOfDocument, textsOfModules } from './texts.js';

// Names that are the same in all languages.
const names = /^(gormflake|Discord|Instagram|Leaf|TSID|Yitter|Sonyflake|ID|CSV|JSON|HTTP API|base \d\d)$/;
const texts = [...new Set([...textsOfDocument(), ...textsOfModules()])];

test('every text of the page has a Chinese one', () => {
  assert.ok(texts.length > 250, `${texts.length} texts`);
  assert.deepEqual(texts.filter((text) => !names.test(text) && !Object.hasOwn(zh, text)), []);
});

// A word that a variable contains is in quotes somewhere in the sources.
test('every Chinese text is used', () => {
  const sources = readFileSync(new URL('../static/index.html', import.meta.url), 'utf8')
    + ['drawing', 'facts', 'forms', 'hardly', 'ids', 'layout', 'theme', 'time'].map((name) => readFileSync(new URL(`../static/${name}.js`, import.meta.url), 'utf8')).join('')
    + "'held' 'lapsed' 'waiting' 'free' 'serial' 'hex' 'min' 'mo'";
  assert.deepEqual(Object.keys(zh).filter((text) => !texts.includes(text) && !new RegExp(`(['>]|\\b)${text}(['<]|:)`).test(sources)), []);
});

test('a Chinese text has the values of the English one', () => {
  for (const [english, chinese] of Object.entries(zh)) {
    const want = english.split('{}').slice(1).map((_, i) => `{${i}}`);
    assert.deepEqual([...chinese.matchAll(/\{\d\}/g)].map(([value]) => value).sort(), want, english);
  }
});

test('texts are found in templates within templates', () => {
  assert.deepEqual(textsOf("t`a ${n === 1 ? t`b` : t`c ${f({ x: '}' })}`} d`, t('e'), set`f`"), ['a {} d', 'b', 'c {}', 'e']);
});
