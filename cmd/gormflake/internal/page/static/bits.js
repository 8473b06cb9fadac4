// The drawing of an ID's 64 bits, each in the colour of its field.

import { el } from './dom.js';
import { timeBits } from './layout.js';

// fieldsOf lists the fields of a layout from the top bit down. The bits above
// the layout are always 0, the sign of an int64 among them.
export function fieldsOf(layout) {
  return [
    { name: 'unused', bits: 64 - layout.totalBits },
    { name: 'time', bits: timeBits(layout) },
    { name: 'datacenter', bits: layout.datacenterBits },
    { name: 'worker', bits: layout.workerBits },
    { name: 'sequence', bits: layout.sequenceBits },
  ].filter((field) => field.bits > 0);
}

// bitsOf cuts the binary text of the ID into the texts of its fields.
export function bitsOf(layout, id) {
  const text = id.toString(2).padStart(64, '0');
  let from = 0;
  return fieldsOf(layout).map((field) => ({ ...field, text: text.slice(from, from += field.bits), high: 64 + field.bits - from - 1 }));
}

// drawBits draws the bits, and writes the names of the fields below.
export function drawBits(container, names, layout, id) {
  const fields = bitsOf(layout, id);
  const drawing = el('div', {
    class: 'bits', role: 'img',
    'aria-label': `64 bits: ${fields.map(({ name, text }) => `${name} ${text}`).join(', ')}`,
  });
  for (const field of fields) {
    [...field.text].forEach((bit, i) => drawing.append(cell(field, bit, field.high - i)));
  }
  container.replaceChildren(drawing);
  names.replaceChildren(...fields.map(nameOf));
}

// nameOf is as wide as the bits of its field.
function nameOf({ name, bits }) {
  const label = el('span', { class: name }, name === 'unused' && bits < 8 ? '' : name);
  label.style.gridColumn = `span ${bits}`;
  return label;
}

// cell is one bit, with its position where a byte begins, as a ruler.
function cell(field, bit, position) {
  const ruler = position % 8 === 7 ? String(position) : undefined;
  return el('span', { class: `bit ${field.name}${bit === '1' ? ' one' : ''}`, 'data-position': ruler }, bit);
}
