// Reads lines of JSON, each a text and two times, and writes what time the text
// is and how long ago the one time is from the other.
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
