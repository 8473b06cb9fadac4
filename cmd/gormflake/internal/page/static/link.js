// The fragment of the address, which has the IDs and the layout that the page shows, so
// that a reader can link to them.

import { forms, quote } from './forms.js';
import { layout, layouts, mistakes, sameLayout } from './layout.js';
import { t } from './text.js';
import { isoTime, parseTick, parseTime } from './time.js';

// The value of order in a link whose layout has the sequence above the worker.
const swapped = 'sequence.worker';

// The largest number of characters of the IDs in a link. Mail programs cut longer links.
const longest = 2000;

export function fits(text) {
  return text.length <= longest;
}

// linkOf returns the part of a text that a link contains, and its form. This part are the
// IDs only, because the rest of the text may be private. A text that is a list of IDs is
// kept as it is.
export function linkOf(text, form, { found, list }) {
  const ids = list ? text : found.slice(0, longest).map((item) => item.text).join(' ');
  const [first] = found;
  const guessed = found.length === 1 && form === 'auto' && !['decimal', 'serial'].includes(first.form);
  return { text: ids, form: guessed ? first.form : form };
}

// toFragment returns the fragment of a link. It writes the layout in full, or by a name that
// every page knows. It does not refer to a service, because another one may have another
// layout.
export function toFragment({ text, form, code, layout: l }) {
  const fragment = new URLSearchParams();
  if (fits(text) && text !== '') fragment.set('ids', text);
  if (form !== 'auto') fragment.set('as', form);
  if (code !== '') fragment.set('code', code);
  const name = nameOf(l) ?? 'custom';
  fragment.set('layout', name);
  if (name === 'custom') {
    fragment.set('epoch', isoTime(l.epoch));
    fragment.set('tick', `${l.tick}`);
    fragment.set('bits', [l.datacenterBits, l.workerBits, l.sequenceBits, l.totalBits].join('.'));
    if (l.sequenceFirst) fragment.set('order', swapped);
  }
  return `#${fragment}`;
}

// nameOf returns the name of the layout, or undefined if it has none.
export function nameOf(l) {
  return Object.keys(layouts).find((name) => sameLayout(layouts[name], l));
}

// fromFragment reads a fragment that toFragment or a person has written. If the form or the
// layout is invalid, problem says why, because in another layout the ID has other parts.
export function fromFragment(text) {
  const fragment = new URLSearchParams(text.replace(/^#/, ''));
  const read = { text: fragment.get('ids') ?? '', form: fragment.get('as') ?? 'auto', code: fragment.get('code') ?? '', name: fragment.get('layout') ?? undefined, problem: '' };
  try {
    checkForm(read.form);
    read.layout = layoutOf(read.name, fragment);
  } catch (error) {
    read.problem = error.message;
  }
  return read;
}

function checkForm(form) {
  const known = ['auto', ...forms, 'serial'];
  if (!known.includes(form)) throw new SyntaxError(t`as ${quote(form)}: want one of ${known.join(', ')}`);
}

// layoutOf returns the layout of a link. It returns undefined if the link has none, or if it
// is that of the service.
function layoutOf(name, fragment) {
  if (name === undefined || name === 'service') return undefined;
  if (name === 'custom') return customLayout(fragment);
  if (Object.hasOwn(layouts, name)) return layouts[name];
  throw new SyntaxError(t`layout ${quote(name)}: want one of ${Object.keys(layouts).join(', ')}, or custom with epoch, tick and bits`);
}

function customLayout(fragment) {
  const take = (field, parse) => {
    const text = fragment.get(field);
    if (!text) throw new SyntaxError(t`${field}: missing`);
    return parse(text, field);
  };
  const order = fragment.get('order') ?? '';
  if (order !== '' && order !== swapped) throw new SyntaxError(t`order ${quote(order)}: want none, or ${swapped}`);
  const read = layout(take('epoch', named(parseTime)), take('tick', named(parseTick)), ...take('bits', parseBits), order === swapped);
  const [wrong] = mistakes(read);
  if (wrong) throw new RangeError(wrong[1]);
  return read;
}

// named returns a parser whose errors begin with the name of the field.
function named(parse) {
  return (text, field) => {
    try {
      return parse(text);
    } catch (error) {
      throw new SyntaxError(t`${field} ${error.message}`);
    }
  };
}

function parseBits(text) {
  const bits = /^(\d{1,2})\.(\d{1,2})\.(\d{1,2})\.(\d{1,2})$/.exec(text);
  if (!bits) throw new SyntaxError(t`bits ${quote(text)}: want the bits of datacenter, worker, sequence and all, such as 5.5.12.63`);
  return bits.slice(1).map(Number);
}
