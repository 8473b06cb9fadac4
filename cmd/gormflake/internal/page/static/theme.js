// The switch between light, dark and the system's choice. CSS does the rest, and
// early.js what was chosen before.

import { byID } from './dom.js';

const key = 'gormflake-theme';

// startTheme calls changed after the colours have changed, by the switch or the
// system.
export function startTheme(changed) {
  const select = byID('theme');
  select.value = document.documentElement.dataset.theme ?? 'auto';
  select.addEventListener('change', () => {
    apply(select.value);
    store(select.value);
    changed();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed);
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
