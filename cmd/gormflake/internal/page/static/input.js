// The text that the page reads. It is typed, pasted, dropped or from a file.

import { byID, showError } from './dom.js';
import { count, t } from './text.js';

const largestFile = 64 << 20;

// A longer text is kept out of the field, as that of a file is, because the browser would
// lay it out for seconds.
const longestTyped = 200000;

let file; // a text that is too long for the field, such as a file's

// source returns the text.
export function source() {
  return file ?? byID('input').value.trim();
}

// setText puts a text into the field.
export function setText(text) {
  file = undefined;
  byID('input').placeholder = '';
  byID('input').value = text;
}

// startInput starts the field. changed is called when the text has changed.
export function startInput(changed) {
  byID('input').addEventListener('input', () => {
    file = undefined;
    byID('input').placeholder = '';
    changed();
  });
  byID('input').addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text');
    if (text.length <= longestTyped) return; // the browser pastes it
    event.preventDefault();
    hold(t`pasted text`, text, changed);
  });
  byID('file').addEventListener('change', async (event) => {
    await open(event.target.files[0], changed);
    event.target.value = ''; // so that the same file can be opened again
  });
  startDrop(changed);
}

// hold keeps a text out of the field, which shows the name and the length instead.
function hold(name, text, changed) {
  setText('');
  file = text;
  byID('input').placeholder = t`${name}, ${count(text.length)} characters`;
  changed();
}

async function open(chosen, changed) {
  if (!chosen) return;
  if (chosen.size > largestFile) {
    showError('input', t`${chosen.name} has ${chosen.size >> 20} MB: want at most ${largestFile >> 20} MB`);
    return;
  }
  try {
    hold(chosen.name, await chosen.text(), changed);
  } catch (error) { // a folder, for example
    showError('input', t`${chosen.name} cannot be read: ${error.message}`);
  }
}

function startDrop(changed) {
  addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', () => document.body.classList.remove('dropping'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    const [dropped] = event.dataTransfer.files;
    if (dropped) open(dropped, changed);
    else dropText(event.dataTransfer.getData('text'), changed);
  });
}

function dropText(text, changed) {
  byID('form').value = 'auto';
  put(t`dropped text`, text, changed);
}

// put puts a text into the field, or keeps it out if it is too long. name says what it is.
export function put(name, text, changed) {
  if (text.length > longestTyped) return hold(name, text, changed);
  setText(text);
  return changed();
}

// restoreText sets the text that the page had before it was loaded again, if any.
export function restoreText(text, changed) {
  if (text) put(t`text`, text, changed);
}
