// The drawing of an ID. It shows the 64 bits, each field in its colour, and below each
// field a card with its value and the formula for it. If the window is too narrow for 64
// bits in a row, CSS puts the bits of each field above its card.

import { byID, el, fill } from './dom.js';
import { bitsOf } from './fields.js';
import { keyOf } from './layout.js';
import { decompose, mask } from './parts.js';
import { t } from './text.js';
import { isoTime } from './time.js';

// draw fills the container with the drawing of the ID.
export function draw(container, layout, id) {
  const parts = decompose(layout, id);
  const fields = spread(bitsOf(layout, id));
  fill(container, `${id} ${keyOf(layout)}`, () => [...fields.map((field) => part(field, layout, parts)), funnels(fields)]);
}

const shares = { unused: 2, time: 5, datacenter: 3, worker: 3, sequence: 3 };

// spread adds to each field the left and right column of its card, out of 64 columns.
function spread(fields) {
  const all = fields.reduce((sum, { name }) => sum + shares[name], 0);
  let sum = 0;
  return fields.map((field) => {
    const left = Math.round(sum * 64 / all);
    sum += shares[field.name];
    return { ...field, left, right: Math.round(sum * 64 / all) };
  });
}

function part(field, layout, parts) {
  const bits = el('div', { class: 'bits', role: 'img', 'aria-label': t`${t(field.name)}, bits ${field.high} to ${field.low}: ${field.text}` },
    ...[...field.text].map((bit, i) => cell(bit, field.high - i)));
  bits.style.gridColumn = `${field.from + 1} / span ${field.bits}`;
  const card = cardOf(field, layout, parts);
  card.style.gridColumn = `${field.left + 1} / ${field.right + 1}`;
  return el('div', { class: `part ${field.name}` }, bits, card);
}

// cell returns the element of one bit. The highest bit of each byte shows its position.
function cell(bit, position) {
  const ruler = position % 8 === 7 ? String(position) : undefined;
  return el('span', { class: bit === '1' ? 'bit one' : 'bit', 'data-position': ruler }, bit);
}

function cardOf(field, layout, parts) {
  const { name, bits } = field;
  return el('div', { class: 'card' },
    el('h3', {}, t(name), ' ', el('span', { class: 'quiet' }, bits === 1 ? t`1 bit` : t`${bits} bits`)),
    el('p', { class: 'value', id: `value-${name}` }, name === 'unused' ? '0' : `${name === 'time' ? parts.tick : parts[name]}`),
    el('p', { class: 'note' }, note(field, layout)),
    ...formula(field, layout).map((text) => el('code', {}, text)));
}

function note({ name, bits }, layout) {
  const tick = layout.tick === 1n ? t`ms` : t`ticks of ${layout.tick} ms`;
  switch (name) {
    case 'unused': return bits === 1 ? t`always 0: the sign of a positive number` : t`always 0`;
    case 'time': return t`${tick} since ${isoTime(layout.epoch).replace('T', ' ').replace(/(:00)?\.000Z|Z/, '')} UTC`;
    case 'sequence': return t`counts the IDs of one ${layout.tick === 1n ? t`ms` : t`tick`}: 0 to ${mask(bits)}`;
    case 'datacenter': return t`where it was made: 0 to ${mask(bits)}`;
    default: return t`which machine or process made it: 0 to ${mask(bits)}`;
  }
}

// formula returns how a program computes the field and, for the time, its Unix time.
function formula({ name, bits, low }, layout) {
  const value = low > 0 ? `id >> ${low}` : 'id';
  const shifted = low > 0 ? `(${value})` : value;
  if (name === 'unused') return [];
  if (name !== 'time') return [`${shifted} & ${mask(bits)}`];
  return [value, `${shifted}${layout.tick === 1n ? '' : ` * ${layout.tick}`} + ${layout.epoch} = Unix ms`];
}

// funnels draws a shape from the bits of each field to its card.
function funnels(fields) {
  const drawing = byID('funnels');
  drawing.replaceChildren(...fields.map(({ name, from, bits, left, right }) => {
    const polygon = document.createElementNS(drawing.namespaceURI, 'polygon');
    polygon.setAttribute('class', name);
    polygon.setAttribute('points', `${from + 0.06},0 ${from + bits - 0.06},0 ${right - 0.25},10 ${left + 0.25},10`);
    return polygon;
  }));
  return drawing;
}
