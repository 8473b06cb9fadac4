// The fields of a layout, and the bits of an ID that belong to each.

import { lowFields, timeBits } from './layout.js';

// fieldsOf returns the fields of a layout from the top bit down. The first field
// has the bits above the layout, which are always 0. The sign of an int64 is one of them.
export function fieldsOf(layout) {
  return [
    { name: 'unused', bits: 64 - layout.totalBits },
    { name: 'time', bits: timeBits(layout) },
    ...lowFields(layout).map((name) => ({ name, bits: layout[`${name}Bits`] })),
  ].filter((field) => field.bits > 0);
}

// bitsOf returns the fields with their bits as text. from counts bits from the top, high
// and low count them from the bottom.
export function bitsOf(layout, id) {
  const text = id.toString(2).padStart(64, '0');
  let from = 0;
  return fieldsOf(layout).map((field) => {
    const at = from;
    from += field.bits;
    return { ...field, from: at, text: text.slice(at, from), high: 63 - at, low: 64 - from };
  });
}
