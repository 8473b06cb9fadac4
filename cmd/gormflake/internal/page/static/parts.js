// Functions that compose IDs of parts, and decompose them. All numbers are BigInts, because
// an ID has more digits than a JavaScript number.

import { endTick, expires, lastID, lowBits, lowFields } from './layout.js';
import { t } from './text.js';
import { isoTime } from './time.js';

// tickOf returns the tick that contains the millisecond. It is negative before the epoch.
export function tickOf(l, time) {
  const since = time - l.epoch;
  return since < 0n ? (since + 1n) / l.tick - 1n : since / l.tick;
}

export function timeOf(l, id) {
  return l.epoch + (id >> BigInt(lowBits(l))) * l.tick;
}

// decompose returns the parts of an ID. It cannot check whether the ID is of this layout,
// because the bits do not show that.
export function decompose(l, id) {
  return {
    time: timeOf(l, id),
    tick: id >> BigInt(lowBits(l)),
    datacenter: reader(l, 'datacenter')(id),
    worker: reader(l, 'worker')(id),
    sequence: reader(l, 'sequence')(id),
  };
}

// reader returns a function that returns a field below the time of an ID.
export function reader(l, field) {
  const names = lowFields(l);
  const below = names.slice(names.indexOf(field) + 1).reduce((sum, name) => sum + l[`${name}Bits`], 0);
  const [shift, bits] = [BigInt(below), mask(l[`${field}Bits`])];
  return (id) => (id >> shift) & bits;
}

// compose returns the ID of the parts. It cuts the time to its tick. It throws a PartError
// for a part that the layout cannot hold.
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

// min returns the smallest ID of the tick of time. It is 0 before the epoch. After the end of
// the layout it is the ID above the last one, or the last one if 63 bits have no room.
export function min(l, time) {
  const tick = tickOf(l, time);
  if (tick < 0n) return 0n;
  if (tick < endTick(l)) return tick << BigInt(lowBits(l));
  const above = lastID(l) + 1n;
  return above < 2n ** 63n ? above : lastID(l);
}

// max returns the largest ID of the tick of time. It is 0 before the epoch, and the last ID
// of the layout after its end.
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
