// The parts of the page that need the service. The page uses them once the service has
// answered. Until then it asks for the token, or offers to try again.

import { offerIssue } from './compose.js';
import { byID, showError } from './dom.js';
import { fromService } from './layout.js';
import { call, forgetToken, hasToken, loadConfig, setToken, TokenError } from './service.js';
import { offerWorkers, startWorkers } from './workers.js';

// connect uses the service, if there is one. offerLayout is called with its layout.
export async function connect(offerLayout) {
  startWorkers();
  byID('token-form').addEventListener('submit', (event) => {
    event.preventDefault();
    enterToken(offerLayout);
  });
  byID('outage-again').addEventListener('click', () => tryAgain(offerLayout));
  await attempt(offerLayout);
}

// attempt asks for a token if the service requires one, and then uses the paths that the
// service offers. It shows why that fails.
async function attempt(offerLayout) {
  showError('outage', '');
  try {
    const config = await loadConfig();
    if (config.token && !hasToken()) askToken('');
    else await useService(config, offerLayout);
    byID('outage').hidden = true;
  } catch (error) {
    byID('outage').hidden = error instanceof TokenError;
    if (error instanceof TokenError) refuseToken(error);
    else showError('outage', error.message);
  }
}

async function useService(config, offerLayout) {
  if (config.layout) offerLayout(fromService(await call('v1/layout')));
  if (config.ids) offerIssue(config.max_count);
  byID('openapi').hidden = !config.layout;
  if (config.workers) await offerWorkers();
}

function refuseToken(error) {
  forgetToken();
  askToken(error.message);
}

function askToken(message) {
  byID('token').hidden = false;
  showError('token-value', message);
}

// enterToken tries the token that the reader has entered.
async function enterToken(offerLayout) {
  try {
    setToken(byID('token-value').value.trim());
    byID('token').hidden = true;
    await attempt(offerLayout);
  } catch (error) {
    askToken(error.message);
  }
  moveFocus();
}

// tryAgain connects again, and moves the focus if the button is no longer shown. Until then
// the button is disabled, so that a double click connects only once. If it has lost the focus
// because it was disabled, tryAgain restores the focus.
async function tryAgain(offerLayout) {
  const button = byID('outage-again');
  button.disabled = true;
  await attempt(offerLayout);
  button.disabled = false;
  if (byID('outage').hidden || document.activeElement === document.body) moveFocus();
}

// moveFocus moves the focus to the token if it is asked for, to the button after an outage,
// and to the IDs otherwise.
function moveFocus() {
  const next = byID('outage').hidden ? 'input' : 'outage-again';
  byID(byID('token').hidden ? next : 'token-value').focus();
}
