// check compares the results of the page's modules with the vectors that Go wrote. It runs
// in Node and in the page, and returns a line for each difference.

export function check(snowflake, serial, vectors) {
  const wrong = [];
  const same = (what, got, want) => {
    if (String(got) !== String(want)) wrong.push(`${what}: ${got}, want ${want}`);
  };
  const unknown = Object.keys(snowflake.layouts).filter((name) => !vectors.layouts.some((vector) => vector.name === name));
  same('layouts that Go does not know', unknown, []);
  for (const vector of vectors.layouts) {
    checkLayout(snowflake, vector, same);
    checkSerials(serial, layoutOf(snowflake, vector.shape), vector, same);
  }
  for (const shape of vectors.invalidLayouts) {
    same(`mistakes in ${JSON.stringify(shape)}`, snowflake.mistakes(layoutOf(snowflake, shape)).length > 0, true);
  }
  for (const { form, text } of vectors.refused) {
    same(`${form} ${JSON.stringify(text)}`, result(() => snowflake.parse(form, text)), 'refused');
  }
  for (const { form, text, id } of vectors.taken) {
    same(`${form} ${JSON.stringify(text)}`, result(() => snowflake.parse(form, text)), id);
  }
  return wrong;
}

export function layoutOf({ layout }, shape) {
  return layout(BigInt(shape.epochMillis), BigInt(shape.tickMillis),
    shape.datacenterBits, shape.workerBits, shape.sequenceBits, shape.totalBits, shape.sequenceFirst);
}

function checkLayout(snowflake, { name, shape, expiresMillis, ids, bounds, refusedParts }, same) {
  const layout = layoutOf(snowflake, shape);
  const known = snowflake.layouts[name];
  if (!name.includes(' ')) same(`${name}: same as the page's`, known && snowflake.sameLayout(known, layout), true);
  same(`${name}: mistakes`, snowflake.mistakes(layout).length, 0);
  same(`${name}: expires`, snowflake.expires(layout), expiresMillis);
  for (const id of ids) checkID(snowflake, layout, name, id, same);
  for (const { timeMillis, min, max } of bounds) {
    same(`${name}: min ${timeMillis}`, snowflake.min(layout, BigInt(timeMillis)), min);
    same(`${name}: max ${timeMillis}`, snowflake.max(layout, BigInt(timeMillis)), max);
  }
  for (const parts of refusedParts) {
    same(`${name}: compose ${JSON.stringify(parts)}`, result(() => snowflake.compose(layout, partsOf(parts))), 'refused');
  }
}

function checkSerials(serial, layout, { name, serials, unserials, refusedSerials }, same) {
  for (const { code, separator, id, text } of [...serials, ...unserials]) {
    same(`${name}: ${id} as serial`, result(() => serial.format(layout, code, separator, BigInt(id))), text);
  }
  for (const { code, separator, id, text } of serials) {
    same(`${name}: serial ${text}`, result(() => Object.values(serial.parse(layout, text))), [code, separator, id]);
  }
  for (const text of [...refusedSerials, ...unserials.map((each) => each.text)]) {
    same(`${name}: serial ${JSON.stringify(text)}`, result(() => Object.values(serial.parse(layout, text))), 'refused');
  }
}

function checkID(snowflake, layout, name, vector, same) {
  const id = BigInt(vector.decimal);
  for (const form of snowflake.forms) {
    same(`${name}: ${id} as ${form}`, snowflake.format(form, id), vector[form]);
    same(`${name}: ${form} ${vector[form]}`, result(() => snowflake.parse(form, vector[form])), id);
  }
  const { time, datacenter, worker, sequence } = snowflake.decompose(layout, id);
  same(`${name}: parts of ${id}`, [time, datacenter, worker, sequence], Object.values(vector.parts));
  same(`${name}: compose ${id}`, result(() => snowflake.compose(layout, partsOf(vector.parts))), id);
}

function partsOf({ timeMillis, datacenter, worker, sequence }) {
  return { time: BigInt(timeMillis), datacenter: BigInt(datacenter), worker: BigInt(worker), sequence: BigInt(sequence) };
}

function result(parse) {
  try {
    return parse();
  } catch {
    return 'refused';
  }
}
