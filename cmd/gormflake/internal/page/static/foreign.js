// IDs of other kinds, which readers paste as if they were Snowflake IDs.

import { day } from './detect.js';
import { digits, quote } from './forms.js';
import { t } from './text.js';
import { isoTime } from './time.js';

const uuid = /^(?:urn:uuid:|\{)?([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})\}?$/i;
// A ULID and a KSUID need a letter here, because a text of digits alone is more likely a
// serial number.
const ulid = /^(?=.*[A-Z])[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const typeID = /^([a-z](?:[a-z_]{0,61}[a-z])?)_([0-7][0-9a-hjkmnp-tv-z]{25})$/;
const publicID = /^[a-z][a-z0-9]{0,31}_[1-9A-HJ-NP-Za-km-z]{22}$/;
const ksuid = /^(?=.*[A-Za-z])[0-9A-Za-z]{27}$/;

// foreign returns a sentence about a text that is an ID of another kind, or ''. now is the
// present time.
export function foreign(text, now) {
  const hex = uuid.exec(text)?.slice(1).join('');
  if (hex) return aboutUUID(text, BigInt(`0x${hex}`));
  if (ulid.test(text)) return about(text, t`a ULID`, valueOf(text) >> 80n);
  const typed = typeID.exec(text);
  if (typed) return about(text, t`a TypeID of the type ${typed[1]}`, timeOfUUID(valueOf(typed[2])));
  if (publicID.test(text)) return t`${quote(text)} is a public ID, as gormflake encrypts IDs for clients: the command gormflake parse reads it with --secret-file`;
  return aboutKSUID(text, now);
}

// about returns the sentence about an ID of the kind, with its time if it has one.
function about(text, kind, time) {
  const held = time === undefined ? t`it holds no time` : t`it holds the time ${isoTime(time)}`;
  return t`${quote(text)} is ${kind}, not a Snowflake ID; ${held}`;
}

// aboutUUID returns a sentence about a UUID, or ''. Without hyphens, 32 hexadecimal digits
// count only if they have a version, because traces and hashes have as many.
function aboutUUID(text, value) {
  const version = versionOf(value);
  if (version !== 0n) return about(text, t`a UUID of version ${version}`, timeOfUUID(value));
  return text.includes('-') ? about(text, t`a UUID`) : '';
}

// versionOf returns the version of a UUID, which is 1 to 8, or 0 for other 128 bits.
function versionOf(value) {
  const version = value >> 76n & 15n;
  return (value >> 62n & 3n) === 2n && version <= 8n ? version : 0n;
}

// The milliseconds from the start of the Gregorian calendar, from which UUIDs of the versions
// 1 and 6 count, to 1970.
const gregorian = 12219292800000n;

// timeOfUUID returns the time in a UUID as RFC 9562 defines it, or undefined if UUIDs of its
// version hold no time. Versions 1 and 6 count 100 ns, and differ in the order of the bits.
function timeOfUUID(value) {
  const [high, middle, low] = [value >> 96n, value >> 80n & 0xffffn, value >> 64n & 0xfffn];
  switch (versionOf(value)) {
    case 1n: return (low << 48n | middle << 32n | high) / 10000n - gregorian;
    case 6n: return (high << 28n | middle << 12n | low) / 10000n - gregorian;
    case 7n: return value >> 80n;
    default: return undefined;
  }
}

// aboutKSUID returns a sentence about a KSUID, or ''. Because most texts of 27 letters and
// digits have the form of a KSUID, its time must not be in the future.
function aboutKSUID(text, now) {
  if (!ksuid.test(text)) return '';
  const value = number(text, digits.base62);
  const time = ((value >> 128n) + 1400000000n) * 1000n;
  return value < 2n ** 160n && time < now + day ? about(text, t`a KSUID`, time) : '';
}

// valueOf returns the 128 bits of a text in Crockford's base 32.
function valueOf(text) {
  return number(text.toUpperCase(), digits.base32);
}

function number(text, alphabet) {
  return [...text].reduce((sum, digit) => sum * BigInt(alphabet.length) + BigInt(alphabet.indexOf(digit)), 0n);
}
