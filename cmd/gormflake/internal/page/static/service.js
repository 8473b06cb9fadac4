// The service of the page, if there is one. The page calls only the paths that config.json
// offers.

import { t } from './text.js';

const key = 'gormflake-token';

export async function loadConfig() {
  const response = await fetch('config.json');
  return response.ok ? response.json() : {};
}

// call returns the JSON of an address. If the answer is an error, it throws an error with
// the sentence of the service.
export async function call(address) {
  const token = storedToken();
  const response = await fetch(address, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: 'no-store' });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  if (response.status === 401) throw new TokenError(t`the service refused the token: want the one that it was started with`);
  throw new Error(answer.detail ?? t`the service answered ${response.status}`);
}

// A TokenError is the error for a token that the service refuses.
export class TokenError extends Error {}

export function hasToken() {
  return storedToken() !== null;
}

// setToken keeps the token for this tab. It throws a TokenError for a token that is not of
// ASCII, because a header could not contain it.
export function setToken(token) {
  if (!/^[!-~]+$/.test(token)) throw new TokenError(t`the token has blanks or other characters than ASCII: want the one that the service was started with`);
  kept = token;
  try {
    sessionStorage.setItem(key, token);
  } catch {
    // A browser may forbid storage; the token then lasts as long as the page.
  }
}

export function forgetToken() {
  kept = null;
  try {
    sessionStorage.removeItem(key);
  } catch {
    // see setToken
  }
}

let kept = null;

function storedToken() {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return kept;
  }
}
