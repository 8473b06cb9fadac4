// Takes IDs from the ID service and from the orders API, sends them back, and
// prints what becomes of them in each form that JavaScript has for a number.
// README.md has the commands.
//
// The exit status is 0 if strings and BigInt lost no digit, 1 if they did, and
// 2 if that could not be tried.

import { LostDigit, lost, tryAll } from './ids.mjs';

const usage = `usage: node client.mjs <address of gormflake serve> <address of examples/orderapi>
such as: node client.mjs http://127.0.0.1:8080 http://127.0.0.1:8081`;

async function main(args) {
  if (args.length !== 2 || !args.every((text) => /^https?:\/\/./.test(text))) {
    console.error(usage);
    return 2;
  }
  const [ids, orders] = args.map((text) => text.replace(/\/+$/, ''));
  const result = await tryAll({ ids, orders });
  print(`IDs of the service, ${ids}`, result.service);
  print(`Keys of orders, ${orders}`, result.orders);
  const { crowd } = result;
  console.log(`${crowd.ids} IDs taken at once are ${crowd.strings} different strings and ${crowd.numbers} different numbers.\n`);
  return outcome(lost(result));
}

function print(title, trips) {
  console.log(title);
  for (const { id, rows } of trips) {
    console.log(`  ${id}`);
    for (const { name, sent, note } of rows) console.log(`    ${name.padEnd(11)}  ${sent}  ${note}`);
  }
  console.log();
}

function outcome(sentences) {
  sentences.forEach((sentence) => console.error(sentence));
  if (sentences.length > 0) return 1;
  console.log('Strings and BigInt lost no digit.');
  return 0;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof LostDigit ? 1 : 2;
}
