// The page: what is read, in which layout, and what is shown of it.

import { drawBits } from './bits.js';
import { copyButton } from './copy.js';
import { doubt, read } from './detect.js';
import { announce, byID, el, showError } from './dom.js';
import { showAge, showFacts } from './facts.js';
import { startGenerate } from './generate.js';
import { expires, fromService } from './layout.js';
import { fromFragment, toFragment } from './link.js';
import { compose, decompose, mask } from './parts.js';
import { mostIDs, scan } from './scan.js';
import * as serial from './serial.js';
import { call, forgetToken, hasToken, loadConfig, setToken, TokenError } from './service.js';
import { LayoutChoice } from './shape.js';
import { startTheme } from './theme.js';
import { isoTime } from './time.js';
import { Timeline } from './timeline.js';
import { startWorkers } from './workers.js';

const largestFile = 64 << 20;

// A field lays out a longer text for seconds; it is held as a file's is.
const longestTyped = 200000;

const choice = new LayoutChoice(() => inspect());
const timeline = new Timeline((item, index, count) => showID(item, `${index + 1} of ${count}`));
let file; // a text that is too long for the field, such as a file's
let shown; // the item on the page, which has an ID

function now() {
  return BigInt(Date.now());
}

function source() {
  return file ? file.text : byID('input').value.trim();
}

// inspect reads the text again.
function inspect() {
  const text = source();
  const form = byID('form').value;
  remember();
  showError('input', '');
  checkCode();
  if (text === '') return hideAll();
  try {
    const { readings, found, note } = understand(text, form);
    if (readings) showReadings(readings);
    else showMany(found, note);
  } catch (error) {
    hideAll();
    showError('input', error.message);
  }
}

// understand decides between one ID and a text with IDs in it.
function understand(text, form) {
  const { layout } = choice;
  let refusal;
  if (!/\s/.test(text) && text.length <= serial.longest) {
    try {
      return { readings: read(text, layout, now(), form) };
    } catch (error) {
      refusal = error;
    }
  }
  const { found, leftOut, more } = scan(text, layout, now(), form);
  const notes = [];
  if (more) notes.push(`these are the first ${mostIDs}, and what follows them is left out`);
  if (leftOut > 0) notes.push(`${leftOut} other long ${leftOut === 1 ? 'number' : 'numbers'} left out`);
  if (found.length === 1) return { readings: found };
  if (found.length > 1) return { found, note: notes.join('; ') };
  throw refusal ?? new SyntaxError(`no ID found${leftOut > 0 ? `: ${leftOut} long ${leftOut === 1 ? 'number' : 'numbers'} would have a time in the first 30 days of this layout or more than a day ahead` : ''}: want decimal digits, base 32, 58 or 62, or serial numbers of this layout`);
}

function showReadings(readings) {
  timeline.hide();
  const group = byID('readings');
  group.hidden = readings.length === 1;
  group.replaceChildren(...readings.map((reading) => readingButton(reading)));
  pickReading(readings[0]);
}

function readingButton(reading) {
  const button = el('button', { type: 'button', class: 'plain', 'data-form': reading.form }, `as ${reading.form}: ${reading.id}`);
  button.addEventListener('click', () => pickReading(reading));
  return button;
}

function pickReading(reading) {
  for (const button of byID('readings').children) button.setAttribute('aria-pressed', button.dataset.form === reading.form);
  showID(reading, `read as ${reading.form}`);
  announce(`ID ${reading.id}, read as ${reading.form}, ${isoTime(decompose(choice.layout, reading.id).time)}`);
}

function showMany(found, note) {
  byID('readings').hidden = true;
  timeline.show(choice.layout, found, note);
  announce(`${found.length} IDs found`);
}

function showID(item, place) {
  const { id } = item;
  const { layout } = choice;
  const reason = doubt(layout, id, now());
  shown = item;
  byID('result').hidden = false;
  byID('result-id').replaceChildren(`${id}`);
  byID('result-copy').replaceChildren(copyButton('the ID', () => `${id}`));
  byID('result-place').textContent = place;
  byID('result-doubt').hidden = reason === '';
  byID('result-doubt').textContent = reason && `Hardly an ID of this layout: ${reason}.`;
  drawBits(byID('bits'), byID('bit-names'), layout, id);
  showFacts(layout, id, item.serial ?? givenCode());
  showAge(layout, id, now());
}

// givenCode is the code for the serial numbers of what is not a serial number.
function givenCode() {
  const text = byID('code').value.trim();
  try {
    return text === '' ? undefined : serial.readCode(text);
  } catch {
    return undefined; // checkCode says why
  }
}

function checkCode() {
  const text = byID('code').value.trim();
  try {
    if (text !== '') serial.readCode(text);
    showError('code', '');
  } catch (error) {
    showError('code', error.message);
  }
}

function hideAll() {
  shown = undefined;
  byID('result').hidden = true;
  timeline.hide();
}

// remember puts what is shown into the address, at most four times a second:
// browsers throttle pages that do it at each key.
let remembering;
function remember() {
  remembering ??= setTimeout(() => {
    remembering = undefined;
    const fragment = toFragment({ text: file ? '' : byID('input').value.trim(), form: byID('form').value, code: byID('code').value.trim(), name: choice.name, layout: choice.layout });
    if (fragment !== location.hash) history.replaceState(null, '', fragment);
  }, 250);
}

