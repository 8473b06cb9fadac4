// The tables about many IDs: their workers, and the gaps between them.

import { byID, el } from './dom.js';
import { workerName } from './lanes.js';
import { timeOf } from './parts.js';
import { duration, isoTime } from './time.js';

const colours = 8;
const mostRows = 64;

export function showFound(layout, { lanes, gaps }) {
  byID('found').hidden = false;
  byID('timeline-workers').caption.textContent = lanes.length > mostRows ? `Workers, the first ${mostRows} of ${lanes.length}` : 'Workers';
  byID('timeline-workers').tBodies[0].replaceChildren(...lanes.slice(0, mostRows).map((lane) => el('tr', {},
    el('th', { scope: 'row' }, el('span', { class: `swatch worker-${lane.index % colours}`, 'aria-hidden': 'true' }), workerName(lane, layout)),
    el('td', { class: 'number' }, `${lane.count}`),
    el('td', {}, isoTime(timeOf(layout, lane.first))),
    el('td', {}, isoTime(timeOf(layout, lane.last))))));
  byID('timeline-gaps').parentElement.hidden = gaps.length === 0;
  byID('timeline-gaps').tBodies[0].replaceChildren(...gaps.map(({ from, length }) => el('tr', {},
    el('td', {}, isoTime(timeOf(layout, from.id))),
    el('td', {}, duration(BigInt(Math.round(length)))))));
}

export function hideFound() {
  byID('found').hidden = true;
}
