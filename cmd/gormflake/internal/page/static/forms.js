// The texts of an ID, and their parsers. A parser accepts only the text that the formatter
// writes. Only base 32 has several texts for one ID.

import { maxInt64 } from './layout.js';
import { t } from './text.js';

export const digits = {
  decimal: '0123456789',
  base32: '0123456789ABCDEFGHJKMNPQRSTVWXYZ', // Crockford's
  base58: '123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ', // Flickr's
  base62: '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz',
};

const base32Length = 13;

export const forms = Object.freeze(Object.keys(digits));

const values = Object.fromEntries(forms.map((form) =>
  [form, new Map([...digits[form]].map((digit, value) => [digit, BigInt(value)]))]));

// Other characters that base 32 accepts for its digits. toUpperCase is not used, because
// it would accept letters of other scripts too.
for (const [digit, value] of [...values.base32]) values.base32.set(digit.toLowerCase(), value);
for (const digit of 'iIlL') values.base32.set(digit, 1n);
for (const digit of 'oO') values.base32.set(digit, 0n);

// format returns the ID, which is not negative, in the named form.
export function format(form, id) {
  const alphabet = digits[form];
  const base = BigInt(alphabet.length);
  let text = '';
  do {
    text = alphabet[Number(id % base)] + text;
    id /= base;
  } while (id > 0n);
  return form === 'base32' ? text.padStart(base32Length, '0') : text;
}

// parse returns the ID of a text in the named form. For any other text it throws an error
// that says what is wrong and what is wanted.
export function parse(form, text) {
  checkShape(form, text);
  if (form === 'decimal' && /^[0-9]{1,18}$/.test(text)) return BigInt(text);
  const base = BigInt(digits[form].length);
  let id = 0n;
  let offset = 0;
  for (const character of text) {
    const value = values[form].get(character);
    if (value === undefined) throw unexpected(form, character, offset);
    id = id * base + value;
    offset += character.length;
    if (id > maxInt64) throw new SyntaxError(t`${t(form)}: ${quote(text)} is out of range: want at most ${format(form, maxInt64)}`);
  }
  return id;
}

function checkShape(form, text) {
  if (text === '') throw new SyntaxError(t`${t(form)}: empty: want digits`);
  if (form === 'base32') {
    if (text.length !== base32Length) throw new SyntaxError(t`${t(form)}: ${text.length} characters: want ${base32Length}`);
    return;
  }
  if (text.length > 1 && text[0] === digits[form][0]) {
    throw new SyntaxError(t`${t(form)}: ${quote(text)} starts with its zero, ${text[0]}: want the shortest form`);
  }
}

const shapes = {
  decimal: /^[1-9][0-9]{0,18}$/,
  base32: /^[0-9A-Za-z]{13}$/,
  base58: /^[2-9A-Za-z][1-9A-Za-z]{0,10}$/,
  base62: /^[1-9A-Za-z][0-9A-Za-z]{0,10}$/,
};

// mayBe reports whether a word can be an ID other than 0. It is for the words of a log,
// because it takes much less time than an error of parse.
export function mayBe(form, word) {
  return shapes[form].test(word);
}

function unexpected(form, character, offset) {
  return new SyntaxError(t`${t(form)}: unexpected ${JSON.stringify(character)} at offset ${offset}: want ${t(alphabets[form])}`);
}

const alphabets = {
  decimal: 'digits 0 to 9 only',
  base32: 'digits and letters without u',
  base58: 'digits and letters without 0, O, I and l',
  base62: 'digits and letters',
};

// quote returns the text in quotes. It cuts a long text.
export function quote(text) {
  return JSON.stringify(text.length <= 64 ? text : `${text.slice(0, 64)}…`);
}
