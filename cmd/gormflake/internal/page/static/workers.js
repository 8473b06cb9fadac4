// The table of the workers in the service's database, with their holders.

import { byID, dayAndHour, el, showError } from './dom.js';
import { call } from './service.js';
import { t } from './text.js';
import { age } from './time.js';

export function startWorkers() {
  byID('workers').hidden = false;
  byID('workers-refresh').addEventListener('click', showWorkers);
  return showWorkers();
}

async function showWorkers() {
  showError('workers', '');
  try {
    const { workers } = await call('v1/workers');
    byID('workers-summary').textContent = summary(workers);
    byID('workers-table').hidden = workers.length === 0;
    byID('workers-table').tBodies[0].replaceChildren(...workers.map(workerRow));
    // The service sends owners only to a client that has sent the token.
    const unnamed = workers.every(({ owner }) => !owner);
    for (const { lastElementChild } of byID('workers-table').rows) lastElementChild.hidden = unnamed;
  } catch (error) {
    showError('workers', error.message);
  }
}

function summary(workers) {
  if (workers.length === 0) return t`None has been leased yet.`;
  const counts = new Map();
  for (const { state } of workers) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => t`${count} ${t(state)}`).join(t`, `);
}

function workerRow({ datacenter, worker, state, bound, owner = '' }) {
  const until = BigInt(Date.parse(bound));
  return el('tr', {},
    el('td', { class: 'number' }, `${datacenter}`),
    el('td', { class: 'number' }, `${worker}`),
    el('td', { class: state === 'held' ? 'good' : 'quiet' }, t(state)),
    el('td', { class: 'when' }, ...dayAndHour(bound), ' ', el('span', { class: 'quiet whole' }, age(until, BigInt(Date.now())))),
    el('td', { class: 'breakable' }, owner));
}
