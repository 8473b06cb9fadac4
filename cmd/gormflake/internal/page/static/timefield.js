// A field for a time: any way to write it, with a picker, and below it how it is
// understood.

import { byID } from './dom.js';
import { isoTime } from './time.js';

// startTimeField wires the field with the ID. parse reads its text, which may be
// empty only if the field may.
export function startTimeField(id, parse) {
  const [field, picker] = [byID(id), byID(`${id}-date`)];
  byID(`${id}-pick`).addEventListener('click', () => {
    picker.value = understood(field.value, parse)?.slice(0, 23) ?? '';
    picker.showPicker();
  });
  picker.addEventListener('input', () => {
    if (picker.value === '') return;
    field.value = isoTime(BigInt(Date.parse(`${picker.value}Z`)));
    field.dispatchEvent(new Event('input', { bubbles: true }));
  });
  field.addEventListener('input', () => echoTime(id, parse));
}

// echoTime shows the time unless the field says it in the same way.
export function echoTime(id, parse) {
  const time = understood(byID(id).value, parse);
  byID(`${id}-echo`).textContent = time && time !== byID(id).value.trim() ? `= ${time}` : '';
}

function understood(text, parse) {
  try {
    return text.trim() === '' ? undefined : isoTime(parse(text.trim()));
  } catch {
    return undefined; // the form says why
  }
}
