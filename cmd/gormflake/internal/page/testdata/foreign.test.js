import assert from 'node:assert/strict';
import test from 'node:test';
import { foreign } from '../static/foreign.js';

const clock = BigInt(Date.parse('2026-03-01T12:00:00Z'));

// The UUIDs with a time are the examples of RFC 9562. The other IDs are the examples of the
// specifications of their kinds.
test('IDs of other kinds are named, with their time', () => {
  for (const [text, kind, time] of [
    ['C232AB00-9414-11EC-B3C8-9F6BDECED846', 'a UUID of version 1', '2022-02-22T19:22:22.000Z'],
    ['1EC9414C-232A-6B00-B3C8-9F6BDECED846', 'a UUID of version 6', '2022-02-22T19:22:22.000Z'],
    ['017F22E2-79B0-7CC3-98C4-DC0C0C07398F', 'a UUID of version 7', '2022-02-22T19:22:22.000Z'],
    ['{017f22e2-79b0-7cc3-98c4-dc0c0c07398f}', 'a UUID of version 7', '2022-02-22T19:22:22.000Z'],
    ['017f22e279b07cc398c4dc0c0c07398f', 'a UUID of version 7', '2022-02-22T19:22:22.000Z'],
    ['urn:uuid:919108f7-52d1-4320-9bac-f847db4148a8', 'a UUID of version 4'],
    ['5df41881-3aed-3515-88a7-2f4a814cf09e', 'a UUID of version 3'],
    ['00000000-0000-0000-0000-000000000000', 'a UUID'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'a UUID'],
    ['01ARZ3NDEKTSV4RRFFQ69G5FAV', 'a ULID', '2016-07-30T23:54:10.259Z'],
    ['0ujtsYcgvSTl8PAuAdqWYSMnLOv', 'a KSUID', '2017-10-10T04:00:47.000Z'],
    ['user_01h455vb4pex5vsknk084sn02q', 'a TypeID of the type user', '2023-06-30T03:34:18.518Z'],
    ['user_name_01h455vb4pex5vsknk084sn02q', 'a TypeID of the type user_name', '2023-06-30T03:34:18.518Z'],
  ]) {
    const held = time ? `it holds the time ${time}` : 'it holds no time';
    assert.equal(foreign(text, clock), `"${text}" is ${kind}, not a Snowflake ID; ${held}`);
  }
  assert.match(foreign('ord_4pWq3xsGZ7Vn9sJYdBkTvR', clock), /is a public ID.*--secret-file/);
});

test('texts that only resemble IDs of other kinds are not named', () => {
  for (const text of [
    '2124189853926044565',
    '20261128120000123000100010', // 26 digits, as a serial number has that begins with digits
    '020261128120000123000100010', // 27 digits
    '4bf92f3577b34da673ce929d0e0e4736', // of a trace: it is of no variant
    '4bf92f3577b3fda6a3ce929d0e0e4736', // of no version
    '81ARZ3NDEKTSV4RRFFQ69G5FAV', // more than 128 bits
    'aWgEPTl1tmebfsQzFP4bxwgy80V', // a KSUID of the year 2150
    'counterrevolutionaryactions',
    'User_01h455vb4pex5vsknk084sn02q',
    '017f22e2-79b0-7cc3-98c4-dc0c0c07398f and more',
  ]) assert.equal(foreign(text, clock), '', text);
});
