// Takes IDs apart that Go composed: reads lines of JSON, each a layout and an
// ID, and writes for each the parts, the bounds of its tick and its texts.
import { createInterface } from 'node:readline';
import * as snowflake from '../static/snowflake.js';
import { layoutOf } from './check.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { shape, id: decimal } = JSON.parse(line);
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
  };
  console.log(JSON.stringify(answer));
}
