// Files that the reader saves.

import { announce, el } from './dom.js';
import { t } from './text.js';

// exporters save records as a file of a format. All records have the same keys.
export const exporters = Object.freeze({
  csv: (records) => save('snowflake-ids.csv', 'text/csv', csv(records)),
  json: (records) => save('snowflake-ids.json', 'application/json', json(records)),
});

// csv returns the records as RFC 4180 defines it. The IDs in the file are exact, but a
// spreadsheet may round them.
export function csv(records) {
  const lines = [Object.keys(records[0] ?? {}), ...records.map((record) => Object.values(record))];
  return lines.map((line) => `${line.map(cell).join(',')}\r\n`).join('');
}

function cell(value) {
  const text = `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// json returns a JSON array with a record on each line.
export function json(records) {
  return `[\n${records.map((record) => JSON.stringify(record)).join(',\n')}\n]\n`;
}

function save(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
  announce(t`${name} saved`);
}
