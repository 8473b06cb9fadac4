// The service of the page, if there is one. The page calls only the paths that config.json
// offers.

import { t } from './text.js';

const key = 'gormflake-token';

// patience is how long the page waits for an answer, in milliseconds. By default, the service
// itself waits five seconds for IDs and for its database.
const patience = 20000;

// loadConfig returns the paths that the service offers. A copy of the page without a service
// has no config.json, or a page in its place. If the answer breaks off, loadConfig throws an
// error, because there may be a service.
export async function loadConfig() {
  const response = await request('config.json', {});
  if (response.status >= 500) throw await failure(response);
  if (!response.ok) return {};
  return response.json().catch((error) => {
    if (error instanceof SyntaxError) return {};
    throw silence();
  });
}

// call returns the JSON of an address. If the answer is an error, it throws an error with
// the sentence of the service. An answer that is not JSON is an error too, for example the
// login page of a proxy.
export async function call(address) {
  const token = storedToken();
  const response = await request(address, token ? { Authorization: `Bearer ${token}` } : {});
  if (response.status === 401) throw new TokenError(t`the service refused the token: want the one that it was started with`);
  if (!response.ok) throw await failure(response);
  return response.json().catch((error) => {
    throw error instanceof SyntaxError ? statusError(response) : silence();
  });
}

async function request(address, headers) {
  try {
    return await fetch(address, { headers, cache: 'no-store', signal: AbortSignal.timeout(patience) });
  } catch {
    throw silence();
  }
}

function silence() {
  return new Error(t`The service does not answer.`);
}

async function failure(response) {
  const { detail } = await response.json().catch(() => ({}));
  return detail ? new Error(t`The service answered ${response.status}: ${detail}`) : statusError(response);
}

function statusError({ status }) {
  return new Error(t`The service answered ${status}.`);
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
