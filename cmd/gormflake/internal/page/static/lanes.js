// Many IDs arranged for the timeline, in the order of time, with a lane for each worker
// and the gaps between IDs.

import { lowBits } from './layout.js';
import { mask, reader, timeOf } from './parts.js';
import { t } from './text.js';

// arrange sorts the items by their IDs, and adds to each its place in the text, its lane
// and its offset. Of equal IDs it keeps the first, with their number. An offset is in
// milliseconds from the first tick. Within a tick, IDs are spread by their sequence. It
// does not add times, because it must be fast for 100,000 items.
export function arrange(layout, items) {
  const sorted = distinct(items.map((item, place) => ({ ...item, place, times: 1 })).sort(byNumber));
  const low = BigInt(lowBits(layout));
  const start = sorted[0].id >> low;
  const tick = Number(layout.tick);
  const spread = tick / (Number(mask(layout.sequenceBits)) + 1);
  const lanes = new Map();
  const [datacenter, worker, sequence] = ['datacenter', 'worker', 'sequence'].map((field) => reader(layout, field));
  const workerBits = BigInt(layout.workerBits);
  for (const item of sorted) {
    item.lane = laneOf(lanes, datacenter(item.id), worker(item.id), workerBits, item.id);
    item.offset = Number((item.id >> low) - start) * tick + Number(sequence(item.id)) * spread;
  }
  return { start: timeOf(layout, sorted[0].id), span: sorted.at(-1).offset, ids: sorted, lanes: order([...lanes.values()]), gaps: gaps(sorted) };
}

// distinct keeps the first of equal IDs, and counts them in times. Equal IDs are
// neighbours, because the items are sorted.
function distinct(sorted) {
  let last;
  return sorted.filter((item) => {
    if (item.id === last?.id) {
      last.times++;
      return false;
    }
    last = item;
    return true;
  });
}

function byNumber(a, b) {
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

// laneOf returns the lane of the ID's worker, and counts the ID in it.
function laneOf(lanes, datacenter, worker, workerBits, id) {
  const key = (datacenter << workerBits) | worker;
  let lane = lanes.get(key);
  if (!lane) {
    lanes.set(key, lane = { key, datacenter, worker, count: 0, first: id });
  }
  lane.count++;
  lane.last = id;
  return lane;
}

// order numbers the lanes by datacenter and worker.
function order(lanes) {
  lanes.sort((a, b) => (a.key < b.key ? -1 : 1));
  lanes.forEach((lane, index) => { lane.index = index; });
  return lanes;
}

const mostGaps = 8;

// gaps returns the longest pauses between IDs, beginning with the longest. A pause counts if
// it is longer than ten times the median, and than two percent of the whole span.
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

// workerTitle returns the heading for the names that workerName returns.
export function workerTitle(layout) {
  return layout.datacenterBits > 0 ? t`Datacenter/worker` : t`Worker`;
}
