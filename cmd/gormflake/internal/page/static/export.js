// Files that the reader saves.

import { announce, el } from './dom.js';
import { t } from './text.js';

// exporters write records, which all have the same keys, and offer them as a file.
export const exporters = Object.freeze({
  csv: (records) => save('snowflake-ids.csv', 'text/csv', csv(records)),
  json: (records) => save('snowflake-ids.json', 'application/json', json(records)),
});

// csv is as RFC 4180 has it. An ID is exact in the file; what opens it may round.
export function csv(records) {
  const lines = [Object.keys(records[0] ?? {}), ...records.map((record) => Object.values(record))];
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
}

function cell(value) {
  const text = `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// json has a record on each line.
export function json(records) {
  return `[\n${records.map((record) => JSON.stringify(record)).join(',\n')}\n]\n`;
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  announce(t`${name} saved`);
}
