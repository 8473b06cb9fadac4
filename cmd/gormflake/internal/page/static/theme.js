// The button for light colours, dark colours and the choice of the system. CSS sets the
// colours, and early.js restores an earlier choice.

import { byID } from './dom.js';
import { t } from './text.js';

const key = 'gormflake-theme';

const next = { auto: 'light', light: 'dark', dark: 'auto' };

// startTheme starts the button. changed is called after the button or the system has changed
// the colours.
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
