// The fields of a layout, and the bits of an ID that belong to each.

import { lowFields, timeBits } from './layout.js';

// fieldsOf lists the fields of a layout from the top bit down. The bits above
// the layout are always 0, the sign of an int64 among them.
export function fieldsOf(layout) {
  return [
    { name: 'unused', bits: 64 - layout.totalBits },
    { name: 'time', bits: timeBits(layout) },
    ...lowFields(layout).map((name) => ({ name, bits: layout[`${name}Bits`] })),
  ].filter((field) => field.bits > 0);
}

// bitsOf cuts the binary text of the ID into the texts of its fields.
export function bitsOf(layout, id) {
  const text = id.toString(2).padStart(64, '0');
  let from = 0;
  return fieldsOf(layout).map((field) => {
    const at = from;
    from += field.bits;
    return { ...field, from: at, text: text.slice(at, from), high: 63 - at, low: 64 - from };
  });
}