// recall shows what the address says.
function recall() {
  const { text, form, code, name, layout } = fromFragment(location.hash);
  typed();
  byID('input').value = text;
  byID('code').value = code;
  byID('form').value = form;
  if (byID('form').value === '') byID('form').value = 'auto';
  if (layout) choice.set('custom', layout);
  else if (name && choice.knows(name)) choice.set(name);
  inspect();
}

async function open(chosen) {
  if (!chosen) return;
  if (chosen.size > largestFile) {
    showError('input', `${chosen.name} has ${chosen.size >> 20} MB: want at most ${largestFile >> 20} MB`);
    return;
  }
  try {
    hold(chosen.name, await chosen.text());
  } catch (error) { // a folder, for example
    showError('input', `${chosen.name} cannot be read: ${error.message}`);
  }
}

// hold reads a text without putting it into the field.
function hold(name, text) {
  file = { name, text };
  byID('input').value = '';
  byID('input').placeholder = `${name}, ${text.length.toLocaleString('en')} characters`;
  inspect();
}

// paste leaves all but a long text to the browser.
function paste(event) {
  const text = event.clipboardData.getData('text');
  if (text.length <= longestTyped) return;
  event.preventDefault();
  hold('pasted text', text);
}

// readText puts a text into the field, as if it had been typed.
function readText(text, form) {
  typed();
  byID('input').value = text;
  byID('form').value = form === 'decimal' ? 'auto' : form;
  inspect();
  byID('input').focus();
}

function typed() {
  file = undefined;
  byID('input').placeholder = '';
}

// showExample reads an ID of this minute, or of the nearest time of the layout.
function showExample() {
  const { layout } = choice;
  const minuteAgo = now() - 60000n;
  const last = expires(layout) - 1n;
  const time = minuteAgo < layout.epoch ? layout.epoch : minuteAgo > last ? last : minuteAgo;
  const parts = { time, datacenter: mask(layout.datacenterBits) / 4n, worker: mask(layout.workerBits) / 3n, sequence: mask(layout.sequenceBits) / 5n };
  readText(`${compose(layout, parts)}`, 'decimal');
}

function startInput() {
  byID('example').addEventListener('click', showExample);
  byID('input').addEventListener('input', () => {
    typed();
    inspect();
  });
  byID('input').addEventListener('paste', paste);
  byID('form').addEventListener('change', inspect);
  byID('code').addEventListener('input', () => {
    remember();
    checkCode();
    if (shown) showFacts(choice.layout, shown.id, shown.serial ?? givenCode());
    if (shown) showAge(choice.layout, shown.id, now());
  });
  byID('file').addEventListener('change', async (event) => {
    await open(event.target.files[0]);
    event.target.value = ''; // so that the same file can be opened again
  });
  byID('clear').addEventListener('click', () => readText('', 'decimal'));
  byID('skip').addEventListener('click', (event) => {
    event.preventDefault(); // the fragment is the page's state
    byID('input').focus();
  });
  startDrop();
  addEventListener('hashchange', recall);
}

function startDrop() {
  addEventListener('dragover', (event) => {
    event.preventDefault();
    document.body.classList.add('dropping');
  });
  addEventListener('dragleave', () => document.body.classList.remove('dropping'));
  addEventListener('drop', (event) => {
    event.preventDefault();
    document.body.classList.remove('dropping');
    const [dropped] = event.dataTransfer.files;
    if (dropped) return open(dropped);
    const text = event.dataTransfer.getData('text');
    if (text.length > longestTyped) hold('dropped text', text);
    else readText(text, 'decimal');
    return undefined;
  });
}

// startService uses what the service offers; a token is asked for first.
async function startService() {
  const config = await loadConfig();
  if (config.token) startToken(config);
  if (config.token && !hasToken()) askToken('');
  else await useService(config);
}

async function useService(config) {
  try {
    if (config.layout) offerLayout(fromService(await call('v1/layout')));
    byID('issue').hidden = !config.ids;
    if (config.workers) await startWorkers();
  } catch (error) {
    if (!(error instanceof TokenError)) throw error;
    forgetToken();
    askToken(error.message);
  }
}

// offerLayout uses the service's layout, unless the link or the reader has
// chosen another.
function offerLayout(layout) {
  choice.offerService(layout);
  if (choice.chosen) return;
  choice.set('service');
  inspect();
}

function askToken(message) {
  byID('token').hidden = false;
  showError('token-value', message);
}

// startToken tries each token that is entered, until one is taken.
function startToken(config) {
  byID('token-form').addEventListener('submit', async (event) => {
    event.preventDefault();
    try {
      setToken(byID('token-value').value.trim());
      byID('token').hidden = true;
      await useService(config);
    } catch (error) {
      askToken(error.message);
    }
    byID(byID('token').hidden ? 'input' : 'token-value').focus();
  });
}

startTheme(() => timeline.draw());
startInput();
startGenerate(() => choice.layout, readText);
setInterval(() => { if (shown) showAge(choice.layout, shown.id, now()); }, 1000);

// The page is usable before the service has answered.
recall();
await startService().catch((error) => showError('input', `the page's service fails: ${error.message}`));
document.documentElement.dataset.ready = 'true';
