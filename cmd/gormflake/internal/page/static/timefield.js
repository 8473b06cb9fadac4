// A field for a time. It accepts every form of a time, and has a picker. Below the field is
// the time as the page understands it.

import { byID } from './dom.js';
import { isoTime } from './time.js';

// startTimeField starts the field with this ID. parse returns the time of its text.
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

// echoTime shows the time of a field below it, unless the field has the same text.
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
