// The start of the page. It reads the text in the chosen layout, and shows an ID or many.

import { forgetComposed, startCompose, startIssue } from './compose.js';
import { connect } from './connect.js';
import { copyButton } from './copy.js';
import { nearly, read } from './detect.js';
import { announce, byID, el, showError } from './dom.js';
import { draw } from './drawing.js';
import { examples, ofMoment } from './examples.js';
import { showAge, showFacts, showSentence } from './facts.js';
import { foreign } from './foreign.js';
import { hideFound, showFound } from './found.js';
import { hardly } from './hardly.js';
import { IDTable } from './ids.js';
import { put, restoreText, setText, source, startInput } from './input.js';
import { arrange } from './lanes.js';
import { startLanguage, textBefore } from './language.js';
import { sameLayout } from './layout.js';
import { fits, fromFragment, linkOf, toFragment } from './link.js';
import { showNumber } from './number.js';
import { decompose } from './parts.js';
import { fewestDigits, mostIDs, scan } from './scan.js';
import * as serial from './serial.js';
import { LayoutChoice } from './shape.js';
import { count, t, translate } from './text.js';
import { startTheme } from './theme.js';
import { isoTime } from './time.js';
import { Timeline } from './timeline.js';

translate(document.documentElement);

const choice = new LayoutChoice(() => {
  showProblem('');
  inspect();
}, forgetComposed);
const timeline = new Timeline(selected, (range) => table.filter(range));
const table = new IDTable(pick, () => timeline.clear());
const { title } = document;
let shown; // the item on the page, which has an ID
let problem = ''; // why the link cannot be read
let linked; // the text and form in the link to this page

function now() {
  return BigInt(Date.now());
}

// inspect reads the text again, and shows its IDs or the error.
function inspect() {
  showError('input', '');
  checkCode();
  if (problem !== '') return hideAll();
  linked = { text: '', form: byID('form').value };
  remember();
  const text = source();
  if (text === '') return showMoment();
  try {
    const { readings, found, note, link } = understand(text, byID('form').value);
    linked = link;
    endMoment();
    if (readings) showReadings(readings);
    else showMany(found, note);
  } catch (error) {
    hideAll();
    showError('input', error.message);
  }
}

// understand returns the readings of a text that is one ID, or the IDs found in a longer
// text with a note about them. Both have the link. It throws an error if there is no ID.
function understand(text, form) {
  const { layout } = choice;
  const wrong = nearly(text, layout);
  if (wrong !== '') throw new SyntaxError(wrong);
  let refusal;
  if (text.length <= serial.longest && !/\s/.test(text)) {
    try {
      return { readings: read(text, layout, now(), form), link: { text, form } };
    } catch (error) {
      refusal = error;
    }
  }
  const other = form === 'auto' ? foreign(text, now()) : '';
  if (other !== '') throw new SyntaxError(other);
  const scanned = scan(text, layout, now(), form);
  const { found, leftOut } = scanned;
  if (found.length === 0) throw refusal ?? new SyntaxError(t`no ID found${outOfTime(leftOut)}: want decimal IDs, in a text of at least ${fewestDigits(layout)} digits; base 32, 58 or 62; or serial numbers of this layout`);
  const [first] = found;
  if (found.every(({ id }) => id === first.id)) return { readings: [{ ...first, times: found.length }], link: linkOf(text, form, { found: [first] }) };
  const link = linkOf(text, form, scanned);
  return { found, note: notes(link, scanned), link };
}

function outOfTime(leftOut) {
  return leftOut > 0 ? t`: ${count(leftOut)} long ${leftOut === 1 ? t`number` : t`numbers`} would have a time in the first 30 days of this layout or more than a day ahead` : '';
}

// notes returns sentences about the IDs that the link or the page leaves out.
function notes(link, { more, leftOut }) {
  const all = [];
  if (!fits(link.text)) all.push(t`too many IDs for a link: it opens the page without them`);
  if (more) all.push(t`these are the first ${count(mostIDs)}, and what follows them is left out`);
  if (leftOut > 0) all.push(t`${count(leftOut)} other long ${leftOut === 1 ? t`number` : t`numbers`} left out`);
  return all.join(t`; `);
}

