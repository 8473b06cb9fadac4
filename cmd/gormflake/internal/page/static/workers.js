// The table of the workers in the service's database, with their holders.

import { byID, dayAndHour, el, showError } from './dom.js';
import { call } from './service.js';
import { count, t } from './text.js';
import { age } from './time.js';

export function startWorkers() {
  byID('workers-refresh').addEventListener('click', showWorkers);
}

// offerWorkers shows the table, for a service that has workers.
export function offerWorkers() {
  byID('workers').hidden = false;
  return showWorkers();
}

// folded are the states of released workers. The table leaves these workers out, because a
// store may have a thousand of them, for example after gormflake workers raise.
const folded = ['waiting', 'free'];

async function showWorkers() {
  showError('workers', '');
  try {
    const { workers } = await call('v1/workers');
    byID('workers-summary').textContent = summary(workers);
    const rows = ['held', 'lapsed'].flatMap((state) => workers.filter((worker) => worker.state === state));
    byID('workers-table').hidden = rows.length === 0;
    byID('workers-table').tBodies[0].replaceChildren(...rows.map(workerRow));
    for (const state of folded) showFolded(state, workers.filter((worker) => worker.state === state));
    // The service sends owners only to a client that has sent the token.
    const unnamed = workers.every(({ owner }) => !owner);
    for (const { lastElementChild } of byID('workers-table').rows) lastElementChild.hidden = unnamed;
  } catch (error) {
    showError('workers', error.message);
  }
}

function summary(workers) {
  if (workers.length === 0) return t`None has been leased yet.`;
  const numbers = ['held', 'lapsed', ...folded].map((name) => [name, workers.filter(({ state }) => state === name).length]);
  return numbers.filter(([, number]) => number > 0).map(([state, number]) => t`${count(number)} ${t(state)}`).join(t`, `);
}

// showFolded shows the workers of a state in a line, which opens to their numbers.
function showFolded(state, workers) {
  const line = byID(`workers-${state}`);
  line.hidden = workers.length === 0;
  line.querySelector('summary').textContent = t`${count(workers.length)} ${t(state)}` + (state === 'waiting' ? t` until ${latest(workers)} at the latest` : '');
  line.querySelector('p').textContent = runs(workers).map(runText).join(', ');
}

function latest(workers) {
  return workers.reduce((last, { bound }) => (bound > last ? bound : last), '');
}

// runs joins workers with consecutive numbers. The workers are in the order of their numbers.
function runs(workers) {
  const found = [];
  for (const { datacenter, worker } of workers) {
    const last = found.at(-1);
    if (last?.datacenter === datacenter && last.to + 1 === worker) last.to = worker;
    else found.push({ datacenter, from: worker, to: worker });
  }
  return found;
}

function runText({ datacenter, from, to }) {
  return from === to ? `${datacenter}/${from}` : `${datacenter}/${from}–${to}`;
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
