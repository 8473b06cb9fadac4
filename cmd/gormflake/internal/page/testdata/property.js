// Decomposes IDs of Go. Each line of the input is JSON with a layout, an ID and serial
// numbers. Each line of the output has the parts of the ID, the bounds of its tick, its
// texts, and the IDs of the serial numbers.
import { createInterface } from 'node:readline';
import * as serial from '../static/serial.js';
import * as snowflake from '../static/snowflake.js';
import { layoutOf } from './check.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { shape, id: decimal, serials } = JSON.parse(line);
  const layout = layoutOf(snowflake, shape);
  const id = BigInt(decimal);
  const parts = snowflake.decompose(layout, id);
  const { time, datacenter, worker, sequence } = parts;
  const answer = {
    parts: { timeMillis: `${time}`, datacenter: `${datacenter}`, worker: `${worker}`, sequence: `${sequence}` },
    composed: `${snowflake.compose(layout, parts)}`,
    bounds: { timeMillis: `${time}`, min: `${snowflake.min(layout, time)}`, max: `${snowflake.max(layout, time)}` },
    texts: snowflake.forms.map((form) => snowflake.format(form, id)),
    expires: `${snowflake.expires(layout)}`,
    mistakes: snowflake.mistakes(layout).length,
    serials: serials.map((text) => readSerial(layout, text)),
  };
  answer.written = answer.serials.map(({ code, separator, id: of }) => (of === '' ? '' : serial.format(layout, code, separator, BigInt(of))));
  console.log(JSON.stringify(answer));
}

function readSerial(layout, text) {
  try {
    const { code, separator, id } = serial.parse(layout, text);
    return { code, separator, id: `${id}`, text };
  } catch {
    return { code: '', separator: '', id: '', text: '' };
  }
}
