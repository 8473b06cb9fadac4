// The forms that a text can have. A text of digits alone is decimal. Any other text is
// tried in all other forms. A reading counts if the ID is within the layout and its time
// is at most a day from now. Serial numbers show by their length that they are IDs. They
// are read in the chosen layout, because those of other layouts can look the same.

import { forms, parse, quote } from './forms.js';
import { lastID, layouts, maxInt64 } from './layout.js';
import { min, timeOf } from './parts.js';
import * as serial from './serial.js';
import { t } from './text.js';
import { isoTime, parseTime } from './time.js';

export const day = 86400000n;

const ambiguous = forms.filter((form) => form !== 'decimal');

// read returns the readings of a text that is one ID. The latest ID comes first, because
// readers mostly look at new IDs. A form other than auto gives one reading, whatever its
// time. If there is no reading, read throws an error that says why.
export function read(text, layout, now, form = 'auto') {
  if (form !== 'auto') return [readAs(form, text, layout)];
  if (/^0[xX][0-9a-fA-F]{1,16}$/.test(text)) return [readHex(text)];
  if (/^[0-9]{14,19}n$/.test(text)) return [{ ...readAs('decimal', text.slice(0, -1), layout), text }]; // of a BigInt
  const serials = attemptSerial(text, layout);
  if (/^[0-9]+$/.test(text)) return serials.length > 0 && text.length > 19 ? serials : [readAs('decimal', text, layout), ...serials];
  if (serials.length > 0) return serials;
  const tries = ambiguous.map((each) => attempt(each, text, layout, now));
  const found = tries.filter((each) => each.id !== undefined);
  if (found.length === 0) throw new SyntaxError(t`${quote(text)} is not an ID${refusal(tries)}${elsewhere(text)}`);
  return found.sort((a, b) => (a.id < b.id ? 1 : -1));
}

// refusal returns why no reading counts or, if no form can read the text, what was wanted.
function refusal(tries) {
  const reasons = tries.flatMap(({ reason }) => reason ?? []);
  return reasons.length > 0 ? t` of this layout: ${reasons.join(t`; `)}` : t`: want up to 19 digits, or base 32, 58 or 62`;
}

// readHex reads an ID in hex, as the page shows it.
function readHex(text) {
  const id = BigInt(text);
  if (id > maxInt64) throw new SyntaxError(t`hex: ${quote(text)} is out of range: want at most 0x7fffffffffffffff`);
  return { form: 'hex', text, id };
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

// elsewhere returns the names of the layouts of which the text is a serial number.
function elsewhere(text) {
  const names = Object.keys(layouts).filter((name) => attemptSerial(text, layouts[name]).length > 0);
  return names.length > 0 ? t`; it is a serial number of the layout ${names.join(t` or `)}` : '';
}

function attempt(form, text, layout, now) {
  try {
    const id = parse(form, text);
    const reason = doubt(layout, id, now);
    return reason ? { reason: t`as ${t(form)} ${reason}` } : { form, text, id };
  } catch {
    return {}; // not of this form
  }
}

const grouped = /^[0-9]{1,3}([,.'_ \u00a0\u202f])[0-9]{3}(?:\1[0-9]{3}){3,}$/;
const rounded = /^[0-9][.,][0-9]+[eE]\+?[0-9]+$/;
const dated = /^[0-9]{4}-/;

// nearly returns what is wrong with a text that was an ID before it was formatted, or that
// is a time. It returns '' for any other text. Without it, digits in groups of three would
// be read as a list of IDs.
export function nearly(text, layout) {
  if (text.length > 64) return '';
  if (grouped.test(text)) return t`${quote(text)} has thousands separators: want ${text.replace(/[^0-9]/g, '')}`;
  if (rounded.test(text)) return t`${quote(text)} has lost digits: want all of them, from where the ID is a text`;
  return dated.test(text) ? asTime(text, layout) : '';
}

function asTime(text, layout) {
  try {
    const lowest = min(layout, parseTime(text));
    return t`${quote(text)} is a time, not an ID${lowest > 0n ? t`; the lowest ID of it: ${lowest}` : ''}`;
  } catch {
    return ''; // not a time either
  }
}

// doubt returns why the ID is hardly one of the layout, or '' if it may be one.
export function doubt(layout, id, now) {
  if (id === 0n) return t`it is 0, which means not assigned yet`;
  if (id > lastID(layout)) return t`it is ${id}, above ${lastID(layout)}, the last ID of the layout`;
  const time = timeOf(layout, id);
  if (time > now + day) return t`its time is ${isoTime(time)}, more than a day ahead`;
  return '';
}
