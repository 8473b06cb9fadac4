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
  byID(byID('token').hidden ? 'input' : 'token-value').focus();
}

// tryAgain keeps the focus on the button, unless the button is no longer shown.
async function tryAgain(offerLayout) {
  await attempt(offerLayout);
  if (byID('outage').hidden) byID(byID('token').hidden ? 'input' : 'token-value').focus();
}
