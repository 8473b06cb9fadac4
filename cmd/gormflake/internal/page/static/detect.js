// What a text can be. Digits only are decimal; any other text is tried in every
// other form, and a reading counts where it makes sense: within the layout, and
// at a time between the epoch and a day from now. Serial numbers are long, and
// show that they are IDs; they are read in the layout that is chosen, because
// IDs of other layouts can look the same.

import { forms, parse, quote } from './forms.js';
import { lastID, layouts } from './layout.js';
import { timeOf } from './parts.js';
import * as serial from './serial.js';
import { isoTime } from './time.js';

export const day = 86400000n;

const ambiguous = forms.filter((form) => form !== 'decimal');

// read returns the readings of one text, at least one, the latest first: young
// IDs are read most. With a form other than auto there is one, whatever its
// time. Where nothing fits, the error says why.
export function read(text, layout, now, form = 'auto') {
  if (form !== 'auto') return [readAs(form, text, layout)];
  const serials = attemptSerial(text, layout);
  if (/^[0-9]+$/.test(text)) return serials.length > 0 && text.length > 19 ? serials : [readAs('decimal', text, layout), ...serials];
  if (serials.length > 0) return serials;
  const tries = ambiguous.map((each) => attempt(each, text, layout, now));
  const found = tries.filter((each) => each.id !== undefined);
  if (found.length === 0) {
    throw new SyntaxError(`${quote(text)} is not an ID of this layout: ${tries.map((each) => each.reason).join('; ')}${elsewhere(text)}`);
  }
  return found.sort((a, b) => (a.id < b.id ? 1 : -1));
}

function readAs(form, text, layout) {
  if (form !== 'serial') return { form, text, id: parse(form, text) };
  const { id, code, separator } = serial.parse(layout, text);
  return { form, text, id, serial: { code, separator } };
}

function attemptSerial(text, layout) {
  try {
    return [readAs('serial', text, layout)];
  } catch {
    return [];
  }
}

// elsewhere names the layouts of which the text is a serial number.
function elsewhere(text) {
  const names = Object.keys(layouts).filter((name) => attemptSerial(text, layouts[name]).length > 0);
  return names.length > 0 ? `; it is a serial number of the layout ${names.join(' or ')}` : '';
}

function attempt(form, text, layout, now) {
  try {
    const id = parse(form, text);
    const reason = doubt(layout, id, now);
    return reason ? { reason: `as ${form} ${reason}` } : { form, text, id };
  } catch (error) {
    return { reason: error.message };
  }
}

// doubt says why the ID is hardly one of the layout; '' where it may be.
export function doubt(layout, id, now) {
  if (id === 0n) return 'it is 0, which means not assigned yet';
  if (id > lastID(layout)) return `it is ${id}, above ${lastID(layout)}, the last ID of the layout`;
  const time = timeOf(layout, id);
  if (time > now + day) return `its time is ${isoTime(time)}, more than a day ahead`;
  return '';
}
