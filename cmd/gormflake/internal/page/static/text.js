// The texts of the page in the reader's language, which early.js has set. The English texts
// are in the code, and are the keys in the files of the other languages.

import { zh } from './zh.js';

const language = globalThis.document?.documentElement.lang ?? 'en';

const table = { 'zh-CN': zh }[language] ?? {};

// locale is the first valid locale of the browser that has the page's language.
const locale = globalThis.document && navigator.languages.find((each) => each.slice(0, 2) === language.slice(0, 2) && valid(each)) || language;

// valid reports whether toLocaleString accepts the locale. Some browsers offer a locale of
// the system such as en-US@posix, with which it throws a RangeError.
function valid(name) {
  try {
    return Intl.getCanonicalLocales(name).length > 0;
  } catch {
    return false;
  }
}

// count returns a number of things as the reader's locale writes it, such as 1,000.
export function count(n) {
  return n.toLocaleString(locale);
}

// t returns a text in the reader's language. english is a template or a string. The texts in
// other languages have the values of the template as {0}, {1}, in any order.
export function t(english, ...values) {
  if (typeof english === 'string') return table[english] ?? english;
  const other = table[english.join('{}')];
  return other === undefined ? String.raw({ raw: english }, ...values) : other.replace(/\{(\d)\}/g, (_, i) => values[i]);
}

const attributes = ['aria-label', 'placeholder', 'content'];

// translate translates all texts and labels of the document.
export function translate(root) {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const other = table[texts.currentNode.data.trim()];
    if (other) texts.currentNode.data = other;
  }
  for (const name of attributes) {
    for (const element of root.querySelectorAll(`[${name}]`)) element.setAttribute(name, t(element.getAttribute(name)));
  }
  root.dataset.translated = '';
}
