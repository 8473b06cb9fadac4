// Copy buttons.

import { announce, el } from './dom.js';
import { t } from './text.js';

// copyButton returns a button that copies the text which the function text returns. what
// names the text for screen readers.
export function copyButton(what, text) {
  const button = el('button', { type: 'button', class: 'copy', 'aria-label': t`Copy ${what}` }, t`copy`);
  button.addEventListener('click', () => copyFrom(button, what, text()));
  return button;
}

// copyFrom copies the text, and shows for a moment on the button whether that worked.
export async function copyFrom(button, what, text) {
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  const done = await copy(text);
  button.textContent = done ? t`copied` : t`failed`;
  announce(done ? t`${what} copied` : t`${what} could not be copied: the browser refused`);
  setTimeout(() => { button.textContent = label; }, 1500);
}

async function copy(text) {
  // A page of plain HTTP has no clipboard, because it is not a secure context.
  if (!navigator.clipboard) return copyBySelection(text);
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text) {
  const focused = document.activeElement;
  const area = el('textarea', { class: 'visually-hidden', 'aria-hidden': 'true' });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return done;
}
