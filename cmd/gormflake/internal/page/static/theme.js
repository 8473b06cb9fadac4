// The button for light, dark and the system's choice. CSS does the rest, and
// early.js what was chosen before.

import { byID } from './dom.js';
import { t } from './text.js';

const key = 'gormflake-theme';

const next = { auto: 'light', light: 'dark', dark: 'auto' };

// startTheme calls changed after the colours have changed, by the button or the
// system.
export function startTheme(changed) {
  showTheme();
  byID('theme').addEventListener('click', () => {
    const theme = next[chosen()];
    apply(theme);
    store(theme);
    showTheme();
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
}

function chosen() {
  return document.documentElement.dataset.theme ?? 'auto';
}

function showTheme() {
  byID('theme').firstElementChild.textContent = t(chosen() === 'auto' ? 'system' : chosen());
}

function apply(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

function store(theme) {
  try {
    localStorage.setItem(key, theme);
  } catch {
    // A browser may forbid storage; the choice then lasts as long as the page.
  }
}