function showReadings(readings) {
  hideMany();
  const group = byID('readings');
  group.hidden = readings.length === 1;
  group.replaceChildren(...readings.map((reading) => readingButton(reading)));
  pickReading(readings[0]);
}

function readingButton(reading) {
  const button = el('button', { type: 'button', class: 'plain', 'data-form': reading.form }, t`as ${t(reading.form)}: ${reading.id}`);
  button.addEventListener('click', () => pickReading(reading));
  return button;
}

function pickReading(reading) {
  for (const button of byID('readings').children) button.setAttribute('aria-pressed', button.dataset.form === reading.form);
  showID(reading, t`read as ${t(reading.form)}${again(reading)}`);
  announce(t`ID ${reading.id}, read as ${t(reading.form)}, ${isoTime(decompose(choice.layout, reading.id).time)}`);
}

// again returns how often the text contains the ID, if it does more than once.
function again({ times }) {
  return times > 1 ? t`, found ${count(times)} times` : '';
}

function showMany(found, note) {
  const { layout } = choice;
  const data = arrange(layout, found);
  byID('readings').hidden = true;
  table.show(layout, data.ids);
  timeline.show(layout, data, note);
  showFound(layout, data);
  announce(t`${count(data.ids.length)} IDs found`);
}

// selected shows the ID that is selected on the timeline.
function selected(item, index, length) {
  table.mark(item);
  showID(item, `${rank(index, length)}${again(item)}`);
}

// rank returns the place of an ID in the order of time.
function rank(index, length) {
  if (index === 0) return t`oldest of ${count(length)}`;
  return index === length - 1 ? t`newest of ${count(length)}` : t`${count(index + 1)} of ${count(length)} by time`;
}

// pick shows an ID that the reader has chosen in the table, and scrolls to it.
function pick(item) {
  timeline.pick(item);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  byID('result').scrollIntoView({ block: 'nearest', behavior: calm ? 'auto' : 'smooth' });
}

function showID(item, place) {
  const { id } = item;
  const { layout } = choice;
  const reason = hardly(layout, item, now());
  shown = item;
  document.title = `${id} – ${title}`;
  byID('result').hidden = false;
  byID('result-id').replaceChildren(`${id}`);
  byID('result-copy').replaceChildren(copyButton(t`the ID`, () => `${id}`));
  byID('result-place').textContent = place;
  byID('result-doubt').hidden = reason === '';
  byID('result-doubt').textContent = reason && t`Hardly an ID of this layout: ${reason}.`;
  showSentence(layout, id, now());
  draw(byID('drawing'), layout, id);
  showFacts(layout, id, item.serial ?? givenCode());
  showNumber(byID('number'), id);
}

// moving says whether the page, while there is no text, shows a new ID of the present time
// each second. It is false after Pause, and if the reader prefers reduced motion.
let moving = !matchMedia('(prefers-reduced-motion: reduce)').matches;
let paused = false; // whether the reader has chosen the present state of moving

function showMoment() {
  hideMany();
  byID('readings').hidden = true;
  byID('result').dataset.moment = moving ? 'moving' : 'still';
  byID('result-title').textContent = t`An ID of this moment`;
  byID('pause').hidden = false;
  byID('pause').textContent = moving ? t`Pause` : t`Continue`;
  showID({ id: ofMoment(choice.layout, now()) }, moving || paused ? t`an example` : t`an example; it does not move, because your system asks for less motion. Continue shows a new one each second`);
  document.title = title;
}

function endMoment() {
  delete byID('result').dataset.moment;
  byID('result-title').textContent = 'ID';
  byID('pause').hidden = true;
}

// inUse matches elements from which a reader is about to copy. The ID then does not change.
const inUse = '#result .facts:is(:hover, :focus-within), #result-id:hover, #result-copy:is(:hover, :focus-within)';

function tick() {
  const { moment } = byID('result').dataset;
  if (moment === 'moving' && !document.querySelector(inUse)) showMoment();
  else if (shown) showAge(choice.layout, shown.id, now());
}

