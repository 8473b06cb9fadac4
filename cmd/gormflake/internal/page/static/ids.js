// The table of all IDs of a text. It is sorted by any column, shows a page at a time, and
// exports its rows in their order.

import { byID, dayAndHour, el, fill } from './dom.js';
import { exporters } from './export.js';
import { keyOf } from './layout.js';
import { reader, timeOf } from './parts.js';
import { count, t } from './text.js';
import { isoTime } from './time.js';

const pageSize = 20;

export class IDTable {
  #layout;
  #all = [];
  #rows = [];
  #columns = [];
  #sort = { column: 'time', down: false };
  #page = 0;
  #marked;
  #picked;

  // picked is called with the item whose ID the reader clicks. cleared is called when the
  // reader asks for all IDs again.
  constructor(picked, cleared) {
    this.#picked = picked;
    byID('ids-back').addEventListener('click', () => this.#turn(-1));
    byID('ids-next').addEventListener('click', () => this.#turn(1));
    byID('ids-all').addEventListener('click', cleared);
    for (const [form, save] of Object.entries(exporters)) {
      byID(`ids-${form}`).addEventListener('click', () => save(this.#rows.map((item) => recordOf(this.#layout, item))));
    }
  }

  hide() {
    byID('ids').hidden = true;
    this.#all = this.#rows = [];
  }

  // show shows the items, which are in the order of time.
  show(layout, items) {
    this.#layout = layout;
    this.#all = items;
    this.#columns = columnsOf(layout, items);
    if (!this.#columns.some(({ name }) => name === this.#sort.column)) this.#sort = { column: 'time', down: false };
    byID('ids').hidden = false;
    this.filter();
  }

  // filter shows the items whose offsets are within the range, or all if there is no range.
  filter(range) {
    this.#rows = range ? this.#all.filter(({ offset }) => offset >= range.from && offset <= range.to) : [...this.#all];
    byID('ids-all').hidden = range === undefined;
    byID('ids-summary').textContent = range ? t`${count(this.#rows.length)} of ${count(this.#all.length)}, those selected on the timeline` : '';
    this.#order();
  }

  // mark highlights the row of the selected item.
  mark(item) {
    this.#marked = item;
    for (const row of byID('ids-table').tBodies[0].rows) setCurrent(row, row.item === item);
  }

  #turn(by) {
    this.#page += by;
    this.#fill();
  }

  #order() {
    const { column, down } = this.#sort;
    const { key } = this.#columns.find(({ name }) => name === column);
    this.#rows.sort((a, b) => compare(key(a), key(b)) || compare(a.id, b.id));
    if (down) this.#rows.reverse();
    this.#page = 0;
    this.#fill();
  }

  #sortBy(name) {
    this.#sort = { column: name, down: this.#sort.column === name && !this.#sort.down };
    this.#order();
    byID('ids-table').querySelector(`[data-column="${name}"]`).focus();
  }

  #fill() {
    const from = this.#page * pageSize;
    const rows = this.#rows.slice(from, from + pageSize);
    const { column, down } = this.#sort;
    const columns = this.#columns.map(({ name }) => name).join();
    fill(byID('ids-table').tHead.rows[0], `${columns} ${column} ${down}`, () => this.#columns.map((each) => this.#heading(each)));
    const body = byID('ids-table').tBodies[0];
    fill(body, `${keyOf(this.#layout)} ${columns} ${rows.map(({ id, place, times, text }) => `${id} ${place} ${times} ${text}`)}`, () => rows.map(() => el('tr', {})));
    [...body.rows].forEach((row, i) => this.#fillRow(row, rows[i]));
    byID('ids-pager').hidden = this.#rows.length <= pageSize;
    byID('ids-page').textContent = t`${count(from + 1)} to ${count(from + rows.length)} of ${count(this.#rows.length)}`;
    byID('ids-back').disabled = this.#page === 0;
    byID('ids-next').disabled = from + pageSize >= this.#rows.length;
  }

  #heading({ name, title, kind }) {
    const { column, down } = this.#sort;
    const sorted = column === name ? (down ? 'descending' : 'ascending') : undefined;
    const button = el('button', { type: 'button', class: 'sort', 'data-column': name }, t(title));
    button.addEventListener('click', () => this.#sortBy(name));
    return el('th', { scope: 'col', class: kind, 'aria-sort': sorted }, button);
  }

  // fillRow sets the item of a row, and adds the cells if the row is new.
  #fillRow(row, item) {
    row.item = item;
    setCurrent(row, item === this.#marked);
    if (row.cells.length > 0) return;
    row.append(...this.#columns.map(({ name, text, kind }) => {
      if (name !== 'id') return el('td', { class: kind }, ...[text(item)].flat());
      const button = el('button', { type: 'button', class: 'link' }, `${item.id}`);
      button.addEventListener('click', () => this.#picked(row.item));
      return el('th', { scope: 'row' }, button);
    }));
  }
}

function setCurrent(row, current) {
  if (current) row.setAttribute('aria-current', 'true');
  else row.removeAttribute('aria-current');
}

function columnsOf(layout, items) {
  const number = (name, key, title = name) => ({ name, title, kind: 'number', key, text: (item) => `${key(item)}` });
  const sequence = reader(layout, 'sequence');
  const text = ({ text: written }) => written;
  return [
    { ...number('place', ({ place }) => place + 1, 'in text'), kind: 'number place' },
    { name: 'id', title: 'ID', key: ({ id }) => id },
    { name: 'time', title: 'time, UTC', kind: 'when', key: ({ id }) => id, text: ({ id }) => dayAndHour(isoTime(timeOf(layout, id))) },
    ...(layout.datacenterBits > 0 ? [number('datacenter', ({ lane }) => lane.datacenter)] : []),
    ...(layout.workerBits > 0 ? [number('worker', ({ lane }) => lane.worker)] : []),
    number('sequence', ({ id }) => sequence(id)),
    ...(items.some(({ times }) => times > 1) ? [number('found', ({ times }) => times, 'times found')] : []),
    ...(items.some((item) => item.form !== 'decimal') ? [{ name: 'text', title: 'as found', key: text, text }] : []),
  ];
}

function compare(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// recordOf returns a row for the export, with the names of the service's answers.
function recordOf(layout, { id, lane, text }) {
  return {
    id: `${id}`, time: isoTime(timeOf(layout, id)), datacenter: Number(lane.datacenter), worker: Number(lane.worker),
    sequence: Number(reader(layout, 'sequence')(id)), text,
  };
}
