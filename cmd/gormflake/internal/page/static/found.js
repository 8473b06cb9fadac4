// The tables of the workers of many IDs, and of the gaps between the IDs.

import { byID, el, fill } from './dom.js';
import { workerName, workerTitle } from './lanes.js';
import { keyOf } from './layout.js';
import { timeOf } from './parts.js';
import { count, t } from './text.js';
import { duration, isoTime } from './time.js';

const colours = 8;
const mostRows = 64;

export function showFound(layout, { lanes, gaps }) {
  byID('found').hidden = false;
  byID('found-worker').textContent = workerTitle(layout);
  byID('timeline-workers').caption.textContent = lanes.length > mostRows ? t`Workers, the first ${mostRows} of ${count(lanes.length)}` : t`Workers`;
  const rows = lanes.slice(0, mostRows);
  const key = rows.map((lane) => `${lane.count} ${lane.first} ${lane.last}`).join();
  fill(byID('timeline-workers').tBodies[0], `${keyOf(layout)} ${key}`, () => rows.map((lane) => workerRow(layout, lane)));
  byID('timeline-gaps').parentElement.hidden = gaps.length === 0;
  const pauses = gaps.map(({ from, to }) => `${from.id} ${to.id}`).join();
  fill(byID('timeline-gaps').tBodies[0], `${keyOf(layout)} ${pauses}`, () => gaps.map((gap) => gapRow(layout, gap)));
}

function workerRow(layout, lane) {
  return el('tr', {},
    el('th', { scope: 'row' }, el('span', { class: `swatch worker-${lane.index % colours}`, 'aria-hidden': 'true' }), workerName(lane, layout)),
    el('td', { class: 'number' }, count(lane.count)),
    el('td', {}, isoTime(timeOf(layout, lane.first))),
    el('td', {}, isoTime(timeOf(layout, lane.last))));
}

function gapRow(layout, { from, length }) {
  return el('tr', {},
    el('td', {}, isoTime(timeOf(layout, from.id))),
    el('td', {}, duration(BigInt(Math.round(length)))));
}

export function hideFound() {
  byID('found').hidden = true;
}