// givenCode returns the code and separator in the field, or undefined. They are for the
// serial number of an ID that was not read from a serial number.
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
    byID('shape').open = true;
    showError('code', error.message);
  }
}

function hideAll() {
  shown = undefined;
  document.title = title;
  endMoment();
  byID('result').hidden = true;
  hideMany();
}

function hideMany() {
  timeline.hide();
  table.hide();
  hideFound();
}

// remember writes the IDs and the layout into the address, at most four times a second,
// because browsers throttle pages that change it at each key. It keeps a link that cannot
// be read, so that the reader can correct it.
let remembering;
function remember() {
  remembering ??= setTimeout(() => {
    remembering = undefined;
    if (problem !== '') return;
    const fragment = toFragment({ ...linked, code: byID('code').value.trim(), layout: choice.layout });
    if (fragment !== location.hash) history.replaceState(null, '', fragment);
  }, 250);
}

// recall shows the IDs of the address, in its layout.
function recall() {
  const link = fromFragment(location.hash);
  setText(link.text);
  byID('code').value = link.code;
  byID('form').value = 'auto';
  if (link.form !== 'auto' && !link.problem) byID('form').value = link.form;
  if (link.problem) return refuse(link.problem);
  if (link.name === 'service') return recallService();
  if (link.layout) choice.set(link.name, link.layout);
  showProblem('');
  return inspect();
}

// recallService shows the IDs of a link in the layout of the service. It refuses the link
// until the service has told its layout.
function recallService() {
  if (!choice.knows('service')) return refuse(t`it has the layout of a service, and this page has no service that tells its own`);
  choice.set('service');
  showProblem('');
  return inspect();
}

// refuse shows why a link cannot be read, and decodes nothing, because an ID has another
// time in another layout.
function refuse(reason) {
  choice.unset();
  showProblem(t`This link cannot be read: ${reason}. Choose the layout of its IDs; until then nothing is decoded.`);
  inspect();
}

function showProblem(message) {
  problem = message;
  byID('link-problem').textContent = message;
}

// readText puts a text of this form into the field, as if the reader had typed it.
function readText(text, form) {
  byID('form').value = form === 'decimal' ? 'auto' : form;
  put(t`text`, text, inspect);
  byID('input').focus();
}

function showExample(name) {
  const [layout, text] = examples[name](now());
  choice.set(layout);
  showProblem('');
  readText(text, 'decimal');
}

function clear() {
  if (problem !== '') choice.set(choice.knows('service') ? 'service' : 'twitter');
  showProblem('');
  document.documentElement.removeAttribute('data-linked');
  readText('', 'decimal');
}

function startControls() {
  startInput(inspect);
  byID('form').addEventListener('change', inspect);
  byID('code').addEventListener('input', () => {
    remember();
    checkCode();
    if (shown) showFacts(choice.layout, shown.id, shown.serial ?? givenCode());
  });
  byID('clear').addEventListener('click', clear);
  byID('example').addEventListener('click', () => readText(`${ofMoment(choice.layout, now() - 60000n)}`, 'decimal'));
  for (const button of document.querySelectorAll('[data-example]')) button.addEventListener('click', () => showExample(button.dataset.example));
  byID('pause').addEventListener('click', () => {
    moving = !moving;
    paused = true;
    showMoment();
  });
  byID('skip').addEventListener('click', (event) => {
    event.preventDefault(); // the fragment is the page's state
    byID('input').focus();
  });
  addEventListener('hashchange', recall);
}

// offerLayout chooses the service's layout, unless the link or the reader has chosen
// another one.
function offerLayout(layout) {
  choice.offerService(layout);
  if (problem !== '') {
    if (fromFragment(location.hash).name === 'service') recall();
  } else if (!choice.chosen || sameLayout(choice.layout, layout)) {
    choice.set('service');
    inspect();
  }
}

startTheme(() => timeline.recolour());
startLanguage(source);
startControls();
startCompose(() => choice.layout, readText);
startIssue(readText);
setInterval(tick, 1000);

// The page is usable before the service has answered.
recall();
restoreText(textBefore(), inspect);
await connect(offerLayout);
document.documentElement.dataset.ready = 'true';
