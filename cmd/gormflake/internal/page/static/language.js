// The button for the other language. It stores the choice and loads the page again. Then
// early.js sets the language, and text.js translates the page.

import { byID } from './dom.js';

const [languageKey, textKey] = ['gormflake-language', 'gormflake-text'];

const other = { en: ['zh-CN', '中文'], 'zh-CN': ['en', 'English'] };

// startLanguage starts the button. source returns the text, which the page shows again
// after it was loaded.
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

// textBefore returns the text that the page had in the other language, and removes it. If
// the browser forbids storage, it hides the button, because the choice could not be kept.
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
