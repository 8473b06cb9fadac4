// Each line of the input is JSON with a text and the times at and now. Each line of the
// output has the time of the text, and the age of at.
import { createInterface } from 'node:readline';
import { age, parseTime } from '../static/time.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { text, at, now } = JSON.parse(line);
  console.log(JSON.stringify({ time: timeOf(text, BigInt(now)), age: age(BigInt(at), BigInt(now)) }));
}

function timeOf(text, now) {
  try {
    return `${parseTime(text, now)}`;
  } catch {
    return 'refused';
  }
}
