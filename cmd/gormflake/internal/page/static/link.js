// What the page shows, as the fragment of its address, so that an inspection
// can be linked.

import { layout, mistakes } from './layout.js';
import { isoTime, parseTick, parseTime } from './time.js';

// A link that is longer is cut by mail programs; the text is then left out.
const longest = 2000;

export function toFragment({ text, form, code, name, layout: l }) {
  const fragment = new URLSearchParams();
  if (text.length <= longest && text !== '') fragment.set('ids', text);
  if (form !== 'auto') fragment.set('as', form);
  if (code !== '') fragment.set('code', code);
  fragment.set('layout', name);
  if (name === 'custom') {
    fragment.set('epoch', isoTime(l.epoch));
    fragment.set('tick', `${l.tick}`);
    fragment.set('bits', [l.datacenterBits, l.workerBits, l.sequenceBits, l.totalBits].join('.'));
  }
  return `#${fragment}`;
}

// fromFragment reads what toFragment wrote. What it cannot read is left out.
export function fromFragment(text) {
  const fragment = new URLSearchParams(text.replace(/^#/, ''));
  const name = fragment.get('layout') ?? undefined;
  return {
    text: fragment.get('ids') ?? '',
    form: fragment.get('as') ?? 'auto',
    code: fragment.get('code') ?? '',
    name,
    layout: name === 'custom' ? customLayout(fragment) : undefined,
  };
}

function customLayout(fragment) {
  try {
    const bits = /^(\d{1,2})\.(\d{1,2})\.(\d{1,2})\.(\d{1,2})$/.exec(fragment.get('bits')).slice(1).map(Number);
    const read = layout(parseTime(fragment.get('epoch')), parseTick(fragment.get('tick')), ...bits);
    return mistakes(read).length === 0 ? read : undefined;
  } catch {
    return undefined;
  }
}
