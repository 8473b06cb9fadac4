// IDs put together and taken apart. All numbers are BigInts: an ID has more
// digits than a JavaScript number keeps.

import { endTick, expires, lastID, lowBits } from './layout.js';
import { isoTime } from './time.js';

// tickOf is the tick that contains the millisecond; negative before the epoch.
export function tickOf(l, time) {
  const since = time - l.epoch;
  return since < 0n ? (since + 1n) / l.tick - 1n : since / l.tick;
}

export function timeOf(l, id) {
  return l.epoch + (id >> BigInt(lowBits(l))) * l.tick;
}

// decompose takes an ID apart. The bits do not show whether it is one of this
// layout.
export function decompose(l, id) {
  const sequenceBits = BigInt(l.sequenceBits);
  const workerBits = BigInt(l.workerBits);
  return {
    time: timeOf(l, id),
    tick: id >> BigInt(lowBits(l)),
    datacenter: (id >> (sequenceBits + workerBits)) & mask(l.datacenterBits),
    worker: (id >> sequenceBits) & mask(l.workerBits),
    sequence: id & mask(l.sequenceBits),
  };
}

// compose builds the ID of the parts; the time is cut to its tick. A part that
// the layout cannot hold is a PartError.
export function compose(l, { time, datacenter, worker, sequence }) {
  if (time < l.epoch || time >= expires(l)) {
    throw new PartError('time', `time ${isoTime(time)} out of range [${isoTime(l.epoch)}, ${isoTime(expires(l))})`);
  }
  inRange('datacenter', datacenter, l.datacenterBits);
  inRange('worker', worker, l.workerBits);
  inRange('sequence', sequence, l.sequenceBits);
  const node = (datacenter << BigInt(l.workerBits)) | worker;
  return (tickOf(l, time) << BigInt(lowBits(l))) | (node << BigInt(l.sequenceBits)) | sequence;
}

// min is the smallest ID of the tick of time: 0 before the epoch, and above all
// IDs of the layout past its end, where 63 bits have room for that.
export function min(l, time) {
  const tick = tickOf(l, time);
  if (tick < 0n) return 0n;
  if (tick < endTick(l)) return tick << BigInt(lowBits(l));
  const above = lastID(l) + 1n;
  return above < 2n ** 63n ? above : lastID(l);
}

// max is the largest ID of the tick of time: 0 before the epoch, the last of the
// layout past its end.
export function max(l, time) {
  const tick = tickOf(l, time);
  if (tick < 0n) return 0n;
  return tick < endTick(l) ? ((tick + 1n) << BigInt(lowBits(l))) - 1n : lastID(l);
}

// A PartError names the part that the layout cannot hold.
export class PartError extends RangeError {
  constructor(part, message) {
    super(message);
    this.part = part;
  }
}

export function mask(bits) {
  return (1n << BigInt(bits)) - 1n;
}

function inRange(part, got, bits) {
  if (got < 0n || got > mask(bits)) {
    throw new PartError(part, `${part} ${got} out of range [0, ${mask(bits)}]`);
  }
}
