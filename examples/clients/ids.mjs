// IDs are taken from the ID service and from the orders API, sent back in each
// form that JavaScript has for a number, and compared. client.mjs and the page
// share this.

// ways are what may become of an ID between taking it and sending it back. The
// exact ones must lose no digit.
export const ways = [
  { name: 'string', exact: true, keep: (id) => id },
  { name: 'BigInt', exact: true, keep: (id) => BigInt(id) },
  { name: 'Number', exact: false, keep: (id) => Number(id) },
  // What a client gets from an API that sends its IDs without quotes.
  { name: 'JSON number', exact: false, keep: (id) => JSON.parse(`{"id":${id}}`).id },
];

// LostDigit: an ID is not what it was, in a way that must keep it.
export class LostDigit extends Error {}

const atOnce = 200;

// tryAll takes IDs from the ID service and the orders API at these addresses,
// and sends two of each back in every way. It throws where a server does not
// answer as it should.
export async function tryAll({ ids, orders }) {
  const many = await takeIDs(ids, atOnce);
  const fromService = many.slice(0, 2).map((id) => ({ id, wanted: `"id":"${id}"` }));
  const fromOrders = [await placeOrder(orders), await placeOrder(orders)];
  return {
    service: await sendAllBack(fromService, `${ids}/v1/ids/`),
    orders: await sendAllBack(fromOrders, `${orders}/orders/`),
    crowd: { ids: many.length, strings: new Set(many).size, numbers: new Set(many.map(Number)).size },
  };
}

// lost says, in sentences, what is lost where nothing must be.
export function lost({ service, orders, crowd }) {
  const rows = [...service, ...orders].flatMap((trip) => trip.rows.map((row) => ({ ...row, id: trip.id })));
  const sentences = rows.filter((row) => row.exact && !row.kept)
    .map((row) => `${row.id} as a ${row.name} was sent as ${row.sent}: ${row.note}`);
  if (crowd.strings !== crowd.ids) sentences.push(`${crowd.ids} IDs are ${crowd.strings} strings`);
  return sentences;
}

async function takeIDs(base, count) {
  const answer = await ask(`${base}/v1/ids?count=${count}`);
  return succeeded(answer).body.ids.map((id) => taken(id, answer));
}

async function placeOrder(base) {
  const order = { customer: 'Ada Lovelace', lines: [{ sku: 'TEA-07', quantity: 3, unit_cents: 450 }] };
  const answer = await ask(`${base}/orders`, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(order),
  });
  // All of its text must come back, and with it the keys of the lines.
  return { id: taken(succeeded(answer).body.id, answer), wanted: answer.text };
}

// taken compares an ID with the text that it was parsed from: compared with
// itself alone, a rounded one would pass.
function taken(id, answer) {
  if (!answer.text.includes(`"${id}"`)) throw new LostDigit(`${id} is not in the answer, ${answer.text.slice(0, 100)}`);
  return id;
}

async function sendAllBack(taken, address) {
  const trips = [];
  for (const { id, wanted } of taken) {
    const rows = [];
    for (const way of ways) rows.push(await sendBack(id, way, wanted, address));
    trips.push({ id, rows });
  }
  return trips;
}

async function sendBack(id, way, wanted, address) {
  const sent = String(way.keep(id));
  const answer = await ask(address + encodeURIComponent(sent));
  const kept = sent === id && answer.status === 200 && answer.text.includes(wanted);
  return { name: way.name, exact: way.exact, sent, kept, note: note(id, sent, way, answer, kept) };
}

function note(id, sent, way, answer, kept) {
  if (!kept) return `${count(wrongDigits(id, sent), 'digit')} wrong: ${found(id, answer)}`;
  if (way.exact) return 'the same';
  return Number.isSafeInteger(Number(id)) ? 'the same, for it is below 2^53' : 'the same, by chance';
}

const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;

// isWrong reports whether a digit of what was sent is not the ID's.
export const isWrong = (id, sent, i) => sent[i] !== id[i];

const wrongDigits = (id, sent) => [...sent].filter((_, i) => isWrong(id, sent, i)).length;

function found(id, { status, body }) {
  if (status !== 200) return `${status}, ${body.detail ?? body.error}`;
  const away = BigInt(body.id) - BigInt(id);
  return `taken for another, ${away < 0n ? -away : away} away`;
}

// ask returns the answer as text and parsed, whatever its status.
async function ask(url, options) {
  let response, text;
  try {
    response = await fetch(url, { ...options, signal: AbortSignal.timeout(30_000) });
    text = await response.text();
  } catch (error) {
    throw new Error(`${url} does not answer: ${error.cause?.code ?? error.cause?.message ?? error.message}`, { cause: error });
  }
  try {
    return { url, status: response.status, ok: response.ok, text: text.trim(), body: JSON.parse(text) };
  } catch (error) {
    throw new Error(`${url} answers ${response.status} without JSON`, { cause: error });
  }
}

function succeeded(answer) {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status}, ${answer.body.detail ?? answer.body.error}`);
  return answer;
}
