// The page's texts in the reader's language, which early.js has chosen. English stands
// where it is used, and is the key in the files of the other languages.

import { zh } from './zh.js';

const table = { 'zh-CN': zh }[globalThis.document?.documentElement.lang] ?? {};

// t returns a text in the reader's language: of a template, whose values the other
// languages have as {0}, {1}, in their own order, or of a word that a variable holds.
export function t(english, ...values) {
  if (typeof english === 'string') return table[english] ?? english;
  const other = table[english.join('{}')];
  return other === undefined ? String.raw({ raw: english }, ...values) : other.replace(/\{(\d)\}/g, (_, i) => values[i]);
}

const attributes = ['aria-label', 'placeholder', 'content'];

// translate puts all that the document itself says into the reader's language.
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
