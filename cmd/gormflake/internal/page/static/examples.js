// Examples of IDs.

import { expires, layouts } from './layout.js';
import { compose, mask } from './parts.js';
import { isoTime } from './time.js';

// ofMoment returns an ID of the layout with this time, or with the nearest time that the
// layout has.
export function ofMoment(layout, now) {
  const last = expires(layout) - 1n;
  const time = now < layout.epoch ? layout.epoch : now > last ? last : now;
  return compose(layout, { time, datacenter: mask(layout.datacenterBits) / 4n, worker: mask(layout.workerBits) / 3n, sequence: mask(layout.sequenceBits) / 5n });
}

// examples are texts with the name of their layout. now is in milliseconds.
export const examples = Object.freeze({
  tweet: () => ['twitter', '1541815603606036480'],
  discord: () => ['discord', '175928847299117063'], // the example of Discord's documentation
  safe: (now) => ['js-safe', `${ofMoment(layouts['js-safe'], now)}`],
  log: (now) => ['twitter', log(now - 3600000n)],
});

// log returns a log of three servers over a minute and a half, of which one stops.
function log(start) {
  const lines = [];
  let time = start;
  for (let i = 0; i < 240; i++) {
    time += i === 150 ? 40000n : BigInt(40 + i * 7919 % 430);
    const worker = time > start + 60000n ? i % 2 : [0, 1, 2, 0, 1, 0][i % 6];
    const id = compose(layouts.twitter, { time, datacenter: 1n, worker: BigInt(3 + 4 * worker), sequence: BigInt(i % 3) });
    lines.push(`${isoTime(time)} INFO web-${worker + 1} order ${id} created status=201`);
  }
  return lines.join('\n');
}
