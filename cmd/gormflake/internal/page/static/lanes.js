// Many IDs arranged for the time line: in the order of time, one lane for each
// worker, and the gaps between them.

import { decompose, mask } from './parts.js';

// arrange sorts the items by their IDs. Offsets are milliseconds from the first
// tick, which a number holds; within a tick IDs are spread by their sequence.
export function arrange(layout, items) {
  const sorted = [...items].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  const start = decompose(layout, sorted[0].id).time;
  const lanes = new Map();
  const spread = Number(layout.tick) / (Number(mask(layout.sequenceBits)) + 1);
  const ids = sorted.map((item) => {
    const { time, datacenter, worker, sequence } = decompose(layout, item.id);
    const lane = laneOf(lanes, datacenter, worker, time);
    return { ...item, time, datacenter, worker, lane, offset: Number(time - start) + Number(sequence) * spread };
  });
  return { start, span: ids.at(-1).offset, ids, lanes: order([...lanes.values()]), gaps: gaps(ids) };
}

function laneOf(lanes, datacenter, worker, time) {
  const key = `${datacenter}/${worker}`;
  let lane = lanes.get(key);
  if (!lane) lanes.set(key, lane = { datacenter, worker, count: 0, first: time });
  lane.count++;
  lane.last = time;
  return lane;
}

// order numbers the lanes by datacenter and worker.
function order(lanes) {
  lanes.sort((a, b) => Number(a.datacenter - b.datacenter) || Number(a.worker - b.worker));
  lanes.forEach((lane, index) => { lane.index = index; });
  return lanes;
}

const mostGaps = 8;

// gaps are the pauses that stand out: ten times the usual one, and two percent
// of the whole. The longest come first.
function gaps(ids) {
  const pauses = ids.slice(1).map((each, i) => ({ from: ids[i], to: each, length: each.offset - ids[i].offset }));
  if (pauses.length < 2) return [];
  const lengths = pauses.map(({ length }) => length).sort((a, b) => a - b);
  const least = Math.max(10 * lengths[lengths.length >> 1], ids.at(-1).offset / 50);
  return pauses.filter(({ length }) => length > least && length >= 1).sort((a, b) => b.length - a.length).slice(0, mostGaps);
}

export function workerName({ datacenter, worker }, layout) {
  return layout.datacenterBits > 0 ? `${datacenter}/${worker}` : `${worker}`;
}
