// What the page shows, as the fragment of its address, so that an inspection
// can be linked.

import { forms, quote } from './forms.js';
import { layout, layouts, mistakes, sameLayout } from './layout.js';
import { t } from './text.js';
import { isoTime, parseTick, parseTime } from './time.js';

// What a link says of a layout whose sequence stands above the worker.
const swapped = 'sequence.worker';

// A link that is longer is cut by mail programs; the IDs are then left out.
const longest = 2000;

export function fits(text) {
  return text.length <= longest;
}

// linkOf is what a link holds of a text: the IDs that were found in it and
// nothing else, since a link is given to others. What holds nothing but IDs stays
// as it is written.
export function linkOf(text, form, { found, list }) {
  const ids = list ? text : found.slice(0, longest).map((item) => item.text).join(' ');
  const [first] = found;
  const guessed = found.length === 1 && form === 'auto' && !['decimal', 'serial'].includes(first.form);
  return { text: ids, form: guessed ? first.form : form };
}

// The layout is always written in full or by a name that every page knows: what
// the service's is depends on the service.
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

// nameOf is the name of a layout that has one.
export function nameOf(l) {
  return Object.keys(layouts).find((name) => sameLayout(layouts[name], l));
}

// fromFragment reads what toFragment wrote, or somebody by hand. Where the form
// or the layout cannot be read, problem says why: the ID would be another one.
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

// layoutOf is undefined where the page chooses, or has to ask its service.
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

// named puts the name of the field in front of what is wrong with it.
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
