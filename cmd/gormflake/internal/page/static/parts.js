// IDs put together and taken apart. All numbers are BigInts: an ID has more
// digits than a JavaScript number keeps.

import { endTick, expires, lastID, lowBits, lowFields } from './layout.js';
import { t } from './text.js';
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
  return {
    time: timeOf(l, id),
    tick: id >> BigInt(lowBits(l)),
    datacenter: reader(l, 'datacenter')(id),
    worker: reader(l, 'worker')(id),
    sequence: reader(l, 'sequence')(id),
  };
}

// reader returns what reads a low field of many IDs.
export function reader(l, field) {
  const names = lowFields(l);
  const below = names.slice(names.indexOf(field) + 1).reduce((sum, name) => sum + l[`${name}Bits`], 0);
  const [shift, bits] = [BigInt(below), mask(l[`${field}Bits`])];
  return (id) => (id >> shift) & bits;
}

// compose builds the ID of the parts; the time is cut to its tick. A part that
// the layout cannot hold is a PartError.
export function compose(l, { time, ...parts }) {
  if (time < l.epoch || time >= expires(l)) {
    throw new PartError('time', t`time ${isoTime(time)} out of range [${isoTime(l.epoch)}, ${isoTime(expires(l))})`);
  }
  return lowFields(l).reduce((id, name) => {
    const bits = l[`${name}Bits`];
    inRange(name, parts[name], bits);
    return (id << BigInt(bits)) | parts[name];
  }, tickOf(l, time));
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
    throw new PartError(part, t`${t(part)} ${got} out of range [0, ${mask(bits)}]`);
  }
}
