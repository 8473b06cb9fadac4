// The button for the other language. early.js chooses the first one, and text.js does
// the rest, when the page is loaded again.

import { byID } from './dom.js';

const [languageKey, textKey] = ['gormflake-language', 'gormflake-text'];

const other = { en: ['zh-CN', '中文'], 'zh-CN': ['en', 'English'] };

// startLanguage wires the button; source returns the text that the next page shows.
export function startLanguage(source) {
  const [language, name] = other[document.documentElement.lang];
  const button = byID('language');
  [button.lang, button.textContent] = [language, name];
  button.addEventListener('click', () => {
    localStorage.setItem(languageKey, language);
    try {
      sessionStorage.setItem(textKey, source());
    } catch {
      // It is longer than a browser stores: the next page begins without it.
    }
    location.reload();
  });
}

// textBefore is the text that was read in the other language, once. Where the browser
// forbids storage, it alone chooses the language.
export function textBefore() {
  try {
    const text = sessionStorage.getItem(textKey);
    sessionStorage.removeItem(textKey);
    return text;
  } catch {
    byID('language').hidden = true;
    return null;
  }
}
