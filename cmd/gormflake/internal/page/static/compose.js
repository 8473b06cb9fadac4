// Composes examples, and gets real IDs from the service.

import { copyFrom } from './copy.js';
import { announce, byID, showError } from './dom.js';
import { format, parse } from './forms.js';
import { compose, mask, PartError } from './parts.js';
import { call } from './service.js';
import { count as written, t } from './text.js';
import { parseTime } from './time.js';
import { startTimeField } from './timefield.js';

// most is the largest number of examples. mostIssued is the largest number of IDs that the
// service issues at once.
const most = 1000;
let mostIssued = most;

const parts = ['datacenter', 'worker', 'sequence', 'time', 'count'];

// startCompose starts the form that composes examples. layout returns the layout of the
// IDs, and read shows IDs in the inspector.
export function startCompose(layout, read) {
  startTimeField('generate-time', timeFromNow);
  byID('generate-form').addEventListener('input', forgetComposed);
  byID('generate-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const ids = composed(layout());
    if (ids) show('generated', ids, byID('generate-form-name').value, ids.length === 1 ? t`Example, not a unique key` : t`${written(ids.length)} examples, not unique keys`);
  });
  startResult('generated', () => byID('generate-form-name').value, read);
}

// forgetComposed hides the composed IDs after the form or the layout has changed, because
// they would contradict what the form shows.
export function forgetComposed() {
  byID('generated').hidden = true;
}

// offerIssue shows the form that requests IDs from the service, which issues at most
// maxCount at once.
export function offerIssue(maxCount) {
  mostIssued = maxCount;
  byID('issued').hidden = false;
  byID('issue-most').textContent = t`(up to ${written(maxCount)})`;
}

// startIssue starts the form that requests IDs from the service.
export function startIssue(read) {
  byID('issue-form').addEventListener('submit', (event) => {
    event.preventDefault();
    issue();
  });
  startResult('issued', () => 'decimal', read);
}

function startResult(name, form, read) {
  byID(`${name}-copy`).addEventListener('click', (event) => copyFrom(event.currentTarget, t`the IDs`, byID(`${name}-ids`).value));
  byID(`${name}-read`).addEventListener('click', () => read(byID(`${name}-ids`).value, form()));
}

function timeFromNow(text) {
  const now = BigInt(Date.now());
  return text === '' ? now : parseTime(text, now);
}

// composed returns the IDs of the form, or undefined if a field is wrong.
function composed(layout) {
  const errors = new Map();
  const take = (part, parseText) => {
    try {
      return parseText(byID(`generate-${part}`).value.trim());
    } catch (error) {
      errors.set(part, error.message);
      return 0n;
    }
  };
  const first = {
    time: take('time', timeFromNow),
    datacenter: take('datacenter', parseNumber),
    worker: take('worker', parseNumber),
    sequence: take('sequence', parseNumber),
  };
  const count = take('count', (text) => parseCount(text, most));
  const ids = errors.size === 0 ? run(layout, first, count, errors) : undefined;
  for (const part of parts) showError(`generate-${part}`, errors.get(part) ?? '');
  return errors.size === 0 ? ids : undefined;
}

// run composes count IDs, of which each has the next sequence. After the largest sequence
// it continues in the next tick.
function run(layout, first, count, errors) {
  try {
    compose(layout, first);
    return Array.from({ length: Number(count) }, (_, i) => compose(layout, step(layout, first, BigInt(i))));
  } catch (error) {
    if (!(error instanceof PartError)) throw error;
    errors.set(error.part, error.message);
    return undefined;
  }
}

function step(layout, first, steps) {
  const size = mask(layout.sequenceBits) + 1n;
  const sequence = first.sequence + steps;
  return { ...first, time: first.time + sequence / size * layout.tick, sequence: sequence % size };
}

function parseNumber(text) {
  return parse('decimal', text);
}

function parseCount(text, largest) {
  const count = parseNumber(text);
  if (count < 1n || count > BigInt(largest)) throw new RangeError(t`${written(count)} IDs: want 1 to ${written(largest)}`);
  return count;
}

async function issue() {
  showError('issue', '');
  showError('issue-count', '');
  let count;
  try {
    count = parseCount(byID('issue-count').value.trim(), mostIssued);
  } catch (error) {
    showError('issue-count', error.message);
    return;
  }
  try {
    const { ids } = await call(`v1/ids?count=${count}`);
    show('issued', ids.map((id) => parse('decimal', id)), 'decimal', ids.length === 1 ? t`Issued by the service: a unique key` : t`${written(ids.length)} issued by the service: unique keys`);
  } catch (error) {
    showError('issue', error.message);
  }
}

function show(name, ids, form, label) {
  byID(name === 'issued' ? 'issued-result' : name).hidden = false;
  byID(`${name}-label`).textContent = label;
  byID(`${name}-read`).textContent = ids.length === 1 ? t`Take it apart` : t`Take them apart`;
  byID(`${name}-ids`).value = ids.map((id) => format(form, id)).join('\n');
  announce(label);
}
